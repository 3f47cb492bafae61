// Assembly on several threads: the same bits as on one.
#include "fem_server/fem/assembly.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/fem/element_kind.hpp"
#include "fem_server/fem/neo_hookean.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem {
namespace {

/// Several blocks of elements, the last one incomplete, two materials.
BodyModel body(const ElementKind& kind) {
  // Prisms and hexahedra are fewer: more cells, for several blocks, which are smaller with 27 nodes.
  const std::size_t times = kind.n_nodes == 6 || kind.n_nodes == 8 ? 2 : 1;
  VolumeMesh mesh =
      test::block_mesh_of(kind.n_nodes, Vector3::Zero(), Vector3(0.3, 0.2, 0.1), 9 * times, 8 * times, 7 * times);
  for (std::uint32_t e = 0; e < mesh.n_elements() / 3; ++e) mesh.element_sets["stiff"].push_back(e);
  const std::vector<Material> materials{
      {.youngs_modulus = 2e6, .poissons_ratio = 0.3, .density = 1000.0, .set = ""},
      {.youngs_modulus = 3e9, .poissons_ratio = 0.2, .density = 1900.0, .set = "stiff"}};
  return {std::move(mesh), materials, kind.pressure};
}

bool is_bitwise_equal(const SparseMatrix& a, const SparseMatrix& b) {
  return a.nonZeros() == b.nonZeros() &&
         std::memcmp(a.valuePtr(), b.valuePtr(), static_cast<std::size_t>(a.nonZeros()) * sizeof(double)) == 0;
}

class Assembly : public testing::TestWithParam<ElementKind> {};

TEST_P(Assembly, IsBitwiseIndependentOfTheNumberOfThreads) {
  const BodyModel model = body(GetParam());
  ASSERT_GT(model.mesh().n_elements(), GetParam().n_nodes == 27 ? 500U : 2000U);
  const SparseMatrix K = linear_stiffness(model, 1);
  ASSERT_GT(K.norm(), 0.0);
  const Eigen::VectorXd u = 1e-3 * Eigen::VectorXd::Random(static_cast<Eigen::Index>(model.n_dofs()));
  SparseMatrix T = sparsity_pattern(model);
  const BodyEquations one = assemble_equations(model, MaterialLaw::neo_hookean, u, T, 1);
  ASSERT_TRUE(one.valid);
  for (const unsigned n_threads : {2U, 3U, 0U}) {
    EXPECT_TRUE(is_bitwise_equal(linear_stiffness(model, n_threads), K)) << n_threads << " threads";
    SparseMatrix other = sparsity_pattern(model);
    const BodyEquations several = assemble_equations(model, MaterialLaw::neo_hookean, u, other, n_threads);
    EXPECT_TRUE(is_bitwise_equal(other, T)) << n_threads << " threads";
    EXPECT_EQ(several.energy, one.energy) << n_threads << " threads";
    EXPECT_TRUE(several.force == one.force) << n_threads << " threads";
  }
}

TEST_P(Assembly, PropagatesExceptionsOfACell) {
  const BodyModel model = body(GetParam());
  const auto nothing = [](auto&&...) {};
  const auto fail = [](const CellTerms& terms) {
    if (terms.cell == 7) throw std::bad_alloc();
  };
  for (const unsigned n_threads : {1U, 2U}) {
    EXPECT_THROW(model.cells().sum(fail, nothing, n_threads), std::bad_alloc);
    EXPECT_THROW(model.cells().sum(nothing, fail, n_threads), std::bad_alloc);
  }
}

TEST_P(Assembly, AddsEveryElementOnce) {
  const BodyModel model = body(GetParam());
  // Work of a uniform strain e: integral of e : C : e over both materials.
  Eigen::VectorXd u(static_cast<Eigen::Index>(model.n_dofs()));
  for (std::size_t n = 0; n < model.mesh().nodes.size(); ++n) {
    u.segment<3>(3 * static_cast<Eigen::Index>(n)) = 1e-3 * model.mesh().nodes[n];
  }
  const double volume = 0.3 * 0.2 * 0.1;
  // Uniform dilatation: 2 W = 9 bulk e^2 with bulk = E / (3 (1 - 2 nu)).
  const double soft = 9e-6 * 2e6 / (3.0 * (1.0 - 0.6));
  const double stiff = 9e-6 * 3e9 / (3.0 * (1.0 - 0.4));
  const double expected = volume * (2.0 * soft + stiff) / 3.0;
  const SparseMatrix K = linear_stiffness(model, 2);
  EXPECT_NEAR(u.dot(K * u), expected, 1e-10 * expected) << "[J]; cancellation of a rigid part is absent";
  const Eigen::VectorXd up = Eigen::VectorXd::Ones(static_cast<Eigen::Index>(model.n_dofs()));
  const double mass = up.dot(mass_times(model, up).col(0)) / 3.0;
  const double expected_mass = volume * (2.0 * 1000.0 + 1900.0) / 3.0;
  EXPECT_NEAR(mass, expected_mass, 1e-10 * expected_mass) << "[kg] density by set";
}

class RotatedNumbering : public testing::TestWithParam<ElementKind> {};

/// Neighbours may number their nodes from any corner in any direction, like tetrahedra of a grid: the cells are
/// compatible.
TEST_P(RotatedNumbering, DoesNotDependOnTheElementNumbering) {
  const std::uint32_t n_nodes = GetParam().n_nodes;
  VolumeMesh mesh = test::block_mesh_of(n_nodes, Vector3::Zero(), Vector3(0.3, 0.2, 0.1), 3, 3, 2);
  const std::vector<Material> material{{.youngs_modulus = 1e6, .poissons_ratio = 0.3, .density = 1.0, .set = ""}};
  const BodyModel straight(mesh, material, GetParam().pressure);
  for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) {
    const std::vector<std::uint32_t> old(mesh.element(e).begin(), mesh.element(e).end());
    const std::uint32_t rotation = e % 3;
    for (std::uint32_t a = 0; a < n_nodes; ++a) {
      std::uint32_t other = 3 * (a / 3) + (a + rotation) % 3;  // of a prism about its axis
      if (n_nodes != 6) {
        auto place = hexahedron_places[a];
        std::rotate(place.begin(), place.begin() + rotation, place.end());  // about the diagonal
        if (e % 2 == 1) place = {place[1], static_cast<std::uint8_t>(2 - place[0]), place[2]};
        other = hexahedron_node(place);
      }
      mesh.connectivity[e * n_nodes + a] = old[other];
    }
  }
  const Eigen::MatrixXd expected(linear_stiffness(straight));
  const BodyModel rotated(std::move(mesh), material, GetParam().pressure);
  EXPECT_LT((Eigen::MatrixXd(linear_stiffness(rotated)) - expected).norm(), 1e-12 * expected.norm());
}

TEST(AssemblyErrors, ReportsElementsThatDoNotShareTheNodesOfAnEdge) {
  VolumeMesh mesh = test::block_mesh_of(10, Vector3::Zero(), Vector3(0.3, 0.2, 0.1), 2, 1, 1);
  // A separate node for the last element on an edge that it shares.
  const std::uint32_t shared = mesh.connectivity.back();
  mesh.connectivity.back() = static_cast<std::uint32_t>(mesh.nodes.size());
  mesh.nodes.push_back(mesh.nodes[shared]);
  const std::vector<Material> material{{.youngs_modulus = 1e6, .poissons_ratio = 0.3, .density = 1.0, .set = ""}};
  const BodyModel body(std::move(mesh), material);
  try {
    (void)linear_stiffness(body);
    FAIL() << "expected an error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_input);
    EXPECT_EQ(e.field(), "mesh");
    EXPECT_NE(std::string(e.what()).find("share exactly the nodes"), std::string::npos) << e.what();
  }
}

/// The patch test.
TEST_P(Assembly, ReproducesAUniformStateOnAnIrregularMesh) {
  const ElementKind& kind = GetParam();
  VolumeMesh mesh = test::block_mesh(Vector3::Zero(), Vector3(0.3, 0.2, 0.1), 3, 2, 2, test::corners_of(kind.n_nodes));
  for (std::size_t i = 0; i < mesh.nodes.size(); ++i) {
    const auto x = static_cast<double>(i);
    mesh.nodes[i] += 0.01 * Vector3(std::sin(3.0 * x), std::sin(5.0 * x), std::sin(7.0 * x));
  }
  if (element_topology(kind.n_nodes).quadratic()) mesh = to_quadratic(mesh);
  const Material material{.youngs_modulus = 1e6, .poissons_ratio = 0.4999, .density = 0.0, .set = ""};
  const BodyModel model(std::move(mesh), std::vector<Material>{material}, kind.pressure);
  Matrix3 G;
  G << 1e-3, 2e-3, 0.0, 0.0, -5e-4, 1e-3, 4e-4, 0.0, -4e-4;
  Eigen::VectorXd u(static_cast<Eigen::Index>(model.n_dofs()));
  for (std::size_t n = 0; n < model.mesh().nodes.size(); ++n) {
    u.segment<3>(3 * static_cast<Eigen::Index>(n)) = G * model.mesh().nodes[n];
  }
  const LameConstants c = lame_constants(material);
  Matrix3 expected = c.mu * (G + G.transpose());
  expected.diagonal().array() += c.lambda * G.trace();
  Eigen::Matrix<double, 6, 1> columns;
  columns << expected(0, 0), expected(1, 1), expected(2, 2), expected(0, 1), expected(1, 2), expected(2, 0);
  // lambda is 5000 mu: rounding of the volume change is multiplied by it.
  EXPECT_LT((linear_stress(model, u).colwise() - columns).cwiseAbs().maxCoeff(), 1e-10 * columns.cwiseAbs().maxCoeff());
  SparseMatrix K = linear_stiffness(model);
  const Eigen::VectorXd force = K * u;
  std::vector<bool> outer(model.mesh().nodes.size(), false);
  for (const std::uint32_t n : nodes_of_faces(model.mesh(), boundary_faces(model.mesh()))) outer[n] = true;
  for (std::size_t n = 0; n < outer.size(); ++n) {
    if (outer[n]) continue;
    EXPECT_LT(force.segment<3>(3 * static_cast<Eigen::Index>(n)).norm(), 1e-10 * force.cwiseAbs().maxCoeff());
  }
  const BodyEquations equations = assemble_equations(model, MaterialLaw::linear, u, K);
  EXPECT_LT((equations.force - force).norm(), 1e-10 * force.norm());
  EXPECT_NEAR(equations.energy, 0.5 * u.dot(force), 1e-10 * equations.energy);
}

class QuadraticAssembly : public testing::TestWithParam<ElementKind> {};

/// For a quadratic isochoric motion on straight elements: stresses up to rounding, and internal forces that balance the
/// corresponding constant body force.
TEST_P(QuadraticAssembly, ReproducesALinearState) {
  const ElementKind& kind = GetParam();
  VolumeMesh mesh = test::block_mesh_of(kind.n_nodes, Vector3::Zero(), Vector3(0.3, 0.2, 0.1), 3, 2, 2);
  Matrix3 sheared;
  sheared << 1.0, 0.2, 0.1, 0.0, 1.0, -0.3, 0.1, 0.0, 1.0;
  for (Vector3& node : mesh.nodes) node = sheared * node;
  const Material material{.youngs_modulus = 1e6, .poissons_ratio = 0.4999, .density = 1.0, .set = ""};
  const BodyModel model(std::move(mesh), std::vector<Material>{material}, kind.pressure);
  constexpr double curvature = 0.1;  // [1/m]
  const auto motion = [&](const Vector3& x) -> Vector3 {
    return curvature * Vector3(x.y() * x.y(), x.z() * x.z(), x.x() * x.x());
  };
  Eigen::MatrixXd u(static_cast<Eigen::Index>(model.n_dofs()), 1);
  Eigen::MatrixXd load(u.rows(), 1);
  const double mu = lame_constants(material).mu;
  for (std::size_t n = 0; n < model.mesh().nodes.size(); ++n) {
    u.block<3, 1>(3 * static_cast<Eigen::Index>(n), 0) = motion(model.mesh().nodes[n]);
    load.block<3, 1>(3 * static_cast<Eigen::Index>(n), 0).setConstant(-2.0 * curvature * mu);  // - mu Laplace u
  }
  const StressColumns stress = linear_stress(model, u);
  const ShapeTable& rule = model.reference().stiffness;
  for (std::size_t e = 0; e < model.mesh().n_elements(); ++e) {
    for (std::size_t q = 0; q < rule.weights.size(); ++q) {
      Vector3 x = Vector3::Zero();
      for (std::size_t a = 0; a < model.mesh().nodes_per_element; ++a) {
        x += rule.values[q][static_cast<Eigen::Index>(a)] * model.mesh().nodes[model.mesh().element(e)[a]];
      }
      Eigen::Matrix<double, 6, 1> expected;
      expected << 0.0, 0.0, 0.0, x.y(), x.z(), x.x();
      expected *= 2.0 * curvature * mu;
      // lambda is 5000 mu: rounding of the volume change is multiplied by it.
      EXPECT_LT((stress.col(static_cast<Eigen::Index>(e * rule.weights.size() + q)) - expected).norm(),
                1e-9 * 2.0 * curvature * mu);
    }
  }
  const Eigen::VectorXd residual = linear_stiffness(model) * u - mass_times(model, load);
  std::vector<bool> outer(model.mesh().nodes.size(), false);
  for (const std::uint32_t n : nodes_of_faces(model.mesh(), boundary_faces(model.mesh()))) outer[n] = true;
  for (std::size_t n = 0; n < outer.size(); ++n) {
    if (outer[n]) continue;
    EXPECT_LT(residual.segment<3>(3 * static_cast<Eigen::Index>(n)).norm(), 1e-9 * residual.cwiseAbs().maxCoeff());
  }
}

std::vector<ElementKind> rotated_kinds() {
  std::vector<ElementKind> kinds;
  std::ranges::copy_if(element_kinds(), std::back_inserter(kinds),
                       [](const ElementKind& kind) { return test::corners_of(kind.n_nodes) != 4; });
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Elements, RotatedNumbering, testing::ValuesIn(rotated_kinds()),
                         [](const auto& info) { return std::string(info.param.name); });

std::vector<ElementKind> quadratic_kinds() {
  std::vector<ElementKind> kinds;
  std::ranges::copy_if(element_kinds(), std::back_inserter(kinds),
                       [](const ElementKind& kind) { return element_topology(kind.n_nodes).quadratic(); });
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Elements, QuadraticAssembly, testing::ValuesIn(quadratic_kinds()),
                         [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(Elements, Assembly, testing::ValuesIn(element_kinds().begin(), element_kinds().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace heelstrike::fem
