#include "mbs_server/formulation/independent_rows.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

#include "mbs_server/formulation/stop_check.hpp"

namespace heelstrike::mbs {
namespace {

/// Relative to constraint rows, whose norms are of order one.
constexpr double dependent = 1e-9;

class RowSpan {
 public:
  explicit RowSpan(Eigen::Index n_columns)
      : row_(VectorX::Zero(n_columns)),
        touched_(static_cast<std::size_t>(n_columns), 0),
        pivot_(static_cast<std::size_t>(n_columns), 0),
        reflections_of_row_(static_cast<std::size_t>(n_columns)) {}

  /// Adds the row unless it depends on preceding rows. @param column  of the transposed matrix
  [[nodiscard]] bool take(const SparseMatrix& A_transposed, Eigen::Index column) {
    for (SparseMatrix::InnerIterator it(A_transposed, column); it; ++it)
      touch(static_cast<int>(it.row()), -1, it.value());
    while (!waiting_.empty()) {
      const int next = waiting_.top();
      waiting_.pop();
      queued_[static_cast<std::size_t>(next)] = 0;
      reflect(next);
    }
    const bool independent = is_remainder_independent();
    for (const int i : support_) {
      row_[i] = 0.0;
      touched_[static_cast<std::size_t>(i)] = 0;
    }
    support_.clear();
    return independent;
  }

 private:
  /// 1 - v v^T with |v|^2 = 2, stored by the nonzero entries of v.
  struct Reflection {
    std::vector<int> places;
    std::vector<double> v;
  };

  /// Adds to an entry of the current row and schedules the reflections after `last` that share this entry.
  void touch(int place, int last, double value) {
    const auto p = static_cast<std::size_t>(place);
    row_[place] += value;
    if (touched_[p] != 0) return;
    touched_[p] = 1;
    support_.push_back(place);
    const auto& meeting = reflections_of_row_[p];
    for (auto next = std::ranges::upper_bound(meeting, last); next != meeting.end(); ++next) {
      char& queued = queued_[static_cast<std::size_t>(*next)];
      if (queued == 0) waiting_.push(*next);
      queued = 1;
    }
  }

  void reflect(int number) {
    const Reflection& h = reflections_[static_cast<std::size_t>(number)];
    double product = 0.0;
    for (std::size_t k = 0; k < h.v.size(); ++k) product += h.v[k] * row_[h.places[k]];
    if (product == 0.0) return;
    for (std::size_t k = 0; k < h.v.size(); ++k) touch(h.places[k], number, -product * h.v[k]);
  }

  /// Makes a reflection of the remainder outside the pivots of preceding rows.
  bool is_remainder_independent() {
    Reflection h;
    double square = 0.0;
    std::size_t largest = 0;
    for (const int i : support_) {
      if (pivot_[static_cast<std::size_t>(i)] != 0 || row_[i] == 0.0) continue;
      h.places.push_back(i);
      h.v.push_back(row_[i]);
      square += row_[i] * row_[i];
      if (std::abs(row_[i]) > std::abs(h.v[largest])) largest = h.v.size() - 1;
    }
    const double distance = std::sqrt(square);
    if (!(distance >= dependent)) return false;
    const double top = h.v[largest];
    h.v[largest] += std::copysign(distance, top);
    const double scale = 1.0 / std::sqrt(distance * (distance + std::abs(top)));
    const auto number = static_cast<int>(reflections_.size());
    for (std::size_t k = 0; k < h.v.size(); ++k) {
      h.v[k] *= scale;
      reflections_of_row_[static_cast<std::size_t>(h.places[k])].push_back(number);
    }
    pivot_[static_cast<std::size_t>(h.places[largest])] = 1;
    reflections_.push_back(std::move(h));
    queued_.push_back(0);
    return true;
  }

  VectorX row_;  ///< current row, transformed so far; zero between rows
  std::vector<char> touched_;
  std::vector<int> support_;
  std::vector<char> pivot_;  ///< entries of preceding rows; later reflections do not change them
  std::vector<Reflection> reflections_;
  std::vector<std::vector<int>> reflections_of_row_;  ///< per entry: reflections that share it, increasing
  std::vector<char> queued_;
  std::priority_queue<int, std::vector<int>, std::greater<>> waiting_;
};

}  // namespace

std::vector<int> independent_rows(const SparseMatrix& A, const std::stop_token& stop) {
  const SparseMatrix transposed = A.transpose();
  RowSpan span(A.cols());
  std::vector<int> rows;
  for (Eigen::Index row = 0; row < A.rows(); ++row) {
    check_stop(stop);
    if (span.take(transposed, row)) rows.push_back(static_cast<int>(row));
  }
  return rows;
}

}  // namespace heelstrike::mbs
