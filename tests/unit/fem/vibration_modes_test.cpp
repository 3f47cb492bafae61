// Vibration modes: their definition, comparison with closed forms, and the residual compliance without them.
#include "fem_server/fem/vibration_modes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numbers>
#include <string>

#include "common/errors/error.hpp"
#include "fem_server/fem/compliance_cache.hpp"
#include "fem_server/fem/rigid_motion.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem {
namespace {

using testing::HasSubstr;

BodyModel block(const Vector3& size, int nx, int ny, int nz, double poissons_ratio, bool quadratic = false,
                double density = 1200.0) {
  VolumeMesh mesh = test::block_mesh({0.0, 0.0, 0.0}, {size.x(), size.y(), size.z()}, static_cast<std::size_t>(nx),
                                     static_cast<std::size_t>(ny), static_cast<std::size_t>(nz));
  const std::vector<Material> material{
      {.youngs_modulus = 2e6, .poissons_ratio = poissons_ratio, .density = density, .set = ""}};
  return {quadratic ? to_quadratic(mesh) : mesh, material};
}

Support held_at(const BodyModel& body, const std::string& set) {
  return {.inertia_relief = false, .clamped_nodes = body.mesh().node_sets.at(set)};
}

TEST(VibrationModes, SolveTheEigenvalueProblemAndAreMassOrthonormal) {
  const BodyModel body = block({0.1, 0.08, 0.05}, 3, 3, 2, 0.3);
  for (const bool free : {false, true}) {
    const Support support = free ? Support{.inertia_relief = true, .clamped_nodes = {}} : held_at(body, "z0");
    const VibrationModes modes = vibration_modes(body, support, 12, {});
    const Eigen::MatrixXd M_shapes = mass_times(body, modes.shapes);
    const Eigen::MatrixXd unit = modes.shapes.transpose() * M_shapes;
    EXPECT_LT((unit - Eigen::MatrixXd::Identity(12, 12)).cwiseAbs().maxCoeff(), 1e-10);
    EXPECT_TRUE(std::ranges::is_sorted(modes.frequencies));
    const Eigen::MatrixXd elastic = linear_stiffness(body) * modes.shapes;
    const Eigen::MatrixXd inertial = M_shapes * modes.frequencies.cwiseAbs2().asDiagonal();
    const std::vector<bool> clamped = clamped_dofs(body, support.clamped_nodes);
    double worst = 0.0;
    for (std::size_t dof = 0; dof < clamped.size(); ++dof) {
      const auto row = static_cast<Eigen::Index>(dof);
      if (!clamped[dof]) worst = std::max(worst, (elastic.row(row) - inertial.row(row)).cwiseAbs().maxCoeff());
    }
    EXPECT_LT(worst, 1e-9 * inertial.cwiseAbs().maxCoeff()) << (free ? "free" : "clamped");
    if (!free) continue;
    // The mean motion of a free body remains with the rigid body.
    const Eigen::MatrixXd motion = rigid_modes(body).transpose() * M_shapes;
    EXPECT_LT(motion.cwiseAbs().maxCoeff(), 1e-9 * M_shapes.cwiseAbs().maxCoeff() * std::sqrt(M_shapes.rows()));
  }
}

TEST(VibrationModes, HaveTheFrequenciesOfBarsAndBeams) {
  // A thin bar, clamped at one end: sqrt(E / rho) pi / (2 L) lengthwise, 1.8751^2 sqrt(E I / (rho A)) / L^2 across.
  const double L = 0.5;
  const double b = 0.02;
  const BodyModel body = block({b, b, L}, 1, 1, 25, 0.0, true);
  const VibrationModes modes = vibration_modes(body, held_at(body, "z0"), 16, {});
  const double wave_speed = std::sqrt(2e6 / 1200.0);
  const double along = wave_speed * std::numbers::pi / (2.0 * L);
  const double across = 1.87510407 * 1.87510407 * wave_speed * (b / std::sqrt(12.0)) / (L * L);
  double nearest = 1.0;
  for (const double omega : modes.frequencies) nearest = std::min(nearest, std::abs(omega / along - 1.0));
  std::printf("bending: %.4f rad/s, Euler and Bernoulli %.4f; lengthwise off by %.2e\n", modes.frequencies[0], across,
              nearest);
  // Shear and rotary inertia lower the first frequency by about (b / L)^2 times 10.
  EXPECT_NEAR(modes.frequencies[0] / across, 1.0, 10.0 * b * b / (L * L));
  EXPECT_NEAR(modes.frequencies[1] / modes.frequencies[0], 1.0, 1e-3);
  EXPECT_LT(nearest, 1e-4);
}

TEST(VibrationModes, LeaveACompliancePositiveSemidefinite) {
  const BodyModel body = block({0.1, 0.08, 0.05}, 3, 2, 2, 0.3);
  for (const bool free : {false, true}) {
    const Support support = free ? Support{.inertia_relief = true, .clamped_nodes = {}} : held_at(body, "z0");
    const std::vector<std::uint32_t>& candidates = body.mesh().node_sets.at("z1");
    const Eigen::MatrixXd C = condense(body, support, candidates, [](std::string_view, double) {}, {}).dense();
    double before = C.trace();
    for (const std::size_t n : {1U, 10U, 31U}) {
      const VibrationModes modes = vibration_modes(body, support, n, {});
      Eigen::MatrixXd Phi(C.rows(), modes.shapes.cols());
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        Phi.middleRows<3>(3 * static_cast<Eigen::Index>(i)) =
            modes.shapes.middleRows<3>(3 * static_cast<Eigen::Index>(candidates[i]));
      }
      const Eigen::MatrixXd left =
          C - Phi * modes.frequencies.cwiseAbs2().cwiseInverse().asDiagonal() * Phi.transpose();
      const double lowest = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(left).eigenvalues()[0];
      EXPECT_GT(lowest, -1e-10 * C.trace()) << n << " modes";
      EXPECT_LT(left.trace(), before);
      before = left.trace();
    }
  }
}

TEST(VibrationModes, AreStoredUnderTheirInput) {
  std::string name = (std::filesystem::temp_directory_path() / "hs-modes-XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  const auto n_files = [&] {
    const std::filesystem::directory_iterator files(name);
    return std::ranges::count_if(files, [](const auto& file) { return file.path().extension() == ".modes"; });
  };
  const auto modes_of = [&](const BodyModel& body, std::size_t n) {
    return cached_modes(name, body, held_at(body, "z0"), n, [](std::string_view, double) {}, {});
  };
  const BodyModel body = block({0.1, 0.08, 0.05}, 2, 2, 2, 0.3);
  const VibrationModes computed = modes_of(body, 4);
  EXPECT_EQ(n_files(), 1);
  const VibrationModes stored = modes_of(body, 4);
  EXPECT_EQ(n_files(), 1);
  EXPECT_EQ(stored.frequencies, computed.frequencies);
  EXPECT_EQ(stored.shapes, computed.shapes);
  (void)modes_of(body, 5);
  EXPECT_EQ(n_files(), 2);
  // The compliance of a clamped body does not depend on its density, its modes do.
  const VibrationModes lighter = modes_of(block({0.1, 0.08, 0.05}, 2, 2, 2, 0.3, false, 300.0), 4);
  EXPECT_EQ(n_files(), 3);
  EXPECT_NEAR(lighter.frequencies[0] / computed.frequencies[0], 2.0, 1e-9);  // sqrt(1200 / 300)
  std::filesystem::remove_all(name);
}

TEST(VibrationModes, ReportInvalidInput) {
  const BodyModel body = block({0.1, 0.08, 0.05}, 1, 1, 1, 0.3);
  const auto rejection_error = [](const BodyModel& of, const Support& support, std::size_t n) {
    try {
      (void)vibration_modes(of, support, n, {});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(vibration_modes(body, held_at(body, "z0"), 1, {}).frequencies.size(), 1);
  EXPECT_THAT(rejection_error(body, held_at(body, "z0"), 2), HasSubstr("at most 1 for the 12 unknowns"));
  const BodyModel massless = block({0.1, 0.08, 0.05}, 1, 1, 1, 0.3, false, 0.0);
  EXPECT_THAT(rejection_error(massless, held_at(massless, "z0"), 1), HasSubstr("specify a density for its material"));
  EXPECT_THAT(rejection_error(body, {}, 1), HasSubstr("the body is not supported"));
}

}  // namespace
}  // namespace heelstrike::fem
