/// Plain versions of the kernels of this folder: reference for tests and benchmarks (bench_kernels). An optimised
/// kernel is justified by its gain in benchmarks/RESULTS.md.
#pragma once

#include <cstddef>

#include "fem_server/contact_solver/kernels/compliance_product.hpp"
#include "fem_server/contact_solver/kernels/fixed_point_panel.hpp"

namespace heelstrike::fem::plain {

/// C f with sums in the order of the kernels.
inline Vector3 times(const Eigen::Map<const Matrix3>& C, const Vector3& f) {
  return (C.col(0) * f.x() + C.col(1) * f.y()) + C.col(2) * f.z();
}

/// As fem::displacement: the same bits.
inline NodeFields<1> displacement(const SurfaceCompliance& compliance, std::span<const std::uint32_t> rows,
                                  std::span<const std::uint32_t> columns, const NodeFields<1>& forces) {
  NodeFields<1> u = NodeFields<1>::Zero(static_cast<Eigen::Index>(3 * rows.size()));
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const Vector3 f = forces.segment<3>(static_cast<Eigen::Index>(3 * j));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      u.segment<3>(static_cast<Eigen::Index>(3 * i)) += times(compliance.block(rows[i], columns[j]), f);
    }
  }
  return u;
}

/// As fem::displacement of nodes under forces on the same nodes, but reads every block.
template <int n_fields>
NodeFields<n_fields> displacement(const SurfaceCompliance& compliance, std::span<const std::uint32_t> nodes,
                                  const NodeFields<n_fields>& forces) {
  NodeFields<n_fields> u = NodeFields<n_fields>::Zero(static_cast<Eigen::Index>(3 * nodes.size()), n_fields);
  for (std::size_t j = 0; j < nodes.size(); ++j) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      u.template middleRows<3>(static_cast<Eigen::Index>(3 * i)) +=
          compliance.block(nodes[i], nodes[j]) * forces.template middleRows<3>(static_cast<Eigen::Index>(3 * j));
    }
  }
  return u;
}

/// Lower triangle of one of fem::delassus_matrices: the same bits.
inline Eigen::MatrixXd delassus_matrix(const NormalBlocks& blocks) {
  const auto n = static_cast<Eigen::Index>(blocks.nodes.size());
  Eigen::MatrixXd A = Eigen::MatrixXd::Zero(n, n);
  for (std::size_t j = 0; j < blocks.nodes.size(); ++j) {
    for (std::size_t i = j; i < blocks.nodes.size(); ++i) {
      const Vector3 u = times(blocks.compliance->block(blocks.nodes[i], blocks.nodes[j]), blocks.normals[j]);
      const Vector3& n_i = blocks.normals[i];
      A(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          (n_i.x() * u.x() + n_i.y() * u.y()) + n_i.z() * u.z();
    }
  }
  return A;
}

/// One number of a panel, with both halves or with the upper half.
inline float entry(const PanelView& P, std::size_t row, std::size_t column, bool both) {
  const std::size_t at = column * P.rows + panel_place(row);
  return static_cast<float>(P.upper[at]) + (both ? static_cast<float>(P.lower[at]) / panel_fine : 0.0F);
}

/// As panel_product and approximate_panel_product, with sums in another order.
inline void panel_product(const PanelView& P, bool both, const float* f, const float* x, float* y, float* sums) {
  for (std::size_t column = 0; column < 3; ++column) {
    sums[column] = 0.0F;
    for (std::size_t row = 0; row < P.rows; ++row) {
      const float value = entry(P, row, column, both);
      y[row] += value * f[column];
      sums[column] += value * x[row];
    }
  }
}

}  // namespace heelstrike::fem::plain
