// External loads of OpenSim as loads of a scenario, and the units of the motion that they accompany.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "common/errors/error.hpp"
#include "gait/motion_columns.hpp"
#include "importers/opensim/osim_scenario.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::osim {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// A leg that rotates about the hip and the ankle.
constexpr const char* loaded_leg = R"(<OpenSimDocument Version="40000"><Model name="leg">
<gravity>0 0 0</gravity>
<BodySet><objects>
  <Body name="shank"><mass>3</mass><mass_center>0 -0.2 0</mass_center><inertia>0.05 0.01 0.05 0 0 0</inertia></Body>
  <Body name="foot"><mass>1</mass><mass_center>0 0 0</mass_center><inertia>0.001 0.001 0.001 0 0 0</inertia></Body>
</objects></BodySet>
<JointSet><objects>
  <PinJoint name="hip"><socket_parent_frame>/ground</socket_parent_frame>
    <socket_child_frame>/bodyset/shank</socket_child_frame>
    <coordinates><Coordinate name="swing"><default_value>0</default_value></Coordinate></coordinates></PinJoint>
  <PinJoint name="ankle"><socket_parent_frame>shank_offset</socket_parent_frame>
    <socket_child_frame>/bodyset/foot</socket_child_frame>
    <coordinates><Coordinate name="bend"><default_value>0</default_value></Coordinate></coordinates>
    <frames><PhysicalOffsetFrame name="shank_offset"><socket_parent>/bodyset/shank</socket_parent>
      <translation>0 -0.4 0</translation><orientation>0 0 0</orientation></PhysicalOffsetFrame></frames></PinJoint>
</objects></JointSet></Model></OpenSimDocument>)";

std::string loads_xml(const std::string& force, const std::string& more = "<datafile>plates.mot</datafile>") {
  return "<OpenSimDocument Version=\"40000\"><ExternalLoads><objects>" + force + "</objects>" + more +
         "</ExternalLoads></OpenSimDocument>";
}

std::string plate(const std::string& body, const std::string& point_frame = "ground",
                  const std::string& force_axes = "ground") {
  return fmt::format(
      "<ExternalForce name=\"plate\"><applied_to_body>{}</applied_to_body><force_expressed_in_body>{}"
      "</force_expressed_in_body><point_expressed_in_body>{}</point_expressed_in_body>"
      "<force_identifier>force_v</force_identifier><point_identifier>force_p</point_identifier>"
      "<torque_identifier>torque_</torque_identifier></ExternalForce>",
      body, force_axes, point_frame);
}

/// A force along y that grows, at a point that moves along x, and a torque about z: all linear in time.
constexpr const char* data =
    "plates\nversion=1\nendheader\n"
    "time\tforce_vx\tforce_vy\tforce_vz\tforce_px\tforce_py\tforce_pz\ttorque_x\ttorque_y\ttorque_z\n"
    "1\t0\t10\t0\t0.1\t-0.4\t0\t0\t0\t1\n2\t0\t20\t0\t0.2\t-0.4\t0\t0\t0\t2\n3\t0\t30\t0\t0.3\t-0.4\t0\t0\t0\t3\n"
    "4\t0\t40\t0\t0.4\t-0.4\t0\t0\t0\t4\n";
constexpr const char* motion =
    "walk\nversion=1\ninDegrees=no\nendheader\ntime\tswing\tbend\n1.5\t0\t0\n2\t0\t0\n2.5\t0\t0\n3\t0\t0\n3.5\t0\t0\n";

MeasuredLoads loads_of(const std::string& xml, const std::string& columns = data) {
  const std::map<std::string, std::string> files = {{"trial/loads.xml", xml}, {"trial/plates.mot", columns}};
  return read_measured_loads("trial/loads.xml", "", [&](const std::string& file, const char* option) {
    const auto found = files.find(file);
    if (found == files.end()) throw input_error(option, fmt::format("expected the file '{}'", file));
    return found->second;
  });
}

ImportOptions walk_with(const std::string& xml, const std::string& columns = data) {
  ImportOptions options{.joints = {}, .meshes = {}, .folders = {}};
  options.motion = {.file = "walk.mot", .table = read_motion_table(motion, "walk.mot")};
  options.external_loads = loads_of(xml, columns);
  return options;
}

std::string message_of(const std::function<void()>& work, const std::string& field) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_EQ(error.field(), field);
    return error.what();
  }
  ADD_FAILURE() << "was accepted";
  return "";
}

std::string message_of(const ImportOptions& options, const std::string& field) {
  return message_of([&] { (void)import_model(read_model(loaded_leg, "leg.osim"), options); }, field);
}

TEST(ExternalLoads, BecomeLoadsAtTheTimesOfTheMotion) {
  const Import import = import_model(read_model(loaded_leg, "leg.osim"), walk_with(loads_xml(plate("/bodyset/foot"))));
  EXPECT_THAT(import.scenario, AllOf(HasSubstr("type: kinematic"), HasSubstr("end_time: 2\n"),
                                     HasSubstr("    body: foot\n    frame: world\n    point_frame: world\n")));
  EXPECT_THAT(import.imported, Contains("external load plate on body foot"));
  ASSERT_EQ(import.meshes.size(), 2U);
  EXPECT_EQ(import.meshes[1].to, "plates.csv");
  // The motion begins at 1.5 s, which is t = 0.
  const MotionTable shifted = read_motion_table(import.meshes[1].content, "plates.csv");
  EXPECT_EQ(shifted.times(), (std::vector<double>{-0.5, 0.5, 1.5, 2.5}));
  EXPECT_EQ(shifted.column("force_px"), (std::vector<double>{0.1, 0.2, 0.3, 0.4}));
}

TEST(ExternalLoads, TheMomentsOfTheJointsBalanceThem) {
  const Import import = import_model(read_model(loaded_leg, "leg.osim"), walk_with(loads_xml(plate("foot"))));
  Scenario scenario = test::scenario_from(import.scenario, {"analysis.type=inverse"});
  read_motion_columns(scenario, [&](const std::string& name) {
    const auto file = std::ranges::find(import.meshes, name, &models::ImportedMesh::to);
    return file == import.meshes.end() ? nullptr : &file->content;
  });
  const auto run = test::run_local(scenario);
  ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
  const auto t = run.column("time_s");
  const auto hip = run.column("driver_motion.shank.tz_Nm");
  ASSERT_GE(t.size(), 100U);
  for (std::size_t i = 0; i < t.size(); ++i) {
    // The foot is at rest below the hip; force 10 s, arm 0.1 s and torque s at the time s = t + 1.5 of the file.
    const double s = t[i] + 1.5;
    EXPECT_NEAR(hip[i], -(0.1 * s * 10.0 * s + s), 1e-9) << t[i];
  }
}

TEST(ExternalLoads, PointsAndAxesMayBelongToOtherBodies) {
  const Import import =
      import_model(read_model(loaded_leg, "leg.osim"), walk_with(loads_xml(plate("foot", "/bodyset/shank", "foot"))));
  EXPECT_THAT(import.scenario, HasSubstr("    body: foot\n    frame: foot\n    point_frame: shank\n"));
}

TEST(ExternalLoads, ATorqueAloneHasNoPointAndDisabledOnesAreListed) {
  const std::string torque =
      "<ExternalForce name=\"t\"><applied_to_body>foot</applied_to_body><force_identifier>Unassigned"
      "</force_identifier><point_identifier>force_p</point_identifier><torque_identifier>torque_</torque_identifier>"
      "</ExternalForce><ExternalForce name=\"off\"><appliesForce>false</appliesForce><applied_to_body>foot"
      "</applied_to_body><torque_identifier>torque_</torque_identifier></ExternalForce><PrescribedForce name=\"p\"/>";
  const Import import = import_model(read_model(loaded_leg, "leg.osim"), walk_with(loads_xml(torque)));
  EXPECT_THAT(import.scenario, AllOf(HasSubstr("tz: {file:"), Not(HasSubstr("px:")), Not(HasSubstr("fx:")),
                                     Not(HasSubstr("point_frame"))));
  EXPECT_THAT(import.omissions, AllOf(Contains("ExternalForce off: it is disabled"),
                                      Contains("external loads: PrescribedForce p: this load is not supported")));
}

TEST(ExternalLoads, ErrorsNameTheForceAndTheRemedy) {
  EXPECT_THAT(
      message_of(walk_with(loads_xml(plate("calcn_r"))), "external_loads"),
      AllOf(HasSubstr("ExternalForce 'plate': expected applied_to_body to be a body of the model (shank, foot)"),
            HasSubstr("found 'calcn_r'")));
  EXPECT_THAT(message_of(walk_with(loads_xml(plate("ground"))), "external_loads"), HasSubstr("found 'ground'"));
  EXPECT_THAT(message_of(walk_with(loads_xml(plate("foot", "treadmill"))), "external_loads"),
              HasSubstr("expected point_expressed_in_body to be a body of the model (shank, foot, ground)"));
  std::string columns = data;
  columns.replace(columns.find("force_vz"), 8, "farce_vz");
  EXPECT_THAT(message_of(walk_with(loads_xml(plate("foot")), columns), "external_loads"),
              HasSubstr("expected three columns that begin with 'force_v' in trial/plates.mot, found force_vx, "
                        "force_vy; the file has time, force_vx"));
  const std::string late = std::string(data).replace(std::string(data).find("\n1\t"), 3, "\n1.75\t");
  EXPECT_THAT(message_of(walk_with(loads_xml(plate("foot")), late), "external_loads_data"),
              HasSubstr("expected times that cover the motion, 1.5 to 3.5 s, found 1.75 to 4 s"));
  ImportOptions part = walk_with(loads_xml(plate("foot")));
  part.motion = {};
  part.joints = {"ankle"};
  EXPECT_THAT(message_of(part, "external_loads"), HasSubstr("expected the whole model, found --subset"));
  const auto read = [](const std::string& xml) { return [xml] { (void)loads_of(xml); }; };
  EXPECT_THAT(message_of(read("<a/>"), "external_loads"), HasSubstr("expected ExternalLoads in an OpenSimDocument"));
  EXPECT_THAT(message_of(read("<a"), "external_loads"), HasSubstr("expected XML, found at byte"));
  EXPECT_THAT(message_of(read(loads_xml("")), "external_loads"), HasSubstr("expected at least one ExternalForce"));
  EXPECT_THAT(message_of(read(loads_xml(plate(""))), "external_loads"),
              HasSubstr("expected applied_to_body, found none"));
  EXPECT_THAT(message_of(read(loads_xml(plate("foot") + plate("foot"))), "external_loads"),
              HasSubstr("found it twice"));
  EXPECT_THAT(message_of(read(loads_xml(plate("foot"), "")), "external_loads"),
              HasSubstr("expected the element `datafile`"));
  EXPECT_THAT(message_of(read(loads_xml(plate("foot"), "<datafile>x.mot</datafile>")), "external_loads"),
              AllOf(HasSubstr("trial/x.mot"), HasSubstr("data file of trial/loads.xml")));
}

TEST(MotionUnits, AHeaderWithoutUnitIsRejectedForRotations) {
  ImportOptions options{.joints = {}, .meshes = {}, .folders = {}};
  const std::string text = std::string(motion).replace(std::string(motion).find("inDegrees=no\n"), 13, "");
  options.motion = {.file = "walk.mot", .table = read_motion_table(text, "walk.mot")};
  EXPECT_THAT(
      message_of(options, "motion"),
      HasSubstr("walk.mot: expected `inDegrees=yes` or `inDegrees=no` in its header, because swing is a rotation"));
  // A table without a header is in rad.
  options.motion = {.file = "walk.csv", .table = read_motion_table("time,swing,bend\n0,1,0\n1,1,0\n", "walk.csv")};
  EXPECT_NO_THROW((void)import_model(read_model(loaded_leg, "leg.osim"), options));
}

TEST(MotionUnits, ColumnsInRadiansAreNamed) {
  ImportOptions options{.joints = {}, .meshes = {}, .folders = {}};
  const std::string text = "walk\nversion=1\ninDegrees=yes\nendheader\ntime\tswing\tbend\n0\t90\t0.25\n1\t90\t0.25\n";
  options.motion = {.file = "walk.mot", .table = read_motion_table(text, "walk.mot")};
  options.radians = {"bend"};
  const Import import = import_model(read_model(loaded_leg, "leg.osim"), options);
  ASSERT_EQ(import.meshes.size(), 1U);
  const MotionTable table = read_motion_table(import.meshes[0].content, "walk.csv");
  EXPECT_NEAR(table.column("swing")[1], 0.5 * std::numbers::pi, 1e-15);
  EXPECT_EQ(table.column("bend")[1], 0.25);
  options.radians = {"knee"};
  EXPECT_THAT(message_of(options, "radians"),
              HasSubstr("--radians: expected names of rotations with a column in walk.mot, found 'knee'"));
  options.motion = {};
  EXPECT_THAT(message_of(options, "radians"), HasSubstr("expected --motion together with it"));
}

}  // namespace
}  // namespace heelstrike::osim
