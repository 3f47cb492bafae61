/// LAPACK routines of the preparation and the contact solve on column-major Eigen storage.
///
/// All routines run on the calling thread (`use_one_blas_thread`), so that results do not depend on the number of
/// threads.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <vector>

namespace heelstrike::fem {

/// Calls visit(first, width) for panels of 64 nodes, or 192 columns, in ascending order. Triangular solves with this
/// number of right-hand sides reach the speed of matrix products; wider panels only increase the workspace and the
/// latency of a stop request.
template <class Visit>
void for_each_panel(Eigen::Index n_nodes, Visit visit) {
  constexpr Eigen::Index panel_nodes = 64;
  for (Eigen::Index first = 0; first < n_nodes; first += panel_nodes) {
    visit(first, std::min(panel_nodes, n_nodes - first));
  }
}

/// Restricts a threaded BLAS (OpenBLAS) to the calling thread. Called before every preparation; idempotent.
void use_one_blas_thread();

/// [B] of address space that `n_callers` concurrent calls of BLAS map in addition to what the process has reserved.
[[nodiscard]] double unreserved_blas_workspace(std::size_t n_callers);

/// Maps the working memory of `n_callers` concurrent calls of OpenBLAS, which otherwise does so in their first calls
/// and, where the limit of the address space prevents it, tries again without end. Without such a limit nothing is
/// reserved.
/// @throws std::bad_alloc where it does not fit
void reserve_blas_workspace(std::size_t n_callers);

/// Cholesky factor of a symmetric positive definite matrix in its lower triangle; the upper triangle is not accessed.
/// @return false when the matrix is not positive definite; the content is then undefined
[[nodiscard]] bool cholesky_in_place(Eigen::Ref<Eigen::MatrixXd> matrix);

/// rhs := L^-1 rhs for the lower triangle L of `factor`.
void solve_lower(Eigen::Ref<const Eigen::MatrixXd> factor, Eigen::Ref<Eigen::MatrixXd> rhs);

/// rhs := L^-T rhs.
void solve_lower_transposed(Eigen::Ref<const Eigen::MatrixXd> factor, Eigen::Ref<Eigen::MatrixXd> rhs);

/// result := matrix * rhs.
void multiply(Eigen::Ref<const Eigen::MatrixXd> matrix, Eigen::Ref<const Eigen::MatrixXd> rhs,
              Eigen::Ref<Eigen::MatrixXd> result);

/// result := matrix * rhs for a symmetric matrix of which only the lower triangle is read.
void multiply_symmetric(Eigen::Ref<const Eigen::MatrixXd> lower, Eigen::Ref<const Eigen::VectorXd> rhs,
                        Eigen::Ref<Eigen::VectorXd> result);

/// result := matrix^T * rhs.
void multiply_transposed(Eigen::Ref<const Eigen::MatrixXd> matrix, Eigen::Ref<const Eigen::VectorXd> rhs,
                         Eigen::Ref<Eigen::VectorXd> result);

/// result := result - matrix * rhs.
void subtract_product(Eigen::Ref<const Eigen::MatrixXd> matrix, Eigen::Ref<const Eigen::VectorXd> rhs,
                      Eigen::Ref<Eigen::VectorXd> result);

/// rows := rows L^-T for the lower triangle L of `factor`: solve_lower() for vectors that are rows.
void solve_rows_lower(Eigen::Ref<const Eigen::MatrixXd> factor, Eigen::Ref<Eigen::MatrixXd> rows);

/// rows := rows L^-1: solve_lower_transposed() for vectors that are rows.
void solve_rows_lower_transposed(Eigen::Ref<const Eigen::MatrixXd> factor, Eigen::Ref<Eigen::MatrixXd> rows);

/// result := rows * matrix^T.
void multiply_rows(Eigen::Ref<const Eigen::MatrixXd> rows, Eigen::Ref<const Eigen::MatrixXd> matrix,
                   Eigen::Ref<Eigen::MatrixXd> result);

/// result := result - rows * matrix.
void subtract_rows_product(Eigen::Ref<const Eigen::MatrixXd> rows, Eigen::Ref<const Eigen::MatrixXd> matrix,
                           Eigen::Ref<Eigen::MatrixXd> result);

/// Singular value decomposition A = U diag(s) V^T with min(rows, columns) values, descending.
struct SingularValues {
  Eigen::MatrixXd U;
  Eigen::VectorXd s;
  Eigen::MatrixXd Vt;
};
/// LAPACK's, because Eigen 3.4's divide and conquer returns wrong vectors for some triangular factors of low-rank
/// blocks (errors of 5e-2 of blocks of norm 10).
/// @throws Error{internal} when the iteration does not converge
[[nodiscard]] SingularValues singular_values(Eigen::MatrixXd A);

/// As multiply_symmetric, in single precision.
void multiply_symmetric(const Eigen::MatrixXf& lower, const Eigen::VectorXf& rhs, Eigen::VectorXf& result);

/// result := matrix * rhs for a symmetric matrix with both triangles, in single precision.
void multiply_symmetric(const Eigen::MatrixXf& matrix, const Eigen::MatrixXf& rhs, Eigen::MatrixXf& result);

/// result := result - matrix * rhs, in single precision.
void subtract_product(const Eigen::MatrixXf& matrix, const Eigen::MatrixXf& rhs, Eigen::MatrixXf& result);

/// Inverse of a symmetric positive definite matrix stored in its lower triangle; fills both triangles.
/// @return false when the matrix is not positive definite in single precision; the content is then undefined
[[nodiscard]] bool invert_in_place(Eigen::MatrixXf& matrix);

/// @param lower  only the lower triangles of it and of the result are accessed
[[nodiscard]] Eigen::MatrixXf in_single_precision(const Eigen::MatrixXd& lower);

/// Cholesky factorisation in single precision, for preconditioners and initial guesses.
class SingleCholesky {
 public:
  /// @param matrix  lower triangle. @return false when it is not positive definite in this precision
  [[nodiscard]] bool factorize(Eigen::MatrixXf matrix);
  /// rhs := matrix^-1 rhs.
  void solve(Eigen::VectorXf& rhs) const;

 private:
  Eigen::MatrixXf factor_;
};

/// LU factorisation with partial pivoting in single precision: a preconditioner with half the memory traffic and time
/// of double precision. The outer iteration determines the accuracy.
class SingleLu {
 public:
  /// @return false when the matrix is singular
  [[nodiscard]] bool factorize(Eigen::MatrixXf matrix);
  /// rhs := matrix^-1 rhs, to about 1e-7 times the condition number.
  void solve(Eigen::Ref<Eigen::MatrixXf> rhs) const;
  [[nodiscard]] Eigen::Index size() const { return lu_.rows(); }

 private:
  Eigen::MatrixXf lu_;
  std::vector<int> pivots_;
};

}  // namespace heelstrike::fem
