/// Fewer samples for the same picture.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace heelstrike::client::report {

/// Rows to keep of `values` so that a curve through them looks like the curve through all: first and last, and of each
/// of `budget` / 2 blocks of equal length the smallest and the largest value. Every extreme of the whole is kept.
/// @param budget  >= 4; at most budget + 2 rows come back
/// @returns increasing row numbers; all rows when there are no more than `budget`
[[nodiscard]] std::vector<std::size_t> rows_with_extremes(std::span<const double> values, std::size_t budget);

}  // namespace heelstrike::client::report
