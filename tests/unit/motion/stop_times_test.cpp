// Times at which an integrator stops: short parts and kinks of functions of time, none of functions that vary evenly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/motion/stop_times.hpp"

namespace heelstrike {
namespace {

bool has(const std::vector<double>& stops, double from, double to) {
  return std::ranges::any_of(stops, [&](double t) { return t >= from && t <= to; });
}

TEST(StopTimes, PulsesAreEnclosed) {
  // Ramps of 0.05 s, of 1 ms, and of a width that is not written as a number.
  for (const auto& [formula, begin, end, ramp] :
       {std::tuple{"100 * (step(t, 0.4, 0.45) - step(t, 0.55, 0.6))", 0.4, 0.6, 0.05},
        std::tuple{"5 + 0.1 * (step(t, 0.4, 0.401) - step(t, 0.404, 0.405))", 0.4, 0.405, 0.001},
        std::tuple{"exp(-((t - 0.613) / 0.002) ^ 2)", 0.606, 0.62, 0.006},
        std::tuple{"step(t, 1 / 3, 1 / 3 + 0.02) - step(t, 1 / 3 + 0.02, 1 / 3 + 0.04)", 1.0 / 3.0, 1.0 / 3.0 + 0.04,
                   0.02}}) {
    const auto stops = stop_times(*make_expression(formula), 0.0, 1.0);
    EXPECT_TRUE(has(stops, begin - 0.2 * ramp, begin + 0.5 * ramp)) << formula;
    EXPECT_TRUE(has(stops, end - 0.5 * ramp, end + 0.2 * ramp)) << formula;
    EXPECT_FALSE(has(stops, 0.0, begin - ramp)) << formula;
    EXPECT_FALSE(has(stops, end + ramp, 1.0)) << formula;
  }
}

TEST(Splines, OvershootIsFound) {
  const auto pulse = [](int degree) { return make_spline({0.0, 0.49, 0.51, 1.0}, {0.0, 0.0, 100.0, 100.0}, degree); };
  const auto found = find_overshoot(*make_scaled(pulse(3), 2.0, 0.0), 0.0, 1.0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->low, 0.0);
  EXPECT_EQ(found->high, 200.0);
  EXPECT_GT(std::max(-found->value, found->value - 200.0), 800.0);
  EXPECT_TRUE(find_overshoot(*pulse(5), 0.0, 1.0));
  EXPECT_FALSE(find_overshoot(*pulse(1), 0.0, 1.0)) << "lines stay between their rows";
  EXPECT_FALSE(find_overshoot(*pulse(3), 0.485, 0.515)) << "outside of the run";
  // Rows that are good enough: a step at equal intervals, a sine with four rows per period.
  std::vector<double> times, step, sine, constant;
  for (int i = 0; i <= 40; ++i) {
    times.push_back(0.025 * i);
    step.push_back(i < 20 ? 0.0 : 1.0);
    sine.push_back(std::sin((0.5 * i + 0.25) * 3.14159265358979));
    constant.push_back(i % 2 == 0 ? 5.0 : 5.0 + 1e-15);
  }
  for (const auto& values : {step, constant}) {
    EXPECT_FALSE(find_overshoot(*make_spline(times, values, 3), 0.0, 1.0));
    EXPECT_FALSE(find_overshoot(*make_spline(times, values, 5), 0.0, 1.0));
  }
  EXPECT_FALSE(find_overshoot(*make_spline(times, sine, 3), 0.0, 1.0));
  // The numbers of a formula are no rows.
  EXPECT_FALSE(find_overshoot(*make_expression("1e9 * t"), 0.0, 1.0));
  EXPECT_FALSE(find_overshoot(*make_expression("0.3 * (1 - cos(6.5655 * t))"), 0.0, 1.0));
}

TEST(Splines, DegreeOneIsPiecewiseLinear) {
  const auto f = make_spline({0.0, 1.0, 3.0}, {1.0, 3.0, 2.0}, 1);
  EXPECT_EQ(f->at(0.5).f, 2.0);
  EXPECT_EQ(f->at(2.0).f, 2.5);
  EXPECT_EQ(f->at(2.0).d, -0.5);
  EXPECT_EQ(f->at(3.0).f, 2.0);
  EXPECT_TRUE(has(stop_times(*f, 0.0, 3.0), 1.0, 1.0)) << "a kink";
}

TEST(StopTimes, RowsOfTablesAreSeen) {
  // A load of three rows in a table of 10 s at 1 kHz.
  std::vector<double> times, values;
  for (int i = 0; i <= 10'000; ++i) {
    times.push_back(1e-3 * i);
    values.push_back(i >= 4321 && i <= 4323 ? 50.0 : 0.0);
  }
  const auto stops = stop_times(*make_scaled(make_spline(times, values, 3), -2.0, 1.0), 0.0, 10.0);
  EXPECT_TRUE(has(stops, 4.315, 4.3215));
  EXPECT_TRUE(has(stops, 4.3225, 4.33));
}

TEST(StopTimes, KinksAreFound) {
  EXPECT_EQ(stop_times(*make_expression("0.5 * abs(t - 0.53) - 0.265"), 0.0, 1.0), std::vector<double>{0.53});
}

TEST(StopTimes, EvenFunctionsHaveNone) {
  for (const char* formula :
       {"3", "2 * t - 1", "t ^ 2", "sin(50 * t)", "0.1 * sin(3 * t + 0.2) + 7", "step(t, 0, 1)", "exp(-t)"}) {
    EXPECT_TRUE(stop_times(*make_expression(formula), 0.0, 1.0).empty()) << formula;
  }
}

}  // namespace
}  // namespace heelstrike
