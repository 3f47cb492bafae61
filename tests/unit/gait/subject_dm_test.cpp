// Which foot steps on which plate, on the overground trials of ${HEELSTRIKE_DATA}/gait_dm: without a static trial,
// three plates in another order than the steps, markers copied by gap filling. Skipped without the data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <utility>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "gait/foot_flat.hpp"
#include "gait/marker_drivers.hpp"
#include "gait/marker_file.hpp"
#include "tests/unit/gait/constants.hpp"

namespace heelstrike {
namespace {

using test::gravity;

using testing::HasSubstr;

class SubjectDm : public testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("HEELSTRIKE_DATA");
    if (data == nullptr || !std::filesystem::exists(std::string(data) + "/gait_dm")) {
      GTEST_SKIP() << "HEELSTRIKE_DATA names no folder with gait_dm: measured data are not part of the project";
    }
    folder_ = std::string(data) + "/gait_dm/";
  }

  /// As examples/gait_dm.yaml.
  [[nodiscard]] MarkerMotionSpec spec(const std::string& trial, double start) const {
    MarkerMotionSpec motion;
    motion.name = "walk";
    motion.markers = folder_ + "DM_ngait_" + trial + ".trc";
    motion.plates = folder_ + "DM_ngait_" + trial + "_grf.sto";
    motion.foot_flat = folder_ + "DM_ngait_og1.trc";
    motion.axes = {.x = "x", .y = "z", .z = "-y"};
    motion.cutoff = 12.0;
    motion.start = start;
    motion.ground_velocity = Vector3(Vector3::Zero());
    for (const std::string side : {"right", "left"}) {
      const std::string s = side == "right" ? "R_" : "L_";
      FootSpec foot;
      foot.name = side;
      foot.markers.hindfoot = {s + "Heel", s + "Hindfoot", s + "Midfoot_Superior", s + "Midfoot_Medial",
                               s + "Midfoot_Lateral"};
      foot.markers.stand_in = {s + "ToeMedial", s + "ToeLateral"};
      foot.markers.heel = s + "Heel";
      foot.markers.toe_tip = s + "Toe";
      foot.markers.toe_lateral = s + "Midfoot_Lateral";
      foot.markers.toe_medial = s + "Midfoot_Medial";
      foot.markers.origin = {s + "Heel", s + "Midfoot_Superior"};
      foot.plate = "auto";
      motion.feet.push_back(foot);
    }
    return motion;
  }

  [[nodiscard]] FileContent files() const {
    return [this](const std::string& name) {
      auto& text = texts_[name];
      if (text.empty()) text = read_whole_file(name);
      return &text;
    };
  }

  std::string folder_;
  mutable std::map<std::string, std::string> texts_;
};

struct Step {
  std::string plate, foot;
  double start, end;
};

void expect_steps(const std::vector<PlateStep>& found, const std::vector<Step>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].plate, "ground_force_" + expected[i].plate);
    EXPECT_EQ(found[i].foot, expected[i].foot);
    EXPECT_TRUE(found[i].is_used()) << found[i].finding;
    // The README gives the times above 50 N; a step begins at 20 N.
    EXPECT_NEAR(found[i].stance.start, expected[i].start, 0.03);
    EXPECT_NEAR(found[i].stance.end, expected[i].end, 0.03);
  }
}

TEST_F(SubjectDm, EveryStepHasItsFootInBothTrials) {
  const auto first = recorded_loads(spec("og1", 1.7), gravity, 2.1, files());
  expect_steps(first.steps, {{"2", "left", 1.799, 2.553}, {"1", "right", 2.412, 3.107}, {"3", "left", 2.957, 3.734}});
  ASSERT_EQ(first.plates.size(), 2u);
  EXPECT_EQ(first.plates[0].name, "right_ground_force");
  const auto second = recorded_loads(spec("og5", 2.1), gravity, 2.2, files());
  expect_steps(second.steps, {{"2", "right", 2.196, 2.967}, {"1", "left", 2.820, 3.602}, {"3", "right", 3.449, 4.203}});
}

TEST_F(SubjectDm, SwappedMarkersAreNamed) {
  MarkerMotionSpec motion = spec("og1", 1.7);
  std::swap(motion.feet[0].markers, motion.feet[1].markers);
  try {
    (void)recorded_loads(motion, gravity, 2.1, files());
    FAIL() << "nothing thrown";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(HasSubstr("swapped"), HasSubstr("L_Midfoot_Medial")));
  }
}

TEST_F(SubjectDm, MarkersMissingForAStanceLeaveTheOtherSteps) {
  MarkerMotionSpec motion = spec("og1", 1.7);
  MarkerTrial hidden = read_trc(read_whole_file(motion.markers), motion.markers);
  for (std::size_t m = 0; m < hidden.names.size(); ++m) {
    if (!hidden.names[m].starts_with("R_")) continue;
    for (std::size_t i = 0; i < hidden.frames(); ++i) {
      if (hidden.times[i] > 2.3 && hidden.times[i] < 3.2) hidden.positions[m][i].setConstant(std::nan(""));
    }
  }
  const std::string other = folder_ + "hidden.trc";
  texts_[other] = trc_text(hidden);
  motion.markers = other;
  const auto found = recorded_loads(motion, gravity, 2.1, files());
  ASSERT_EQ(found.steps.size(), 3u);
  EXPECT_TRUE(found.steps[0].is_used());
  EXPECT_FALSE(found.steps[1].is_used());
  EXPECT_THAT(found.steps[1].finding, HasSubstr("markers of foot 'right' are missing"));
  EXPECT_TRUE(found.steps[2].is_used());
}

TEST_F(SubjectDm, FlatFramesAreThoseWithoutCopiedMarkers) {
  const MarkerMotionSpec motion = spec("og1", 1.7);
  const MarkerTrial trial = read_trc(read_whole_file(motion.markers), motion.markers);
  // Files have y up.
  const FootFlatFrames left = foot_flat_frames(trial, motion.feet[1].markers, Vector3::UnitY(), Vector3::Zero());
  for (const auto& [from, to] : left.intervals) EXPECT_GT(from, 1.317) << "before, L_Midfoot_Medial is a copy";
  EXPECT_LT(left.pitch_deviation, 0.01);
}

TEST_F(SubjectDm, TheBodyMassFollowsFromTheSteps) {
  const MarkerMotionSpec motion = spec("og5", 2.1);
  const auto plates = read_force_plates(read_motion_table(read_whole_file(motion.plates), motion.plates));
  const auto mass = estimate_body_mass(plates, Vector3::UnitY());
  ASSERT_TRUE(mass.has_value());
  EXPECT_EQ(mass->n_steps, 2u);
  EXPECT_NEAR(mass->mass, 70.5, 0.5);
}

}  // namespace
}  // namespace heelstrike
