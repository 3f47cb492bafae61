/// Reduction of samples for plots.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace heelstrike {

/// Selects rows of `values` that preserve the plotted curve: first and last, and the smallest and the largest value of
/// each of `budget` / 2 blocks of equal length. Global extremes are preserved.
/// @param budget  at most budget + 2 rows are returned; up to 4 if it is less than 2
/// @returns increasing row numbers; all rows if there are at most `budget`
[[nodiscard]] std::vector<std::size_t> rows_with_extremes(std::span<const double> values, std::size_t budget);

/// The same for all columns of a table at once: rows in which any column has its smallest or largest value of a block.
/// @param table      row-major, whole rows of `n_columns` > 0 values
/// @param budget    approximate number of rows; up to 2 n_columns + 2 if it is less than 2 n_columns
[[nodiscard]] std::vector<std::size_t> rows_with_extremes(std::span<const double> table, std::size_t n_columns,
                                                          std::size_t budget);

}  // namespace heelstrike
