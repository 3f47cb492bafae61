// Neo-Hookean material compared with the closed values of the source card, and the body's tangent with differences.
#include "fem_server/fem/neo_hookean.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem {
namespace {

const Material sole{.youngs_modulus = 3.62e6, .poissons_ratio = 0.3, .density = 1000.0, .set = ""};

/// Cauchy stress [Pa] of one tetrahedron under a homogeneous deformation, from its nodal forces.
Matrix3 stress_of_one_element(const Matrix3& F) {
  VolumeMesh mesh;
  mesh.nodes = {{0.1, 0.0, 0.0}, {0.15, 0.01, 0.0}, {0.1, 0.04, 0.01}, {0.12, 0.01, 0.06}};
  mesh.connectivity = {0, 1, 2, 3};
  const double volume = element_volume(mesh, 0);
  const BodyModel body(mesh, std::vector<Material>{sole});
  Eigen::VectorXd u(12);
  for (int n = 0; n < 4; ++n)
    u.segment<3>(3 * n) = F * mesh.nodes[static_cast<std::size_t>(n)] - mesh.nodes[static_cast<std::size_t>(n)];
  SparseMatrix K = sparsity_pattern(body);
  const BodyEquations equations = assemble_equations(body, MaterialLaw::neo_hookean, u, K);
  Matrix3 virial = Matrix3::Zero();  // sum of f x^T = volume of the deformed element times the Cauchy stress
  for (int n = 0; n < 4; ++n) {
    virial += equations.force.segment<3>(3 * n) * (F * mesh.nodes[static_cast<std::size_t>(n)]).transpose();
  }
  return virial / (volume * F.determinant());
}

TEST(NeoHookean, OneTetrahedronReproducesHomogeneousStates) {
  struct State {
    Vector3 stretch;
    Vector3 stress;  // [Pa]; the card prints nine to ten digits
  };
  const std::vector<State> states{
      {{0.9, 1.0, 1.0}, {-538422.051, -244490.427, -244490.427}},
      {{0.8, 1.0, 1.0}, {-1209071.867, -582533.406, -582533.406}},
      {{1.1, 1.0, 1.0}, {446760.236, 180956.041, 180956.041}},
      {{0.9, 1.03170243, 1.03170243}, {-369758.216, 0.0, 0.0}},
      {{0.8, 1.06733837, 1.06733837}, {-762650.057, 0.0, 0.0}},
      {{1.1, 0.97149295, 0.97149295}, {357004.476, 0.0, 0.0}},
  };
  for (const State& s : states) {
    const Matrix3 stress = stress_of_one_element(s.stretch.asDiagonal());
    // Stretches are printed to 5e-9, times a modulus of 5 MPa: 0.03 Pa.
    EXPECT_LT((stress.diagonal() - s.stress).cwiseAbs().maxCoeff(), 0.05) << s.stretch.transpose() << "\n" << stress;
  }
  Matrix3 shear = Matrix3::Identity();
  shear(0, 1) = 0.2;
  const Matrix3 stress = stress_of_one_element(shear);
  EXPECT_NEAR(stress(0, 1), 278461.538, 1e-2);
  EXPECT_NEAR(stress(0, 0) - stress(1, 1), 55692.308, 1e-2);
}

TEST(NeoHookean, TangentIsTheDerivativeOfTheForce) {
  for (const ElementKind& kind : element_kinds()) {
    const BodyModel body(test::block_mesh_of(kind.n_nodes, {0.0, 0.0, 0.0}, {0.02, 0.02, 0.02}, 1, 1, 1),
                         std::vector<Material>{sole}, kind.pressure);
    SparseMatrix K = sparsity_pattern(body);
    SparseMatrix unused = K;
    const auto n = static_cast<Eigen::Index>(body.n_dofs());
    Eigen::VectorXd u(n);
    for (Eigen::Index i = 0; i < n; ++i) u[i] = 1e-3 * std::sin(3.0 * static_cast<double>(i) + 1.0);
    const BodyEquations at = assemble_equations(body, MaterialLaw::neo_hookean, u, K);
    ASSERT_TRUE(at.valid);
    const Eigen::MatrixXd tangent(K);
    const double h = 1e-7;  // [m] truncation (h / 1 cm)^2 = 1e-10, rounding 1e-16 / 1e-5 = 1e-11
    for (Eigen::Index i = 0; i < n; i += 5) {
      Eigen::VectorXd v = u;
      v[i] += h;
      const BodyEquations forth = assemble_equations(body, MaterialLaw::neo_hookean, v, unused);
      v[i] -= 2.0 * h;
      const BodyEquations back = assemble_equations(body, MaterialLaw::neo_hookean, v, unused);
      const Eigen::VectorXd column = (forth.force - back.force) / (2.0 * h);
      EXPECT_LT((column - tangent.col(i)).cwiseAbs().maxCoeff(), 1e-7 * tangent.cwiseAbs().maxCoeff()) << kind.name;
      EXPECT_NEAR((forth.energy - back.energy) / (2.0 * h), at.force[i], 1e-6 * at.force.cwiseAbs().maxCoeff());
    }
  }
}

class NeoHookeanElements : public testing::TestWithParam<ElementKind> {};

TEST_P(NeoHookeanElements, AreHookeForSmallStrainAndDetectInvertedElements) {
  const BodyModel body(test::block_mesh_of(GetParam().n_nodes, {0.0, 0.0, 0.0}, {0.02, 0.02, 0.02}, 1, 1, 1),
                       std::vector<Material>{sole}, GetParam().pressure);
  SparseMatrix K = sparsity_pattern(body);
  Eigen::VectorXd u = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(body.n_dofs()));
  EXPECT_EQ(assemble_equations(body, MaterialLaw::neo_hookean, u, K).force.cwiseAbs().maxCoeff(), 0.0);
  const Eigen::MatrixXd linear(linear_stiffness(body));
  EXPECT_LT((Eigen::MatrixXd(K) - linear).cwiseAbs().maxCoeff(), 1e-12 * linear.cwiseAbs().maxCoeff());
  u[2] = 0.05;
  EXPECT_FALSE(assemble_equations(body, MaterialLaw::neo_hookean, u, K).valid);
}

INSTANTIATE_TEST_SUITE_P(Elements, NeoHookeanElements,
                         testing::ValuesIn(element_kinds().begin(), element_kinds().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace heelstrike::fem
