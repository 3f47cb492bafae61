// Shares of a body: their stiffnesses add up to that of the body.
#include "fem_server/fem/body_shares.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fem_server/fem/element_kind.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem {
namespace {

/// A block of two materials, whose pressures differ at their interface.
BodyModel two_materials(const ElementKind& kind) {
  VolumeMesh mesh = test::block_mesh_of(kind.n_nodes, {0.01, -0.02, 0.0}, {0.05, 0.02, 0.03}, 3, 3, 3);
  for (std::uint32_t e = 0; e < mesh.n_elements() / 2; ++e) mesh.element_sets["half"].push_back(e);
  const std::vector<Material> materials{
      {.youngs_modulus = 3.6e6, .poissons_ratio = 0.3, .density = 1000.0, .set = ""},
      {.youngs_modulus = 1.1e6, .poissons_ratio = 0.4, .density = 1300.0, .set = "half"}};
  return {std::move(mesh), materials, kind.pressure};
}

TEST(BodyShares, HaveStiffnessesThatAddUpToThatOfTheBody) {
  for (const ElementKind& kind : element_kinds()) {
    const BodyModel body = two_materials(kind);
    const SparseMatrix expected = linear_stiffness(body);
    SparseMatrix sum(expected.rows(), expected.cols());
    std::size_t n_own = 0;
    for (const BodyShare& share : shares_of(body, 5)) {
      // As another rank receives it.
      const BodyShare received = BodyShare::from_bytes(share.bytes());
      const SparseMatrix own = own_stiffness(received);
      std::vector<Eigen::Triplet<double>> entries;
      for (Eigen::Index column = 0; column < own.cols(); ++column) {
        for (SparseMatrix::InnerIterator entry(own, column); entry; ++entry) {
          const auto in_body = [&](Eigen::Index dof) {
            return static_cast<int>(3 * received.nodes[static_cast<std::size_t>(dof / 3)] + dof % 3);
          };
          entries.emplace_back(in_body(entry.row()), in_body(column), entry.value());
        }
      }
      SparseMatrix part(expected.rows(), expected.cols());
      part.setFromTriplets(entries.begin(), entries.end());
      sum += part;
      n_own += static_cast<std::size_t>(std::count(received.own_cells.begin(), received.own_cells.end(), true));
    }
    EXPECT_EQ(n_own, body.mesh().n_elements()) << kind.name;
    // Rounding of the sums: 1e-16 for each of up to a hundred terms of an entry.
    const double scale = expected.coeffs().cwiseAbs().maxCoeff();
    EXPECT_LT((sum - expected).norm(), 1e-13 * scale * std::sqrt(double(expected.nonZeros()))) << kind.name;
  }
}

TEST(BodyShares, AreEmptyWithMoreSharesThanElements) {
  const BodyModel body{
      test::block_mesh_of(8, {0.0, 0.0, 0.0}, {0.02, 0.01, 0.01}, 2, 1, 1),
      std::vector<Material>{{.youngs_modulus = 1e6, .poissons_ratio = 0.3, .density = 1.0, .set = ""}}};
  std::size_t n_empty = 0;
  for (const BodyShare& share : shares_of(body, 4)) {
    const BodyShare received = BodyShare::from_bytes(share.bytes());
    n_empty += received.own_cells.empty() ? 1 : 0;
    EXPECT_EQ(own_stiffness(received).cols(), static_cast<Eigen::Index>(received.body.n_dofs()));
  }
  EXPECT_EQ(n_empty, 2U);
}

TEST(BodyShares, BlockBetweenNodesIsThatOfTheWholeStiffness) {
  for (const ElementKind& kind : element_kinds()) {
    const BodyModel body = two_materials(kind);
    const auto& nodes = body.mesh().node_sets.at("z0");
    const SparseMatrix expected = block_between(linear_stiffness(body), nodes);
    const SparseMatrix found = stiffness_between(body, nodes);
    ASSERT_EQ(found.cols(), 3 * std::ssize(nodes));
    EXPECT_LT((found - expected).norm(), 1e-13 * expected.norm()) << kind.name;
    // Without the axis, places could be exchanged.
    const SparseMatrix K = linear_stiffness(body);
    EXPECT_EQ(expected.coeff(3 * 2 + 1, 3 * 1 + 2), K.coeff(3 * nodes[2] + 1, 3 * nodes[1] + 2)) << kind.name;
  }
}

}  // namespace
}  // namespace heelstrike::fem
