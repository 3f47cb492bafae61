#include "fem_server/fem/sparse_cholesky.hpp"

#include <cholmod.h>
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <unordered_set>

#include "common/errors/error.hpp"
#include "fem_server/fem/dense_kernels.hpp"

// Declared here, for <omp.h> is not installed with every compiler.
extern "C" int omp_get_max_active_levels();
extern "C" void omp_set_max_active_levels(int n);

namespace heelstrike::fem {

/// CHOLMOD settings and status of one matrix.
struct CholmodWorkspace {
  explicit CholmodWorkspace(int kind) {
    cholmod_l_start(&common);
    common.supernodal = kind;
    common.postorder = 0;  // a postordering could move candidate dofs away from the end
    common.print = 0;
    common.try_catch = 1;  // an indefinite matrix is a regular result and prints no message
    common.nmethods = 1;
  }
  ~CholmodWorkspace() { cholmod_l_finish(&common); }
  CholmodWorkspace(const CholmodWorkspace&) = delete;
  CholmodWorkspace& operator=(const CholmodWorkspace&) = delete;

  cholmod_common common{};
};

namespace {

/// Calls of CHOLMOD from this thread start no OpenMP threads while this object exists: libgomp ends the process where
/// a thread cannot be started (limits of address space or of threads), and each calling thread would keep its team.
class SerialOpenMp {
 public:
  SerialOpenMp() { omp_set_max_active_levels(0); }
  ~SerialOpenMp() { omp_set_max_active_levels(levels_); }
  SerialOpenMp(const SerialOpenMp&) = delete;
  SerialOpenMp& operator=(const SerialOpenMp&) = delete;

 private:
  int levels_ = omp_get_max_active_levels();
};

/// @param done  pointer or flag of CHOLMOD that is zero after a failure
template <class Done>
void require(const Done& done, const cholmod_common& common, const char* what) {
  if (done) return;
  if (common.status == CHOLMOD_OUT_OF_MEMORY) throw std::bad_alloc();
  throw Error(ErrorCode::internal, fmt::format("{} failed: CHOLMOD status {}", what, common.status));
}

/// Subgraph of `nodes`, in their order, in CHOLMOD format with both triangles.
struct PartGraph {
  PartGraph(const NodeGraph& graph, const std::vector<std::int64_t>& nodes) {
    std::vector<std::int64_t> local(graph.outer.size() - 1, -1);
    for (std::size_t i = 0; i < nodes.size(); ++i) local[static_cast<std::size_t>(nodes[i])] = std::int64_t(i);
    for (const std::int64_t node : nodes) {
      for (const std::uint32_t neighbour : graph.neighbours(static_cast<std::size_t>(node))) {
        if (local[neighbour] >= 0) inner.push_back(local[neighbour]);
      }
      outer.push_back(static_cast<std::int64_t>(inner.size()));
    }
    sparse.nrow = sparse.ncol = nodes.size();
    sparse.nzmax = inner.size();
    sparse.p = outer.data();
    sparse.i = inner.data();
    sparse.stype = 1;
    sparse.itype = CHOLMOD_LONG;
    sparse.xtype = CHOLMOD_PATTERN;
    sparse.dtype = CHOLMOD_DOUBLE;
    sparse.packed = 1;
    sparse.sorted = 0;
  }

  std::vector<std::int64_t> outer{0}, inner;
  cholmod_sparse sparse{};
};

/// Nodes of these dofs in order of first appearance.
std::vector<std::int64_t> nodes_of(std::span<const std::int64_t> dofs) {
  std::vector<std::int64_t> nodes;
  std::unordered_set<std::int64_t> known;
  for (const std::int64_t dof : dofs) {
    if (known.insert(dof / 3).second) nodes.push_back(dof / 3);
  }
  return nodes;
}

/// Nested dissection of the node graph: a third of the size of the dof graph at the same quality.
std::vector<std::int64_t> nested_dissection(const NodeGraph& whole, const std::vector<std::int64_t>& nodes,
                                            cholmod_common& common) {
  PartGraph graph(whole, nodes);
  std::vector<SuiteSparse_long> order(nodes.size());
  // METIS seeds and uses rand() of the C library, which all threads share: concurrent calls would change the order, and
  // with it the last bits of every result.
  static std::mutex factorisation_mutex;
  const std::scoped_lock lock(factorisation_mutex);
  // gRPC also uses it for the jitter of each new connection: an order is accepted when two consecutive runs agree.
  std::vector<SuiteSparse_long> before;
  while (!nodes.empty() && (before.empty() || before != order)) {
    before = order;
    require(cholmod_l_metis(&graph.sparse, nullptr, 0, 1, order.data(), &common), common,
            "nested dissection of the stiffness matrix");
  }
  std::vector<std::int64_t> result;
  for (const SuiteSparse_long place : order) result.push_back(nodes[static_cast<std::size_t>(place)]);
  return result;
}

/// Entries of the factor with one scalar per node, in the order of the nodes.
double node_factor(const NodeGraph& whole, const std::vector<std::int64_t>& nodes, cholmod_common& common) {
  if (nodes.empty()) return 0.0;
  PartGraph graph(whole, nodes);
  common.method[0].ordering = CHOLMOD_NATURAL;
  cholmod_factor* factor = cholmod_l_analyze(&graph.sparse, &common);
  require(factor, common, "counting the entries of the factor");
  cholmod_l_free_factor(&factor, &common);
  return common.lnz;
}

}  // namespace

struct SparseCholesky::Implementation : CholmodWorkspace {
  Implementation() : CholmodWorkspace(CHOLMOD_SUPERNODAL) {}
  ~Implementation() {
    cholmod_l_free_factor(&factor, &common);
    cholmod_l_free_sparse(&matrix, &common);
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  cholmod_sparse* matrix = nullptr;  ///< lower triangle in elimination order
  cholmod_factor* factor = nullptr;
  std::vector<std::int64_t> dof_at;    ///< dof of K at each position of the elimination order
  std::vector<std::int64_t> position;  ///< its inverse, -1 for fixed dofs
  std::size_t n_last = 0;
  double n_matrix = 0.0;  ///< entries of K

  void build_pattern(const SparseMatrix& K);
  void fill_values(const SparseMatrix& K);
};

Elimination::Elimination(const NodeGraph& graph, std::span<const std::int64_t> inner,
                         std::span<const std::int64_t> last)
    : n_dofs_(3 * (graph.outer.size() - 1)), n_last_(last.size()) {
  CholmodWorkspace work(CHOLMOD_SIMPLICIAL);
  std::vector<std::int64_t> order = nested_dissection(graph, nodes_of(inner), work.common);
  std::vector<std::vector<std::int64_t>> dofs_of(graph.outer.size() - 1);
  for (const std::int64_t dof : inner) dofs_of[static_cast<std::size_t>(dof / 3)].push_back(dof);
  for (const std::int64_t node : order) {
    const auto& own = dofs_of[static_cast<std::size_t>(node)];
    dof_at_.insert(dof_at_.end(), own.begin(), own.end());
  }
  dof_at_.insert(dof_at_.end(), last.begin(), last.end());
  std::ranges::copy(nodes_of(last), std::back_inserter(order));
  size_.n_dofs = static_cast<double>(dof_at_.size());
  size_.matrix = 9.0 * static_cast<double>(graph.inner.size());
  // One of c entries in the column of a node is diagonal, whose block is a triangle of 6 instead of 9. The last block
  // is stored as a square.
  const auto n_last = static_cast<double>(n_last_);
  size_.factor =
      9.0 * node_factor(graph, order, work.common) - 3.0 * static_cast<double>(order.size()) + 0.5 * n_last * n_last;
}

void SparseCholesky::Implementation::build_pattern(const SparseMatrix& K) {
  std::size_t n_lower = 0;
  for (std::size_t column = 0; column < dof_at.size(); ++column) {
    for (SparseMatrix::InnerIterator entry(K, dof_at[column]); entry; ++entry) {
      n_lower += position[static_cast<std::size_t>(entry.row())] >= static_cast<std::int64_t>(column) ? 1 : 0;
    }
  }
  matrix = cholmod_l_allocate_sparse(dof_at.size(), dof_at.size(), n_lower, 0, 1, -1, CHOLMOD_REAL, &common);
  require(matrix, common, "allocating the stiffness matrix");
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
    : SparseCholesky(K, Elimination(node_graph(K), inner, last)) {}

SparseCholesky::SparseCholesky(const SparseMatrix& K, Elimination order) : self_(std::make_unique<Implementation>()) {
  self_->dof_at = std::move(order.dof_at_);
  self_->n_last = order.n_last_;
  self_->n_matrix = static_cast<double>(K.nonZeros());
  self_->position.assign(order.n_dofs_, -1);
  for (std::size_t i = 0; i < self_->dof_at.size(); ++i) {
    self_->position[static_cast<std::size_t>(self_->dof_at[i])] = static_cast<std::int64_t>(i);
  }
  self_->build_pattern(K);
  self_->fill_values(K);
  // The precomputed order is used; an order of CHOLMOD would not keep the candidates last.
  self_->common.method[0].ordering = CHOLMOD_NATURAL;
  self_->factor = cholmod_l_analyze(self_->matrix, &self_->common);
  require(self_->factor, self_->common, "symbolic factorisation of the stiffness matrix");
}

SparseCholesky::~SparseCholesky() = default;
SparseCholesky::SparseCholesky(SparseCholesky&&) noexcept = default;
SparseCholesky& SparseCholesky::operator=(SparseCholesky&&) noexcept = default;

bool SparseCholesky::factorize(const SparseMatrix& K) {
  self_->fill_values(K);
  const SerialOpenMp serial;
  cholmod_l_factorize(self_->matrix, self_->factor, &self_->common);
  if (self_->common.status == CHOLMOD_OUT_OF_MEMORY) throw std::bad_alloc();
  // `minor` is the first column whose pivot was not positive.
  return self_->common.status == CHOLMOD_OK && self_->factor->minor == self_->factor->n;
}

Eigen::MatrixXd SparseCholesky::solve(const Eigen::MatrixXd& rhs) const {
  const std::size_t n = self_->dof_at.size();
  cholmod_dense* b = cholmod_l_allocate_dense(n, static_cast<std::size_t>(rhs.cols()), n, CHOLMOD_REAL, &self_->common);
  require(b, self_->common, "allocating a right-hand side");
  Eigen::Map<Eigen::MatrixXd> packed(static_cast<double*>(b->x), static_cast<Eigen::Index>(n), rhs.cols());
  for (std::size_t i = 0; i < n; ++i) packed.row(static_cast<Eigen::Index>(i)) = rhs.row(self_->dof_at[i]);
  const SerialOpenMp serial;
  cholmod_dense* x = cholmod_l_solve(CHOLMOD_A, self_->factor, b, &self_->common);
  if (x == nullptr) cholmod_l_free_dense(&b, &self_->common);
  require(x, self_->common, "solving with the factors");
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
    // A supernode may start before the block and end within it. Its columns are dense below the diagonal, with rows
    // listed in L.s; all rows from the diagonal on lie in the block, because it is last.
    for (SuiteSparse_long column = std::max(super[s], first_last); column < super[s + 1]; ++column) {
      const double* entries = values + value_start[s] + (column - super[s]) * n_rows;
      for (SuiteSparse_long i = column - super[s]; i < n_rows; ++i) {
        block(rows[row_start[s] + i] - first_last, column - first_last) = entries[i];
      }
    }
  }
  return block;
}

namespace {

/// A supernode of CHOLMOD's factor: columns with the same rows below their triangle.
struct Supernode {
  Supernode(const cholmod_factor& L, std::size_t s) {
    const auto* super = static_cast<const SuiteSparse_long*>(L.super);
    const auto* row_start = static_cast<const SuiteSparse_long*>(L.pi);
    first = super[s];
    n_columns = super[s + 1] - super[s];
    n_rows = row_start[s + 1] - row_start[s];
    rows = static_cast<const SuiteSparse_long*>(L.s) + row_start[s];
    values = static_cast<const double*>(L.x) + static_cast<const SuiteSparse_long*>(L.px)[s];
  }

  using Values = Eigen::Map<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>;
  [[nodiscard]] Values triangle() const { return {values, n_columns, n_columns, Eigen::OuterStride<>(n_rows)}; }
  [[nodiscard]] Eigen::Index n_below() const { return n_rows - n_columns; }
  [[nodiscard]] Values below() const {
    return {values + n_columns, n_below(), n_columns, Eigen::OuterStride<>(n_rows)};
  }
  [[nodiscard]] std::span<const SuiteSparse_long> rows_below() const {
    return {rows + n_columns, static_cast<std::size_t>(n_below())};
  }

  SuiteSparse_long first = 0;  ///< position of its first column
  SuiteSparse_long n_columns = 0;
  SuiteSparse_long n_rows = 0;  ///< those of the triangle included
  const SuiteSparse_long* rows = nullptr;
  const double* values = nullptr;
};

/// Supernodes with all their ancestors, ascending: children come before their parents.
std::vector<std::int32_t> with_ancestors(const std::vector<std::int32_t>& parent,
                                         const std::vector<std::int32_t>& supernode_of,
                                         std::span<const std::int64_t> positions) {
  std::vector<bool> visited(parent.size(), false);
  for (const std::int64_t position : positions) {
    for (std::int32_t s = supernode_of[static_cast<std::size_t>(position)]; s >= 0 && !visited[std::size_t(s)];
         s = parent[std::size_t(s)]) {
      visited[std::size_t(s)] = true;
    }
  }
  std::vector<std::int32_t> found;
  for (std::size_t s = 0; s < visited.size(); ++s) {
    if (visited[s]) found.push_back(static_cast<std::int32_t>(s));
  }
  return found;
}

}  // namespace

InverseColumns::InverseColumns(const SparseCholesky& factor, std::vector<std::int64_t> dofs)
    : factor_(*factor.self_), positions_(std::move(dofs)) {
  for (std::int64_t& dof : positions_) dof = factor_.position[static_cast<std::size_t>(dof)];
  const cholmod_factor& L = *factor_.factor;
  supernode_of_.resize(L.n);
  for (std::size_t s = 0; s < L.nsuper; ++s) {
    const Supernode node(L, s);
    std::fill_n(supernode_of_.begin() + node.first, node.n_columns, static_cast<std::int32_t>(s));
  }
  for (std::size_t s = 0; s < L.nsuper; ++s) {
    const Supernode node(L, s);
    parent_.push_back(node.n_below() > 0 ? supernode_of_[static_cast<std::size_t>(node.rows_below().front())] : -1);
  }
}

Eigen::MatrixXd InverseColumns::lower_columns(Eigen::Index first, Eigen::Index n) const {
  const cholmod_factor& L = *factor_.factor;
  const std::span<const std::int64_t> rows = std::span(positions_).subspan(static_cast<std::size_t>(first));
  const auto columns = rows.first(static_cast<std::size_t>(n));
  const std::vector<std::int32_t> needed = with_ancestors(parent_, supernode_of_, rows);
  // The needed rows are stored contiguously; `offset` moves a position of the elimination order to its column of X.
  std::vector<Eigen::Index> offset(parent_.size(), 0);
  Eigen::Index n_needed = 0;
  for (const std::int32_t s : needed) {
    const Supernode node(L, std::size_t(s));
    offset[std::size_t(s)] = n_needed - node.first;
    n_needed += node.n_columns;
  }
  const auto column_of = [&](std::int64_t position) {
    return position + offset[std::size_t(supernode_of_[static_cast<std::size_t>(position)])];
  };
  // X has a column for each needed row of the inverse: rows below a supernode are gathered and scattered as contiguous
  // pieces. As single numbers, far apart in memory, they would take longer than the products.
  Eigen::MatrixXd X = Eigen::MatrixXd::Zero(n, n_needed);
  for (Eigen::Index j = 0; j < n; ++j) X(j, column_of(columns[static_cast<std::size_t>(j)])) = 1.0;
  Eigen::MatrixXd part;
  std::vector<Eigen::Index> below;
  const auto visit = [&](std::int32_t s) {
    const Supernode node(L, std::size_t(s));
    below.clear();
    for (const SuiteSparse_long row : node.rows_below()) below.push_back(column_of(row));
    part.resize(n, node.n_below());
    return node;
  };
  for (const std::int32_t s : with_ancestors(parent_, supernode_of_, columns)) {
    const Supernode node = visit(s);
    auto own = X.middleCols(node.first + offset[std::size_t(s)], node.n_columns);
    solve_rows_lower(node.triangle(), own);
    multiply_rows(own, node.below(), part);
    for (std::size_t i = 0; i < below.size(); ++i) X.col(below[i]) -= part.col(static_cast<Eigen::Index>(i));
  }
  for (auto s = needed.rbegin(); s != needed.rend(); ++s) {
    const Supernode node = visit(*s);
    for (std::size_t i = 0; i < below.size(); ++i) part.col(static_cast<Eigen::Index>(i)) = X.col(below[i]);
    auto own = X.middleCols(node.first + offset[std::size_t(*s)], node.n_columns);
    subtract_rows_product(part, node.below(), own);
    solve_rows_lower_transposed(node.triangle(), own);
  }
  Eigen::MatrixXd result(static_cast<Eigen::Index>(rows.size()), n);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    result.row(static_cast<Eigen::Index>(i)) = X.col(column_of(rows[i])).transpose();
  }
  return result;
}

FactorSize SparseCholesky::size() const {
  return {.matrix = self_->n_matrix,
          .factor = static_cast<double>(self_->factor->xsize),
          .front = static_cast<double>(self_->factor->maxcsize),
          .n_dofs = static_cast<double>(self_->dof_at.size())};
}
double SparseCholesky::n_entries() const {
  return self_->common.lnz;
}
double SparseCholesky::n_operations() const {
  return self_->common.fl;
}

}  // namespace heelstrike::fem
