// Forces of both feet from the motion of the whole body.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "gait/whole_body.hpp"
#include "tests/unit/gait/constants.hpp"
#include "tests/unit/gait/walker.hpp"

namespace heelstrike {
namespace {

using test::gravity;

using namespace testing_gait;

constexpr double omega = 2.0 * std::numbers::pi / (0.5 * cycle);

/// A body of two markers that rises and falls twice in a cycle and sways along the walk.
MarkerTrial body() {
  MarkerTrial trial = walk(3.6);
  for (const double height : {0.8, 1.4}) {
    trial.names.push_back(height < 1.0 ? "Low" : "High");
    auto& series = trial.positions.emplace_back();
    for (const double t : trial.times) {
      series.emplace_back(t + 0.005 * std::sin(omega * t), 0.0, height + 0.02 * std::cos(omega * t));
    }
  }
  return trial;
}

const std::vector<BodySegmentSpec> segments = {
    {.name = "body", .proximal = {"Low"}, .distal = {"High"}, .mass_fraction = 1.0, .center_fraction = 0.5}};

FootSpec foot(bool right) {
  FootSpec spec;
  spec.name = right ? "right" : "left";
  spec.markers = foot_names(right);
  return spec;
}

TEST(WholeBody, TheForcesOfBothFeetAreNewtonsLaw) {
  const MarkerTrial trial = body();
  const WholeBodyOptions options;
  std::vector<FootContacts> feet;
  for (const bool right : {true, false}) {
    feet.push_back(foot_contacts(trial, foot(right), up, Vector3::Zero(), options));
  }
  // Stances of 0.7 s from 1.2 s on (right) and from 0.6 s on (left); the speed passes the threshold within some frames.
  ASSERT_GE(feet[0].contacts.size(), 2u);
  EXPECT_NEAR(feet[0].contacts[1].start, 1.2, 0.04);
  EXPECT_NEAR(feet[0].contacts[1].end, 1.9, 0.04);
  const auto forces = forces_from_motion(trial, segments, 70.0, gravity, Vector3::Zero(), feet);
  ASSERT_EQ(forces.size(), 2u);
  for (std::size_t i = 0; i < trial.frames(); ++i) {
    const double t = trial.times[i];
    if (t < 1.0 || t > 2.6) continue;  // the filters at the ends
    const Vector3 sum = forces[0].force[i] + forces[1].force[i];
    // The filter passes 1.7 Hz with 0.999 (8 Hz) and 0.98 (4 Hz).
    EXPECT_NEAR(sum.z(), 70.0 * (9.80665 - 0.02 * omega * omega * std::cos(omega * t)), 2.0) << t;
    EXPECT_NEAR(sum.x(), -70.0 * 0.005 * omega * omega * std::sin(omega * t), 2.0) << t;
    EXPECT_GE(forces[0].force[i].z(), 0.0);
    EXPECT_GE(forces[1].force[i].z(), 0.0);
  }
}

TEST(WholeBody, DoubleStancePassesTheLoadSmoothly) {
  const MarkerTrial trial = body();
  // Contacts as measured: right 1.2 to 1.9 s, left 1.8 to 2.5 s.
  std::vector<FootContacts> feet = {{.foot = "right", .contacts = {}}, {.foot = "left", .contacts = {}}};
  use_measured_contacts(feet[0], std::vector<Stance>{{.start = 1.2, .end = 1.9}});
  use_measured_contacts(feet[1], std::vector<Stance>{{.start = 1.8, .end = 2.5}});
  const auto forces = forces_from_motion(trial, segments, 70.0, gravity, Vector3::Zero(), feet);
  double before = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < trial.frames(); ++i) {
    const double t = trial.times[i];
    const double right = forces[0].force[i].z(), left = forces[1].force[i].z();
    if (t > 1.3 && t < 1.79) {
      EXPECT_EQ(left, 0.0);
    }
    if (t > 1.91 && t < 2.4) {
      EXPECT_EQ(right, 0.0);
    }
    if (t < 1.8 || t > 1.9) continue;
    // The trailing foot starts with the whole load, ends without any, and never gains.
    EXPECT_LE(right, before) << t;
    before = right;
  }
  const auto at = [&](std::size_t f, double t) { return interpolated(trial.times, forces[f].force, t).z(); };
  // The load of the trailing foot continues within the change of a quarter period of the filter.
  EXPECT_NEAR(at(1, 1.8), 0.0, 60.0);
  EXPECT_NEAR(at(0, 1.9), 0.0, 1e-6);
}

TEST(WholeBody, TheSmoothTransitionOfTheLiteratureIsAvailable) {
  const MarkerTrial trial = body();
  std::vector<FootContacts> feet = {{.foot = "right", .contacts = {{.start = 1.2, .end = 1.9}}},
                                    {.foot = "left", .contacts = {{.start = 1.8, .end = 2.5}}}};
  WholeBodyOptions options;
  options.division = DoubleStanceDivision::smooth_transition;
  const auto forces = forces_from_motion(trial, segments, 70.0, gravity, Vector3::Zero(), feet, {}, options);
  const auto total =
      forces_from_motion(trial, segments, 70.0, gravity, Vector3::Zero(),
                         std::vector<FootContacts>{{.foot = "one", .contacts = {{.start = 0, .end = 3}}}});
  const Vector3 F_0 = interpolated(trial.times, total[0].force, 1.8);
  // Half of double stance: tau = 1.
  const Vector3 F = interpolated(trial.times, forces[0].force, 1.85);
  EXPECT_NEAR(F.z(), F_0.z() * std::exp(-1.0), 2.0);
  EXPECT_NEAR(F.x(), F_0.x() * std::exp(4.0 / 9.0) * (std::exp(-1.0 / 9.0) - 0.5 * std::exp(-16.0 / 9.0)), 2.0);
}

TEST(WholeBody, MeasuredContactsReplaceThoseOfTheMarkers) {
  FootContacts contacts{.foot = "right", .contacts = {{.start = 0.1, .end = 0.8}, {.start = 1.3, .end = 2.0}}};
  use_measured_contacts(contacts, std::vector<Stance>{{.start = 1.25, .end = 1.95}});
  ASSERT_EQ(contacts.contacts.size(), 2u);
  EXPECT_EQ(contacts.contacts[0].start, 0.1);
  EXPECT_EQ(contacts.contacts[1].start, 1.25);
}

}  // namespace
}  // namespace heelstrike
