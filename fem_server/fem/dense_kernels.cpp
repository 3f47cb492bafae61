#include "fem_server/fem/dense_kernels.hpp"

#include <sys/resource.h>

#include <Eigen/Core>
#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"

// Names of BLAS and LAPACK.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dtrsm_(const char* side, const char* uplo, const char* transposed, const char* diagonal, const int* m,
            const int* n, const double* alpha, const double* a, const int* lda, double* b, const int* ldb);
void dgemm_(const char* transposed_a, const char* transposed_b, const int* m, const int* n, const int* k,
            const double* alpha, const double* a, const int* lda, const double* b, const int* ldb, const double* beta,
            double* c, const int* ldc);
void dgemv_(const char* transposed, const int* m, const int* n, const double* alpha, const double* a, const int* lda,
            const double* x, const int* incx, const double* beta, double* y, const int* incy);
void dsymv_(const char* uplo, const int* n, const double* alpha, const double* a, const int* lda, const double* x,
            const int* incx, const double* beta, double* y, const int* incy);
void ssymv_(const char* uplo, const int* n, const float* alpha, const float* a, const int* lda, const float* x,
            const int* incx, const float* beta, float* y, const int* incy);
void sgemm_(const char* transposed_a, const char* transposed_b, const int* m, const int* n, const int* k,
            const float* alpha, const float* a, const int* lda, const float* b, const int* ldb, const float* beta,
            float* c, const int* ldc);
void sgemv_(const char* transposed, const int* m, const int* n, const float* alpha, const float* a, const int* lda,
            const float* x, const int* incx, const float* beta, float* y, const int* incy);
void spotri_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void sgetrf_(const int* m, const int* n, float* a, const int* lda, int* pivots, int* info);
void sgetrs_(const char* transposed, const int* n, const int* n_rhs, const float* a, const int* lda, const int* pivots,
             float* b, const int* ldb, int* info);
void dgesvd_(const char* job_u, const char* job_vt, const int* m, const int* n, double* a, const int* lda, double* s,
             double* u, const int* ldu, double* vt, const int* ldvt, double* work, const int* n_work, int* info);
void strsv_(const char* uplo, const char* transposed, const char* diagonal, const int* n, const float* a,
            const int* lda, float* x, const int* incx);
void openblas_set_num_threads(int n_threads) __attribute__((weak));
void* blas_memory_alloc(int position) __attribute__((weak));
void blas_memory_free(void* memory) __attribute__((weak));
}
// NOLINTEND(readability-identifier-naming)

namespace heelstrike::fem {

namespace {

/// [B] of one call: the 128 MiB of OpenBLAS and their alignment.
constexpr std::size_t blas_workspace = 129UL * 1024UL * 1024UL;

/// Concurrent calls whose memory is mapped; OpenBLAS never unmaps it.
std::size_t n_reserved = 0;
std::mutex reservation;

int as_int(Eigen::Index n) {
  return static_cast<int>(n);
}

/// vectors := op(L)^-1 vectors from the left, vectors op(L)^-1 from the right.
void triangular_solve(const char* side, const char* transposed, Eigen::Ref<const Eigen::MatrixXd> factor,
                      Eigen::Ref<Eigen::MatrixXd> vectors) {
  const int m = as_int(vectors.rows());
  const int n = as_int(vectors.cols());
  if (m == 0 || n == 0) return;
  // The argument may be a block of a larger matrix, whose stride applies.
  const int lda = as_int(factor.outerStride());
  const int ldb = as_int(vectors.outerStride());
  const double one = 1.0;
  dtrsm_(side, "L", transposed, "N", &m, &n, &one, factor.data(), &lda, vectors.data(), &ldb);
}

}  // namespace

/// Weak symbol: only OpenBLAS provides the function; the reference BLAS has no threads.
void use_one_blas_thread() {
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
}

double unreserved_blas_workspace(std::size_t n_callers) {
  if (blas_memory_alloc == nullptr) return 0.0;
  const std::lock_guard lock(reservation);
  return static_cast<double>(blas_workspace * (std::max(n_callers, n_reserved) - n_reserved));
}

void reserve_blas_workspace(std::size_t n_callers) {
  if (blas_memory_alloc == nullptr || blas_memory_free == nullptr) return;
  rlimit space{};
  if (::getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return;
  const std::lock_guard lock(reservation);
  if (n_callers <= n_reserved) return;
  const std::size_t more = blas_workspace * (n_callers - n_reserved);
  ::operator delete(::operator new(more));  // throws where OpenBLAS would not return
  std::vector<void*> parts(n_callers);
  for (void*& part : parts) part = blas_memory_alloc(0);
  for (void* part : parts) blas_memory_free(part);
  n_reserved = n_callers;
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
  triangular_solve("L", "N", factor, rhs);
}

void solve_lower_transposed(Eigen::Ref<const Eigen::MatrixXd> factor, Eigen::Ref<Eigen::MatrixXd> rhs) {
  triangular_solve("L", "T", factor, rhs);
}

void multiply(Eigen::Ref<const Eigen::MatrixXd> matrix, Eigen::Ref<const Eigen::MatrixXd> rhs,
              Eigen::Ref<Eigen::MatrixXd> result) {
  const int m = as_int(matrix.rows());
  const int n = as_int(rhs.cols());
  const int k = as_int(matrix.cols());
  if (m == 0 || n == 0) return;
  // BLAS does not write the result of an empty sum, which must be zero.
  if (k == 0) {
    result.setZero();
    return;
  }
  const int lda = as_int(matrix.outerStride());
  const double one = 1.0;
  const double zero = 0.0;
  const int step = 1;
  if (n == 1) {
    // One column is limited by memory traffic, and dgemm would pack its operands first.
    dgemv_("N", &m, &k, &one, matrix.data(), &lda, rhs.data(), &step, &zero, result.data(), &step);
    return;
  }
  const int ldb = as_int(rhs.outerStride());
  const int ldc = as_int(result.outerStride());
  dgemm_("N", "N", &m, &n, &k, &one, matrix.data(), &lda, rhs.data(), &ldb, &zero, result.data(), &ldc);
}

void multiply_symmetric(Eigen::Ref<const Eigen::MatrixXd> lower, Eigen::Ref<const Eigen::VectorXd> rhs,
                        Eigen::Ref<Eigen::VectorXd> result) {
  const int n = as_int(lower.rows());
  if (n == 0) return;
  const int lda = as_int(lower.outerStride());
  const double one = 1.0;
  const double zero = 0.0;
  const int step = 1;
  // The product is memory-bound: half of the traffic of a full matrix.
  dsymv_("L", &n, &one, lower.data(), &lda, rhs.data(), &step, &zero, result.data(), &step);
}

void multiply_transposed(Eigen::Ref<const Eigen::MatrixXd> matrix, Eigen::Ref<const Eigen::VectorXd> rhs,
                         Eigen::Ref<Eigen::VectorXd> result) {
  const int m = as_int(matrix.rows());
  const int n = as_int(matrix.cols());
  if (m == 0 || n == 0) return;
  const int lda = as_int(matrix.outerStride());
  const double one = 1.0;
  const double zero = 0.0;
  const int step = 1;
  dgemv_("T", &m, &n, &one, matrix.data(), &lda, rhs.data(), &step, &zero, result.data(), &step);
}

void subtract_product(Eigen::Ref<const Eigen::MatrixXd> matrix, Eigen::Ref<const Eigen::VectorXd> rhs,
                      Eigen::Ref<Eigen::VectorXd> result) {
  const int m = as_int(matrix.rows());
  const int n = as_int(matrix.cols());
  if (m == 0 || n == 0) return;
  const int lda = as_int(matrix.outerStride());
  const double minus = -1.0;
  const double one = 1.0;
  const int step = 1;
  dgemv_("N", &m, &n, &minus, matrix.data(), &lda, rhs.data(), &step, &one, result.data(), &step);
}

namespace {

/// result := alpha rows op(matrix) + beta result.
void rows_product(const char* transposed, int inner, double alpha, Eigen::Ref<const Eigen::MatrixXd> rows,
                  Eigen::Ref<const Eigen::MatrixXd> matrix, double beta, Eigen::Ref<Eigen::MatrixXd> result) {
  const int m = as_int(result.rows());
  const int n = as_int(result.cols());
  if (m == 0 || n == 0 || inner == 0) return;
  const int lda = as_int(rows.outerStride());
  const int ldb = as_int(matrix.outerStride());
  const int ldc = as_int(result.outerStride());
  dgemm_("N", transposed, &m, &n, &inner, &alpha, rows.data(), &lda, matrix.data(), &ldb, &beta, result.data(), &ldc);
}

}  // namespace

void solve_rows_lower(Eigen::Ref<const Eigen::MatrixXd> factor, Eigen::Ref<Eigen::MatrixXd> rows) {
  triangular_solve("R", "T", factor, rows);
}

void solve_rows_lower_transposed(Eigen::Ref<const Eigen::MatrixXd> factor, Eigen::Ref<Eigen::MatrixXd> rows) {
  triangular_solve("R", "N", factor, rows);
}

void multiply_rows(Eigen::Ref<const Eigen::MatrixXd> rows, Eigen::Ref<const Eigen::MatrixXd> matrix,
                   Eigen::Ref<Eigen::MatrixXd> result) {
  rows_product("T", as_int(matrix.cols()), 1.0, rows, matrix, 0.0, result);
}

void subtract_rows_product(Eigen::Ref<const Eigen::MatrixXd> rows, Eigen::Ref<const Eigen::MatrixXd> matrix,
                           Eigen::Ref<Eigen::MatrixXd> result) {
  rows_product("N", as_int(matrix.rows()), -1.0, rows, matrix, 1.0, result);
}

SingularValues singular_values(Eigen::MatrixXd A) {
  const int m = as_int(A.rows());
  const int n = as_int(A.cols());
  const int k = std::min(m, n);
  SingularValues result{.U = Eigen::MatrixXd(m, k), .s = Eigen::VectorXd(k), .Vt = Eigen::MatrixXd(k, n)};
  if (k == 0) return result;
  int info = 0;
  double size = 0.0;
  const int query = -1;
  dgesvd_("S", "S", &m, &n, A.data(), &m, result.s.data(), result.U.data(), &m, result.Vt.data(), &k, &size, &query,
          &info);
  std::vector<double> work(static_cast<std::size_t>(size));
  const int n_work = static_cast<int>(work.size());
  dgesvd_("S", "S", &m, &n, A.data(), &m, result.s.data(), result.U.data(), &m, result.Vt.data(), &k, work.data(),
          &n_work, &info);
  if (info != 0) throw Error(ErrorCode::internal, "the singular value decomposition of a block does not converge");
  return result;
}

void multiply_symmetric(const Eigen::MatrixXf& lower, const Eigen::VectorXf& rhs, Eigen::VectorXf& result) {
  const int n = as_int(lower.rows());
  if (n == 0) return;
  const float one = 1.0F;
  const float zero = 0.0F;
  const int step = 1;
  ssymv_("L", &n, &one, lower.data(), &n, rhs.data(), &step, &zero, result.data(), &step);
}

namespace {

/// result := alpha * matrix * rhs + beta * result.
void multiply_single(float alpha, const Eigen::MatrixXf& matrix, const Eigen::MatrixXf& rhs, float beta,
                     Eigen::MatrixXf& result) {
  const int m = as_int(matrix.rows());
  const int n = as_int(rhs.cols());
  const int k = as_int(matrix.cols());
  if (m == 0 || n == 0 || k == 0) return;
  const int step = 1;
  if (n == 1) {
    sgemv_("N", &m, &k, &alpha, matrix.data(), &m, rhs.data(), &step, &beta, result.data(), &step);
    return;
  }
  sgemm_("N", "N", &m, &n, &k, &alpha, matrix.data(), &m, rhs.data(), &k, &beta, result.data(), &m);
}

}  // namespace

void multiply_symmetric(const Eigen::MatrixXf& matrix, const Eigen::MatrixXf& rhs, Eigen::MatrixXf& result) {
  if (rhs.cols() > 1) return multiply_single(1.0F, matrix, rhs, 0.0F, result);
  const int n = as_int(matrix.rows());
  if (n == 0) return;
  const float one = 1.0F;
  const float zero = 0.0F;
  const int step = 1;
  // One column is limited by memory traffic: read half of the matrix.
  ssymv_("L", &n, &one, matrix.data(), &n, rhs.data(), &step, &zero, result.data(), &step);
}

void subtract_product(const Eigen::MatrixXf& matrix, const Eigen::MatrixXf& rhs, Eigen::MatrixXf& result) {
  multiply_single(-1.0F, matrix, rhs, 1.0F, result);
}

bool invert_in_place(Eigen::MatrixXf& matrix) {
  const int n = as_int(matrix.rows());
  if (n == 0) return true;
  int info = 0;
  spotrf_("L", &n, matrix.data(), &n, &info);
  if (info != 0) return false;
  // Upper triangle: with the lower one OpenBLAS 0.3.21 crashes from 133 rows on by a misaligned read on unknown
  // processors, for which it selects its oldest kernels.
  matrix.triangularView<Eigen::StrictlyUpper>() = matrix.transpose();
  spotri_("U", &n, matrix.data(), &n, &info);
  matrix.triangularView<Eigen::StrictlyLower>() = matrix.transpose();
  return info == 0;
}

Eigen::MatrixXf in_single_precision(const Eigen::MatrixXd& lower) {
  const Eigen::Index n = lower.rows();
  Eigen::MatrixXf result(n, n);
  for (Eigen::Index j = 0; j < n; ++j) result.col(j).tail(n - j) = lower.col(j).tail(n - j).cast<float>();
  return result;
}

bool SingleCholesky::factorize(Eigen::MatrixXf matrix) {
  factor_ = std::move(matrix);
  const int n = as_int(factor_.rows());
  if (n == 0) return true;
  int info = 0;
  // A matrix that is definite in double precision may fail here if its condition number approaches 1e7.
  spotrf_("L", &n, factor_.data(), &n, &info);
  return info == 0;
}

void SingleCholesky::solve(Eigen::VectorXf& rhs) const {
  const int n = as_int(factor_.rows());
  if (n == 0) return;
  const int step = 1;
  strsv_("L", "N", "N", &n, factor_.data(), &n, rhs.data(), &step);
  strsv_("L", "T", "N", &n, factor_.data(), &n, rhs.data(), &step);
}

/// Only exact zero pivots are rejected; small pivots merely degrade the preconditioner.
bool SingleLu::factorize(Eigen::MatrixXf matrix) {
  lu_ = std::move(matrix);
  const int n = as_int(lu_.rows());
  pivots_.resize(static_cast<std::size_t>(n));
  if (n == 0) return true;
  int info = 0;
  sgetrf_(&n, &n, lu_.data(), &n, pivots_.data(), &info);
  return info == 0;
}

void SingleLu::solve(Eigen::Ref<Eigen::MatrixXf> rhs) const {
  const int n = as_int(lu_.rows());
  const int n_rhs = as_int(rhs.cols());
  if (n == 0 || n_rhs == 0) return;
  const int ldb = as_int(rhs.outerStride());
  int info = 0;
  if (n_rhs == 1) {  // sgetrs would pack the whole factor first
    const int step = 1;
    for (int i = 0; i < n; ++i) std::swap(rhs(i, 0), rhs(pivots_[static_cast<std::size_t>(i)] - 1, 0));
    // P A = L U: LAPACK row exchanges with one-based indices; L has a unit diagonal.
    strsv_("L", "N", "U", &n, lu_.data(), &n, rhs.data(), &step);
    strsv_("U", "N", "N", &n, lu_.data(), &n, rhs.data(), &step);
    return;
  }
  sgetrs_("N", &n, &n_rhs, lu_.data(), &n, pivots_.data(), rhs.data(), &ldb, &info);
}

}  // namespace heelstrike::fem
