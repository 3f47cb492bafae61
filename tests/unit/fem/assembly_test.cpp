// Assembly on several threads: the same bits as on one.
#include "fem_server/fem/assembly.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "fem_server/fem/neo_hookean.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem {
namespace {

/// Some blocks of elements, the last one incomplete, two materials.
BodyModel body(bool quadratic) {
  VolumeMesh mesh = test::block_mesh(Vector3::Zero(), Vector3(0.3, 0.2, 0.1), 9, 8, 7);
  for (std::uint32_t e = 0; e < mesh.n_elements() / 3; ++e) mesh.element_sets["stiff"].push_back(e);
  if (quadratic) mesh = to_quadratic(mesh);
  const std::vector<Material> materials{
      {.youngs_modulus = 2e6, .poissons_ratio = 0.3, .density = 1000.0, .set = ""},
      {.youngs_modulus = 3e9, .poissons_ratio = 0.2, .density = 1900.0, .set = "stiff"}};
  return {std::move(mesh), materials};
}

bool same_bits(const SparseMatrix& a, const SparseMatrix& b) {
  return a.nonZeros() == b.nonZeros() &&
         std::memcmp(a.valuePtr(), b.valuePtr(), static_cast<std::size_t>(a.nonZeros()) * sizeof(double)) == 0;
}

class Assembly : public testing::TestWithParam<bool> {};

TEST_P(Assembly, GivesTheSameBitsOnAnyNumberOfThreads) {
  const BodyModel model = body(GetParam());
  ASSERT_GT(model.mesh().n_elements(), 2000U);
  const SparseMatrix K = linear_stiffness(model, 1);
  ASSERT_GT(K.norm(), 0.0);
  const Eigen::VectorXd u = 1e-3 * Eigen::VectorXd::Random(static_cast<Eigen::Index>(model.n_dofs()));
  SparseMatrix T = sparsity_pattern(model);
  const BodyEquations one = assemble_equations(model, MaterialLaw::neo_hookean, u, T, 1);
  ASSERT_TRUE(one.valid);
  for (const unsigned n_threads : {2U, 3U, 0U}) {
    EXPECT_TRUE(same_bits(linear_stiffness(model, n_threads), K)) << n_threads << " threads";
    SparseMatrix other = sparsity_pattern(model);
    const BodyEquations several = assemble_equations(model, MaterialLaw::neo_hookean, u, other, n_threads);
    EXPECT_TRUE(same_bits(other, T)) << n_threads << " threads";
    EXPECT_EQ(several.energy, one.energy) << n_threads << " threads";
    EXPECT_TRUE(several.force == one.force) << n_threads << " threads";
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

INSTANTIATE_TEST_SUITE_P(Elements, Assembly, testing::Bool(),
                         [](const auto& info) { return info.param ? "Quadratic" : "Linear"; });

}  // namespace
}  // namespace heelstrike::fem
