/// Products with selected blocks of the surface compliance: the inner loops of the contact evaluation.
///
/// Sums run over the loaded nodes in ascending order, whatever the vector unit, so the bits do not depend on the
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

/// Displacements [m] of `rows` under forces [N] on `columns`; both ascending.
template <int n_fields>
[[nodiscard]] NodeFields<n_fields> displacement(const SurfaceCompliance& compliance,
                                                std::span<const std::uint32_t> rows,
                                                std::span<const std::uint32_t> columns,
                                                const NodeFields<n_fields>& forces);

/// Displacements [m] of nodes under forces [N] on the same nodes, ascending; reads half of their blocks.
template <int n_fields>
[[nodiscard]] NodeFields<n_fields> displacement(const SurfaceCompliance& compliance,
                                                std::span<const std::uint32_t> nodes,
                                                const NodeFields<n_fields>& forces);

template <>
[[nodiscard]] NodeFields<1> displacement<1>(const SurfaceCompliance&, std::span<const std::uint32_t>,
                                            std::span<const std::uint32_t>, const NodeFields<1>&);
template <>
[[nodiscard]] NodeFields<1> displacement<1>(const SurfaceCompliance&, std::span<const std::uint32_t>,
                                            const NodeFields<1>&);

/// Displacements [m] of `rows` along their normals under forces [N] on `columns`.
[[nodiscard]] std::vector<double> normal_displacement(const SurfaceCompliance& compliance,
                                                      std::span<const std::uint32_t> rows,
                                                      std::span<const Vector3> normals,
                                                      std::span<const std::uint32_t> columns,
                                                      const Eigen::VectorXd& forces);

/// matrix(i, j) = n_i . C_ij n_j for i >= j over the listed nodes; the upper triangle is left alone.
/// @param normals  3 per node, in the order of `nodes`
void normal_compliance(const SurfaceCompliance& compliance, std::span<const std::uint32_t> nodes,
                       std::span<const Vector3> normals, Eigen::Ref<Eigen::MatrixXd> matrix);

}  // namespace heelstrike::fem
