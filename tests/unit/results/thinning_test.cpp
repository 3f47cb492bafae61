// Thinned curves keep every extreme.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/results/thinning.hpp"

namespace heelstrike {
namespace {

TEST(RowsWithExtremes, MillionSamplesKeepAPeakOfOneSample) {
  std::vector<double> values(1'000'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i) * 1e-3);
  values[765'432] = 12'345.678;
  values[123'456] = -9.5;
  const auto rows = rows_with_extremes(values, 2000);
  EXPECT_LE(rows.size(), 2002U);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  EXPECT_TRUE(std::binary_search(rows.begin(), rows.end(), 765'432U)) << "largest value lost";
  EXPECT_TRUE(std::binary_search(rows.begin(), rows.end(), 123'456U)) << "smallest value lost";
  EXPECT_EQ(rows.front(), 0U);
  EXPECT_EQ(rows.back(), values.size() - 1);
}

TEST(RowsWithExtremes, FewSamplesAreUnchanged) {
  const std::vector<double> values = {3.0, 1.0, 2.0};
  EXPECT_EQ(rows_with_extremes(values, 4), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_TRUE(rows_with_extremes({}, 4).empty());
}

TEST(RowsWithExtremes, GapAtTheStartOfABlockHidesNoExtreme) {
  std::vector<double> values(100, 1.0);
  for (std::size_t i = 0; i < 100; i += 10) values[i] = std::numeric_limits<double>::quiet_NaN();
  values[57] = 8.0;
  const auto rows = rows_with_extremes(values, 20);
  EXPECT_TRUE(std::binary_search(rows.begin(), rows.end(), 57U));
}

TEST(RowsWithExtremes, TableKeepsTheExtremesOfEveryColumn) {
  constexpr std::size_t n_columns = 3;
  constexpr std::size_t n_rows = 10'000;
  std::vector<double> table(n_rows * n_columns);
  for (std::size_t row = 0; row < n_rows; ++row) {
    table[row * n_columns] = static_cast<double>(row);
    table[row * n_columns + 1] = row == 4'321 ? 7.0 : 0.0;
    table[row * n_columns + 2] = row == 8'765 ? -3.0 : 1.0;
  }
  const auto rows = rows_with_extremes(table, n_columns, 60);
  EXPECT_LE(rows.size(), 60U + 2 * n_columns);
  for (const std::size_t row : {0U, 4'321U, 8'765U, 9'999U}) {
    EXPECT_TRUE(std::binary_search(rows.begin(), rows.end(), row)) << row;
  }
  EXPECT_EQ(rows_with_extremes(table, n_columns, n_rows).size(), n_rows) << "few rows are unchanged";
  EXPECT_EQ(rows_with_extremes(table, n_columns, 1).size(), 4U) << "extremes and ends at least";
}

}  // namespace
}  // namespace heelstrike
