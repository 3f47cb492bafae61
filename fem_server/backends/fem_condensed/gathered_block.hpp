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

#include "fem_server/backends/fem_condensed/near_nodes.hpp"

namespace heelstrike::fem {

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

class GatheredBlock {
 public:
  /// @param positions  in near.nodes, ascending
  GatheredBlock(const SurfaceCompliance& compliance, const NearNodes& near, std::vector<std::uint32_t> positions);

  [[nodiscard]] const std::vector<std::uint32_t>& positions() const { return positions_; }
  [[nodiscard]] std::size_t n_nodes() const { return positions_.size(); }
  /// [m/N] 3 n square, in A's axes.
  [[nodiscard]] const Eigen::MatrixXd& matrix() const { return *matrix_; }
  /// In a matrix of their own when they are much fewer than the block's nodes.
  /// @param members  indices into positions(), ascending
  [[nodiscard]] BlockPart part(std::vector<std::uint32_t> members) const;

 private:
  std::vector<std::uint32_t> positions_;
  std::shared_ptr<const Eigen::MatrixXd> matrix_;
};

}  // namespace heelstrike::fem
