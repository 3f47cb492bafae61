#include "common/results/thinning.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace heelstrike {
namespace {

std::vector<std::size_t> all_rows(std::size_t n) {
  std::vector<std::size_t> rows(n);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

}  // namespace

std::vector<std::size_t> rows_with_extremes(std::span<const double> values, std::size_t budget) {
  const std::size_t n = values.size();
  if (n <= budget) return all_rows(n);
  std::vector<std::size_t> rows;
  const auto add = [&rows](std::size_t row) {
    if (rows.empty() || rows.back() < row) rows.push_back(row);
  };
  const std::size_t n_blocks = std::max<std::size_t>(1, budget / 2);
  add(0);
  for (std::size_t block = 0; block < n_blocks; ++block) {
    std::size_t low = block * n / n_blocks;
    std::size_t high = low;
    for (std::size_t row = low + 1; row < (block + 1) * n / n_blocks; ++row) {
      if (values[row] < values[low] || std::isnan(values[low])) low = row;
      if (values[row] > values[high] || std::isnan(values[high])) high = row;
    }
    add(std::min(low, high));
    add(std::max(low, high));
  }
  add(n - 1);
  return rows;
}

std::vector<std::size_t> rows_with_extremes(std::span<const double> table, std::size_t n_columns, std::size_t budget) {
  const std::size_t n_rows = table.size() / n_columns;
  if (n_rows <= budget) return all_rows(n_rows);
  std::vector<bool> kept(n_rows, false);
  std::vector<double> column(n_rows);
  for (std::size_t c = 0; c < n_columns; ++c) {
    for (std::size_t row = 0; row < n_rows; ++row) column[row] = table[row * n_columns + c];
    for (const std::size_t row : rows_with_extremes(column, budget / n_columns)) kept[row] = true;
  }
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < n_rows; ++row) {
    if (kept[row]) rows.push_back(row);
  }
  return rows;
}

}  // namespace heelstrike
