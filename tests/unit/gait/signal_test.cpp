// Filtering and gap filling against closed forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include <cmath>
#include <limits>
#include <numbers>

#include "gait/signal_filter.hpp"
#include "tests/unit/motion/rejection.hpp"

namespace heelstrike {
namespace {

using testing::HasSubstr;

std::vector<double> sinusoid(double frequency, double rate, std::size_t n) {
  std::vector<double> x;
  for (std::size_t i = 0; i < n; ++i) {
    x.push_back(std::sin(2.0 * std::numbers::pi * frequency * static_cast<double>(i) / rate));
  }
  return x;
}

class Gain : public testing::TestWithParam<int> {};

// In the middle of a long record the effect of the ends has decayed: the slowest pole of the filter of order 8 at 6 Hz
// decays as exp(-2 pi 6 sin(pi/8) t), by 5 s to e^-72. The rest is round-off.
TEST_P(Gain, FollowsTheClosedForm) {
  const LowPass filter{.order = GetParam(), .cutoff = 6.0, .rate = 100.0};
  for (const double f : {1.0, 3.0, 6.0, 12.0, 25.0}) {
    const auto x = sinusoid(f, filter.rate, 1001);
    const auto y = low_pass(x, filter);
    const double w = std::tan(std::numbers::pi * f / 100.0) / std::tan(std::numbers::pi * 6.0 / 100.0);
    const double gain = 1.0 / (1.0 + (std::numbers::sqrt2 - 1.0) * std::pow(w, GetParam()));
    EXPECT_NEAR(low_pass_gain(filter, f), gain, 1e-14);
    for (std::size_t i = 450; i < 550; ++i) {
      EXPECT_NEAR(y[i], gain * x[i], 1e-9) << f << " Hz, sample " << i << ": lag or gain";
    }
  }
  EXPECT_NEAR(low_pass_gain(filter, 6.0), 1.0 / std::numbers::sqrt2, 1e-14) << "3 dB at the cut-off, for every order";
}

INSTANTIATE_TEST_SUITE_P(Orders, Gain, testing::Values(2, 4, 6, 8),
                         [](const auto& info) { return "Order" + std::to_string(info.param); });

TEST(LowPass, KeepsConstantsAndStraightLines) {
  std::vector<double> line, constant(40, 3.0);
  for (int i = 0; i < 151; ++i) line.push_back(2.0 - 1.139 * i / 60.0);
  const LowPass filter{.order = 4, .cutoff = 6.0, .rate = 60.0};
  const auto y = low_pass(line, filter);
  // A filter pass starts as if the signal had been constant; over the padding of three periods that error has decayed
  // to exp(-3 2pi sin(45 deg)) = 1.6e-6 of its magnitude, lag times slope = 0.04 s * 1.14 m/s.
  for (std::size_t i = 0; i < line.size(); ++i) EXPECT_NEAR(y[i], line[i], 1e-6) << i;
  for (const double value : low_pass(constant, filter)) EXPECT_NEAR(value, 3.0, 1e-13);
}

TEST(LowPass, RejectsInvalidInput) {
  const std::vector<double> x(10, 1.0);
  EXPECT_THAT(rejection_error([&] { (void)low_pass(x, {.order = 3, .cutoff = 6.0, .rate = 60.0}); }),
              HasSubstr("even number"));
  EXPECT_THAT(rejection_error([&] { (void)low_pass(x, {.order = 4, .cutoff = 30.0, .rate = 60.0}); }),
              HasSubstr("30 Hz"));
  std::vector<double> gap = x;
  gap[4] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(rejection_error([&] { (void)low_pass(gap, {.order = 4, .cutoff = 6.0, .rate = 60.0}); }),
              HasSubstr("sample 4"));
}

TEST(Gaps, AreFilledWithinTheErrorOfASpline) {
  const double rate = 60.0, f = 1.0, nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> times;
  for (int i = 0; i < 121; ++i) times.push_back(i / rate);
  const auto x = sinusoid(f, rate, 121);
  auto y = x;
  for (std::size_t i = 50; i <= 54; ++i) y[i] = nan;
  for (std::size_t i = 80; i <= 92; ++i) y[i] = nan;
  for (std::size_t i = 0; i < 2; ++i) y[i] = nan;
  const auto gaps = fill_gaps(times, y, 0.1);
  ASSERT_EQ(gaps.size(), 3U);
  EXPECT_FALSE(gaps[0].filled) << "nothing is extrapolated";
  EXPECT_TRUE(gaps[1].filled) << "six intervals of 1/60 s are 0.1 s";
  EXPECT_FALSE(gaps[2].filled) << "13 samples are more than 0.1 s";
  EXPECT_EQ(gaps[1].first, 50U);
  EXPECT_EQ(gaps[1].last, 54U);
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[85]));
  // Complete cubic splines have errors of at most 5/384 h^4 |f''''|; slopes at the gap's ends are those of the fine
  // samples.
  const double bound = 5.0 / 384.0 * std::pow(0.1, 4) * std::pow(2.0 * std::numbers::pi * f, 4);
  double worst = 0.0;
  for (std::size_t i = 50; i <= 54; ++i) worst = std::max(worst, std::abs(y[i] - x[i]));
  EXPECT_LT(worst, 1.2 * bound);
  EXPECT_GT(worst, 1e-6) << "the gap was not there";
}

}  // namespace
}  // namespace heelstrike
