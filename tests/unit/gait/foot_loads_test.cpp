// Steps on plates: which foot, and which steps are not used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gait/foot_flat.hpp"
#include "gait/foot_loads.hpp"
#include "tests/unit/gait/walker.hpp"
#include "tests/unit/motion/rejection.hpp"

namespace heelstrike {
namespace {

using namespace testing_gait;
using testing::AllOf;
using testing::HasSubstr;

class FootLoads : public testing::Test {
 protected:
  explicit FootLoads(MarkerTrial trial = walk(3.0)) {
    for (const bool right : {true, false}) {
      shapes_.push_back(make_foot_template(stand(), foot_names(right), up));
      motions_.push_back(
          track_foot(shapes_.back(), trial,
                     {.max_gap = 0.1, .outliers = {}, .outlier_margin = 2, .filter = {}, .allow_unseen = true}));
    }
  }

  [[nodiscard]] std::vector<PlateStep> steps(const std::vector<ForcePlate>& plates) const {
    return find_plate_steps(plates,
                            std::vector<SteppingFoot>{{.name = "right", .shape = &shapes_[0], .motion = &motions_[0]},
                                                      {.name = "left", .shape = &shapes_[1], .motion = &motions_[1]}},
                            up);
  }

  std::vector<FootTemplate> shapes_;
  std::vector<FootMotion> motions_;
};

// The right foot stands at x = 1.2 from 1.2 to 1.9 s, the left one at x = 0.6 from 0.6 to 1.3 s and at 1.8 from 1.8 s
// on.
const Vector3 right_heel(1.15, -0.1, 0.0), right_ball(1.38, -0.1, 0.0);
const Vector3 left_heel(0.55, 0.1, 0.0), left_ball(0.78, 0.1, 0.0);

TEST_F(FootLoads, StepsBelongToTheFootOverThePlate) {
  const std::vector<ForcePlate> plates = {plate("ground_force_1", 3.0, 1.2, 1.9, right_heel, right_ball),
                                          plate("ground_force_2", 3.0, 0.6, 1.3, left_heel, left_ball),
                                          plate("ground_force_3", 3.0, 5.0, 6.0, left_heel, left_ball)};
  const auto found = steps(plates);
  ASSERT_EQ(found.size(), 2u);  // the third plate is never loaded
  EXPECT_EQ(found[0].plate, "ground_force_2");
  EXPECT_EQ(found[0].foot, "left");
  EXPECT_EQ(found[1].foot, "right");
  EXPECT_TRUE(found[0].is_used()) << found[0].finding;
  EXPECT_TRUE(found[1].is_used()) << found[1].finding;
  EXPECT_GT(found[1].share, 0.99);
  const ForcePlate right = foot_load(plates, found, "right", "right_ground_force", up);
  EXPECT_EQ(right.name, "right_ground_force");
  EXPECT_EQ(right.force, plates[0].force);
  EXPECT_EQ(right.point, plates[0].point);
}

TEST_F(FootLoads, BothFeetOnOnePlateAreNotUsed) {
  // The centre of pressure moves on from the right foot to the left one, which comes down at x = 1.8 m.
  const std::vector<ForcePlate> plates = {plate("ground_force_1", 3.0, 1.2, 2.4, right_heel, Vector3(1.98, 0.1, 0.0))};
  const auto found = steps(plates);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].is_used());
  EXPECT_THAT(found[0].finding, HasSubstr("both feet load the plate"));
}

TEST_F(FootLoads, APlateWithoutAFootIsNamed) {
  const std::vector<ForcePlate> plates = {
      plate("ground_force_1", 3.0, 1.2, 1.9, Vector3(4.0, 1.0, 0.0), Vector3(4.2, 1.0, 0.0))};
  const auto found = steps(plates);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].foot.empty());
  EXPECT_THAT(found[0].finding, HasSubstr("no foot is over the plate"));
}

TEST_F(FootLoads, AFootOnTwoPlatesHasTheirSum) {
  const std::vector<ForcePlate> plates = {plate("ground_force_1", 3.0, 1.2, 1.9, right_heel, right_heel, 300.0),
                                          plate("ground_force_2", 3.0, 1.2, 1.9, right_ball, right_ball, 500.0)};
  const auto found = steps(plates);
  ASSERT_EQ(found.size(), 2u);
  const ForcePlate load = foot_load(plates, found, "right", "right_ground_force", up);
  const std::size_t middle = 930;  // 1.55 s
  EXPECT_DOUBLE_EQ(load.force[middle].z(), 800.0);
  // The force-weighted mean of both centres.
  EXPECT_NEAR(load.point[middle].x(), (300.0 * right_heel.x() + 500.0 * right_ball.x()) / 800.0, 1e-12);
  EXPECT_NEAR(load.moment[middle].norm(), 0.0, 1e-9);
}

TEST_F(FootLoads, TheTableOfStepsIsReadBack) {
  const std::vector<ForcePlate> plates = {plate("ground_force_1", 3.0, 1.2, 1.9, right_heel, right_ball),
                                          plate("ground_force_2", 3.0, 0.2, 0.4, Vector3(9, 9, 0), Vector3(9, 9, 0))};
  const auto written = steps(plates);
  const auto read = read_plate_steps(plate_steps_text(written), "plate_steps.csv");
  ASSERT_EQ(read.size(), written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].plate, written[i].plate);
    EXPECT_EQ(read[i].foot, written[i].foot);
    EXPECT_EQ(read[i].finding, written[i].finding);
    EXPECT_EQ(read[i].stance.start, written[i].stance.start);
    EXPECT_EQ(read[i].stance.complete(), written[i].stance.complete());
  }
  EXPECT_THAT(rejection_error([] { (void)read_plate_steps("plate\nx,nonsense", "plate_steps.csv"); }),
              AllOf(HasSubstr("plate_steps.csv:2"), HasSubstr("expected a number")));
}

MarkerTrial without_right_foot(double from, double to) {
  MarkerTrial trial = walk(3.0);
  for (std::size_t m = 0; m < trial.names.size(); ++m) {
    if (!trial.names[m].starts_with("R_")) continue;
    for (std::size_t i = 0; i < trial.frames(); ++i) {
      if (trial.times[i] > from && trial.times[i] < to) trial.positions[m][i].setConstant(std::nan(""));
    }
  }
  return trial;
}

class FootLoadsWithoutMarkers : public FootLoads {
 protected:
  FootLoadsWithoutMarkers() : FootLoads(without_right_foot(1.1, 2.0)) {}
};

TEST_F(FootLoadsWithoutMarkers, AStanceWithoutMarkersIsNotUsed) {
  const std::vector<ForcePlate> plates = {plate("ground_force_1", 3.0, 1.2, 1.9, right_heel, right_ball),
                                          plate("ground_force_2", 3.0, 0.6, 1.3, left_heel, left_ball)};
  const auto found = steps(plates);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].is_used()) << found[0].finding;
  EXPECT_FALSE(found[1].is_used());
  EXPECT_THAT(found[1].finding, HasSubstr("markers of foot 'right' are missing"));
}

MarkerTrial on_a_step() {
  MarkerTrial trial = walk(3.0);
  for (auto& series : trial.positions) {
    for (Vector3& p : series) p.z() += 0.2;
  }
  return trial;
}

class FootLoadsOnAStep : public FootLoads {
 protected:
  FootLoadsOnAStep() : FootLoads(on_a_step()) {}
};

TEST_F(FootLoadsOnAStep, AnotherLevelIsNamed) {
  const auto found = steps({plate("ground_force_1", 3.0, 1.2, 1.9, right_heel, right_ball)});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].finding, HasSubstr("200 mm above its height in the static trial"));
}

TEST(BodyMass, OfAWalkwayFollowsFromSuccessiveSteps) {
  // Two steps of 700 N that share the load in 0.1 s of double stance.
  auto first = plate("ground_force_1", 3.0, 1.2, 1.9, right_heel, right_ball);
  auto second = plate("ground_force_2", 3.0, 0.6, 1.3, left_heel, left_ball);
  for (std::size_t i = 0; i < first.times.size(); ++i) {
    const double t = first.times[i];
    if (t < 1.2 || t > 1.3) continue;
    first.force[i].z() = 700.0 * (t - 1.2) / 0.1;
    second.force[i].z() = 700.0 - first.force[i].z();
  }
  const std::vector<ForcePlate> plates = {first, second};
  const auto mass = estimate_body_mass(plates, up);
  ASSERT_TRUE(mass.has_value());
  EXPECT_EQ(mass->n_steps, 1u);
  EXPECT_NEAR(mass->mass, 700.0 / 9.80665, 0.3);
  // One step alone does not measure it.
  EXPECT_FALSE(estimate_body_mass(std::vector<ForcePlate>{first}, up).has_value());
}

TEST(FootFlat, FramesAtRestReplaceTheStaticTrial) {
  const FootFlatFrames flat = foot_flat_frames(walk(3.0), foot_names(true), up, Vector3::Zero());
  ASSERT_GE(flat.intervals.size(), 2u);
  EXPECT_GE(flat.intervals[0].first, 0.0);
  EXPECT_LE(flat.intervals[0].second, stance_time + 1e-9);
  EXPECT_NEAR(flat.pitch_deviation, 0.0, 1e-6);
  const FootTemplate from_walk = make_foot_template(flat.standing, foot_names(true), up);
  const FootTemplate from_static = make_foot_template(stand(), foot_names(true), up);
  ASSERT_EQ(from_walk.hindfoot_H.size(), from_static.hindfoot_H.size());
  for (std::size_t m = 0; m < from_walk.hindfoot_H.size(); ++m) {
    EXPECT_NEAR((from_walk.hindfoot_H[m] - from_static.hindfoot_H[m]).norm(), 0.0, 1e-9);
  }
  EXPECT_NEAR((from_walk.toe_tip_H - from_static.toe_tip_H).norm(), 0.0, 1e-9);
}

TEST(FootFlat, ATreadmillNeedsItsSpeed) {
  const Vector3 belt(-1.2, 0.0, 0.0);
  EXPECT_NO_THROW((void)foot_flat_frames(walk(3.0, belt), foot_names(true), up, belt));
  EXPECT_THAT(rejection_error([&] { (void)foot_flat_frames(walk(3.0, belt), foot_names(true), up, Vector3::Zero()); }),
              AllOf(HasSubstr("walk.trc"), HasSubstr("found none"), HasSubstr("specify ground_velocity")));
}

TEST(FootMotion, StandInsReplaceCopiedMarkers) {
  // A gap-filled marker at the place of a marker of the toes is no measurement.
  FootMarkers names = foot_names(true);
  names.hindfoot = {"R_Heel", "R_Lat", "R_ToeMed"};
  names.stand_in = {"R_ToeLat", "R_Sup"};
  MarkerTrial trial = walk(3.0);
  auto& lateral = trial.positions[trial.index("R_Lat")];
  const auto& toe = trial.positions[trial.index("R_ToeLat")];
  for (std::size_t i = 150; i < 200; ++i) lateral[i] = toe[i];
  const FootTemplate shape = make_foot_template(stand(), names, up);
  const FootMotion motion = track_foot(shape, trial, {});
  ASSERT_EQ(motion.stood_in.size(), 1u);
  EXPECT_EQ(motion.stood_in[0], std::make_pair(std::size_t{150}, std::size_t{199}));
  for (std::size_t i = 0; i < trial.frames(); ++i) {
    const Vector3 p = motion.X_WH[i].p - shape.X_WH.p - (foot_place(true, trial.times[i]) - foot_place(true, 0.0));
    EXPECT_NEAR(p.norm(), 0.0, 1e-9) << i;
  }
}

}  // namespace
}  // namespace heelstrike
