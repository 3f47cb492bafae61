/// Symmetric hierarchical matrix (H-matrix) of a surface compliance: blocks of clusters that are far apart are stored
/// by their leading singular vectors, the others in full, all numbers with as many bytes as the tolerance needs. Method
/// and error bound: docs/theory/compression.md.
///
/// Literature: Hackbusch, Hierarchical Matrices: Algorithms and Analysis (2015); precision by the singular value of a
/// term: Amestoy et al., Mixed precision low-rank approximations and their application to block low-rank LU
/// factorization, IMA J. Numer. Anal. 43 (2023).
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "fem_server/fem/cluster_tree.hpp"

namespace heelstrike::fem {

/// A = U V^T with orthonormal columns of U and orthogonal ones of V.
struct LowRankFactors {
  Eigen::MatrixXd U, V;
};

/// Approximation of least rank with |A - U V^T|_F <= tolerance, by orthogonalisation with column pivoting, which ends
/// when the remainder is small enough, and a singular value decomposition.
[[nodiscard]] LowRankFactors truncated(Eigen::MatrixXd A, double tolerance);

/// Columns of numbers in fixed point, each with its own scale and number of bytes.
class PackedColumns {
 public:
  /// Appends a column with an error of at most `error` in its norm.
  void append(const Eigen::Ref<const Eigen::VectorXd>& column, double error);
  /// Appends the columns of a matrix with one scale and number of bytes, so that a symmetric matrix stays symmetric.
  /// @param error  of the Frobenius norm
  void append_matrix(const Eigen::MatrixXd& matrix, double error);
  [[nodiscard]] std::size_t size() const { return columns_.size(); }

  /// Entry `row` of a column.
  [[nodiscard]] double value(std::size_t column, std::size_t row) const;
  /// Entries 3 i, 3 i + 1 and 3 i + 2 of a column, for each i of `rows`.
  void read(std::size_t column, std::span<const std::uint32_t> rows, double* values) const;

  /// True if these columns exist and have at least `n_rows` numbers each.
  [[nodiscard]] bool has(std::uint64_t first, std::uint64_t n, std::uint64_t n_rows) const;

  [[nodiscard]] std::size_t n_bytes() const { return bytes_.size() + sizeof(Column) * columns_.size(); }
  /// Visits the arrays that a file stores.
  template <class Visit, class Self>
  static void for_each_array(Self& self, Visit visit) {
    visit(self.columns_);
    visit(self.bytes_);
  }

 private:
  struct Column {
    std::uint64_t start = 0;  ///< in bytes_
    double scale = 0.0;       ///< of one unit
    std::uint64_t width = 0;  ///< bytes of a number, 1 to 6
  };
  void append_column(const Eigen::Ref<const Eigen::VectorXd>& column, double scale, std::uint64_t width);

  std::vector<Column> columns_;
  std::vector<std::uint8_t> bytes_;
};

/// Three rows and columns per point, in blocks of 3 x 3. Thread-safe.
class HierarchicalMatrix {
 public:
  class Builder;

  [[nodiscard]] std::size_t n_points() const { return tree_.order.size(); }
  /// Block (i, i).
  [[nodiscard]] const Matrix3& self(std::size_t i) const { return self_[i]; }
  /// Blocks among some points, as SurfaceCompliance stores them. @param points  ascending
  [[nodiscard]] std::vector<double> blocks(std::span<const std::uint32_t> points) const;
  /// Rows `rows` of the product with a vector that is zero except at `columns`; both ascending.
  /// @param x  three values per column
  [[nodiscard]] Eigen::VectorXd product(std::span<const std::uint32_t> rows, std::span<const std::uint32_t> columns,
                                        const Eigen::VectorXd& x) const;

  /// [B] of the stored numbers.
  [[nodiscard]] std::size_t n_bytes() const;
  [[nodiscard]] std::size_t n_full_blocks() const { return full_.size(); }
  [[nodiscard]] std::size_t n_low_rank_blocks() const { return low_rank_.size(); }
  [[nodiscard]] double mean_rank() const;

  /// All data, for a file that is read on machines of the same byte order.
  [[nodiscard]] std::string bytes() const;
  /// @throws Error{internal} when the bytes are not those of such a matrix
  [[nodiscard]] static HierarchicalMatrix from_bytes(std::string_view bytes);

 private:
  /// Pair of clusters, rows below columns in the order of the tree.
  struct BlockPlace {
    std::uint32_t row = 0;
    std::uint32_t column = 0;
  };
  struct FullBlock : BlockPlace {
    std::uint64_t first = 0;  ///< of its columns in packed_
  };
  struct LowRankBlock : BlockPlace {
    std::uint64_t first = 0;  ///< of the columns of U in packed_; those of V follow
    std::uint64_t rank = 0;
  };
  /// Points in the order of the tree, with their indices in the list of the caller.
  struct Selection;

  HierarchicalMatrix() = default;
  [[nodiscard]] Eigen::MatrixXd values(std::uint64_t first, std::uint64_t n, std::span<const std::uint32_t> rows) const;
  [[nodiscard]] Eigen::MatrixXd full_values(const FullBlock& block, std::span<const std::uint32_t> rows,
                                            std::span<const std::uint32_t> columns) const;
  /// False if a file has numbers out of range.
  [[nodiscard]] bool is_consistent() const;
  void set_self();

  ClusterTree tree_;
  std::vector<FullBlock> full_;
  std::vector<LowRankBlock> low_rank_;
  PackedColumns packed_;
  std::vector<Matrix3> self_;
};

/// Takes block columns of the matrix in any order, on several threads, and compresses them as they come.
class HierarchicalMatrix::Builder {
 public:
  /// @param weights    of the points, > 0: an error e of a block counts as |W_row^-1 e W_column^-1|, W = sqrt(weight)
  /// @param tolerance  [-] bound of the spectral norm of the weighted error of the whole matrix
  Builder(ClusterTree tree, std::span<const double> weights, double tolerance);
  ~Builder();

  /// @param leaf  index in `leaves` of the tree; each is added once. Concurrent calls for different leaves are allowed
  /// @param columns  of the leaf, for rows from the leaf to the last point in the order of the tree
  void add(std::size_t leaf, const Eigen::MatrixXd& columns);
  /// @pre all leaves have been added; may be called once
  [[nodiscard]] HierarchicalMatrix finish();

 private:
  struct Pending;
  void find_blocks(std::uint32_t row, std::uint32_t column);
  /// @return the largest number of blocks with rows or columns in one leaf, at least 1
  [[nodiscard]] std::size_t assign_blocks_to_leaves();
  /// Of the Frobenius norm of a block.
  [[nodiscard]] double allowed_error(const BlockPlace& block) const;

  HierarchicalMatrix matrix_;
  std::vector<double> weights_;  ///< smallest of each cluster
  double block_tolerance_ = 0.0;
  std::vector<std::vector<std::uint32_t>> full_of_leaf_;  ///< numbers of blocks with columns of each leaf
  std::vector<std::vector<std::uint32_t>> low_rank_of_leaf_;
  std::vector<Eigen::MatrixXd> full_values_;
  std::vector<Pending> pending_;  ///< low-rank blocks whose columns have not all arrived
};

}  // namespace heelstrike::fem
