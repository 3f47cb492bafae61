/// Static condensation of a linear elastic body to its candidate contact nodes.
///
/// The result is the surface compliance C: displacements of the candidates due to unit forces on candidates,
///
///     clamped          C = S^T K^-1 S = (K_bb - K_ba K_aa^-1 K_ab)^-1 = K*^-1
///     inertia relief   C = S^T P^T K^+ P S,   P = I - M R (R^T M R)^-1 R^T
///
/// with S the selection of candidate dofs, a the interior ones, R the rigid motions. P balances a load by the inertia
/// of the body; P^T removes the mean rigid motion from the displacement, so that frame A is the mean (Tisserand) frame
/// of the body. Derivation: docs/theory/contact_fem.md. For preparation only; not thread-safe.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/hierarchical_matrix.hpp"
#include "fem_server/fem/memory_need.hpp"

namespace heelstrike::fem {

/// Support of the body.
struct Support {
  bool inertia_relief = false;
  std::vector<std::uint32_t> clamped_nodes;  ///< ascending; empty with inertia relief
};

/// @throws Error{invalid_input}  neither clamp nor inertia relief (names the six free motions), or both
void check_support(const Support& support);

/// Mask of the dofs of the given nodes.
[[nodiscard]] std::vector<bool> clamped_dofs(const BodyModel& body, std::span<const std::uint32_t> nodes);

/// Symmetric compliance of n candidate nodes: dense, as 3x3 blocks of which those of one column of nodes are
/// contiguous, or compressed.
class SurfaceCompliance {
 public:
  SurfaceCompliance() = default;
  explicit SurfaceCompliance(std::shared_ptr<const HierarchicalMatrix> compressed);
  /// @param blocks  9 n^2 values; block (i, j) starts at 9 (j n + i), column-major inside
  SurfaceCompliance(std::size_t n_nodes, std::vector<double> blocks);

  [[nodiscard]] std::size_t n_nodes() const { return n_nodes_; }
  /// Null = dense. Of a compressed one, block(), column(), data() and dense() are not available.
  [[nodiscard]] const HierarchicalMatrix* compressed() const { return compressed_.get(); }
  /// [m/N] displacement of node i due to a force on node j; block(j, i) is its transpose, bit for bit.
  [[nodiscard]] Eigen::Map<const Matrix3> block(std::size_t i, std::size_t j) const {
    return Eigen::Map<const Matrix3>(data_.data() + 9 * (j * n_nodes_ + i));
  }
  /// Blocks of column node j.
  [[nodiscard]] const double* column(std::size_t j) const { return data_.data() + 9 * j * n_nodes_; }
  /// @throws Error{internal} for a compressed one, as dense()
  [[nodiscard]] const std::vector<double>& data() const;
  /// block(i, i), from a contiguous copy.
  [[nodiscard]] const Matrix3& self(std::size_t i) const { return self_[i]; }
  /// The full 3 n x 3 n matrix; for tests and small bodies.
  [[nodiscard]] Eigen::MatrixXd dense() const;

 private:
  std::size_t n_nodes_ = 0;
  std::vector<double> data_;
  std::shared_ptr<const HierarchicalMatrix> compressed_;
  std::vector<Matrix3> self_;
};

using Progress = std::function<void(std::string_view stage, double fraction)>;

/// @param candidates  ascending node numbers
/// @throws Error{invalid_input} neither clamp nor inertia relief (names the six free motions), or both; a candidate on
///         the clamp; a clamp that leaves a rigid motion free; zero mass with inertia relief
/// @throws Error{cancelled}      `stop` was requested; checked between stages and between blocks of columns
/// @throws Error{limit} the peak memory would exceed the limit or the available address space; checked before any large
///         allocation, and again with exact sizes before the factorisation
[[nodiscard]] SurfaceCompliance condense(const BodyModel& body, const Support& support,
                                         std::span<const std::uint32_t> candidates, const Progress& progress,
                                         const std::stop_token& stop, const MemoryLimit& limit = {});

/// As condense, without ever forming the dense matrix: block columns are compressed as they are computed.
/// @param tolerance  [-] relative error of the contact force, in the sense of docs/theory/compression.md: |x . E x| <=
///                   tolerance x . C x for all loads x
[[nodiscard]] SurfaceCompliance condense_compressed(const BodyModel& body, const Support& support,
                                                    std::span<const std::uint32_t> candidates, double tolerance,
                                                    const Progress& progress, const std::stop_token& stop,
                                                    const MemoryLimit& limit = {});

/// K* = K_bb - K_ba K_aa^-1 K_ab [N/m] on the candidate dofs; without clamped nodes its null space is the six rigid
/// modes.
/// @throws Error{cancelled}  `stop` was requested; checked between stages and between blocks of columns
/// @throws Error{limit}      as condense
[[nodiscard]] Eigen::MatrixXd condensed_stiffness(
    const BodyModel& body, std::span<const std::uint32_t> clamped_nodes, std::span<const std::uint32_t> candidates,
    const Progress& progress = [](std::string_view, double) {}, const std::stop_token& stop = {},
    const MemoryLimit& limit = {});

}  // namespace heelstrike::fem
