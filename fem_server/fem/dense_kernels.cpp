#include "fem_server/fem/dense_kernels.hpp"

extern "C" {
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dtrsm_(const char* side, const char* uplo, const char* transposed, const char* diagonal, const int* m,
            const int* n, const double* alpha, const double* a, const int* lda, double* b, const int* ldb);
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);
void dgetrs_(const char* transposed, const int* n, const int* n_rhs, const double* a, const int* lda, const int* pivots,
             double* b, const int* ldb, int* info);
void openblas_set_num_threads(int n_threads) __attribute__((weak));
}

namespace heelstrike::fem {

namespace {

int as_int(Eigen::Index n) {
  return static_cast<int>(n);
}

void triangular_solve(const char* transposed, Eigen::Ref<const Eigen::MatrixXd> factor,
                      Eigen::Ref<Eigen::MatrixXd> rhs) {
  const int n = as_int(rhs.rows());
  const int n_rhs = as_int(rhs.cols());
  if (n == 0 || n_rhs == 0) return;
  const int lda = as_int(factor.outerStride());
  const int ldb = as_int(rhs.outerStride());
  const double one = 1.0;
  dtrsm_("L", "L", transposed, "N", &n, &n_rhs, &one, factor.data(), &lda, rhs.data(), &ldb);
}

}  // namespace

void use_one_blas_thread() {
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
}

bool cholesky_in_place(Eigen::Ref<Eigen::MatrixXd> matrix) {
  const int n = as_int(matrix.rows());
  if (n == 0) return true;
  const int lda = as_int(matrix.outerStride());
  int info = 0;
  dpotrf_("L", &n, matrix.data(), &lda, &info);
  return info == 0;
}

void solve_lower(Eigen::Ref<const Eigen::MatrixXd> factor, Eigen::Ref<Eigen::MatrixXd> rhs) {
  triangular_solve("N", factor, rhs);
}

void solve_lower_transposed(Eigen::Ref<const Eigen::MatrixXd> factor, Eigen::Ref<Eigen::MatrixXd> rhs) {
  triangular_solve("T", factor, rhs);
}

bool DenseLu::factorize(Eigen::MatrixXd matrix) {
  lu_ = std::move(matrix);
  const int n = as_int(lu_.rows());
  pivots_.resize(static_cast<std::size_t>(n));
  if (n == 0) return true;
  int info = 0;
  dgetrf_(&n, &n, lu_.data(), &n, pivots_.data(), &info);
  return info == 0;
}

void DenseLu::solve(Eigen::Ref<Eigen::MatrixXd> rhs) const {
  const int n = as_int(lu_.rows());
  const int n_rhs = as_int(rhs.cols());
  if (n == 0 || n_rhs == 0) return;
  const int ldb = as_int(rhs.outerStride());
  int info = 0;
  dgetrs_("N", &n, &n_rhs, lu_.data(), &n, pivots_.data(), rhs.data(), &ldb, &info);
}

}  // namespace heelstrike::fem
