// Condensation: rigid motions, definiteness, agreement with the full system, bad support.
#include "fem_server/fem/condensation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <thread>

#include "common/errors/error.hpp"
#include "fem_server/fem/element_kind.hpp"
#include "fem_server/fem/sparse_cholesky.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem {
namespace {

const std::vector<Material> rubber{{.youngs_modulus = 3.62e6, .poissons_ratio = 0.3, .density = 1000.0, .set = ""}};

BodyModel block(const ElementKind& kind) {
  return {test::block_mesh_of(kind.n_nodes, {0.01, -0.02, 0.0}, {0.05, 0.02, 0.03}, 3, 3, 3), rubber, kind.pressure};
}

BodyModel block(bool quadratic = false) {
  return block(default_element(quadratic ? 10 : 4));
}

void no_progress(std::string_view, double) {}

std::vector<std::uint32_t> set(const BodyModel& body, const std::string& name) {
  return body.mesh().node_sets.at(name);
}

TEST(CondensedStiffness, IsSymmetricSemidefiniteWithSixRigidModes) {
  for (const ElementKind& kind : element_kinds()) {
    const BodyModel body = block(kind);
    const ContactNodes surface = contact_nodes(body, boundary_faces(body.mesh()));
    const Eigen::MatrixXd K = condensed_stiffness(body, {}, surface.nodes);
    const double scale = K.cwiseAbs().maxCoeff();
    EXPECT_EQ((K - K.transpose()).cwiseAbs().maxCoeff(), 0.0);
    const Eigen::VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(K).eigenvalues();
    // Rounding: the elimination adds about n eps = 1e-13 of the scale.
    EXPECT_LT(eigenvalues.head<6>().cwiseAbs().maxCoeff(), 1e-11 * scale) << eigenvalues.head<8>().transpose();
    EXPECT_GT(eigenvalues[6], 1e-4 * scale) << eigenvalues.head<8>().transpose();

    const auto modes = rigid_modes(body);
    Eigen::MatrixXd surface_modes(K.rows(), 6);
    for (std::size_t i = 0; i < surface.nodes.size(); ++i) {
      surface_modes.middleRows<3>(3 * static_cast<Eigen::Index>(i)) =
          modes.middleRows<3>(3 * static_cast<Eigen::Index>(surface.nodes[i]));
    }
    // Requirement: zero force to 1e-10 of the stiffness scale.
    const double force = (K * surface_modes).cwiseAbs().maxCoeff();
    EXPECT_LT(force, 1e-10 * scale);
    std::printf("%s: rigid force / scale = %.2e, seventh eigenvalue / scale = %.2e\n", std::string(kind.name).c_str(),
                force / scale, eigenvalues[6] / scale);
  }
}

TEST(SurfaceCompliance, EqualsTheFullSolutionOfAClampedBody) {
  const BodyModel body = block();
  const auto clamped = set(body, "z1");
  const auto candidates = set(body, "z0");
  const SurfaceCompliance C =
      condense(body, {.inertia_relief = false, .clamped_nodes = clamped}, candidates, no_progress, {});
  std::vector<std::int64_t> free;
  for (std::size_t dof = 0; dof < body.n_dofs(); ++dof) {
    if (!std::binary_search(clamped.begin(), clamped.end(), dof / 3)) free.push_back(static_cast<std::int64_t>(dof));
  }
  const SparseMatrix K = linear_stiffness(body);
  SparseCholesky full(K, free, {});
  ASSERT_TRUE(full.factorize(K));
  Eigen::VectorXd force = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(body.n_dofs()));
  Eigen::VectorXd surface_force = Eigen::VectorXd::Random(static_cast<Eigen::Index>(3 * candidates.size()));
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    force.segment<3>(3 * candidates[i]) = surface_force.segment<3>(static_cast<Eigen::Index>(3 * i));
  }
  const Eigen::VectorXd u = full.solve(force);
  const Eigen::VectorXd u_condensed = C.dense() * surface_force;
  double error = 0.0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    error = std::max(
        error, (u.segment<3>(3 * candidates[i]) - u_condensed.segment<3>(static_cast<Eigen::Index>(3 * i))).norm());
  }
  std::printf("condensed against full: %.2e relative\n", error / u_condensed.cwiseAbs().maxCoeff());
  EXPECT_LT(error, 1e-9 * u_condensed.cwiseAbs().maxCoeff());  // required tolerance
}

TEST(SurfaceCompliance, IsTheInverseOfTheCondensedStiffness) {
  const BodyModel body = block();
  const auto clamped = set(body, "z1");
  const auto candidates = set(body, "z0");
  const Eigen::MatrixXd C =
      condense(body, {.inertia_relief = false, .clamped_nodes = clamped}, candidates, no_progress, {}).dense();
  const Eigen::MatrixXd K = condensed_stiffness(body, clamped, candidates);
  const Eigen::MatrixXd I = Eigen::MatrixXd::Identity(C.rows(), C.cols());
  EXPECT_LT((K * C - I).cwiseAbs().maxCoeff(), 1e-10);  // condition of K about 1e3, eps 1e-16, n 48
}

TEST(SurfaceCompliance, InertiaReliefSolvesTheBodyInFreeFlight) {
  const BodyModel body = block();
  const auto candidates = set(body, "z0");
  const SurfaceCompliance C =
      condense(body, {.inertia_relief = true, .clamped_nodes = {}}, candidates, no_progress, {});
  // Reference: saddle-point system [K MR; (MR)^T 0] [u; a] = [f; 0], independent of the isostatic dofs.
  const auto n = static_cast<Eigen::Index>(body.n_dofs());
  const Eigen::MatrixXd modes = rigid_modes(body);
  const Eigen::MatrixXd MR = mass_times(body, modes);
  Eigen::MatrixXd saddle = Eigen::MatrixXd::Zero(n + 6, n + 6);
  saddle.topLeftCorner(n, n) = Eigen::MatrixXd(linear_stiffness(body));
  saddle.topRightCorner(n, 6) = MR;
  saddle.bottomLeftCorner(6, n) = MR.transpose();
  Eigen::VectorXd rhs = Eigen::VectorXd::Zero(n + 6);
  Eigen::VectorXd force = Eigen::VectorXd::Random(static_cast<Eigen::Index>(3 * candidates.size()));
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    rhs.segment<3>(3 * candidates[i]) = force.segment<3>(static_cast<Eigen::Index>(3 * i));
  }
  const Eigen::VectorXd solution = saddle.fullPivLu().solve(rhs);
  const Eigen::VectorXd u = C.dense() * force;
  double error = 0.0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    error = std::max(error,
                     (solution.segment<3>(3 * candidates[i]) - u.segment<3>(static_cast<Eigen::Index>(3 * i))).norm());
  }
  EXPECT_LT(error, 1e-8 * u.cwiseAbs().maxCoeff()) << "saddle point conditioned like 1e7";
  // The balanced load accelerates the body like a rigid one: a = (R^T M R)^-1 R^T f.
  const Vector6 acceleration = (modes.transpose() * MR).ldlt().solve(modes.transpose() * rhs.head(n));
  EXPECT_LT((acceleration - solution.tail<6>()).norm(), 1e-8 * acceleration.norm());
}

std::string rejection_error(const BodyModel& body, const Support& support,
                            const std::vector<std::uint32_t>& candidates) {
  try {
    (void)condense(body, support, candidates, no_progress, {});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "accepted";
}

TEST(Support, RejectsInsufficientSupport) {
  const BodyModel body = block();
  EXPECT_THAT(rejection_error(body, {}, set(body, "z0")),
              testing::HasSubstr("translations along x, y, z and rotations about x, y, z"));
  EXPECT_THAT(rejection_error(body, {.inertia_relief = false, .clamped_nodes = set(body, "x0")}, set(body, "z0")),
              testing::HasSubstr("is clamped"));
  EXPECT_THAT(rejection_error(body, {.inertia_relief = false, .clamped_nodes = {set(body, "z1")[0]}}, set(body, "z0")),
              testing::HasSubstr("leaves a rigid motion free"));
  EXPECT_THAT(rejection_error(body, {.inertia_relief = true, .clamped_nodes = {}}, {}),
              testing::HasSubstr("no candidate"));
  std::stop_source source;
  source.request_stop();
  try {
    (void)condense(body, {.inertia_relief = true, .clamped_nodes = {}}, set(body, "z0"), no_progress,
                   source.get_token());
    FAIL() << "a stopped condensation must not finish";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::cancelled);
  }
}

TEST(BodyModel, RejectsInvalidMaterialsAndElements) {
  VolumeMesh mesh = test::block_mesh({0, 0, 0}, {1, 1, 1}, 1, 1, 1);
  const auto message = [&](const VolumeMesh& m, const Material& material) -> std::string {
    try {
      const BodyModel body(m, std::vector<Material>{material});
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message(mesh, {.youngs_modulus = 1.0, .poissons_ratio = 0.5, .density = 0, .set = ""}),
              testing::HasSubstr("0.5"));
  EXPECT_THAT(message(mesh, {.youngs_modulus = 0.0, .poissons_ratio = 0.3, .density = 0, .set = ""}),
              testing::HasSubstr("Young's modulus"));
  EXPECT_THAT(message(mesh, {.youngs_modulus = 1.0, .poissons_ratio = 0.3, .density = 0, .set = "bone"}),
              testing::HasSubstr("'bone' does not exist"));
  std::swap(mesh.connectivity[0], mesh.connectivity[1]);
  EXPECT_THAT(message(mesh, {.youngs_modulus = 1.0, .poissons_ratio = 0.3, .density = 0, .set = ""}),
              testing::HasSubstr("inverted or degenerate"));
}

TEST(ContactNodes, AreasArePositiveAndSumToTheSurface) {
  for (const ElementKind& kind : element_kinds()) {
    const BodyModel body = block(kind);
    const ContactNodes surface = contact_nodes(body, boundary_faces(body.mesh()));
    const double area = std::accumulate(surface.areas.begin(), surface.areas.end(), 0.0);
    EXPECT_NEAR(area, 2 * (0.04 * 0.04 + 2 * 0.04 * 0.03), 1e-12) << kind.name;
    EXPECT_GT(*std::min_element(surface.areas.begin(), surface.areas.end()), 0.0);
  }
}

// Closed form: one prism over a right triangle of legs 1, height 1. The corner at the right angle has a third of its
// triangle and a quarter of two unit squares, the two others a third, a quarter of one and of the long side.
TEST(ContactNodes, OfAPrismShareTrianglesByThreeAndSidesByFour) {
  VolumeMesh mesh;
  mesh.nodes_per_element = 6;
  mesh.nodes = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {0, 1, 1}};
  mesh.connectivity = {0, 1, 2, 3, 4, 5};
  const BodyModel body(std::move(mesh), rubber);
  const ContactNodes surface = contact_nodes(body, boundary_faces(body.mesh()));
  ASSERT_EQ(surface.nodes.size(), 6U);
  EXPECT_EQ(surface.faces.size(), 8U);
  const double sharp = 0.5 / 3.0 + 0.25 + 0.25 * std::sqrt(2.0);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(surface.areas[i], i % 3 == 0 ? 0.5 / 3.0 + 0.5 : sharp, 1e-14) << i;
    const Vector3 outward = body.mesh().nodes[surface.nodes[i]] - Vector3(1.0 / 3.0, 1.0 / 3.0, 0.5);
    EXPECT_GT(surface.normals[i].dot(outward), 0.0) << i;
  }
}

// Requirement: the bits do not depend on concurrent preparations of other sessions (METIS draws its random numbers from
// a generator that all threads share).
TEST(Condensation, IsBitwiseEqualBesideConcurrentCondensations) {
  const BodyModel body(test::block_mesh(Vector3::Zero(), Vector3::Constant(0.1), 7, 7, 7), rubber);
  const Support support{.inertia_relief = false, .clamped_nodes = body.mesh().node_sets.at("z1")};
  const auto& candidates = body.mesh().node_sets.at("z0");
  const auto data = [&] { return condense(body, support, candidates, no_progress, {}).data(); };
  const std::vector<double> alone = data();
  for (int round = 0; round < 4; ++round) {
    std::array<std::vector<double>, 3> together;
    {
      std::vector<std::jthread> threads;
      for (auto& mine : together) threads.emplace_back([&mine, &data] { mine = data(); });
    }
    for (const auto& one : together) EXPECT_TRUE(one == alone) << "round " << round;
  }
}

}  // namespace
}  // namespace heelstrike::fem
