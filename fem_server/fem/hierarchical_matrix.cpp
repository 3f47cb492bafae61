#include "fem_server/fem/hierarchical_matrix.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

namespace {

/// Two clusters are far apart when the smaller diameter is at most this multiple of their distance.
constexpr double admissibility = 2.0;
/// Parts of the tolerance of a block: its truncation, of which the columns of single leaves have a share if there are
/// several, and its rounding. The truncation has the largest part because it determines the rank.
constexpr double rounding_part = 0.2;
constexpr double leaf_part = 0.1;
/// Part of a truncation for the orthogonalisation before the singular value decomposition.
constexpr double qr_part = 0.2;

/// Orthonormal Q and R with |A - Q R|_F <= tolerance; Q has no more columns than needed by column pivoting.
struct PartialQr {
  Eigen::MatrixXd Q, R;
};

/// The remainder is formed explicitly, so its norm is the error up to rounding: a difference of norms would lose it
/// below 1e-8 of the block.
PartialQr partial_qr(Eigen::MatrixXd& A, double tolerance) {
  const Eigen::Index most = std::min(A.rows(), A.cols());
  PartialQr result{.Q = Eigen::MatrixXd(A.rows(), most), .R = Eigen::MatrixXd(most, A.cols())};
  Eigen::Index k = 0;
  for (; k < most; ++k) {
    const Eigen::RowVectorXd norms = A.colwise().squaredNorm();
    if (norms.sum() <= tolerance * tolerance) break;
    Eigen::Index pivot = 0;
    norms.maxCoeff(&pivot);
    auto q = result.Q.col(k);
    q = A.col(pivot);
    // Again, because cancellation in the remainder leaves components along the vectors before.
    const auto before = result.Q.leftCols(k);
    q -= before * (before.transpose() * q).eval();
    q.normalize();
    result.R.row(k).noalias() = q.transpose() * A;
    A.noalias() -= q * result.R.row(k);
  }
  result.Q.conservativeResize(Eigen::NoChange, k);
  result.R.conservativeResize(k, Eigen::NoChange);
  return result;
}

/// Q R W^T as factors of least rank. @param W  orthonormal columns; null = identity
/// @param tolerance  |error|_F
LowRankFactors factors(const PartialQr& qr, const Eigen::MatrixXd* W, double tolerance) {
  const SingularValues svd = singular_values(qr.R);
  Eigen::Index rank = svd.s.size();
  double rest = 0.0;
  while (rank > 0 && rest + svd.s[rank - 1] * svd.s[rank - 1] <= tolerance * tolerance) {
    --rank;
    rest += svd.s[rank] * svd.s[rank];
  }
  const Eigen::MatrixXd V = svd.Vt.topRows(rank).transpose() * svd.s.head(rank).asDiagonal();
  return {.U = qr.Q * svd.U.leftCols(rank), .V = W != nullptr ? Eigen::MatrixXd(*W * V) : V};
}

template <class Number>
void append(std::string& bytes, const std::vector<Number>& values) {
  static_assert(std::is_trivially_copyable_v<Number>);
  const std::uint64_t n = values.size();
  bytes.append(reinterpret_cast<const char*>(&n), sizeof n);
  bytes.append(reinterpret_cast<const char*>(values.data()), n * sizeof(Number));
}

template <class Number>
void read(std::string_view& bytes, std::vector<Number>& values) {
  std::uint64_t n = 0;
  const auto take = [&](void* to, std::size_t size) {
    if (bytes.size() < size) throw Error(ErrorCode::internal, "hierarchical matrix: the stored bytes end too early");
    std::memcpy(to, bytes.data(), size);
    bytes.remove_prefix(size);
  };
  take(&n, sizeof n);
  if (n > bytes.size() / sizeof(Number)) {
    throw Error(ErrorCode::internal, "hierarchical matrix: the stored bytes end too early");
  }
  values.resize(n);
  if (n > 0) take(values.data(), n * sizeof(Number));
}

}  // namespace

LowRankFactors truncated(Eigen::MatrixXd A, double tolerance) {
  const PartialQr qr = partial_qr(A, qr_part * tolerance);
  return factors(qr, nullptr, (1.0 - qr_part) * tolerance);
}

namespace {

/// The parts of a block beside each other: [U_1 V_1^T ... U_p V_p^T] = [U_1 ... U_p] diag(V_1 ... V_p)^T.
LowRankFactors merged(const std::vector<LowRankFactors>& parts, double tolerance) {
  Eigen::Index rank = 0;
  Eigen::Index n_columns = 0;
  for (const LowRankFactors& part : parts) {
    rank += part.U.cols();
    n_columns += part.V.rows();
  }
  Eigen::MatrixXd U(parts.front().U.rows(), rank);
  Eigen::MatrixXd W = Eigen::MatrixXd::Zero(n_columns, rank);
  Eigen::Index k = 0;
  Eigen::Index j = 0;
  for (const LowRankFactors& part : parts) {
    for (Eigen::Index c = 0; c < part.U.cols(); ++c, ++k) {
      // The columns of V are orthogonal (singular vectors times singular values). With unit columns, the remainder of
      // the orthogonalisation of U has the norm of that of the block.
      const double length = part.V.col(c).norm();
      U.col(k) = length * part.U.col(c);
      W.col(k).segment(j, part.V.rows()) = part.V.col(c) / length;
    }
    j += part.V.rows();
  }
  const PartialQr qr = partial_qr(U, qr_part * tolerance);
  return factors(qr, &W, (1.0 - qr_part) * tolerance);
}

/// Bytes of the integers that represent values up to `largest` in units of `unit`, sign included.
std::uint64_t width_of(double largest, double unit) {
  constexpr std::uint64_t max_width = 6;  // 2^-47 of the largest value; the largest integer of seven bytes is no double
  for (std::uint64_t width = 1; width < max_width; ++width) {
    if (largest / unit <= std::ldexp(1.0, static_cast<int>(8 * width) - 1) - 1.0) return width;
  }
  return max_width;
}

/// The unit for which the largest value is the largest integer of this width.
double scale_of(double largest, std::uint64_t width) {
  return largest / (std::ldexp(1.0, static_cast<int>(8 * width) - 1) - 1.0);
}

}  // namespace

void PackedColumns::append(const Eigen::Ref<const Eigen::VectorXd>& column, double error) {
  const double largest = column.cwiseAbs().maxCoeff();
  // Rounding changes each number by at most half a unit.
  const std::uint64_t width = width_of(largest, 2.0 * error / std::sqrt(static_cast<double>(column.size())));
  append_column(column, scale_of(largest, width), width);
}

void PackedColumns::append_matrix(const Eigen::MatrixXd& matrix, double error) {
  const double largest = matrix.cwiseAbs().maxCoeff();
  const std::uint64_t width = width_of(largest, 2.0 * error / std::sqrt(static_cast<double>(matrix.size())));
  for (Eigen::Index j = 0; j < matrix.cols(); ++j) append_column(matrix.col(j), scale_of(largest, width), width);
}

void PackedColumns::append_column(const Eigen::Ref<const Eigen::VectorXd>& column, double scale, std::uint64_t width) {
  columns_.push_back({.start = bytes_.size(), .scale = scale, .width = width});
  for (const double value : column) {
    const std::int64_t number = scale > 0.0 ? std::llround(value / scale) : 0;
    for (std::uint64_t k = 0; k < width; ++k) bytes_.push_back(static_cast<std::uint8_t>(number >> (8 * k)));
  }
}

double PackedColumns::value(std::size_t column, std::size_t row) const {
  const Column& c = columns_[column];
  std::uint64_t number = 0;
  const std::uint8_t* from = bytes_.data() + c.start + c.width * row;
  for (std::uint64_t k = 0; k < c.width; ++k) number |= std::uint64_t{from[k]} << (8 * k);
  // The sign bit moves to the top and back.
  const std::uint64_t shift = 64 - 8 * c.width;
  return c.scale * static_cast<double>(static_cast<std::int64_t>(number << shift) >> shift);
}

void PackedColumns::read(std::size_t column, std::span<const std::uint32_t> rows, double* values) const {
  for (const std::uint32_t row : rows) {
    for (std::size_t k = 0; k < 3; ++k) *values++ = value(column, 3 * std::size_t{row} + k);
  }
}

struct HierarchicalMatrix::Builder::Pending {
  std::uint32_t first_leaf = 0;       ///< of the columns of the block, index in `leaves`
  std::vector<LowRankFactors> parts;  ///< of each leaf
  std::atomic<std::size_t> n_missing{0};
  LowRankFactors whole;
};

HierarchicalMatrix::Builder::Builder(ClusterTree tree, std::span<const double> weights, double tolerance) {
  matrix_.tree_ = std::move(tree);
  const ClusterTree& t = matrix_.tree_;
  for (const Cluster& cluster : t.clusters) {
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t k = cluster.begin; k < cluster.end; ++k) least = std::min(least, weights[t.order[k]]);
    weights_.push_back(least);
  }
  if (!t.clusters.empty()) find_blocks(0, 0);
  // x . E x <= sum_b |E_b| (|x_row|^2 + |x_column|^2): equation (3) of docs/theory/compression.md.
  block_tolerance_ = tolerance / static_cast<double>(assign_blocks_to_leaves());
}

HierarchicalMatrix::Builder::~Builder() = default;

std::size_t HierarchicalMatrix::Builder::assign_blocks_to_leaves() {
  const ClusterTree& t = matrix_.tree_;
  const std::size_t n_leaves = t.leaves.size();
  full_of_leaf_.resize(n_leaves);
  low_rank_of_leaf_.resize(n_leaves);
  std::vector<std::size_t> n_errors(n_leaves, 0);  // blocks with rows or columns of each leaf
  const auto leaves_of = [&](std::uint32_t cluster) {
    const auto by_begin = [&](std::uint32_t leaf) { return t.clusters[leaf].begin; };
    const auto begin = std::ranges::lower_bound(t.leaves, t.clusters[cluster].begin, {}, by_begin);
    const auto end = std::ranges::lower_bound(t.leaves, t.clusters[cluster].end, {}, by_begin);
    return std::pair(static_cast<std::uint32_t>(begin - t.leaves.begin()),
                     static_cast<std::uint32_t>(end - t.leaves.begin()));
  };
  for (std::uint32_t b = 0; b < matrix_.full_.size(); ++b) {
    const FullBlock& block = matrix_.full_[b];
    const std::uint32_t leaf = leaves_of(block.column).first;
    full_of_leaf_[leaf].push_back(b);
    ++n_errors[leaf];
    if (block.row != block.column) ++n_errors[leaves_of(block.row).first];
  }
  full_values_.resize(matrix_.full_.size());
  pending_ = std::vector<Pending>(matrix_.low_rank_.size());
  for (std::uint32_t b = 0; b < matrix_.low_rank_.size(); ++b) {
    const auto [first, last] = leaves_of(matrix_.low_rank_[b].column);
    Pending& pending = pending_[b];
    pending.first_leaf = first;
    pending.parts.resize(last - first);
    pending.n_missing = last - first;
    for (std::uint32_t leaf = first; leaf < last; ++leaf) {
      low_rank_of_leaf_[leaf].push_back(b);
      ++n_errors[leaf];
    }
    const auto [first_row, last_row] = leaves_of(matrix_.low_rank_[b].row);
    for (std::uint32_t leaf = first_row; leaf < last_row; ++leaf) ++n_errors[leaf];
  }
  return n_errors.empty() ? 1 : *std::ranges::max_element(n_errors);
}

void HierarchicalMatrix::Builder::find_blocks(std::uint32_t row, std::uint32_t column) {
  const Cluster& a = matrix_.tree_.clusters[row];
  const Cluster& b = matrix_.tree_.clusters[column];
  const double apart = distance(a, b);
  if (row != column && apart > 0.0 && std::min(a.diameter(), b.diameter()) <= admissibility * apart) {
    matrix_.low_rank_.push_back({{.row = row, .column = column}});
  } else if (a.is_leaf() && b.is_leaf()) {
    matrix_.full_.push_back({{.row = row, .column = column}});
  } else if (row == column) {
    find_blocks(a.first_child, a.first_child);
    find_blocks(a.first_child + 1, a.first_child);
    find_blocks(a.first_child + 1, a.first_child + 1);
  } else {
    const std::uint32_t n_rows = a.is_leaf() ? 1 : 2;
    const std::uint32_t n_columns = b.is_leaf() ? 1 : 2;
    for (std::uint32_t j = 0; j < n_columns; ++j) {
      for (std::uint32_t i = 0; i < n_rows; ++i) {
        find_blocks(a.is_leaf() ? row : a.first_child + i, b.is_leaf() ? column : b.first_child + j);
      }
    }
  }
}

void HierarchicalMatrix::Builder::add(std::size_t leaf, const Eigen::MatrixXd& columns) {
  if (!columns.allFinite()) throw Error(ErrorCode::internal, "the compliance of a body is not finite");
  const ClusterTree& t = matrix_.tree_;
  const std::uint32_t begin = t.clusters[t.leaves[leaf]].begin;
  const auto rows = [&](std::uint32_t cluster) {
    const Cluster& c = t.clusters[cluster];
    return columns.middleRows(3 * Eigen::Index(c.begin - begin), 3 * Eigen::Index(c.size()));
  };
  for (const std::uint32_t b : full_of_leaf_[leaf]) {
    const FullBlock& block = matrix_.full_[b];
    full_values_[b] = rows(block.row);
    if (block.row == block.column) full_values_[b] = (0.5 * (full_values_[b] + full_values_[b].transpose())).eval();
  }
  for (const std::uint32_t b : low_rank_of_leaf_[leaf]) {
    const LowRankBlock& block = matrix_.low_rank_[b];
    Pending& pending = pending_[b];
    const std::size_t n_parts = pending.parts.size();
    const double allowed = (1.0 - rounding_part) * allowed_error(block);
    const double of_leaf = n_parts == 1 ? allowed : leaf_part * allowed / std::sqrt(static_cast<double>(n_parts));
    pending.parts[leaf - pending.first_leaf] = truncated(rows(block.row), of_leaf);
    if (--pending.n_missing > 0) continue;
    pending.whole =
        n_parts == 1 ? std::move(pending.parts.front()) : merged(pending.parts, (1.0 - leaf_part) * allowed);
    pending.parts.clear();
  }
}

double HierarchicalMatrix::Builder::allowed_error(const BlockPlace& block) const {
  return block_tolerance_ * std::sqrt(weights_[block.row] * weights_[block.column]);
}

HierarchicalMatrix HierarchicalMatrix::Builder::finish() {
  PackedColumns& packed = matrix_.packed_;
  for (std::size_t b = 0; b < full_values_.size(); ++b) {
    FullBlock& block = matrix_.full_[b];
    block.first = packed.size();
    packed.append_matrix(full_values_[b], allowed_error(block));
    full_values_[b].resize(0, 0);
  }
  for (std::size_t b = 0; b < pending_.size(); ++b) {
    const LowRankFactors whole = std::move(pending_[b].whole);
    LowRankBlock& block = matrix_.low_rank_[b];
    block.first = packed.size();
    block.rank = static_cast<std::uint64_t>(whole.U.cols());
    // Errors of U's columns count times the singular values, those of V's as they are; each set is orthogonal.
    const double error = 0.5 * rounding_part * allowed_error(block) / std::sqrt(static_cast<double>(block.rank));
    double square = 0.0;  // of the errors of U
    for (Eigen::Index i = 0; i < whole.U.cols(); ++i) {
      const double of_column = error / whole.V.col(i).norm();
      packed.append(whole.U.col(i), of_column);
      square += of_column * of_column;
    }
    // Errors of V are multiplied by the rounded U.
    for (Eigen::Index i = 0; i < whole.V.cols(); ++i) packed.append(whole.V.col(i), error / (1.0 + std::sqrt(square)));
  }
  matrix_.set_self();
  return std::move(matrix_);
}

Eigen::MatrixXd HierarchicalMatrix::values(std::uint64_t first, std::uint64_t n,
                                           std::span<const std::uint32_t> rows) const {
  Eigen::MatrixXd result(3 * static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(n));
  for (std::uint64_t j = 0; j < n; ++j) packed_.read(first + j, rows, result.col(static_cast<Eigen::Index>(j)).data());
  return result;
}

void HierarchicalMatrix::set_self() {
  self_.resize(n_points());
  for (const FullBlock& block : full_) {
    if (block.row != block.column) continue;
    const Cluster& cluster = tree_.clusters[block.row];
    for (std::uint32_t k = 0; k < cluster.size(); ++k) {
      for (std::size_t j = 0; j < 3; ++j) {
        packed_.read(block.first + 3 * k + j, {&k, 1},
                     self_[tree_.order[cluster.begin + k]].col(Eigen::Index(j)).data());
      }
    }
  }
}

struct HierarchicalMatrix::Selection {
  Selection(const ClusterTree& tree, std::span<const std::uint32_t> points) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> sorted;
    for (std::uint32_t i = 0; i < points.size(); ++i) sorted.emplace_back(tree.place[points[i]], i);
    std::ranges::sort(sorted);
    for (const auto& [place, index] : sorted) {
      places.push_back(place);
      indices.push_back(index);
    }
    for (std::size_t c = 0; c < tree.clusters.size(); ++c) {
      const auto begin = std::ranges::lower_bound(places, tree.clusters[c].begin);
      const auto end = std::lower_bound(begin, places.end(), tree.clusters[c].end);
      ranges.emplace_back(begin - places.begin(), end - places.begin());
    }
  }
  /// The selected points of a cluster.
  struct Part {
    std::vector<std::uint32_t> rows;         ///< relative to the first point of the cluster, ascending
    std::span<const std::uint32_t> indices;  ///< in the list of the caller
    Eigen::Index first = 0;                  ///< row of the first one in a vector in the order of the tree

    [[nodiscard]] bool empty() const { return rows.empty(); }
    [[nodiscard]] Eigen::Index n_rows() const { return 3 * static_cast<Eigen::Index>(rows.size()); }
  };
  [[nodiscard]] bool touches(std::uint32_t cluster) const { return ranges[cluster].first < ranges[cluster].second; }
  [[nodiscard]] Part part(const ClusterTree& tree, std::uint32_t cluster) const {
    const auto [begin, end] = ranges[cluster];
    const auto n = static_cast<std::size_t>(end - begin);
    Part part{
        .rows = {}, .indices = std::span(indices).subspan(static_cast<std::size_t>(begin), n), .first = 3 * begin};
    for (std::ptrdiff_t k = begin; k < end; ++k) {
      part.rows.push_back(places[static_cast<std::size_t>(k)] - tree.clusters[cluster].begin);
    }
    return part;
  }

  std::vector<std::uint32_t> places;                              ///< ascending
  std::vector<std::uint32_t> indices;                             ///< in the list of the caller
  std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> ranges;  ///< of `places`, per cluster
};

namespace {

/// A x with sums over the columns in ascending order: bits of a row do not depend on the other rows, as they may in
/// kernels that treat groups of rows differently.
Eigen::VectorXd ordered_product(const Eigen::MatrixXd& A, const Eigen::VectorXd& x) {
  Eigen::VectorXd y = Eigen::VectorXd::Zero(A.rows());
  for (Eigen::Index k = 0; k < A.cols(); ++k) y += x[k] * A.col(k);
  return y;
}

/// A^T x with sums over the rows in ascending order.
Eigen::VectorXd ordered_transposed_product(const Eigen::MatrixXd& A, const Eigen::VectorXd& x) {
  Eigen::VectorXd y(A.cols());
  for (Eigen::Index j = 0; j < A.cols(); ++j) {
    double sum = 0.0;
    for (Eigen::Index i = 0; i < A.rows(); ++i) sum += A(i, j) * x[i];
    y[j] = sum;
  }
  return y;
}

/// U V^T, likewise.
Eigen::MatrixXd product_of_rows(const Eigen::MatrixXd& U, const Eigen::MatrixXd& V) {
  Eigen::MatrixXd result(U.rows(), V.rows());
  for (Eigen::Index j = 0; j < V.rows(); ++j) result.col(j) = ordered_product(U, V.row(j).transpose());
  return result;
}

/// Columns 3 i, 3 i + 1 and 3 i + 2 of a matrix, for each i of `points`, in place of its rows.
std::vector<std::uint64_t> columns_of(std::uint64_t first, std::span<const std::uint32_t> points) {
  std::vector<std::uint64_t> columns;
  for (const std::uint32_t i : points) {
    for (std::uint64_t k = 0; k < 3; ++k) columns.push_back(first + 3 * std::uint64_t{i} + k);
  }
  return columns;
}

}  // namespace

Eigen::MatrixXd HierarchicalMatrix::full_values(const FullBlock& block, std::span<const std::uint32_t> rows,
                                                std::span<const std::uint32_t> columns) const {
  Eigen::MatrixXd result(3 * static_cast<Eigen::Index>(rows.size()), 3 * static_cast<Eigen::Index>(columns.size()));
  Eigen::Index j = 0;
  for (const std::uint64_t column : columns_of(block.first, columns))
    packed_.read(column, rows, result.col(j++).data());
  return result;
}

std::vector<double> HierarchicalMatrix::blocks(std::span<const std::uint32_t> points) const {
  const Selection selected(tree_, points);
  const std::size_t n = points.size();
  std::vector<double> result(9 * n * n);
  const auto store = [&](const Selection::Part& rows, const Selection::Part& columns, const Eigen::MatrixXd& values) {
    for (std::size_t j = 0; j < columns.rows.size(); ++j) {
      for (std::size_t i = 0; i < rows.rows.size(); ++i) {
        const Matrix3 value = values.block<3, 3>(3 * static_cast<Eigen::Index>(i), 3 * static_cast<Eigen::Index>(j));
        const std::size_t a = rows.indices[i];
        const std::size_t b = columns.indices[j];
        Eigen::Map<Matrix3>(result.data() + 9 * (b * n + a)) = value;
        Eigen::Map<Matrix3>(result.data() + 9 * (a * n + b)) = value.transpose();
      }
    }
  };
  for (const FullBlock& block : full_) {
    if (!selected.touches(block.row) || !selected.touches(block.column)) continue;
    const auto rows = selected.part(tree_, block.row);
    const auto columns = selected.part(tree_, block.column);
    store(rows, columns, full_values(block, rows.rows, columns.rows));
  }
  for (const LowRankBlock& block : low_rank_) {
    if (!selected.touches(block.row) || !selected.touches(block.column)) continue;
    const auto rows = selected.part(tree_, block.row);
    const auto columns = selected.part(tree_, block.column);
    store(rows, columns,
          product_of_rows(values(block.first, block.rank, rows.rows),
                          values(block.first + block.rank, block.rank, columns.rows)));
  }
  return result;
}

Eigen::VectorXd HierarchicalMatrix::product(std::span<const std::uint32_t> rows, std::span<const std::uint32_t> columns,
                                            const Eigen::VectorXd& x) const {
  const Selection to(tree_, rows);
  const Selection from(tree_, columns);
  Eigen::VectorXd ordered(x.size());
  for (std::size_t k = 0; k < from.indices.size(); ++k) {
    ordered.segment<3>(3 * static_cast<Eigen::Index>(k)) = x.segment<3>(3 * static_cast<Eigen::Index>(from.indices[k]));
  }
  Eigen::VectorXd y = Eigen::VectorXd::Zero(3 * static_cast<Eigen::Index>(rows.size()));
  /// Calls apply(targets, sources, x of the sources) where the block has both.
  const auto add = [&](std::uint32_t row, std::uint32_t column, const auto& apply) {
    if (!to.touches(row) || !from.touches(column)) return;
    const auto targets = to.part(tree_, row);
    const auto sources = from.part(tree_, column);
    y.segment(targets.first, targets.n_rows()) +=
        apply(targets.rows, sources.rows, ordered.segment(sources.first, sources.n_rows()));
  };
  for (const FullBlock& block : full_) {
    add(block.row, block.column, [&](const auto& targets, const auto& sources, const auto& forces) -> Eigen::VectorXd {
      return ordered_product(full_values(block, targets, sources), forces);
    });
    if (block.row == block.column) continue;
    add(block.column, block.row, [&](const auto& targets, const auto& sources, const auto& forces) -> Eigen::VectorXd {
      return ordered_transposed_product(full_values(block, sources, targets), forces);
    });
  }
  for (const LowRankBlock& block : low_rank_) {
    const auto times = [&](std::uint64_t left, std::uint64_t right) {
      return [&, left, right](const auto& targets, const auto& sources, const auto& forces) -> Eigen::VectorXd {
        const Eigen::VectorXd moments = ordered_transposed_product(values(right, block.rank, sources), forces);
        return ordered_product(values(left, block.rank, targets), moments);
      };
    };
    add(block.row, block.column, times(block.first, block.first + block.rank));
    add(block.column, block.row, times(block.first + block.rank, block.first));
  }
  Eigen::VectorXd result(y.size());
  for (std::size_t k = 0; k < to.indices.size(); ++k) {
    result.segment<3>(3 * static_cast<Eigen::Index>(to.indices[k])) = y.segment<3>(3 * static_cast<Eigen::Index>(k));
  }
  return result;
}

std::size_t HierarchicalMatrix::n_bytes() const {
  return packed_.n_bytes() + sizeof(Matrix3) * self_.size() + sizeof(FullBlock) * full_.size() +
         sizeof(LowRankBlock) * low_rank_.size();
}

double HierarchicalMatrix::mean_rank() const {
  double sum = 0.0;
  for (const LowRankBlock& block : low_rank_) sum += static_cast<double>(block.rank);
  return low_rank_.empty() ? 0.0 : sum / static_cast<double>(low_rank_.size());
}

std::string HierarchicalMatrix::bytes() const {
  std::string bytes;
  bytes.reserve(n_bytes() + 24 * tree_.order.size() + 1000);
  std::vector<std::uint32_t> ranges;
  for (const Cluster& cluster : tree_.clusters) {
    ranges.insert(ranges.end(), {cluster.begin, cluster.end, cluster.first_child});
  }
  append(bytes, ranges);
  append(bytes, tree_.order);
  append(bytes, tree_.leaves);
  append(bytes, full_);
  append(bytes, low_rank_);
  PackedColumns::for_each_array(packed_, [&](const auto& array) { append(bytes, array); });
  return bytes;
}

bool PackedColumns::has(std::uint64_t first, std::uint64_t n, std::uint64_t n_rows) const {
  if (first > columns_.size() || n > columns_.size() - first) return false;
  return std::ranges::all_of(std::span(columns_).subspan(first, n), [&](const Column& c) {
    return c.width >= 1 && c.width <= 6 && c.start <= bytes_.size() && n_rows <= (bytes_.size() - c.start) / c.width;
  });
}

bool HierarchicalMatrix::is_consistent() const {
  const std::size_t n = n_points();
  std::vector<bool> found(n, false);
  for (const std::uint32_t point : tree_.order) {
    if (point >= n || found[point]) return false;
    found[point] = true;
  }
  const auto is_range = [&](const Cluster& c) { return c.begin < c.end && c.end <= n; };
  if (!std::ranges::all_of(tree_.clusters, is_range)) return false;
  const auto n_rows = [&](std::uint32_t cluster) -> std::uint64_t { return 3 * tree_.clusters[cluster].size(); };
  const auto is_pair = [&](const BlockPlace& b) {
    return b.row < tree_.clusters.size() && b.column < tree_.clusters.size();
  };
  return std::ranges::all_of(
             full_,
             [&](const FullBlock& b) { return is_pair(b) && packed_.has(b.first, n_rows(b.column), n_rows(b.row)); }) &&
         std::ranges::all_of(low_rank_, [&](const LowRankBlock& b) {
           return is_pair(b) && packed_.has(b.first, b.rank, n_rows(b.row)) &&
                  packed_.has(b.first + b.rank, b.rank, n_rows(b.column));
         });
}

HierarchicalMatrix HierarchicalMatrix::from_bytes(std::string_view bytes) {
  HierarchicalMatrix matrix;
  std::vector<std::uint32_t> ranges;
  read(bytes, ranges);
  for (std::size_t c = 0; c + 2 < ranges.size(); c += 3) {
    matrix.tree_.clusters.push_back({.begin = ranges[c], .end = ranges[c + 1], .first_child = ranges[c + 2]});
  }
  read(bytes, matrix.tree_.order);
  read(bytes, matrix.tree_.leaves);
  read(bytes, matrix.full_);
  read(bytes, matrix.low_rank_);
  PackedColumns::for_each_array(matrix.packed_, [&](auto& array) { read(bytes, array); });
  if (!bytes.empty() || ranges.size() % 3 != 0 || !matrix.is_consistent()) {
    throw Error(ErrorCode::internal, "hierarchical matrix: the stored bytes are inconsistent");
  }
  matrix.tree_.place.resize(matrix.tree_.order.size());
  for (std::uint32_t k = 0; k < matrix.tree_.order.size(); ++k) matrix.tree_.place[matrix.tree_.order[k]] = k;
  matrix.set_self();
  return matrix;
}

}  // namespace heelstrike::fem
