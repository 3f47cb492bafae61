// Thinned curves keep every extreme.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "client/report/thinning.hpp"

namespace heelstrike::client::report {
namespace {

TEST(RowsWithExtremes, AMillionSamplesKeepASpikeOfOneSample) {
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

TEST(RowsWithExtremes, FewSamplesStayAsTheyAre) {
  const std::vector<double> values = {3.0, 1.0, 2.0};
  EXPECT_EQ(rows_with_extremes(values, 4), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_TRUE(rows_with_extremes({}, 4).empty());
}

TEST(RowsWithExtremes, AGapAtTheStartOfABlockHidesNoExtreme) {
  std::vector<double> values(100, 1.0);
  for (std::size_t i = 0; i < 100; i += 10) values[i] = std::numeric_limits<double>::quiet_NaN();
  values[57] = 8.0;
  const auto rows = rows_with_extremes(values, 20);
  EXPECT_TRUE(std::binary_search(rows.begin(), rows.end(), 57U));
}

}  // namespace
}  // namespace heelstrike::client::report
