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

namespace heelstrike::fem {

/// Factor of K restricted to some of its degrees of freedom.
class SparseCholesky {
 public:
  /// Chooses an order for eliminating `inner` (nested dissection on the nodes) and appends `last` in the given order.
  /// `inner` and `last` are disjoint dof numbers of K; all others are taken as fixed at zero.
  /// @pre pattern of K symmetric, three dofs per node
  SparseCholesky(const SparseMatrix& K, std::span<const std::int64_t> inner, std::span<const std::int64_t> last);
  ~SparseCholesky();
  SparseCholesky(SparseCholesky&&) noexcept;
  SparseCholesky& operator=(SparseCholesky&&) noexcept;

  /// Numerical factorisation; K has the pattern given at construction. May be repeated with other values.
  /// @return false when the restricted matrix is not positive definite
  [[nodiscard]] bool factorize(const SparseMatrix& K);

  /// Solves for all dofs of K; fixed ones are zero. @param rhs  n_dofs x n, entries of fixed dofs are ignored
  [[nodiscard]] Eigen::MatrixXd solve(const Eigen::MatrixXd& rhs) const;

  /// Lower Cholesky factor of the Schur complement on `last`: K_bb - K_ba K_aa^-1 K_ab = L L^T. Upper triangle zero.
  [[nodiscard]] Eigen::MatrixXd last_block() const;

  /// Entries of the factor, and floating-point operations of the factorisation.
  [[nodiscard]] double n_entries() const;
  [[nodiscard]] double n_operations() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> self_;
};

}  // namespace heelstrike::fem
