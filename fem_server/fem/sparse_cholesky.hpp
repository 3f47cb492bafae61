/// Sparse Cholesky factorisation with blocked dense kernels (CHOLMOD, supernodal).
///
/// Licence: CHOLMOD's supernodal module is GPL-2.0-or-later. The sources of this project are Apache-2.0; a fem_server
/// binary linked with it is distributed under the GPL, version 3. docs/theory/contact_fem.md compares it with MUMPS.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/memory_need.hpp"

namespace heelstrike::fem {

/// Elimination order of the degrees of freedom and the predicted cost. Depends on the graph of the nodes and an order
/// of them, not on the values of K.
class Elimination {
 public:
  /// Chooses an order for eliminating `inner` (nested dissection on the nodes) and appends `last` in the given order.
  /// `inner` and `last` are disjoint dof numbers; all others are fixed at zero.
  /// @throws std::bad_alloc
  Elimination(const NodeGraph& graph, std::span<const std::int64_t> inner, std::span<const std::int64_t> last);

  /// Assumes that all dofs of a node are eliminated (false only for isostatic supports) and ignores the explicit zeros
  /// of supernodes: a quarter smaller than the actual factor.
  [[nodiscard]] const FactorSize& size() const { return size_; }
  /// Dof at each position.
  [[nodiscard]] std::span<const std::int64_t> dofs() const { return dof_at_; }

 private:
  friend class SparseCholesky;
  std::vector<std::int64_t> dof_at_;  ///< dof at each position of the order
  std::size_t n_dofs_ = 0;            ///< including the fixed ones
  std::size_t n_last_ = 0;
  FactorSize size_;
};

/// Factor of K restricted to some of its degrees of freedom. Throws std::bad_alloc when memory is exhausted; see
/// within_memory.
class SparseCholesky {
 public:
  /// @pre pattern of K symmetric, three dofs per node, and that of the graph of `order`
  SparseCholesky(const SparseMatrix& K, Elimination order);
  /// Constructs the Elimination internally.
  SparseCholesky(const SparseMatrix& K, std::span<const std::int64_t> inner, std::span<const std::int64_t> last);
  ~SparseCholesky();
  SparseCholesky(SparseCholesky&&) noexcept;
  SparseCholesky& operator=(SparseCholesky&&) noexcept;

  /// Numerical factorisation; K has the pattern passed at construction. May be repeated with other values.
  /// @return false when the restricted matrix is not positive definite
  [[nodiscard]] bool factorize(const SparseMatrix& K);

  /// Solves for all dofs of K; fixed ones are zero. @param rhs  n_dofs x n, entries of fixed dofs are ignored
  [[nodiscard]] Eigen::MatrixXd solve(const Eigen::MatrixXd& rhs) const;

  /// Lower Cholesky factor of the Schur complement on `last`: K_bb - K_ba K_aa^-1 K_ab = L L^T. Upper triangle zero.
  [[nodiscard]] Eigen::MatrixXd last_block() const;

  /// Exact size, available before the first numerical factorisation.
  [[nodiscard]] FactorSize size() const;
  /// Number of entries of the factor and floating-point operations of the factorisation.
  [[nodiscard]] double n_entries() const;
  [[nodiscard]] double n_operations() const;

 private:
  friend class InverseColumns;
  struct Implementation;
  std::unique_ptr<Implementation> self_;
};

/// Columns of the inverse of a factored matrix at some of its rows, without the rest of the columns: the forward
/// substitution visits the ancestors of the columns in the elimination tree only, the back substitution those of the
/// rows. Thread-safe; the bits do not depend on the calls before or beside.
class InverseColumns {
 public:
  /// @param factor  factored; must outlive this object
  /// @param dofs    dofs of rows and columns, none of them fixed; neighbours in this order should be close in the body
  InverseColumns(const SparseCholesky& factor, std::vector<std::int64_t> dofs);

  /// Rows `first` to the last of columns `first` to `first + n` of the inverse, in the order of `dofs`.
  [[nodiscard]] Eigen::MatrixXd lower_columns(Eigen::Index first, Eigen::Index n) const;

 private:
  const SparseCholesky::Implementation& factor_;
  std::vector<std::int64_t> positions_;     ///< in the elimination order
  std::vector<std::int32_t> supernode_of_;  ///< of each position of the elimination order
  std::vector<std::int32_t> parent_;        ///< of each supernode; -1 = root
};

}  // namespace heelstrike::fem
