// Poses from markers on a foot whose motion is known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "gait/foot_motion.hpp"
#include "tests/unit/gait/constants.hpp"
#include "tests/unit/motion/rejection.hpp"

namespace heelstrike {
namespace {

using test::degree;
using test::up;

using testing::AllOf;
using testing::HasSubstr;

/// A right foot, x forward, y left, z up; the toe axis is oblique.
const std::vector<std::pair<std::string, Vector3>> standing_markers = {
    {"heel", {-0.06, 0.0, 0.03}},    {"sup", {0.08, 0.04, 0.045}},   {"lat", {0.08, -0.06, 0.03}},
    {"toelat", {0.14, -0.06, 0.01}}, {"toemed", {0.16, 0.04, 0.02}}, {"tip", {0.22, 0.01, 0.015}},
    {"ankle", {0.0, 0.0, 0.08}},
};
const FootMarkers names{.hindfoot = {"heel", "sup", "lat", "toelat", "toemed"},
                        .heel = "heel",
                        .toe_tip = "tip",
                        .toe_lateral = "toelat",
                        .toe_medial = "toemed",
                        .origin = {"ankle"},
                        .stand_in = {}};

MarkerTrial standing(const Pose& X = {}, double scale = 1.0) {
  MarkerTrial trial;
  trial.file_name = "static.trc";
  trial.rate = 60.0;
  for (int i = 0; i < 4; ++i) trial.times.push_back(i / 60.0);
  for (const auto& [name, p] : standing_markers) {
    trial.names.push_back(name);
    trial.positions.emplace_back(4, scale * (X * p));
  }
  return trial;
}

/// Stands on a belt that moves at -1.2 m/s, then lifts the heel with flexing toes and swings forward.
struct Truth {
  Pose X_WH;
  double toe = 0.0;
};
Truth truth(double t) {
  const double s = std::clamp((t - 0.5) / 0.5, 0.0, 1.0);
  const double rise = s * s * (3.0 - 2.0 * s);
  return {.X_WH = {.R = rotation_from_vector(Vector3(0.1, 0.8, -0.05) * rise),
                   .p = Vector3(-1.2 * t + 2.0 * rise, 0.01 * rise, 0.08 + 0.1 * rise)},
          .toe = 30.0 * degree * rise};
}

MarkerTrial walking(const FootTemplate& foot) {
  MarkerTrial trial;
  trial.file_name = "walk.trc";
  trial.rate = 60.0;
  for (int i = 0; i <= 60; ++i) trial.times.push_back(i / 60.0);
  trial.names = foot.markers.hindfoot;
  trial.names.push_back("tip");
  trial.positions.resize(6);
  for (const double t : trial.times) {
    const Truth now = truth(t);
    for (std::size_t m = 0; m < 5; ++m) trial.positions[m].push_back(now.X_WH * foot.hindfoot_H[m]);
    trial.positions[5].push_back(now.X_WH * (toe_pose(foot, now.toe) * (foot.toe_tip_H - foot.p_HT)));
  }
  return trial;
}

TEST(FittedPose, FindsThePoseWithoutReflection) {
  std::vector<Vector3> a, b;
  for (const auto& [name, p] : standing_markers) a.push_back(p);
  const Pose X{.R = rotation_from_vector({0.4, -1.2, 2.0}), .p = {1.0, -2.0, 0.5}};
  for (const auto& p : a) b.push_back(X * p);
  const std::vector<double> weights = {1.0, 2.0, 0.5, 1.0, 1.0, 0.0, 3.0};
  b[5] += Vector3(0.3, 0.0, 0.0);  // weight 0
  const Pose found = fitted_pose(a, b, weights);
  EXPECT_LT((found.R - X.R).norm(), 1e-12);
  EXPECT_LT((found.p - X.p).norm(), 1e-12);
  // Coplanar points measured as their mirror image at the plane: the unguarded formula gives a reflection.
  const std::vector<Vector3> flat = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0.2, 0.2, 0.1}};
  std::vector<Vector3> mirrored = flat;
  mirrored[3].z() = -0.1;
  const Pose guarded = fitted_pose(flat, mirrored, std::vector<double>(4, 1.0));
  EXPECT_NEAR(guarded.R.determinant(), 1.0, 1e-12);
  EXPECT_THAT(rejection_error([&] {
                const std::vector<Vector3> line = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}};
                (void)fitted_pose(line, line, std::vector<double>(3, 1.0));
              }),
              HasSubstr("one line"));
}

TEST(FittedPose, WeightsMarkers) {
  // Two markers pull to opposite sides of a symmetric cluster; the fit moves by their weighted mean.
  const std::vector<Vector3> a = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}};
  std::vector<Vector3> b = a;
  b[0].z() += 0.01;
  b[1].z() += 0.01;
  const Pose X = fitted_pose(a, b, std::vector<double>{3.0, 3.0, 1.0, 1.0});
  EXPECT_NEAR(X.p.z(), 0.01 * 6.0 / 8.0, 1e-6);
}

TEST(FootTemplate, HasFramesOfTheFoot) {
  const Pose rotated{.R = rotation_from_vector({0.0, 0.0, 0.3}), .p = {0.5, 0.2, 0.0}};
  const FootTemplate foot = make_foot_template(standing(rotated), names, up);
  EXPECT_NEAR(foot.length, std::hypot(0.28, 0.01, 0.015), 1e-12);
  EXPECT_LT((foot.X_WH.p - rotated * Vector3(0.0, 0.0, 0.08)).norm(), 1e-12);
  EXPECT_NEAR(foot.X_WH.R.col(2).z(), 1.0, 1e-12);
  EXPECT_NEAR(foot.toe_tip_H.x(), std::hypot(0.28, 0.01) - 0.06 * std::cos(std::atan(0.01 / 0.28)), 1e-3);
  EXPECT_GT((toe_pose(foot, 0.1) * (foot.toe_tip_H - foot.p_HT)).z(), foot.toe_tip_H.z()) << "extension lifts";
}

TEST(FootTemplate, RejectsInvalidFeet) {
  const auto message = [](const MarkerTrial& trial) {
    return rejection_error([&] { (void)make_foot_template(trial, names, up); });
  };
  EXPECT_THAT(message(standing({}, 1000.0)),
              AllOf(HasSubstr("0.1 to 0.45 m"), HasSubstr("280.6 m"), HasSubstr("units")));
  EXPECT_THAT(message(standing({.R = rotation_from_vector({90.0 * degree, 0, 0}), .p = {}})), HasSubstr("on the wall"));
  EXPECT_THAT(message(standing({.R = rotation_from_vector({180.0 * degree, 0, 0}), .p = {}})),
              HasSubstr("upside down"));
  EXPECT_THAT(message(standing({.R = rotation_from_vector({0, -25.0 * degree, 0}), .p = {}})),
              AllOf(HasSubstr("foot flat"), HasSubstr("degrees upwards")));
  MarkerTrial moving = standing();
  for (auto& marker : moving.positions) marker[3].x() += 0.2;
  EXPECT_THAT(message(moving), HasSubstr("stands still"));
  MarkerTrial hidden = standing();
  for (Vector3& p : hidden.positions[1]) p.setConstant(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(message(hidden), AllOf(HasSubstr("marker 'sup'"), HasSubstr("gaps in all 4 frames")));
}

TEST(FootMotion, EqualsTheMotionOfTheMarkers) {
  const FootTemplate foot = make_foot_template(standing(), names, up);
  const FootMotion motion = track_foot(foot, walking(foot), {});
  ASSERT_EQ(motion.times.size(), 61U);
  EXPECT_TRUE(motion.outliers.empty());
  for (std::size_t i = 0; i < motion.times.size(); ++i) {
    const Truth now = truth(motion.times[i]);
    EXPECT_LT((motion.X_WH[i].R - now.X_WH.R).norm(), 1e-12) << i;
    EXPECT_LT((motion.X_WH[i].p - now.X_WH.p).norm(), 1e-12) << i;
    EXPECT_NEAR(motion.toe_angle[i], now.toe, 1e-12) << i;
    EXPECT_LT((motion.X_WT[i].p - now.X_WH * foot.p_HT).norm(), 1e-12) << i;
  }
}

/// The heel rises by 30 degrees about a joint 20 mm below the markers of its axis; the toes remain on the ground.
TEST(FootMotion, ToesAreAtRestWithTheAxisAtTheJoint) {
  const double depth = 0.020, angle = 30.0 * degree;
  FootMarkers deep = names;
  deep.toe_axis_depth = depth;
  const FootTemplate foot = make_foot_template(standing(), deep, up);
  MarkerTrial trial = walking(foot);
  for (std::size_t i = 0; i < trial.times.size(); ++i) {
    const double s = static_cast<double>(i) / static_cast<double>(trial.times.size() - 1);
    const Pose X_TH = toe_pose(foot, angle * s).inverse();  // T remains at its position in the static trial
    const Pose X_WT = foot.X_WH * toe_pose(foot, 0.0);
    for (std::size_t m = 0; m < 5; ++m) trial.positions[m][i] = X_WT * (X_TH * foot.hindfoot_H[m]);
    trial.positions[5][i] = foot.X_WH * foot.toe_tip_H;
  }
  const FootMotion motion = track_foot(foot, trial, {});
  EXPECT_LT((motion.X_WT.back().p - motion.X_WT.front().p).norm(), 1e-12);
  EXPECT_NEAR(motion.toe_angle.back(), angle, 1e-12);
  // With a rotation about the markers themselves the toes slide over the ground by the motion of the markers.
  const FootMotion tangentially_displaced = track_foot(make_foot_template(standing(), names, up), trial, {});
  EXPECT_NEAR((tangentially_displaced.X_WT.back().p - tangentially_displaced.X_WT.front().p).norm(),
              2.0 * depth * std::sin(0.5 * angle), 1e-3);
}

TEST(FootMotion, ExcludesAJumpingMarker) {
  const FootTemplate foot = make_foot_template(standing(), names, up);
  MarkerTrial trial = walking(foot);
  for (std::size_t i = 20; i <= 25; ++i) trial.positions[1][i].y() += 0.035;
  const FootMotion motion = track_foot(foot, trial, {});
  ASSERT_EQ(motion.outliers.size(), 1U);
  EXPECT_EQ(motion.outliers[0].marker, "sup");
  EXPECT_EQ(motion.outliers[0].first, 18U) << "two frames of margin";
  EXPECT_EQ(motion.outliers[0].last, 27U);
  EXPECT_NEAR(motion.outliers[0].distance, 0.035, 1e-12);
  for (std::size_t i = 0; i < motion.times.size(); ++i) {
    EXPECT_LT((motion.X_WH[i].p - truth(motion.times[i]).X_WH.p).norm(), 1e-12) << i;
  }
}

/// Marker m of the walk displaced in the frame of the hindfoot.
void displace(MarkerTrial& trial, std::size_t m, std::size_t first, std::size_t last, const Vector3& by_H) {
  for (std::size_t i = first; i <= last; ++i) trial.positions[m][i] += truth(trial.times[i]).X_WH.R * by_H;
}

double largest_difference(const FootMotion& a, const FootMotion& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.times.size(); ++i) largest = std::max(largest, (a.X_WH[i].p - b.X_WH[i].p).norm());
  return largest;
}

// Shoes and skin keep markers a few millimetres from their positions in the static trial. Only the contribution of a
// jumping marker is removed: the pose is that of the walk without its jump.
TEST(FootMotion, IsContinuousWhenAMarkerDropsOut) {
  const FootTemplate foot = make_foot_template(standing(), names, up);
  MarkerTrial slipped = walking(foot);
  displace(slipped, 0, 0, 60, {0.002, 0.0, 0.003});
  displace(slipped, 1, 0, 60, {0.0, -0.002, 0.003});
  const FootMotion before = track_foot(foot, slipped, {});
  ASSERT_TRUE(before.outliers.empty());
  ASSERT_GT(largest_difference(before, track_foot(foot, walking(foot), {})), 1e-3) << "the slip is part of the pose";

  MarkerTrial jumping = slipped;
  displace(jumping, 1, 20, 25, {0.0, 0.035, 0.0});
  const FootMotion one = track_foot(foot, jumping, {});
  ASSERT_EQ(one.outliers.size(), 1U);
  EXPECT_LT(largest_difference(one, before), 1e-12);

  // Two at once, one of them longer: one set of reference markers.
  displace(jumping, 2, 22, 30, {0.0, 0.0, -0.030});
  const FootMotion two = track_foot(foot, jumping, {});
  EXPECT_EQ(two.outliers.size(), 2U);
  EXPECT_LT(largest_difference(two, before), 1e-12);

  // To the end of the trial, without later samples.
  MarkerTrial lost = slipped;
  displace(lost, 1, 40, 60, {0.0, 0.035, 0.0});
  EXPECT_LT(largest_difference(track_foot(foot, lost, {}), before), 1e-12);

  // Never at its template position: its true position is unknown, and the others determine the foot.
  MarkerTrial misplaced = walking(foot);
  displace(misplaced, 1, 0, 60, {0.0, 0.035, 0.0});
  EXPECT_LT(largest_difference(track_foot(foot, misplaced, {}), track_foot(foot, walking(foot), {})), 1e-12);
}

// A marker that slides up to 14 mm away but starts and ends at 8 mm does not jump: without it, the pose would follow
// the noise of the others.
TEST(FootMotion, KeepsASlidingMarker) {
  const FootTemplate foot = make_foot_template(standing(), names, up);
  MarkerTrial trial = walking(foot);
  displace(trial, 0, 0, 60, {0.0, 0.0, 0.008});
  displace(trial, 0, 20, 24, {0.0, 0.0, 0.006});
  EXPECT_TRUE(track_foot(foot, trial, {}).outliers.empty());
  displace(trial, 0, 20, 24, {0.0, 0.0, 0.006});  // 12 mm from its bridge
  EXPECT_EQ(track_foot(foot, trial, {}).outliers.size(), 1U);
}

TEST(FootMotion, FillsGapsAndReportsTheOthers) {
  const FootTemplate foot = make_foot_template(standing(), names, up);
  MarkerTrial trial = walking(foot);
  const Vector3 gap = Vector3::Constant(std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 10; i <= 12; ++i) trial.positions[5][i] = gap;
  for (std::size_t i = 30; i <= 45; ++i) trial.positions[0][i] = gap;  // too long, but four others are available
  const FootMotion motion = track_foot(foot, trial, {});
  ASSERT_EQ(motion.gaps.size(), 2U);
  EXPECT_EQ(motion.gaps[0].marker, "heel");
  EXPECT_FALSE(motion.gaps[0].gap.filled);
  EXPECT_EQ(motion.gaps[1].marker, "tip");
  EXPECT_TRUE(motion.gaps[1].gap.filled);
  EXPECT_LT((motion.X_WH[40].p - truth(40.0 / 60.0).X_WH.p).norm(), 1e-12);
  for (std::size_t i = 30; i <= 45; ++i) trial.positions[5][i] = gap;
  EXPECT_THAT(rejection_error([&] { (void)track_foot(foot, trial, {}); }),
              AllOf(HasSubstr("walk.trc: frame 31 (t = 0.5 s)"), HasSubstr("'tip'")));
}

TEST(GroundSpeed, EqualsThatOfTheFlatFoot) {
  const FootTemplate foot = make_foot_template(standing(), names, up);
  const MarkerTrial trial = walking(foot);
  const FootMotion motion = track_foot(foot, trial, {});
  const GroundSpeed ground = find_ground_speed(trial, std::span(&foot, 1), std::span(&motion, 1), up);
  // Up to 0.5 s the foot stands on the belt; the first frames of the rise are removed with a quarter of the interval.
  EXPECT_LT((ground.velocity - Vector3(-1.2, 0.0, 0.0)).norm(), 1e-9) << ground.velocity.transpose();
  EXPECT_EQ(ground.n_slopes, 5U);
}

}  // namespace
}  // namespace heelstrike
