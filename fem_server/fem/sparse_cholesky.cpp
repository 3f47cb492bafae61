#include "fem_server/fem/sparse_cholesky.hpp"

#include <cholmod.h>

#include <algorithm>
#include <mutex>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

struct SparseCholesky::Implementation {
  Implementation() {
    cholmod_l_start(&common);
    common.supernodal = CHOLMOD_SUPERNODAL;
    common.postorder = 0;  // a postordering could move candidate dofs away from the end
    common.print = 0;
    common.try_catch = 1;  // a matrix that is not positive definite is an answer, not a message
  }
  ~Implementation() {
    cholmod_l_free_factor(&factor, &common);
    cholmod_l_free_sparse(&matrix, &common);
    cholmod_l_finish(&common);
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  mutable cholmod_common common{};
  cholmod_sparse* matrix = nullptr;  ///< lower triangle in elimination order
  cholmod_factor* factor = nullptr;
  std::vector<std::int64_t> dof_at;    ///< dof of K at each position of the elimination order
  std::vector<std::int64_t> position;  ///< its inverse, -1 for fixed dofs
  std::size_t n_last = 0;

  void build_pattern(const SparseMatrix& K);
  void fill_values(const SparseMatrix& K);
};

namespace {

/// Nested dissection of the graph of the nodes that carry `dofs`: a third of the size of the dof graph, same quality.
std::vector<std::int64_t> nested_dissection(const SparseMatrix& K, std::span<const std::int64_t> dofs,
                                            cholmod_common& common) {
  std::vector<std::int64_t> local(static_cast<std::size_t>(K.rows() / 3), -1);
  std::vector<std::int64_t> nodes;
  for (const std::int64_t dof : dofs) {
    auto& entry = local[static_cast<std::size_t>(dof / 3)];
    if (entry >= 0) continue;
    entry = static_cast<std::int64_t>(nodes.size());
    nodes.push_back(dof / 3);
  }
  std::vector<std::int64_t> outer{0};
  std::vector<std::int64_t> inner;
  for (const std::int64_t node : nodes) {
    for (SparseMatrix::InnerIterator entry(K, 3 * node); entry; ++entry) {
      // One row of each 3x3 block stands for the node.
      if (entry.row() % 3 != 0) continue;
      const std::int64_t row = local[static_cast<std::size_t>(entry.row() / 3)];
      if (row >= 0) inner.push_back(row);
    }
    outer.push_back(static_cast<std::int64_t>(inner.size()));
  }
  cholmod_sparse graph{};
  graph.nrow = graph.ncol = nodes.size();
  graph.nzmax = inner.size();
  graph.p = outer.data();
  graph.i = inner.data();
  graph.stype = 1;
  graph.itype = CHOLMOD_LONG;
  graph.xtype = CHOLMOD_PATTERN;
  graph.dtype = CHOLMOD_DOUBLE;
  graph.packed = 1;
  graph.sorted = 0;
  std::vector<SuiteSparse_long> order(nodes.size());
  // METIS seeds and draws from rand() of the C library, which all threads share: two at once would disturb each other's
  // order, and with it the last bits of every result.
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  // gRPC draws from it too, for the jitter of each new connection: an order counts when it has come out twice running.
  std::vector<SuiteSparse_long> before;
  while (!nodes.empty() && (before.empty() || before != order)) {
    before = order;
    if (!cholmod_l_metis(&graph, nullptr, 0, 1, order.data(), &common)) {
      throw Error(ErrorCode::internal, "nested dissection of the stiffness matrix failed");
    }
  }
  std::vector<std::vector<std::int64_t>> dofs_of(nodes.size());
  for (const std::int64_t dof : dofs)
    dofs_of[static_cast<std::size_t>(local[static_cast<std::size_t>(dof / 3)])].push_back(dof);
  std::vector<std::int64_t> result;
  for (const SuiteSparse_long node : order) {
    const auto& own = dofs_of[static_cast<std::size_t>(node)];
    result.insert(result.end(), own.begin(), own.end());
  }
  return result;
}

}  // namespace

void SparseCholesky::Implementation::build_pattern(const SparseMatrix& K) {
  std::size_t n_lower = 0;
  for (std::size_t column = 0; column < dof_at.size(); ++column) {
    for (SparseMatrix::InnerIterator entry(K, dof_at[column]); entry; ++entry) {
      n_lower += position[static_cast<std::size_t>(entry.row())] >= static_cast<std::int64_t>(column) ? 1 : 0;
    }
  }
  matrix = cholmod_l_allocate_sparse(dof_at.size(), dof_at.size(), n_lower, 0, 1, -1, CHOLMOD_REAL, &common);
  if (matrix == nullptr) throw limit_error("mesh", "not enough memory for the stiffness matrix");
}

void SparseCholesky::Implementation::fill_values(const SparseMatrix& K) {
  auto* outer = static_cast<SuiteSparse_long*>(matrix->p);
  auto* inner = static_cast<SuiteSparse_long*>(matrix->i);
  auto* values = static_cast<double*>(matrix->x);
  SuiteSparse_long k = 0;
  for (std::size_t column = 0; column < dof_at.size(); ++column) {
    outer[column] = k;
    for (SparseMatrix::InnerIterator entry(K, dof_at[column]); entry; ++entry) {
      const std::int64_t row = position[static_cast<std::size_t>(entry.row())];
      if (row < static_cast<std::int64_t>(column)) continue;
      inner[k] = row;
      values[k++] = entry.value();
    }
  }
  outer[dof_at.size()] = k;
}

SparseCholesky::SparseCholesky(const SparseMatrix& K, std::span<const std::int64_t> inner,
                               std::span<const std::int64_t> last)
    : self_(std::make_unique<Implementation>()) {
  self_->dof_at = nested_dissection(K, inner, self_->common);
  self_->dof_at.insert(self_->dof_at.end(), last.begin(), last.end());
  self_->n_last = last.size();
  self_->position.assign(static_cast<std::size_t>(K.rows()), -1);
  for (std::size_t i = 0; i < self_->dof_at.size(); ++i) {
    self_->position[static_cast<std::size_t>(self_->dof_at[i])] = static_cast<std::int64_t>(i);
  }
  self_->build_pattern(K);
  self_->fill_values(K);
  self_->common.nmethods = 1;
  // The order is the one made above; CHOLMOD's own would not keep the candidates last.
  self_->common.method[0].ordering = CHOLMOD_NATURAL;
  self_->factor = cholmod_l_analyze(self_->matrix, &self_->common);
  if (self_->factor == nullptr)
    throw Error(ErrorCode::internal, "symbolic factorisation of the stiffness matrix failed");
}

SparseCholesky::~SparseCholesky() = default;
SparseCholesky::SparseCholesky(SparseCholesky&&) noexcept = default;
SparseCholesky& SparseCholesky::operator=(SparseCholesky&&) noexcept = default;

bool SparseCholesky::factorize(const SparseMatrix& K) {
  self_->fill_values(K);
  cholmod_l_factorize(self_->matrix, self_->factor, &self_->common);
  if (self_->common.status == CHOLMOD_OUT_OF_MEMORY)
    throw limit_error("mesh", "not enough memory for the factorisation");
  // `minor` is the first column whose pivot was not positive.
  return self_->common.status == CHOLMOD_OK && self_->factor->minor == self_->factor->n;
}

Eigen::MatrixXd SparseCholesky::solve(const Eigen::MatrixXd& rhs) const {
  const std::size_t n = self_->dof_at.size();
  cholmod_dense* b = cholmod_l_allocate_dense(n, static_cast<std::size_t>(rhs.cols()), n, CHOLMOD_REAL, &self_->common);
  const auto require = [&](const cholmod_dense* columns) {
    if (columns != nullptr) return;
    cholmod_l_free_dense(&b, &self_->common);
    throw limit_error("mesh", "not enough memory for a solution with the factors");
  };
  require(b);
  Eigen::Map<Eigen::MatrixXd> packed(static_cast<double*>(b->x), static_cast<Eigen::Index>(n), rhs.cols());
  for (std::size_t i = 0; i < n; ++i) packed.row(static_cast<Eigen::Index>(i)) = rhs.row(self_->dof_at[i]);
  cholmod_dense* x = cholmod_l_solve(CHOLMOD_A, self_->factor, b, &self_->common);
  require(x);
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(rhs.rows(), rhs.cols());
  const Eigen::Map<Eigen::MatrixXd> solution(static_cast<double*>(x->x), static_cast<Eigen::Index>(n), rhs.cols());
  for (std::size_t i = 0; i < n; ++i) result.row(self_->dof_at[i]) = solution.row(static_cast<Eigen::Index>(i));
  cholmod_l_free_dense(&x, &self_->common);
  cholmod_l_free_dense(&b, &self_->common);
  return result;
}

Eigen::MatrixXd SparseCholesky::last_block() const {
  const cholmod_factor& L = *self_->factor;
  const auto n = static_cast<SuiteSparse_long>(L.n);
  const auto n_last = static_cast<SuiteSparse_long>(self_->n_last);
  const SuiteSparse_long first_last = n - n_last;
  Eigen::MatrixXd block = Eigen::MatrixXd::Zero(n_last, n_last);
  const auto* super = static_cast<const SuiteSparse_long*>(L.super);
  const auto* row_start = static_cast<const SuiteSparse_long*>(L.pi);
  const auto* value_start = static_cast<const SuiteSparse_long*>(L.px);
  const auto* rows = static_cast<const SuiteSparse_long*>(L.s);
  const auto* values = static_cast<const double*>(L.x);
  for (std::size_t s = 0; s < L.nsuper; ++s) {
    const SuiteSparse_long n_rows = row_start[s + 1] - row_start[s];
    // A supernode may begin before the block and end within it. Its columns are dense below their diagonal, with rows
    // listed in L.s; all rows from the diagonal on lie in the block, because it comes last.
    for (SuiteSparse_long column = std::max(super[s], first_last); column < super[s + 1]; ++column) {
      const double* entries = values + value_start[s] + (column - super[s]) * n_rows;
      for (SuiteSparse_long i = column - super[s]; i < n_rows; ++i) {
        block(rows[row_start[s] + i] - first_last, column - first_last) = entries[i];
      }
    }
  }
  return block;
}

double SparseCholesky::n_entries() const {
  return self_->common.lnz;
}
double SparseCholesky::n_operations() const {
  return self_->common.fl;
}

}  // namespace heelstrike::fem
