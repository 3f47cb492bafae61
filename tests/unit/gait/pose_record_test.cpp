// Poses as smooth functions of time, their twists, and comparison of plates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gait/grf_comparison.hpp"
#include "gait/marker_drivers.hpp"

namespace heelstrike {
namespace {

/// Pitches through 90 degrees and beyond, where angles in a fixed order would be singular.
Pose tumbling(double t) {
  return {.R = rotation_from_vector({0.1 * t, 2.0 * t, -0.3}), .p = {-1.2 * t, 0.1 * std::sin(3.0 * t), 0.2 * t * t}};
}

TEST(PoseRecord, InterpolatesThePosesWithExactTwists) {
  std::vector<double> times;
  std::vector<Pose> poses;
  for (int i = 0; i <= 60; ++i) {
    times.push_back(i / 60.0);
    poses.push_back(tumbling(times.back()));
  }
  const BodyRecordPtr record = make_body_record("foot", times, poses);
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_LT((pose_at(*record, times[i]).R - poses[i].R).norm(), 1e-12) << i;
    EXPECT_LT((pose_at(*record, times[i]).p - poses[i].p).norm(), 1e-12) << i;
  }
  // Quintic splines at 60 Hz: h^6 of 1/s movements is 2e-11, near the natural ends h^3; the middle is examined.
  for (const double t : {0.31, 0.4567, 0.62}) {
    EXPECT_LT((pose_at(*record, t).R - tumbling(t).R).norm(), 1e-8) << t;
    const double h = 1e-5;
    const Pose before = pose_at(*record, t - h), after = pose_at(*record, t + h);
    const Matrix3 W = (after.R - before.R) / (2.0 * h) * pose_at(*record, t).R.transpose();
    const Twist V = twist_at(*record, t);
    // Central differences: truncation h^2 = 1e-10, round-off 1e-16 / 1e-5.
    EXPECT_LT((W - skew(V.w)).norm(), 1e-8) << t;
    EXPECT_LT(((after.p - before.p) / (2.0 * h) - V.v).norm(), 1e-8) << t;
  }
}

ForcePlate ramp(double factor, double start) {
  ForcePlate plate{.name = "p", .times = {}, .force = {}, .point = {}, .moment = {}};
  for (int i = 0; i <= 100; ++i) {
    const double t = 0.01 * i;
    const bool loaded = t >= 0.2 && t <= 0.8;
    plate.times.push_back(t + start);
    plate.force.emplace_back(0.0, loaded ? factor * 500.0 : 0.0, 0.0);
    plate.point.emplace_back(t, 0.0, 0.0);
    plate.moment.emplace_back(0.0, loaded ? 3.0 : 0.0, 0.0);
  }
  return plate;
}

TEST(GrfComparison, LimitsAStanceToTheRun) {
  const ForcePlate measured = ramp(1.0, 0.0);
  ForcePlate predicted = ramp(0.8, 0.0);
  for (auto* series : {&predicted.force, &predicted.point, &predicted.moment}) series->resize(51);
  predicted.times.resize(51);
  const auto result = compare_plates(measured, predicted, Vector3::UnitY());
  ASSERT_EQ(result.size(), 1U);
  EXPECT_NEAR(result[0].stance.end, 0.8 + 0.01 * 480.0 / 500.0, 1e-12);
  EXPECT_EQ(result[0].to, 0.5);
  EXPECT_FALSE(result[0].first_peak[0]) << "no halves of half a stance";
  EXPECT_NEAR(result[0].components[1].rms, 100.0, 1e-9);
  EXPECT_NEAR(result[0].cop_rms, 0.0, 1e-12);
  EXPECT_EQ(vertical_axis(std::span(&measured, 1)), Vector3::UnitY());
  EXPECT_TRUE(compare_plates(measured, ramp(1.0, 5.0), Vector3::UnitY()).empty()) << "another clock";
}

// Requirement: frames without a solution are missing, not interpolated. Here the run deviates by 100 N and lost the
// rows from 0.31 to 0.39 s, where a straight line would hide the gap.
TEST(GrfComparison, GapOfTheRunIsOmitted) {
  const ForcePlate measured = ramp(1.0, 0.0);
  ForcePlate predicted = ramp(0.8, 0.0);
  predicted.times.erase(predicted.times.begin() + 31, predicted.times.begin() + 40);
  for (auto* series : {&predicted.force, &predicted.point, &predicted.moment}) {
    series->erase(series->begin() + 31, series->begin() + 40);
  }
  const auto result = compare_plates(measured, predicted, Vector3::UnitY(), stance_threshold, 0.015);
  ASSERT_EQ(result.size(), 1U);
  // Rows at 0.31 to 0.39 s have no neighbours at 10 ms; that at 0.30 s lies at the edge of the gap.
  EXPECT_GE(result[0].n_missing, 9U);
  EXPECT_LE(result[0].n_missing, 10U);
  for (const StanceRow& row : result[0].rows) EXPECT_TRUE(row.time < 0.305 || row.time > 0.385) << row.time;
  EXPECT_FALSE(result[0].first_peak[0]) << "the peak may lie in the gap";
  EXPECT_EQ(compare_plates(measured, predicted, Vector3::UnitY())[0].n_missing, 0U);
}

}  // namespace
}  // namespace heelstrike
