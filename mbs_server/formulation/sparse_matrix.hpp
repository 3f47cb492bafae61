/// Assembly and factorisation of sparse matrices of fixed pattern.
///
/// Sparse LU factorisation by KLU [davis2010] in docs/references.bib: column ordering once, partial pivoting every
/// time.
#pragma once

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace heelstrike::mbs {

using SparseMatrix = Eigen::SparseMatrix<double, Eigen::ColMajor, int>;

/// Assembles contributions in a fixed order. The first pass records the position of every contribution; later passes
/// write to these positions without search or allocation.
class SparseAssembler {
 public:
  SparseAssembler() = default;
  SparseAssembler(int rows, int cols) : matrix_(rows, cols) {}

  /// Restricts the columns that are read after the next pass; where reads() is false, zeros may be added. Empty = all.
  void read_columns(std::vector<bool> columns) { read_ = std::move(columns); }
  [[nodiscard]] bool reads(const std::vector<int>& columns) const {
    return read_.empty() ||
           std::ranges::any_of(columns, [&](int column) { return read_[static_cast<std::size_t>(column)]; });
  }

  void begin() {
    next_ = 0;
    if (recorded_) std::fill_n(matrix_.valuePtr(), matrix_.nonZeros(), 0.0);
  }

  void add(int row, int col, double value) {
    if (recorded_) {
      matrix_.valuePtr()[slots_[next_++]] += value;
    } else {
      triplets_.emplace_back(row, col, value);
    }
  }

  template <typename Derived>
  void add_block(int row, int col, const Eigen::MatrixBase<Derived>& block) {
    for (Eigen::Index j = 0; j < block.cols(); ++j) {
      for (Eigen::Index i = 0; i < block.rows(); ++i)
        add(row + static_cast<int>(i), col + static_cast<int>(j), block(i, j));
    }
  }

  /// The contributions of add_dense() as zeros, where reads() is false.
  void add_zeros(const std::vector<int>& indices) {
    for (const int row : indices) {
      for (const int col : indices) add(row, col, 0.0);
    }
  }

  /// A block whose row k and column k belong to index `indices[k]`.
  void add_dense(const std::vector<int>& indices, const Eigen::MatrixXd& block) {
    for (std::size_t k = 0; k < indices.size(); ++k) {
      for (std::size_t l = 0; l < indices.size(); ++l) {
        add(indices[k], indices[l], block(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(l)));
      }
    }
  }

  void end() {
    if (recorded_) {
      if (next_ != slots_.size()) throw std::logic_error("sparse assembly: contributions changed between passes");
      return;
    }
    matrix_.setFromTriplets(triplets_.begin(), triplets_.end());
    matrix_.makeCompressed();
    slots_.reserve(triplets_.size());
    for (const auto& t : triplets_) slots_.push_back(slot(t.row(), t.col()));
    triplets_.clear();
    triplets_.shrink_to_fit();
    recorded_ = true;
  }

  [[nodiscard]] const SparseMatrix& matrix() const { return matrix_; }

 private:
  [[nodiscard]] std::size_t slot(int row, int col) const {
    const int* begin = matrix_.innerIndexPtr() + matrix_.outerIndexPtr()[col];
    const int* end = matrix_.innerIndexPtr() + matrix_.outerIndexPtr()[col + 1];
    return static_cast<std::size_t>(std::lower_bound(begin, end, row) - matrix_.innerIndexPtr());
  }

  SparseMatrix matrix_;
  std::vector<bool> read_;
  std::vector<Eigen::Triplet<double>> triplets_;
  std::vector<std::size_t> slots_;
  std::size_t next_ = 0;
  bool recorded_ = false;
};

class SparseLu {
 public:
  SparseLu();
  ~SparseLu();
  SparseLu(const SparseLu&) = delete;
  SparseLu& operator=(const SparseLu&) = delete;
  SparseLu(SparseLu&&) noexcept;
  SparseLu& operator=(SparseLu&&) noexcept;

  /// Factors `A` (square, compressed). All matrices must have the pattern of the first call.
  /// @returns false when A is numerically singular or has an entry that is not finite
  [[nodiscard]] bool factor(const SparseMatrix& A);

  /// Discards the pivots, so that the next factorisation is independent of earlier ones. Called at restarts: a resumed
  /// run is then bitwise equal to the uninterrupted run.
  void reset_factorisation();

  /// Solves A x = b in place. @pre factor() returned true
  void solve(Eigen::Ref<Eigen::VectorXd> b) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace heelstrike::mbs
