/// Fewer samples for the same picture.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace heelstrike {

/// Rows to keep of `values` so that a curve through them looks like the curve through all: first and last, and of each
/// of `budget` / 2 blocks of equal length the smallest and the largest value. Every extreme of the whole is kept.
/// @param budget  at most budget + 2 rows come back, where it is less than 2 up to 4
/// @returns increasing row numbers; all rows when there are no more than `budget`
[[nodiscard]] std::vector<std::size_t> rows_with_extremes(std::span<const double> values, std::size_t budget);

/// The same for all columns of a table at once: rows in which any of them has its smallest or largest value of a block.
/// @param table      row-major, whole rows of `n_columns` > 0 values
/// @param budget     about so many rows come back; where it is less than 2 n_columns, up to 2 n_columns + 2 do
[[nodiscard]] std::vector<std::size_t> rows_with_extremes(std::span<const double> table, std::size_t n_columns,
                                                          std::size_t budget);

}  // namespace heelstrike
