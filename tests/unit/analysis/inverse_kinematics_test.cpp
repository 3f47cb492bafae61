// Inverse kinematics of a two-link arm against known angles.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/errors/error.hpp"
#include "mbs_server/analysis/inverse_kinematics.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two links of 0.4 and 0.3 m in the plane of x and y, the second with a coordinate about its own axis.
constexpr const char* two_links =
    "heelstrike: 1\ngravity: [0, 0, 0]\n"
    "bodies:\n  upper: {mass: 1, inertia: [1, 1, 1]}\n  lower: {mass: 1, inertia: [1, 1, 1], position: [0.4, 0, 0]}\n"
    "joints:\n  shoulder:\n    type: custom\n    bodies: [ground, upper]\n    coordinates: {shoulder: {}}\n"
    "    rotations: [{axis: [0, 0, 1], of: {shoulder: {polynomial: [0, 1]}}}, {axis: [1, 0, 0]}, {axis: [0, 1, 0]}]\n"
    "  elbow:\n    type: custom\n    bodies: [upper, lower]\n    points: [[0.4, 0, 0], [0, 0, 0]]\n"
    "    coordinates: {elbow: {}, twist: {}}\n"
    "    rotations: [{axis: [0, 0, 1], of: {elbow: {polynomial: [0, 1]}}}, {axis: [1, 0, 0], of: {twist: {polynomial: "
    "[0, 1]}}}, {axis: [0, 1, 0]}]\n"
    "analysis: {type: forward, end_time: 1}\noutput: {interval: 0.1}\n";

Vector3 rotated(double angle, double length) {
  return length * Vector3(std::cos(angle), std::sin(angle), 0.0);
}

/// Markers at the elbow and at the wrist, on the axis of the twist.
InverseKinematicsTask reaching_task(const std::vector<double>& shoulder, const std::vector<double>& elbow) {
  InverseKinematicsTask task;
  task.markers = {{.name = "elbow", .body = "upper", .p_BM = {0.4, 0.0, 0.0}},
                  {.name = "wrist", .body = "lower", .p_BM = {0.3, 0.0, 0.0}}};
  for (std::size_t i = 0; i < shoulder.size(); ++i) {
    task.times.push_back(0.01 * static_cast<double>(i));
    const Vector3 p = rotated(shoulder[i], 0.4);
    task.markers[0].measured.push_back(p);
    task.markers[1].measured.push_back(p + rotated(shoulder[i] + elbow[i], 0.3));
  }
  return task;
}

void hide(ModelMarker& marker, std::size_t frame) {
  marker.measured[frame].setConstant(std::numeric_limits<double>::quiet_NaN());
}

/// "name: frames" of the coordinates that the markers of some frames do not determine.
std::vector<std::string> undetermined_in(const InverseKinematicsResult& result) {
  std::vector<std::string> texts;
  for (const UndeterminedCoordinate& found : result.undetermined) {
    texts.push_back(fmt::format("{}: {}", found.name, fmt::join(found.frames, " ")));
  }
  return texts;
}

InverseKinematicsResult solved(const InverseKinematicsTask& task) {
  return mbs::solve_inverse_kinematics(scenario_from(two_links), task, [](std::size_t) {}, {});
}

TEST(InverseKinematics, RecoversTheAnglesOfExactMarkers) {
  const std::vector<double> shoulder = {0.9, 0.95, 1.02};
  const std::vector<double> elbow = {-0.7, -0.6, -0.45};
  const InverseKinematicsResult result = solved(reaching_task(shoulder, elbow));
  EXPECT_THAT(result.coordinates, ElementsAre("shoulder", "elbow", "twist"));
  EXPECT_THAT(undetermined_in(result), ElementsAre("twist: 0 1 2"));
  ASSERT_EQ(result.frames.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    // The pull to the frame before changes an angle by at most 1e-6 / 0.3^2 of its change.
    EXPECT_NEAR(result.frames[i].values[0], shoulder[i], 3e-6);
    EXPECT_NEAR(result.frames[i].values[1], elbow[i], 5e-6);
    EXPECT_EQ(result.frames[i].values[2], 0.0);
    EXPECT_LT(result.frames[i].errors[1], 3e-6);
  }
  EXPECT_LT(result.frames[1].n_evaluations, 10);
}

TEST(InverseKinematics, WeightsDecideBetweenMarkersThatDisagree) {
  // A wrist that is 10 mm too far cannot be reached; an elbow across the line of both links takes its share.
  InverseKinematicsTask task = reaching_task({0.0}, {0.0});
  task.markers[1].measured[0].x() += 0.01;
  task.markers[0].measured[0].y() += 0.02;
  task.markers[1].weight = 1e4;
  const InverseKinematicsFrame strict = solved(task).frames.at(0);
  EXPECT_NEAR(strict.errors[1], 0.01, 1e-5);
  EXPECT_NEAR(strict.sum_of_squares, 1e4 * strict.errors[1] * strict.errors[1] + strict.errors[0] * strict.errors[0],
              1e-12);
  task.markers[1].weight = 1e-4;
  EXPECT_LT(solved(task).frames.at(0).errors[0], 1e-3);
}

TEST(InverseKinematics, LockedAndCoupledCoordinatesFollow) {
  InverseKinematicsTask task = reaching_task({0.5}, {0.25});
  task.coupled = {{.coordinate = "elbow", .by = "shoulder", .f = make_power_series({0.0, 0.5})}};
  task.locked = {"twist"};
  const InverseKinematicsResult result = solved(task);
  EXPECT_TRUE(result.undetermined.empty());
  EXPECT_NEAR(result.frames[0].values[0], 0.5, 1e-6);
  EXPECT_NEAR(result.frames[0].values[1], 0.25, 1e-6);
}

// A marker at r = 0.4 m and a task of weight w: r^2 (u - 0.3) + w (u - 0.1) = 0 for small differences.
TEST(InverseKinematics, ACoordinateTaskPullsToItsValue) {
  InverseKinematicsTask task = reaching_task({0.3}, {0.0});
  task.markers.resize(1);
  task.coordinates = {{.coordinate = "shoulder", .weight = 0.16, .value = 0.1}};
  const InverseKinematicsResult result = solved(task);
  const double u = result.frames[0].values[0];
  EXPECT_NEAR(0.16 * std::sin(u - 0.3) + 0.16 * (u - 0.1), 0.0, 1e-6);
  EXPECT_THAT(undetermined_in(result), ElementsAre("elbow: 0", "twist: 0"));
}

// The elbow cannot be known without the wrist: it is on the line between the frames that show it, and reported.
TEST(InverseKinematics, ReportsAndInterpolatesWhatUnseenMarkersLeaveOpen) {
  InverseKinematicsTask task = reaching_task({0.4, 0.41, 0.42, 0.43, 0.44}, {0.3, 0.5, 0.6, 0.7, 0.6});
  for (const std::size_t frame : {1u, 2u, 4u}) hide(task.markers[1], frame);
  const InverseKinematicsResult result = solved(task);
  EXPECT_TRUE(std::isnan(result.frames[1].errors[1]));
  EXPECT_NEAR(result.frames[1].values[0], 0.41, 1e-6);
  EXPECT_NEAR(result.frames[1].values[1], 0.3 + 0.4 / 3.0, 1e-5);
  EXPECT_NEAR(result.frames[2].values[1], 0.3 + 0.8 / 3.0, 1e-5);
  EXPECT_NEAR(result.frames[4].values[1], 0.7, 2e-5) << "after the last frame that determines it";
  EXPECT_THAT(undetermined_in(result), ElementsAre("elbow: 1 2 4", "twist: 0 1 2 3 4"));
}

// A single marker leaves the rotation about its lever arm open, which is a combination of all three angles.
TEST(InverseKinematics, ReportsCombinationsThatMarkersLeaveOpen) {
  constexpr const char* ball =
      "heelstrike: 1\ngravity: [0, 0, 0]\nbodies: {head: {mass: 1, inertia: [1, 1, 1]}}\n"
      "joints:\n  neck:\n    type: custom\n    bodies: [ground, head]\n    coordinates: {a: {}, b: {}, c: {}}\n"
      "    rotations: [{axis: [1, 0, 0], of: {a: {polynomial: [0, 1]}}}, {axis: [0, 1, 0], of: {b: {polynomial: [0, "
      "1]}}}, {axis: [0, 0, 1], of: {c: {polynomial: [0, 1]}}}]\n"
      "analysis: {type: forward, end_time: 1}\noutput: {interval: 0.1}\n";
  InverseKinematicsTask task;
  task.times = {0.0, 0.1};
  task.markers = {{.name = "left", .body = "head", .p_BM = {0.1, 0.1, 0.1}},
                  {.name = "right", .body = "head", .p_BM = {0.1, -0.1, 0.1}}};
  for (ModelMarker& marker : task.markers) marker.measured = {marker.p_BM, marker.p_BM};
  hide(task.markers[1], 1);
  const InverseKinematicsResult result =
      mbs::solve_inverse_kinematics(scenario_from(ball), task, [](std::size_t) {}, {});
  EXPECT_THAT(undetermined_in(result), ElementsAre("a: 1", "b: 1", "c: 1"));
}

TEST(InverseKinematics, FramesWithoutMarkersAreInterpolated) {
  InverseKinematicsTask task = reaching_task({0.4, 0.4, 0.5, 0.6}, {0.3, 0.3, 0.3, 0.1});
  for (const std::size_t frame : {0u, 2u}) {
    for (ModelMarker& marker : task.markers) hide(marker, frame);
  }
  const InverseKinematicsResult result = solved(task);
  EXPECT_NEAR(result.frames[0].values[0], 0.4, 1e-5);
  EXPECT_NEAR(result.frames[0].values[1], 0.3, 1e-5);
  EXPECT_NEAR(result.frames[2].values[0], 0.5, 1e-5);
  EXPECT_NEAR(result.frames[2].values[1], 0.2, 1e-5);
  EXPECT_THAT(undetermined_in(result), ElementsAre("shoulder: 0 2", "elbow: 0 2", "twist: 0 1 2 3"));
  for (const std::size_t frame : {1u, 3u}) {
    for (ModelMarker& marker : task.markers) hide(marker, frame);
  }
  EXPECT_THROW((void)solved(task), Error);
}

TEST(InverseKinematics, ReportsAFrameThatDidNotConverge) {
  InverseKinematicsTask task = reaching_task({0.9}, {-0.7});
  EXPECT_TRUE(solved(task).frames[0].converged);
  task.max_evaluations = 2;
  EXPECT_FALSE(solved(task).frames[0].converged);
}

// A second slide x = v^2 that follows the first one turns at v = 0, beyond which it has no pose near the last one, as
// the patella of a public model does in full extension of the knee.
TEST(InverseKinematics, ReportsPosesThatCannotBeReached) {
  constexpr const char* slides =
      "heelstrike: 1\ngravity: [0, 0, 0]\nbodies:\n  first: {mass: 1, inertia: [1, 1, 1], position: [0.5, 0, 0]}\n"
      "  second: {mass: 1, inertia: [1, 1, 1], position: [0.25, 0, 0]}\njoints:\n"
      "  one:\n    type: custom\n    bodies: [ground, first]\n    coordinates: {u: {initial: 0.5}}\n"
      "    translations: [{axis: [1, 0, 0], of: {u: {polynomial: [0, 1]}}}, {axis: [0, 1, 0]}, {axis: [0, 0, 1]}]\n"
      "  two:\n    type: custom\n    bodies: [ground, second]\n    coordinates: {v: {initial: 0.5}}\n"
      "    translations: [{axis: [1, 0, 0], of: {v: {polynomial: [0, 0, 1]}}}, {axis: [0, 1, 0]}, {axis: [0, 0, 1]}]\n"
      "  follow: {type: coupler, coordinate: v, of: {u: {polynomial: [0, 1]}}}\n"
      "analysis: {type: forward, end_time: 1}\noutput: {interval: 0.1}\n";
  InverseKinematicsTask task;
  task.times = {0.0};
  task.markers = {{.name = "tip", .body = "first", .p_BM = {0.0, 0.0, 0.0}, .measured = {{0.4, 0.0, 0.0}}}};
  const auto solve = [&] {
    return mbs::solve_inverse_kinematics(scenario_from(slides), task, [](std::size_t) {}, {}).frames.at(0);
  };
  const InverseKinematicsFrame reached = solve();
  EXPECT_TRUE(reached.converged) << reached.unreachable;
  EXPECT_NEAR(reached.values[0], 0.4, 1e-5);
  task.markers[0].measured = {{-0.5, 0.0, 0.0}};
  const InverseKinematicsFrame blocked = solve();
  EXPECT_FALSE(blocked.converged);
  EXPECT_THAT(blocked.unreachable, HasSubstr("v"));
  EXPECT_GT(blocked.values[0], -1e-3);
}

// Settings name coordinates that an import has locked.
TEST(InverseKinematics, TasksOfAbsentCoordinatesAreListed) {
  InverseKinematicsTask task = reaching_task({0.3}, {0.1});
  task.coordinates = {{.coordinate = "wrist"}};
  task.coupled = {{.coordinate = "thumb", .by = "elbow", .f = make_power_series({0.0, 1.0})}};
  const InverseKinematicsResult result = solved(task);
  EXPECT_THAT(result.absent, ElementsAre("thumb", "wrist"));
  EXPECT_NEAR(result.frames[0].values[1], 0.1, 1e-6);
}

std::string message_of(const InverseKinematicsTask& task) {
  try {
    (void)solved(task);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(InverseKinematics, NamesWhatIsWrong) {
  InverseKinematicsTask task = reaching_task({0.1}, {0.1});
  task.locked = {"elbows"};
  EXPECT_THAT(message_of(task), HasSubstr("did you mean 'elbow'?"));
  task = reaching_task({0.1}, {0.1});
  task.markers[0].body = "hand";
  EXPECT_THAT(message_of(task), HasSubstr("hand"));
  EXPECT_THAT(message_of({}), HasSubstr("at least one marker"));
}

}  // namespace
}  // namespace heelstrike::test
