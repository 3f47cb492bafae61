// Implausible ligaments: each is rejected with its place, the expected and the found value.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/errors/error.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Error for a ligament between a femur on the ground and a tibia 0.1 m below it.
std::string message_for(const std::string& line, const std::string& surfaces = "{}") {
  const std::string yaml = fmt::format(R"(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  femur: {{mass: 1, inertia: [1, 1, 1]}}
  tibia: {{mass: 1, inertia: [1, 1, 1], position: [0, -0.1, 0]}}
joints:
  hold: {{type: fixed, bodies: [femur, ground]}}
forces:
  MCL:
    type: ligament
    stiffness: 500
    surfaces: {}
    lines:
      a: {}
analysis: {{end_time: 1}}
output: {{interval: 1}}
)",
                                       surfaces, line);
  try {
    (void)test::scenario_from(yaml);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LigamentInput, ErrorsAreReported) {
  const std::string ends = "[{body: femur, point: [0, 0, 0]}, {body: tibia, point: [0, 0, 0]}]";
  EXPECT_EQ(message_for("{slack_length: 0.09, path: " + ends + "}"), "accepted");
  EXPECT_THAT(message_for("{slack_length: 90, path: " + ends + "}"),
              AllOf(HasSubstr("forces.MCL.lines.a.slack_length"), HasSubstr("within reach"), HasSubstr("90 m")));
  EXPECT_THAT(message_for("{slack_length: 0.03, path: " + ends + "}"),
              AllOf(HasSubstr("forces.MCL.lines.a.path"), HasSubstr("wrong body")));
  EXPECT_THAT(message_for("{path: [{body: tibia, point: [0, 0.1, 0]}, {body: tibia, point: [0, 0, 0]}]}"),
              AllOf(HasSubstr("at least two bodies"), HasSubstr("all in 'tibia'")));
  EXPECT_THAT(message_for("{path: [{body: femr, point: [0, 0, 0]}, {body: tibia, point: [0, 0, 0]}]}"),
              AllOf(HasSubstr("'femr'"), HasSubstr("femur")));
  EXPECT_THAT(message_for("{path: [{body: femur, point: [0, 0, 0]}]}"), HasSubstr("at least two points"));
  EXPECT_THAT(message_for("{path: [{body: femur, point: [0, 0, 0], wrap: [ball]}, {body: tibia, point: [0, 0, 0]}]}"),
              AllOf(HasSubstr("`surfaces`"), HasSubstr("'ball'")));
  EXPECT_THAT(message_for("{path: [{body: femur, point: [0, 0, 0], wrap: ball}, {body: tibia, point: [0, 0, 0]}]}"),
              AllOf(HasSubstr("wrap"), HasSubstr("list")));
}

/// Error for a ligament of one straight line between the same two bodies.
std::string message_for_straight(const std::string& type, const std::string& keys) {
  try {
    (void)test::scenario_from(fmt::format(R"(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  femur: {{mass: 1, inertia: [1, 1, 1]}}
  tibia: {{mass: 1, inertia: [1, 1, 1], position: [0, -0.1, 0]}}
joints:
  hold: {{type: fixed, bodies: [femur, ground]}}
forces:
  MCL: {{type: {}, bodies: [femur, tibia], stiffness: 50000, {}}}
analysis: {{end_time: 1}}
output: {{interval: 1}}
)",
                                          type, keys));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LigamentInput, LengthsOfEveryTypeArePlausible) {
  for (const char* type : {"ligament_toe", "ligament_quadratic"}) {
    const std::string ends = "points: [[0, 0, 0], [0, 0, 0]], ";
    EXPECT_EQ(message_for_straight(type, ends + "length: 0.09"), "accepted");
    EXPECT_EQ(message_for_straight(type, ends + "reference_strain: 0.02"), "accepted");
    EXPECT_THAT(message_for_straight(type, ends + "length: 90"),
                AllOf(HasSubstr(":9: forces.MCL.length"), HasSubstr("within reach"), HasSubstr("90 m")));
    EXPECT_THAT(message_for_straight(type, ends + "length: 0.01"),
                AllOf(HasSubstr(":9: forces.MCL.bodies"), HasSubstr("strain of 9")));
    EXPECT_THAT(message_for_straight(type, "points: [[0, -0.1, 0], [0, 0, 0]], reference_strain: 0.02"),
                AllOf(HasSubstr(":9: forces.MCL.bodies"), HasSubstr("coincident ends")));
  }
  EXPECT_THAT(message_for("{reference_strain: 0.02, path: [{body: femur, point: [0, -0.1, 0]}, "
                          "{body: tibia, point: [0, 0, 0]}]}"),
              AllOf(HasSubstr(":14: forces.MCL.lines.a.path"), HasSubstr("coincident ends")));
}

TEST(LigamentInput, SurfaceAroundAnInsertionIsRejected) {
  const std::string line = "{path: [{body: femur, point: [0, 0, 0], wrap: [ball]}, {body: tibia, point: [0, 0, 0]}]}";
  EXPECT_EQ(message_for(line, "{ball: {body: tibia, sphere: 0.02, position: [0.01, 0.05, 0]}}"), "accepted");
  EXPECT_THAT(message_for(line, "{ball: {body: tibia, sphere: 0.03, position: [0, 0.02, 0]}}"),
              AllOf(HasSubstr("outside the surface 'ball'"), HasSubstr("point 2 of 'tibia'"),
                    HasSubstr("contains its insertion")));
  EXPECT_THAT(message_for(line, "{ball: {body: tibia, sphere: 0.02, cylinder: 0.02}}"),
              HasSubstr("one of `sphere`, `cylinder`, `ellipsoid`"));
  EXPECT_THAT(message_for(line, "{ball: {body: tibia, cylinder: 0.02, side: [0, 0, 1]}}"),
              HasSubstr("across the axis of the cylinder"));
}

}  // namespace
}  // namespace heelstrike
