/// The blocks of the surface compliance among some nodes, copied into one dense matrix, and the nodes that a contact
/// solve looks at.
///
/// The copy is what makes an evaluation fast: the rest of the matrix, hundreds of megabytes, is touched once for each
/// active block; everything after works on a matrix that fits the cache.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

/// Nodes that may touch, ascending, with gap [m] and normal of the undeformed body at each.
struct NearNodes {
  std::vector<std::uint32_t> nodes;  ///< candidate numbers
  std::vector<double> gaps;
  std::vector<Vector3> normals;
  /// [N] forces of the last commit, zero where there was none, and
  std::vector<Vector3> force_before;
  /// [m] the displacements they cause; meaningful where `known`.
  std::vector<Vector3> u_before;
  std::vector<bool> known;
  /// [N/m^2] Courant-Beltrami penalty of each node, force = penalty * penetration^2; empty = no penetration at all.
  std::vector<double> penalty{};
  /// The compliance is not that of the last commit: displacements of then bound nothing.
  bool compliance_changed = false;
  /// Blocks that the committed state keeps, and their nodes as positions in this list; null = none.
  std::shared_ptr<const Eigen::MatrixXd> kept_block{};
  std::vector<std::uint32_t> kept{};
};

/// Some nodes of a matrix of blocks.
struct BlockPart {
  std::shared_ptr<const Eigen::MatrixXd> matrix;  ///< [m/N] 3 n square
  std::vector<std::uint32_t> members;             ///< ascending, in [0, n)

  [[nodiscard]] std::size_t n_members() const { return members.size(); }
  /// Displacements of the members under forces on them, 3 rows each. Columns of zeros cost nothing.
  [[nodiscard]] Eigen::MatrixXd times(const Eigen::MatrixXd& forces) const;
  [[nodiscard]] Matrix3 block(std::size_t a, std::size_t b) const {
    return matrix->block<3, 3>(3 * Eigen::Index{members[a]}, 3 * Eigen::Index{members[b]});
  }
};
/// All of a matrix.
[[nodiscard]] BlockPart whole(Eigen::MatrixXd matrix);

/// The blocks among some candidates, 3 n square, in A's axes.
[[nodiscard]] Eigen::MatrixXd gathered(const SurfaceCompliance& compliance, std::span<const std::uint32_t> candidates);

class GatheredBlock {
 public:
  /// @param positions  in near.nodes, ascending
  GatheredBlock(const SurfaceCompliance& compliance, const NearNodes& near, std::vector<std::uint32_t> positions);
  /// Of a first working set: the kept block when that has all of it, and then with the nodes that only it has.
  [[nodiscard]] static GatheredBlock first(const SurfaceCompliance& compliance, const NearNodes& near,
                                           std::vector<std::uint32_t> positions);

  [[nodiscard]] const std::vector<std::uint32_t>& positions() const { return positions_; }
  [[nodiscard]] std::size_t n_nodes() const { return positions_.size(); }
  /// [m/N] 3 n square, in A's axes.
  [[nodiscard]] const Eigen::MatrixXd& matrix() const { return *matrix_; }
  /// In a matrix of their own when they are much fewer than the block's nodes.
  /// @param members  indices into positions(), ascending
  [[nodiscard]] BlockPart part(std::vector<std::uint32_t> members) const;

 private:
  GatheredBlock(std::vector<std::uint32_t> positions, std::shared_ptr<const Eigen::MatrixXd> matrix)
      : positions_(std::move(positions)), matrix_(std::move(matrix)) {}

  std::vector<std::uint32_t> positions_;
  std::shared_ptr<const Eigen::MatrixXd> matrix_;
};

/// Positions in `near`, outside the block, that penetrate by more than `allowed` [m] under forces on the block's nodes.
///
/// Most are settled without their rows of the compliance: C is positive semidefinite, so a change of the forces by df
/// moves node i along n by at most sqrt(n . C_ii n) sqrt(df . C df), and df . C df is known from the block alone when
/// it holds all nodes that carry forces before and after.
/// @param forces  [N] 3 per node of the block
/// @param u       [m] displacements of the block under them
/// @param deepest [m] out: largest penetration found, >= 0
[[nodiscard]] std::vector<std::uint32_t> penetrating_outside(const SurfaceCompliance& compliance, const NearNodes& near,
                                                             const GatheredBlock& block, const Eigen::VectorXd& forces,
                                                             const Eigen::VectorXd& u, double allowed, double& deepest);

}  // namespace heelstrike::fem
