/// Products with selected blocks of the surface compliance: the inner loops of the contact evaluation.
///
/// Sums run over the loaded nodes in ascending order, independent of the vector unit, so the bits do not depend on the
/// machine.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

/// Several vector fields on nodes: row 3 i + k holds component k of all fields at the i-th listed node.
template <int n_fields>
using NodeFields = Eigen::Matrix<double, Eigen::Dynamic, n_fields, n_fields == 1 ? Eigen::ColMajor : Eigen::RowMajor>;

/// The first of these rows.
[[nodiscard]] inline Eigen::Index row_of(std::size_t node) {
  return 3 * static_cast<Eigen::Index>(node);
}

/// Displacements [m] of `rows` under forces [N] on `columns`; both ascending.
[[nodiscard]] NodeFields<1> displacement(const SurfaceCompliance& compliance, std::span<const std::uint32_t> rows,
                                         std::span<const std::uint32_t> columns, const NodeFields<1>& forces);

/// Displacements [m] of nodes under forces [N] on the same nodes, ascending; reads half of their blocks.
/// n_fields is 1, 4 or 8. @pre dense, unless n_fields is 1
template <int n_fields>
[[nodiscard]] NodeFields<n_fields> displacement(const SurfaceCompliance& compliance,
                                                std::span<const std::uint32_t> nodes,
                                                const NodeFields<n_fields>& forces);

/// Forces on nodes of a body, and the nodes with requested displacements.
struct LoadedNodes {
  const SurfaceCompliance* compliance = nullptr;
  std::span<const std::uint32_t> rows{};     ///< ascending; empty = those of `columns`
  std::span<const std::uint32_t> columns{};  ///< ascending
  NodeFields<1> forces{};                    ///< [N] on `columns`
};

/// Displacements [m] of several loads. Loads with common columns are processed column by column, so that the blocks of
/// a column are read from memory once. Same numbers as one by one, bit for bit.
[[nodiscard]] std::vector<NodeFields<1>> displacements(std::span<const LoadedNodes> loads);

/// Nodes of a body, their normals, and the output of the dense compliance along them.
struct NormalBlocks {
  const SurfaceCompliance* compliance = nullptr;
  std::span<const std::uint32_t> nodes{};  ///< ascending
  std::span<const Vector3> normals{};      ///< of these
};

/// Matrices with entries n_i . C_ij n_j for i >= j; the upper triangle is undefined. Column by column, as
/// displacements().
[[nodiscard]] std::vector<Eigen::MatrixXd> delassus_matrices(std::span<const NormalBlocks> blocks);

}  // namespace heelstrike::fem
