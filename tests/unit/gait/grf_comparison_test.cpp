// Errors with every normalisation, over all stances, and against the mean curve of the other stances.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "gait/grf_comparison.hpp"
#include "tests/unit/gait/constants.hpp"

namespace heelstrike {
namespace {

using test::up;

constexpr std::array<double, 3> starts = {0.5, 2.0, 3.5};

/// Three stances of 1 s: 700 N vertical, a sine of `amplitude` along x, `sideways` along y.
ForcePlate plate(const std::string& name, double amplitude, double sideways) {
  ForcePlate p{.name = name, .times = {}, .force = {}, .point = {}, .moment = {}};
  for (int i = 0; i <= 5000; ++i) {
    const double t = 0.001 * i;
    Vector3 force = Vector3::Zero(), point = Vector3::Zero();
    for (const double start : starts) {
      const double s = t - start;
      if (s < 0.0 || s > 1.0) continue;
      force = Vector3(amplitude * std::sin(2.0 * std::numbers::pi * s), sideways, 700.0);
      point = Vector3(0.2 * s, 0.0, 0.0);
    }
    p.times.push_back(t);
    p.force.push_back(force);
    p.point.push_back(point);
    p.moment.emplace_back(Vector3::Zero());
  }
  return p;
}

std::vector<StanceComparison> compared(const std::string& name, double measured, double predicted, double sideways) {
  return compare_plates(plate(name, measured, sideways), plate(name, predicted, sideways), up);
}

TEST(GrfComparison, RangeAndImpulseFollowFromTheCurves) {
  const auto stances = compared("right", 100.0, 80.0, 20.0);
  ASSERT_EQ(stances.size(), 3u);
  const ComponentError& x = stances[0].components[0];
  EXPECT_NEAR(x.rms, 20.0 / std::sqrt(2.0), 0.1);
  EXPECT_NEAR(x.range(), 200.0, 0.1);
  EXPECT_NEAR(x.measured_impulse, 0.0, 0.2);
  EXPECT_NEAR(stances[0].components[1].measured_impulse, 20.0, 0.1) << "20 N for 1 s";
  EXPECT_NEAR(stances[0].components[2].predicted_impulse, 700.0, 2.0);
}

TEST(GrfComparison, RoundingHasNoCorrelation) {
  EXPECT_NEAR(compared("right", 100.0, 1.0, 0.0)[0].components[0].correlation, 1.0, 1e-6);
  EXPECT_TRUE(std::isnan(compared("right", 100.0, 1e-9, 0.0)[0].components[0].correlation));
}

TEST(GrfComparison, TheMeanOfTheOtherStancesNeedsNoModel) {
  // Stances of one foot repeat each other; those of the other foot are mirrored.
  auto stances = compared("right", 100.0, 80.0, 20.0);
  const auto left = compared("left", 100.0, 80.0, -20.0);
  stances.insert(stances.end(), left.begin(), left.end());
  const std::array<std::string, 3> directions = {"anterior-posterior", "mediolateral", "vertical"};
  add_mean_curves(stances, directions);
  for (const StanceComparison& stance : stances) {
    for (std::size_t c = 0; c < 3; ++c) {
      ASSERT_TRUE(stance.components[c].mean_curve_rms.has_value());
      EXPECT_NEAR(*stance.components[c].mean_curve_rms, 0.0, 0.5) << c;
    }
  }
}

TEST(GrfComparison, AllStancesArePooledOverTheirRows) {
  auto stances = compared("right", 100.0, 80.0, 20.0);
  const auto worse = compared("left", 100.0, 60.0, -20.0);
  stances.insert(stances.end(), worse.begin(), worse.end());
  const PooledComparison all = pooled(stances);
  EXPECT_EQ(all.n_stances, 6u);
  ASSERT_EQ(all.components.size(), 4u);
  EXPECT_NEAR(all.components[0].rms, std::sqrt((20.0 * 20.0 + 40.0 * 40.0) / 2.0 / 2.0), 0.1);
  EXPECT_NEAR(all.components[0].rms_of_range, all.components[0].rms / 200.0, 1e-3);
  EXPECT_NEAR(all.components[0].correlation, 1.0, 1e-9);
  EXPECT_TRUE(std::isnan(all.components[1].rms_of_range)) << "a constant has no range";
  EXPECT_NEAR(all.cop_rms, 0.0, 1e-12);
  EXPECT_FALSE(all.components[0].mean_curve_rms.has_value());
}

TEST(GrfComparison, TruncatedStancesAreNotPooled) {
  ForcePlate predicted = plate("right", 80.0, 20.0);
  const auto cut = [](auto& values) { values.resize(3000); };
  cut(predicted.times);
  cut(predicted.force);
  cut(predicted.point);
  cut(predicted.moment);
  const auto stances = compare_plates(plate("right", 100.0, 20.0), predicted, up);
  ASSERT_EQ(stances.size(), 2u);
  EXPECT_TRUE(stances[0].is_whole());
  EXPECT_FALSE(stances[1].is_whole());
  EXPECT_EQ(pooled(stances).n_stances, 1u);
}

}  // namespace
}  // namespace heelstrike
