// Finite elements at Poisson's ratio 0.4999: Cook's membrane, the hollow sphere under pressure, and the condensation of
// a mixed body.
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>

#include "fem_server/fem/condensation.hpp"
#include "tests/validation/fem/elastic_problem.hpp"

namespace heelstrike::fem {
namespace {

constexpr double nu = 0.4999;

/// Cook's membrane [cook1974]: corners (0, 0), (48, 44), (48, 60), (0, 44), clamped on the left, a total shear force of
/// 1 per unit thickness on the right. Plane strain is a slab one element thick whose faces stay in their planes.
struct Cook {
  double tip = 0.0;  ///< vertical displacement in the middle of the right side
  test::Solution solution;
};

Cook cook(const ElementKind& kind, std::size_t n) {
  constexpr double mu = 0.375;
  const double thickness = 48.0 / static_cast<double>(n);
  const auto place = [](const Vector3& p) -> Vector3 {
    const double x = p.x();
    return {48.0 * x, 44.0 * x + p.y() * (44.0 * (1.0 - x) + 16.0 * x), p.z()};
  };
  const BodyModel body = test::body_of(
      test::block_mesh(Vector3::Zero(), Vector3(1.0, 1.0, thickness), n, n, 1, test::corners_of(kind.n_nodes)), kind,
      {.youngs_modulus = 2.0 * mu * (1.0 + nu), .poissons_ratio = nu, .density = 0.0, .set = ""}, place);
  const auto shear = [](const Vector3& x, const Vector3&) -> Vector3 {
    return {0.0, x.x() > 48.0 - 1e-9 ? 1.0 / 16.0 : 0.0, 0.0};
  };
  const auto fixed = [&](const Vector3& x, Eigen::Index k) {
    return x.x() < 1e-9 || (k == 2 && (x.z() < 1e-9 || x.z() > thickness - 1e-9));
  };
  Cook result;
  result.solution = test::solve(body, shear, fixed);
  double found = 0.0;
  for (std::size_t i = 0; i < body.mesh().nodes.size(); ++i) {
    if ((body.mesh().nodes[i] - Vector3(48.0, 52.0, 0.0)).norm() > 1e-9) continue;
    result.tip = result.solution.u[3 * static_cast<Eigen::Index>(i) + 1];
    ++found;
  }
  EXPECT_EQ(found, 1.0) << "a node in the middle of the right side: an even number of elements";
  return result;
}

TEST(NearlyIncompressible, CooksMembraneReachesTheReferenceWithoutLocking) {
  // 16.4326 at nu = 0.499975 with the same shear modulus [krysl_fineale]; an independent plane Taylor-Hood program, up
  // to 64 x 64 quadrilaterals of nine nodes and extrapolated, gives 16.453 there and 16.455 at nu = 0.4999: 0.1 % more.
  constexpr double reference = 16.4326;
  std::printf(
      "Cook's membrane, plane strain, nu = %.4f: displacement in the middle of the right side, reference %.4f\n", nu,
      reference);
  std::printf("%12s %4s %8s %10s %9s %14s %14s\n", "element", "n", "dofs", "tip", "of ref.", "factor entries",
              "factor flops");
  std::map<std::string, std::vector<double>> ratios;
  for (const ElementKind& kind : element_kinds()) {
    for (const std::size_t n : {4U, 8U, 16U}) {
      const Cook found = cook(kind, n);
      ratios[std::string(kind.name)].push_back(found.tip / reference);
      std::printf("%12s %4zu %8zu %10.4f %8.2f%% %14.0f %14.3g\n", std::string(kind.name).c_str(), n,
                  found.solution.n_free, found.tip, 100.0 * found.tip / reference, found.solution.factor_entries,
                  found.solution.factor_work);
    }
  }
  for (const ElementKind& kind : element_kinds()) {
    const auto& r = ratios.at(std::string(kind.name));
    EXPECT_LT(std::abs(r[2] - 1.0), std::abs(r[0] - 1.0)) << kind.name << " does not converge";
  }
  EXPECT_LT(ratios.at("tet4")[2], 0.7) << "displacements alone lock: otherwise this test is not significant";
  EXPECT_NEAR(ratios.at("tet4_mixed")[2], 1.0, 0.15);
  EXPECT_NEAR(ratios.at("tet10_mixed")[2], 1.0, 0.01);
  EXPECT_LT(ratios.at("wedge6")[2], 0.7);
  EXPECT_NEAR(ratios.at("wedge6_mixed")[2], 1.0, 0.15);
  EXPECT_NEAR(ratios.at("hex8")[2], 1.0, 0.05);
  EXPECT_NEAR(ratios.at("hex27")[2], 1.0, 0.01);
}

/// An eighth of a hollow sphere of radii 1 and 2 under an inner pressure of 1.
struct Shell {
  double displacement = 0.0;  ///< mean radial displacement of the inner surface over Lame's, minus 1
  double stress = 0.0;        ///< root mean square error of the stress components, over the pressure
  double pressure = 0.0;      ///< root mean square error of the mean stress, over the pressure
  test::Solution solution;
};

VolumeMesh eighth_shell(std::size_t n, std::uint32_t corners) {
  VolumeMesh mesh = test::block_mesh(Vector3::Zero(), Vector3::Ones(), 2 * n, 2 * n, 2 * n, corners);
  VolumeMesh shell = mesh;
  shell.connectivity.clear();
  shell.face_sets.clear();
  shell.node_sets.clear();
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    if (element_center(mesh, e).maxCoeff() < 0.5) continue;
    shell.connectivity.insert(shell.connectivity.end(), mesh.element(e).begin(), mesh.element(e).end());
  }
  (void)remove_unused_nodes(shell);
  return shell;
}

Shell hollow_sphere(const ElementKind& kind, std::size_t n) {
  constexpr double E = 1.0;
  constexpr double b3 = 8.0;  // cube of the outer radius
  // Cubes become spheres: a cube of half width s that of radius 2 s.
  const auto place = [](const Vector3& p) -> Vector3 { return 2.0 * p.maxCoeff() / p.norm() * p; };
  const BodyModel body = test::body_of(eighth_shell(n, test::corners_of(kind.n_nodes)), kind,
                                       {.youngs_modulus = E, .poissons_ratio = nu, .density = 0.0, .set = ""}, place);
  const auto inner = [](const Vector3& x, const Vector3& normal) -> Vector3 {
    const bool loaded = x.norm() < 1.2 && normal.dot(x) < -0.5 * x.norm();
    return loaded ? Vector3(-normal) : Vector3(Vector3::Zero());
  };
  Shell result;
  result.solution = test::solve(body, inner, [](const Vector3& x, Eigen::Index k) { return x[k] < 1e-9; });
  // [timoshenko1970, article 136]: u = p / (b^3 - 1) ((1 - 2 nu) r + (1 + nu) b^3 / (2 r^2)) / E with a = 1.
  const double exact = ((1.0 - 2.0 * nu) + 0.5 * (1.0 + nu) * b3) / (b3 - 1.0) / E;
  double sum = 0.0;
  double count = 0.0;
  for (std::size_t i = 0; i < body.mesh().nodes.size(); ++i) {
    const Vector3& x = body.mesh().nodes[i];
    if (x.norm() > 1.0 + 1e-6) continue;
    sum += result.solution.u.segment<3>(3 * static_cast<Eigen::Index>(i)).dot(x.normalized());
    ++count;
  }
  result.displacement = sum / count / exact - 1.0;
  const StressColumns stress = linear_stress(body, result.solution.u);
  const ShapeTable& rule = body.reference().stiffness;
  double volume = 0.0;
  for (std::size_t e = 0; e < body.mesh().n_elements(); ++e) {
    for (std::size_t q = 0; q < rule.weights.size(); ++q) {
      Vector3 x = Vector3::Zero();
      for (std::size_t a = 0; a < body.mesh().nodes_per_element; ++a) {
        x += rule.values[q][static_cast<Eigen::Index>(a)] * body.mesh().nodes[body.mesh().element(e)[a]];
      }
      const double r3 = std::pow(x.norm(), 3);
      const double radial = (1.0 - b3 / r3) / (b3 - 1.0);
      const double hoop = (1.0 + 0.5 * b3 / r3) / (b3 - 1.0);
      const Vector3 n_r = x.normalized();
      const Matrix3 expected = hoop * Matrix3::Identity() + (radial - hoop) * n_r * n_r.transpose();
      const auto s = stress.col(static_cast<Eigen::Index>(e * rule.weights.size() + q));
      Matrix3 found;
      found << s[0], s[3], s[5], s[3], s[1], s[4], s[5], s[4], s[2];
      const double weight = body.point_geometry(rule, e, q).weight;
      volume += weight;
      result.stress += weight * (found - expected).squaredNorm();
      result.pressure += weight * std::pow((found - expected).trace() / 3.0, 2);
    }
  }
  result.stress = std::sqrt(result.stress / volume);
  result.pressure = std::sqrt(result.pressure / volume);
  return result;
}

TEST(NearlyIncompressible, HollowSphereUnderPressureFollowsLame) {
  std::printf(
      "hollow sphere, b / a = 2, nu = %.4f: error of the inner displacement, of the stress and of its mean [p]\n", nu);
  std::printf("%12s %4s %8s %12s %10s %10s %14s\n", "element", "n", "dofs", "u / exact-1", "stress", "mean", "entries");
  std::map<std::string, std::vector<Shell>> all;
  for (const ElementKind& kind : element_kinds()) {
    for (const std::size_t n : {1U, 2U, 4U}) {
      const Shell& s = all[std::string(kind.name)].emplace_back(hollow_sphere(kind, n));
      std::printf("%12s %4zu %8zu %11.3f%% %10.4f %10.4f %14.0f\n", std::string(kind.name).c_str(), n,
                  s.solution.n_free, 100.0 * s.displacement, s.stress, s.pressure, s.solution.factor_entries);
    }
  }
  EXPECT_LT(all.at("tet4")[2].displacement, -0.2) << "displacements alone lock: otherwise this test is not significant";
  EXPECT_NEAR(all.at("tet4_mixed")[2].displacement, 0.0, 0.15);
  EXPECT_LT(all.at("wedge6")[2].displacement, -0.2);
  EXPECT_NEAR(all.at("wedge6_mixed")[2].displacement, 0.0, 0.15);
  EXPECT_NEAR(all.at("hex8")[2].displacement, 0.0, 0.04);
  EXPECT_NEAR(all.at("tet10_mixed")[2].displacement, 0.0, 0.003);
  EXPECT_LT(all.at("tet10_mixed")[2].stress, 0.05);
  EXPECT_NEAR(all.at("hex27")[2].displacement, 0.0, 0.003);
  EXPECT_LT(all.at("hex27")[2].stress, 0.05);
}

// The matrix of the contact problem: the compliance of the surface.
TEST(NearlyIncompressible, ComplianceOfTheSurfaceIsSymmetricPositive) {
  std::printf("compliance of 0.04 x 0.04 x 0.02 m, E = 1 MPa, nu = %.4f: eigenvalues [m/N]\n", nu);
  for (const ElementKind& kind : element_kinds()) {
    VolumeMesh mesh = test::block_mesh_of(kind.n_nodes, Vector3::Zero(), Vector3(0.04, 0.04, 0.02), 4, 4, 2);
    const std::vector<std::uint32_t> bottom = mesh.node_sets.at("z0");
    const std::vector<std::uint32_t> top = mesh.node_sets.at("z1");
    const BodyModel body(
        std::move(mesh),
        std::vector<Material>{{.youngs_modulus = 1e6, .poissons_ratio = nu, .density = 1000.0, .set = ""}},
        kind.pressure);
    for (const bool free : {false, true}) {
      const Support support{.inertia_relief = free, .clamped_nodes = free ? std::vector<std::uint32_t>{} : top};
      const Eigen::MatrixXd C = condense(body, support, bottom, [](std::string_view, double) {}, {}).dense();
      EXPECT_TRUE(C == C.transpose()) << kind.name << ": symmetric to the bit";
      const Eigen::VectorXd values = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(C).eigenvalues();
      std::printf("%12s %14s: %.3g to %.3g\n", std::string(kind.name).c_str(), free ? "inertia relief" : "clamped",
                  values.minCoeff(), values.maxCoeff());
      EXPECT_GT(values.minCoeff(), 0.0) << kind.name;
    }
  }
}

}  // namespace
}  // namespace heelstrike::fem
