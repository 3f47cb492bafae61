// Models of OpenSim as scenarios: a small hand-written one, and the knee of Lenhart et al. if HEELSTRIKE_DATA is set.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numbers>
#include <regex>
#include <sstream>

#include <Eigen/Geometry>

#include "common/errors/error.hpp"
#include "common/motion/scalar_function.hpp"
#include "importers/opensim/osim_scenario.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/formulation/cartesian_coordinates.hpp"
#include "mbs_server/formulation/force_element.hpp"
#include "mbs_server/simulation/coupled_model.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::osim {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

/// A thigh, a shank that is welded from two bodies, and a foot, with elements of every kind.
constexpr const char* small_model = R"(<?xml version="1.0"?>
<OpenSimDocument Version="40000"><Model name="small">
<gravity>0 -9.81 0</gravity>
<BodySet><objects>
  <Body name="thigh"><mass>7</mass><mass_center>0 -0.2 0</mass_center><inertia>0.1 0.02 0.1 0 0 0</inertia></Body>
  <Body name="shank"><mass>1</mass><mass_center>0 0 0</mass_center><inertia>0.01 0.01 0.01 0 0 0</inertia>
    <WrapObjectSet><objects><WrapSphere name="ball"><active>true</active><xyz_body_rotation>0 0 0</xyz_body_rotation>
      <translation>0.03 0.02 0</translation><quadrant>all</quadrant><radius>0.02</radius></WrapSphere></objects>
    </WrapObjectSet></Body>
  <Body name="calf"><mass>3</mass><mass_center>0 -0.1 0</mass_center><inertia>0.03 0.01 0.03 0 0 0</inertia></Body>
  <Body name="foot"><mass>1</mass><mass_center>0 0 0</mass_center><inertia>0.001 0.001 0.001 0 0 0</inertia></Body>
</objects></BodySet>
<JointSet><objects>
  <CustomJoint name="hip"><socket_parent_frame>/ground</socket_parent_frame>
    <socket_child_frame>/bodyset/thigh</socket_child_frame><coordinates /></CustomJoint>
  <PinJoint name="knee"><socket_parent_frame>thigh_offset</socket_parent_frame>
    <socket_child_frame>/bodyset/shank</socket_child_frame>
    <coordinates><Coordinate name="flexion"><default_value>0.5</default_value><range>0 2</range></Coordinate></coordinates>
    <frames><PhysicalOffsetFrame name="thigh_offset"><socket_parent>/bodyset/thigh</socket_parent>
      <translation>0 -0.4 0</translation><orientation>0 0 0</orientation></PhysicalOffsetFrame></frames></PinJoint>
  <WeldJoint name="weld"><socket_parent_frame>/bodyset/shank</socket_parent_frame>
    <socket_child_frame>calf_offset</socket_child_frame>
    <frames><PhysicalOffsetFrame name="calf_offset"><socket_parent>/bodyset/calf</socket_parent>
      <translation>0 0.1 0</translation><orientation>0 0 0</orientation></PhysicalOffsetFrame></frames></WeldJoint>
  <PinJoint name="ankle"><socket_parent_frame>/bodyset/calf</socket_parent_frame>
    <socket_child_frame>/bodyset/foot</socket_child_frame></PinJoint>
</objects></JointSet>
<ForceSet><objects>
  <Blankevoort1991Ligament name="L1"><GeometryPath><PathPointSet><objects>
      <PathPoint name="p"><socket_parent_frame>/bodyset/thigh</socket_parent_frame><location>0.03 -0.35 0</location></PathPoint>
      <PathPoint name="q"><socket_parent_frame>/bodyset/calf</socket_parent_frame><location>0.03 0.05 0</location></PathPoint>
    </objects></PathPointSet><PathWrapSet><objects><PathWrap name="w"><wrap_object>ball</wrap_object></PathWrap></objects>
    </PathWrapSet></GeometryPath><linear_stiffness>1000</linear_stiffness><slack_length>0.08</slack_length>
  </Blankevoort1991Ligament>
  <Blankevoort1991Ligament name="A1"><GeometryPath><PathPointSet><objects>
      <PathPoint name="p"><socket_parent_frame>/bodyset/calf</socket_parent_frame><location>0 0 0</location></PathPoint>
      <PathPoint name="q"><socket_parent_frame>/bodyset/foot</socket_parent_frame><location>0 0 0</location></PathPoint>
    </objects></PathPointSet></GeometryPath><linear_stiffness>1000</linear_stiffness><slack_length>0.08</slack_length>
  </Blankevoort1991Ligament>
  <Millard2012EquilibriumMuscle name="M1"><GeometryPath><PathPointSet><objects>
      <PathPoint name="p"><socket_parent_frame>/bodyset/thigh</socket_parent_frame><location>-0.03 -0.2 0</location></PathPoint>
      <PathPoint name="q"><socket_parent_frame>/bodyset/foot</socket_parent_frame><location>-0.03 0.02 0</location></PathPoint>
    </objects></PathPointSet></GeometryPath><max_isometric_force>900</max_isometric_force>
    <optimal_fiber_length>0.07</optimal_fiber_length><tendon_slack_length>0.2</tendon_slack_length>
    <pennation_angle_at_optimal>0.2</pennation_angle_at_optimal><ignore_tendon_compliance>true</ignore_tendon_compliance>
    <FiberForceLengthCurve><strain_at_one_norm_force>2</strain_at_one_norm_force></FiberForceLengthCurve>
    <ForceVelocityCurve><isometric_slope>4</isometric_slope></ForceVelocityCurve>
  </Millard2012EquilibriumMuscle>
  <CoordinateActuator name="motor" />
  <Smith2018ArticularContactForce name="touch"><appliesForce>true</appliesForce>
    <socket_target_mesh>/contactgeometryset/upper</socket_target_mesh>
    <socket_casting_mesh>/contactgeometryset/lower</socket_casting_mesh></Smith2018ArticularContactForce>
</objects></ForceSet>
<ContactGeometrySet><objects>
  <Smith2018ContactMesh name="upper"><socket_frame>/bodyset/thigh</socket_frame><mesh_file>upper.stl</mesh_file>
    <elastic_modulus>5e6</elastic_modulus><poissons_ratio>0.45</poissons_ratio><thickness>0.003</thickness></Smith2018ContactMesh>
  <Smith2018ContactMesh name="lower"><socket_frame>/bodyset/shank</socket_frame><mesh_file>lower.stl</mesh_file>
    <elastic_modulus>5e6</elastic_modulus><poissons_ratio>0.45</poissons_ratio><thickness>0.003</thickness></Smith2018ContactMesh>
</objects></ContactGeometrySet>
<MarkerSet><objects><Marker name="heel" /></objects></MarkerSet>
</Model></OpenSimDocument>
)";

/// A folder with two mesh files of arbitrary content.
class Folder {
 public:
  Folder() : path_(fs::path(testing::TempDir()) / ("osim_meshes_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
    std::ofstream(path_ / "upper.stl") << "solid\nendsolid\n";
    std::ofstream(path_ / "lower.stl") << "solid\nendsolid\n";
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(OsimImport, SmallModelBecomesAScenario) {
  const Folder folder;
  const Import import = import_model(read_model(small_model, "small.osim"),
                                     {.joints = {"knee"}, .meshes = {}, .folders = {folder.path()}});
  const Scenario scenario = test::scenario_from(import.scenario);
  ASSERT_EQ(scenario.bodies.size(), 2u);
  const auto& shank = scenario.bodies[1];
  EXPECT_EQ(shank.name, "shank");
  // The calf hangs 0.1 m below the shank's origin, its centre another 0.1 m lower, and weighs three times as much.
  EXPECT_NEAR(shank.mass, 4.0, 1e-12);
  EXPECT_NEAR(shank.center_of_mass.y(), -0.15, 1e-12);
  EXPECT_NEAR(shank.inertia(0, 0), 0.01 + 0.03 + 1.0 * 0.15 * 0.15 + 3.0 * 0.05 * 0.05, 1e-12);
  // Flexed by the default of its coordinate.
  EXPECT_NEAR(shank.X_WB.p.y(), -0.4, 1e-12);
  EXPECT_NEAR(shank.X_WB.R(1, 0), std::sin(0.5), 1e-12);
  ASSERT_EQ(scenario.joints.size(), 2u);
  EXPECT_EQ(scenario.joints[1].type, "revolute");
  ASSERT_EQ(scenario.pairs.size(), 1u);
  EXPECT_EQ(scenario.pairs[0].main_body, "shank");
  EXPECT_EQ(scenario.forces.size(), 1u);
  EXPECT_EQ(import.meshes.size(), 2u);
  // OpenSim's forces are along the normals of the triangles.
  EXPECT_THAT(import.scenario, AllOf(HasSubstr("direction: normal"), HasSubstr("normals: facets")));
}

TEST(OsimImport, OmissionsAreReported) {
  const Folder folder;
  const Import import = import_model(read_model(small_model, "small.osim"),
                                     {.joints = {"knee"}, .meshes = {}, .folders = {folder.path()}});
  for (const char* missed :
       {"body foot", "joint hip", "joint ankle", "Blankevoort1991Ligament A1: it is attached to foot",
        "CoordinateActuator motor", "Marker heel"}) {
    EXPECT_THAT(import.omissions, Contains(HasSubstr(missed)));
  }
  EXPECT_THAT(import.omissions, Not(Contains(HasSubstr("L1"))));
}

/// The small model with a joint of six coordinates instead of its pin, its origin at that of the thigh.
std::string with_free_knee() {
  std::string text = small_model;
  const auto begin = text.find("<PinJoint name=\"knee\">"), end = text.find("<WeldJoint");
  std::string joint =
      "<CustomJoint name=\"knee\"><socket_parent_frame>/bodyset/thigh</socket_parent_frame>"
      "<socket_child_frame>/bodyset/shank</socket_child_frame><coordinates>";
  std::string axes;
  const std::array names = {"bend", "adduct", "turn", "tx", "ty", "tz"};
  const std::array directions = {"0 0 1", "1 0 0", "0 1 0", "1 0 0", "0 1 0", "0 0 1"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    joint += fmt::format("<Coordinate name=\"{}\"><default_value>{}</default_value></Coordinate>", names[i],
                         i == 0   ? 0.25
                         : i == 4 ? -0.4
                                  : 0.0);
    axes += fmt::format(
        "<TransformAxis><coordinates>{}</coordinates><axis>{}</axis><LinearFunction><coefficients>{} 0"
        "</coefficients></LinearFunction></TransformAxis>",
        names[i], directions[i], i == 0 ? -1 : 1);
  }
  joint += "</coordinates><SpatialTransform>" + axes + "</SpatialTransform></CustomJoint>\n  ";
  return text.replace(begin, end - begin, joint);
}

TEST(OsimImport, MusclesAreImportedWithTheKeptBodies) {
  const Folder folder;
  const auto imported = [&](std::vector<std::string> fixed_joints) {
    return import_model(
        read_model(small_model, "small.osim"),
        {.joints = {"knee"}, .fixed_joints = std::move(fixed_joints), .meshes = {}, .folders = {folder.path()}});
  };
  EXPECT_THAT(imported({}).omissions, Contains(HasSubstr("Millard2012EquilibriumMuscle M1: it is attached to foot")));
  const Import import = imported({"ankle"});
  const Scenario scenario = test::scenario_from(import.scenario);
  ASSERT_EQ(scenario.bodies.size(), 2u);
  EXPECT_NEAR(scenario.bodies[1].mass, 5.0, 1e-12);
  // The ligament between shank and foot is within one body now.
  ASSERT_EQ(scenario.forces.size(), 2u);
  EXPECT_THAT(import.omissions, Contains(HasSubstr("Blankevoort1991Ligament A1: all its points are in one body")));
  const auto& muscle = scenario.forces[1];
  EXPECT_EQ(muscle.type, "muscle");
  EXPECT_EQ(muscle.keys["tendon"].text(), "rigid");
  EXPECT_EQ(muscle.keys["max_isometric_force"].number(), 900.0);
  EXPECT_EQ(muscle.keys["pennation_angle"].number(), 0.2);
  EXPECT_EQ(muscle.keys["passive_strain"].number(), 2.0);
  EXPECT_THAT(import.omissions, Contains(HasSubstr("ForceVelocityCurve/isometric_slope = 4 (M1)")));
  EXPECT_THROW((void)imported({"elbow"}), Error);
}

std::string message_of(const std::string& text, const ImportOptions& import_options) {
  try {
    (void)import_model(read_model(text, "model.osim"), import_options);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

// A joint whose pose cannot be evaluated is rejected, locked or not.
TEST(OsimImport, UnknownFunctionIsRejected) {
  const Folder folder;
  const std::string linear = "<LinearFunction><coefficients>1 0</coefficients></LinearFunction>";
  for (const auto& [function, expected] :
       {std::pair{"<SignalGenerator />", "joint 'knee': its function of kind SignalGenerator is not supported"},
        {"<SimmSpline />", "expected at least 2 points, found 0"},
        {"<GCVSpline><half_order>3</half_order><x>0 1</x><y>0 1</y></GCVSpline>", "GCVSpline"}}) {
    std::string bent = with_free_knee();
    bent.replace(bent.find(linear), linear.size(), function);
    for (const bool fixed_joints : {true, false}) {
      ImportOptions import_options{
          .joints = {fixed_joints ? "ankle" : "knee"}, .meshes = {}, .folders = {folder.path()}};
      if (fixed_joints) import_options.fixed_joints = {"knee"};
      EXPECT_THAT(message_of(bent, import_options), HasSubstr(expected));
    }
  }
}

// The coordinate has the slope -1: 0.25 rad at the start and 1 at the end rotate the shank by the opposite angle.
TEST(OsimImport, FlexionDrivesAJointInEquilibria) {
  const Folder folder;
  const ImportOptions import_options{
      .joints = {"knee"}, .fixed_joints = {"ankle"}, .meshes = {}, .folders = {folder.path()}, .flexion = 1.0};
  const Import import = import_model(read_model(with_free_knee(), "small.osim"), import_options);
  const Scenario scenario = test::scenario_from(import.scenario);
  EXPECT_EQ(scenario.analysis.type, "static");
  EXPECT_THAT(import.scenario, HasSubstr("rz: {polynomial: [-0.25, -0.75]}"));
  ASSERT_EQ(scenario.bodies.size(), 3u);
  EXPECT_TRUE(scenario.bodies[2].X_WB.R.isApprox(scenario.bodies[1].X_WB.R, 1e-12));
  // The other five coordinates remain free: a universal joint constrains four, and three rotations are prescribed.
  const auto model = mbs::describe_model(scenario);
  EXPECT_EQ(model.degrees_of_freedom, 5);
  EXPECT_THAT(message_of(small_model, import_options), HasSubstr("six independent coordinates"));
}

/// The small model with a spring or damper on a coordinate.
std::string with_spring(std::string text, const std::string& name, double stiffness, double rest, double viscosity) {
  const std::string spring = fmt::format(
      "<SpringGeneralizedForce name=\"of_{0}\"><coordinate>{0}</coordinate><stiffness>{1}</stiffness>"
      "<rest_length>{2}</rest_length><viscosity>{3}</viscosity></SpringGeneralizedForce>\n  ",
      name, stiffness, rest, viscosity);
  const std::string before = "<CoordinateActuator";
  return text.insert(text.find(before), spring);
}

std::vector<double> numbers_of(const ElementSpec& element, const char* key) {
  return element.keys[key].numbers();
}

TEST(OsimImport, SpringsOnCoordinatesAreElements) {
  const Folder folder;
  const ImportOptions knee{.joints = {"knee"}, .meshes = {}, .folders = {folder.path()}};
  const std::string text = with_spring(with_spring(small_model, "flexion", 3.0, 0.75, 2.0), "arm_flex", 0.0, 0.0, 1.0);
  const Import hinged = import_model(read_model(text, "small.osim"), knee);
  EXPECT_THAT(hinged.omissions, Contains(HasSubstr("of_arm_flex: its coordinate arm_flex is not in the subset")));
  const Scenario scenario = test::scenario_from(hinged.scenario);
  ASSERT_EQ(scenario.forces.size(), 2U);
  EXPECT_EQ(scenario.forces[1].type, "torsional_spring");
  EXPECT_EQ(scenario.forces[1].keys["stiffness"].number(), 3.0);
  EXPECT_EQ(scenario.forces[1].keys["damping"].number(), 2.0);
  // Its rest value is 0.75; the joint begins at 0.5, which is its zero here.
  EXPECT_EQ(scenario.forces[1].keys["neutral"].number(), 0.25);
}

// Without a driver it keeps its coordinates, with springs of any rest value, and drivers that move them.
TEST(OsimImport, FreeJointKeepsItsCoordinatesWithoutADriver) {
  const Folder folder;
  const std::string text = with_spring(with_spring(with_free_knee(), "bend", 0.0, 0.0, 6.0), "tz", 50.0, 0.1, 200.0);
  const ImportOptions import_options{
      .joints = {"knee"}, .fixed_joints = {"ankle"}, .meshes = {}, .folders = {folder.path()}};
  const Import import = import_model(read_model(text, "small.osim"), import_options);
  EXPECT_THAT(import.omissions, Not(Contains(HasSubstr("SpringGeneralizedForce"))));
  const Scenario scenario = test::scenario_from(
      import.scenario + "drivers: {bent: {coordinates: {bend: {follows: {polynomial: [0.25, 1]}}}}}\n");
  const auto spring = std::ranges::find(scenario.forces, std::string("of_tz"), &ElementSpec::name);
  ASSERT_NE(spring, scenario.forces.end());
  EXPECT_EQ(spring->type, "coordinate_spring");
  EXPECT_EQ(spring->keys["neutral"].number(), 0.1);
  EXPECT_EQ(mbs::describe_model(scenario).degrees_of_freedom, 5);
}

// Bodies of the subset that are welded to one another are one, for any source of the weld.
TEST(OsimImport, WeldedBodiesOfASubsetAreOne) {
  const Folder folder;
  ImportOptions import_options{
      .joints = {"knee", "ankle"}, .meshes = {}, .folders = {folder.path()}, .excluded = {"A1"}};
  const Scenario scenario =
      test::scenario_from(import_model(read_model(small_model, "small.osim"), import_options).scenario);
  ASSERT_EQ(scenario.bodies.size(), 3U);
  // The calf, which carries the foot, is attached to the shank.
  EXPECT_NEAR(scenario.bodies[0].mass + scenario.bodies[2].mass, 7.0 + 1.0, 1e-12);
  EXPECT_NEAR(scenario.bodies[1].mass, 4.0, 1e-12);
  EXPECT_NEAR(scenario.bodies[1].center_of_mass.y(), -0.15, 1e-12);
  EXPECT_EQ(mbs::describe_model(scenario).degrees_of_freedom, 2);
  import_options.fixed_joints = {"knee"};
  EXPECT_EQ(mbs::describe_model(
                test::scenario_from(import_model(read_model(small_model, "small.osim"), import_options).scenario))
                .degrees_of_freedom,
            1);
}

TEST(OsimImport, WeldToTheGroundIsFixed) {
  const Folder folder;
  std::string text = std::regex_replace(small_model, std::regex("CustomJoint"), "WeldJoint");
  const ImportOptions import_options{.joints = {"hip", "knee"}, .meshes = {}, .folders = {folder.path()}};
  EXPECT_EQ(
      mbs::describe_model(test::scenario_from(import_model(read_model(text, "small.osim"), import_options).scenario))
          .degrees_of_freedom,
      1);
}

TEST(OsimImport, LockedTranslationsKeepBodiesApart) {
  const Folder folder;
  const std::string text =
      std::regex_replace(with_free_knee(), std::regex("<default_value>"), "<locked>true</locked><default_value>");
  for (const std::vector<std::string>& joints : {std::vector<std::string>{"knee"}, {"hip", "knee"}}) {
    const ImportOptions import_options{.joints = joints, .meshes = {}, .folders = {folder.path()}, .excluded = {"L1"}};
    const Import import = import_model(read_model(text, "small.osim"), import_options);
    EXPECT_THAT(mbs::describe_model(test::scenario_from(import.scenario)).notes,
                Not(Contains(HasSubstr("assembly moved"))));
  }
}

// A driver of a joint acts relative to the ground: a moving hip would rotate it too.
TEST(OsimImport, JointIsDrivenRelativeToAFixedParent) {
  const Folder folder;
  std::string text = with_free_knee();
  const std::string still = R"(<socket_child_frame>/bodyset/thigh</socket_child_frame><coordinates />)";
  text.replace(text.find(still), still.size(),
               R"(<socket_child_frame>/bodyset/thigh</socket_child_frame><coordinates>
      <Coordinate name="lift"><default_value>0</default_value></Coordinate></coordinates>)");
  text = std::regex_replace(text, std::regex(R"(<CustomJoint name="hip">([^]*?)</CustomJoint>)"),
                            R"(<PinJoint name="hip">$1</PinJoint>)");
  ImportOptions import_options{
      .joints = {"hip", "knee"}, .fixed_joints = {"ankle"}, .meshes = {}, .folders = {folder.path()}, .flexion = 1.0};
  EXPECT_THAT(message_of(text, import_options),
              HasSubstr("expected a joint with a fixed parent, found thigh, which hip"));
  import_options.fixed_joints = {"ankle", "hip"};
  import_options.joints = {"knee"};
  EXPECT_EQ(message_of(text, import_options), "accepted");
}

// About z, x, y and along x, y, z; the first rotation is prescribed where the joint is driven, and bushings act from
// the body that rotates with it.
TEST(OsimImport, DampersOfAFreeJointAreBushings) {
  const Folder folder;
  std::string text = with_free_knee();
  for (const char* name : {"bend", "adduct", "turn"}) text = with_spring(text, name, 0.0, 0.0, 6.0);
  text = with_spring(text, "ty", 50.0, -0.4, 200.0);
  text = with_spring(text, "tz", 50.0, 0.1, 200.0);
  ImportOptions import_options{.joints = {"knee"}, .fixed_joints = {"ankle"}, .meshes = {}, .folders = {folder.path()}};
  const auto forces_of = [&](const Import& import) {
    std::map<std::string, ElementSpec> forces;
    for (const ElementSpec& force : test::scenario_from(import.scenario).forces) forces.emplace(force.name, force);
    return forces;
  };
  import_options.flexion = 1.0;
  const Import bent = import_model(read_model(text, "small.osim"), import_options);
  EXPECT_THAT(bent.omissions, Contains(HasSubstr("of_bend: its coordinate is prescribed")));
  EXPECT_THAT(bent.omissions, Contains(HasSubstr("of_tz: its rest length 0.1 differs from its coordinate")));
  const auto forces = forces_of(bent);
  EXPECT_EQ(numbers_of(forces.at("knee_shifts"), "damping_matrix"), (std::vector<double>{0, 0, 0, 0, 200, 0}));
  EXPECT_EQ(numbers_of(forces.at("knee_shifts"), "stiffness_matrix"), (std::vector<double>{0, 0, 0, 0, 50, 0}));
  EXPECT_THAT(bent.scenario, HasSubstr("knee_turns: {type: bushing, bodies: [flexed, shank]"));
  EXPECT_EQ(numbers_of(forces.at("knee_turns"), "damping_matrix"), (std::vector<double>{6, 6, 0, 0, 0, 0}));
}

TEST(OsimImport, CoordinateWithoutMotionIsRejected) {
  const Folder folder;
  ImportOptions import_options{.joints = {"knee"}, .fixed_joints = {"ankle"}, .meshes = {}, .folders = {folder.path()}};
  std::string still = with_free_knee();
  const std::string last = "<TransformAxis><coordinates>tz</coordinates>";
  const auto begin = still.find(last);
  still.erase(begin, still.find("</TransformAxis>", begin) + 16 - begin);
  import_options.coordinates = {{"tz", 0.1}};
  EXPECT_THAT(message_of(still, import_options), HasSubstr("found 'tz' of CustomJoint knee"));
  import_options.coordinates = {{"flexion", 2.5}};
  EXPECT_THAT(import_model(read_model(small_model, "small.osim"), import_options).omissions,
              Contains(HasSubstr("coordinate flexion: its range, 0 to 2")));
}

// The file is in degrees and names the coordinate as OpenSim 4 does; slope -1.
TEST(OsimImport, MotionFileDrivesAJointInTime) {
  const Folder folder;
  const std::string motion =
      "knee\nversion=1\nnRows=3\nnColumns=2\ninDegrees=yes\nendheader\n"
      "time\t/jointset/knee/bend/value\n0\t30\n1\t40\n2.5\t50\n";
  ImportOptions import_options{.joints = {"knee"}, .fixed_joints = {"ankle"}, .meshes = {}, .folders = {folder.path()}};
  import_options.motion = {.file = "motions/bend.sto", .table = read_motion_table(motion, "bend.sto")};
  import_options.activation = 0.02;
  import_options.rigid_tendons = true;
  const Import import = import_model(read_model(with_free_knee(), "small.osim"), import_options);
  EXPECT_THAT(import.scenario, HasSubstr(fmt::format("rz: {{file: {{name: \"bend.sto\", column: "
                                                     "\"/jointset/knee/bend/value\", time: \"time\", scale: {}}}}}",
                                                     -std::numbers::pi / 180.0)));
  EXPECT_THAT(import.scenario, HasSubstr("activation: {polynomial: [0.02]}"));
  EXPECT_THAT(import.scenario, HasSubstr("end_time: 2.5"));
  // Bodies are at the beginning of the motion.
  EXPECT_THAT(import.scenario, HasSubstr("orientation: [0.96592582628906"));  // cos(15 degrees)
  ASSERT_EQ(import.meshes.size(), 3U);
  EXPECT_EQ(import.meshes[0].to, "bend.sto");
  import_options.coordinates = {{"bend", 0.5}};
  EXPECT_THAT(message_of(with_free_knee(), import_options),
              HasSubstr("--coordinate: expected no bend together with --motion"));
  import_options.coordinates = {};
  import_options.motion->table = read_motion_table("time,adduct\n0,1\n1,2\n", "a.csv");
  EXPECT_THAT(message_of(with_free_knee(), import_options),
              HasSubstr("a.csv: expected a column bend, found time, adduct"));
  import_options.motion->table = read_motion_table("time,bend\n0.5,1\n1,2\n", "a.csv");
  EXPECT_THAT(message_of(with_free_knee(), import_options), HasSubstr("begins at 0 s, found 0.5 s"));
  for (const char* gap : {"nan", "inf"}) {
    import_options.motion->table = read_motion_table(fmt::format("time,bend\n0,1\n1,{}\n", gap), "a.csv");
    EXPECT_THAT(message_of(with_free_knee(), import_options),
                HasSubstr(fmt::format("a.csv: expected finite numbers in the column bend, found {} at 1 s", gap)));
  }
}

TEST(OsimImport, DrivenBodyIsDrawnAndLinesAreOmitted) {
  const Folder folder;
  ImportOptions import_options{.joints = {"knee"}, .fixed_joints = {"ankle"}, .meshes = {}, .folders = {folder.path()}};
  import_options.flexion = 1.0;
  import_options.drawer_force = 100.0;
  import_options.excluded = {"L"};
  const Import import = import_model(read_model(with_free_knee(), "small.osim"), import_options);
  const Scenario scenario = test::scenario_from(import.scenario);
  EXPECT_THAT(import.scenario, HasSubstr("rz: {expression: \"-0.25 + -0.75 * step(t, 0, 1)\"}"));
  EXPECT_THAT(import.scenario, HasSubstr("fx: {expression: \"100 * step(t, 1, 2)\"}"));
  EXPECT_EQ(scenario.analysis.end_time, 2.0);
  ASSERT_EQ(scenario.forces.size(), 1U);
  EXPECT_EQ(scenario.forces[0].type, "muscle");
  EXPECT_THAT(import.omissions, Contains("Blankevoort1991Ligament L1: excluded (--exclude)"));
  import_options.excluded = {"ACL"};
  EXPECT_THAT(message_of(with_free_knee(), import_options), AllOf(HasSubstr("'ACL'"), HasSubstr("(A, L, M, touch)")));
}

TEST(OsimImport, ContactWithMissingMeshesCanBeExcluded) {
  ImportOptions import_options{.joints = {"knee"}, .meshes = {}, .folders = {"/none"}};
  EXPECT_THAT(message_of(small_model, import_options), HasSubstr("or skip its contact with --exclude"));
  import_options.excluded = {"touch"};
  const Import import = import_model(read_model(small_model, "small.osim"), import_options);
  EXPECT_TRUE(test::scenario_from(import.scenario).pairs.empty());
  EXPECT_THAT(import.omissions, Contains("contact touch: excluded (--exclude)"));
}

/// The small model with a knee of six coordinates, and hinges with a coordinate at hip and ankle.
std::string with_hinges() {
  std::string text = with_free_knee();
  const auto hinge = [&](const std::string& from, const std::string& to, const std::string& coordinate) {
    const auto begin = text.find(from);
    text.replace(begin, text.find(to, begin) + to.size() - begin,
                 from.substr(from.find(" name")) + "<socket_parent_frame>" +
                     (coordinate == "hip_flex" ? "/ground" : "/bodyset/calf") +
                     "</socket_parent_frame><socket_child_frame>/bodyset/" +
                     (coordinate == "hip_flex" ? "thigh" : "foot") +
                     "</socket_child_frame><coordinates><Coordinate name=\"" + coordinate +
                     "\"><default_value>0</default_value></Coordinate></coordinates></PinJoint>");
    text.insert(begin, "<PinJoint");
  };
  hinge("<CustomJoint name=\"hip\">", "</CustomJoint>", "hip_flex");
  hinge("<PinJoint name=\"ankle\">", "</PinJoint>", "ankle_flex");
  return text;
}

// Driven joints rotate about axes of the scenario: where the hip rotates the thigh, the scenario's axes rotate with it,
// and gravity acts from behind.
TEST(OsimImport, CoordinatesMayDifferFromTheirDefaults) {
  const Folder folder;
  const std::string text = with_hinges();
  ImportOptions import_options{
      .joints = {"knee"}, .fixed_joints = {"hip", "ankle"}, .meshes = {}, .folders = {folder.path()}, .flexion = 1.0};
  import_options.coordinates = {{"hip_flex", 30.0}, {"ankle_flex", 90.0}, {"ty", -0.42}};
  import_options.angle_unit = std::numbers::pi / 180.0;
  const auto imported = [&] {
    return test::scenario_from(import_model(read_model(text, "small.osim"), import_options).scenario);
  };
  const Scenario bent = imported();
  EXPECT_TRUE(bent.gravity.isApprox(9.81 * Vector3(-0.5, -std::sqrt(0.75), 0.0), 1e-12)) << bent.gravity.transpose();
  EXPECT_TRUE(bent.bodies[0].X_WB.R.isApprox(Matrix3::Identity(), 1e-12));
  EXPECT_TRUE(bent.bodies[1].X_WB.p.isApprox(Vector3(0.0, -0.42, 0.0), 1e-12)) << bent.bodies[1].X_WB.p.transpose();
  // The muscle's end in the foot, 0.1 m below the shank's origin, rotated by the locked ankle.
  const ElementSpec& muscle = bent.forces[1];
  const config::Field end(*muscle.document, *muscle.keys["path"].node().items.back(), "end");
  EXPECT_TRUE(end["point"].vector3().isApprox(Vector3(-0.02, -0.13, 0.0), 1e-12)) << end["point"].vector3().transpose();
  // Undriven, the axes are those of the model's ground.
  import_options.flexion = {};
  const Scenario swinging = imported();
  EXPECT_EQ(swinging.gravity, Vector3(0.0, -9.81, 0.0));
  EXPECT_NEAR(swinging.bodies[0].X_WB.R(1, 0), 0.5, 1e-12);
  import_options.coordinates = {{"hip", 0.5}};
  EXPECT_THAT(
      message_of(text, import_options),
      AllOf(HasSubstr("--coordinate: expected names of coordinates of the model (hip_flex"), HasSubstr("found 'hip'")));
  import_options.coordinates = {{"hip_flex", 25.0}};
  import_options.angle_unit = 1.0;
  import_options.in_section = true;
  EXPECT_THAT(message_of(text, import_options),
              HasSubstr("import.coordinates: expected a rotation hip_flex of at most 2 pi, found 25 rad"));
}

// Without a driver the pendulum swings for a second.
TEST(OsimImport, NewImportMoves) {
  const Folder folder;
  const Import import = import_model(read_model(small_model, "small.osim"),
                                     {.joints = {"knee"}, .meshes = {}, .folders = {folder.path()}});
  const Scenario scenario = test::scenario_from(import.scenario);
  EXPECT_EQ(scenario.analysis.type, "forward");
  EXPECT_EQ(scenario.analysis.end_time, 1.0);
}

TEST(OsimImport, LayerReachesItsBackSurface) {
  const Folder folder;
  std::string text = small_model;
  const std::string place = "<mesh_file>lower.stl</mesh_file>";
  text.replace(text.find(place), place.size(),
               place +
                   "<use_variable_thickness>true</use_variable_thickness><mesh_back_file>bone.stl</mesh_back_file>"
                   "<min_thickness>0.0005</min_thickness>");
  ImportOptions import_options{.joints = {"knee"}, .meshes = {}, .folders = {folder.path()}};
  const Import without = import_model(read_model(text, "small.osim"), import_options);
  EXPECT_THAT(without.omissions, Contains(AllOf(HasSubstr("contact mesh lower: its variable thickness"),
                                                HasSubstr("bone.stl is missing (--mesh lower.back=FILE)"))));
  EXPECT_THAT(without.scenario, HasSubstr("      thickness: 0.003\n"));
  import_options.meshes["lower.back"] = folder.path() / "upper.stl";
  const Import with = import_model(read_model(text, "small.osim"), import_options);
  EXPECT_THAT(with.scenario,
              HasSubstr("      back_file: \"meshes/lower_back.stl\"\n      partner_thickness: 0.003\n      "
                        "back_min_thickness: 0.0005\n"));
  EXPECT_THAT(with.omissions, Not(Contains(HasSubstr("lower"))));
  import_options.meshes["lower.back"] = "/nowhere/bone.stl";
  EXPECT_THAT(message_of(text, import_options), HasSubstr("/nowhere/bone.stl"));
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = small_model;
  return text.replace(text.find(from), from.size(), to);
}

std::vector<std::string> missed_of(const std::string& text) {
  const Folder folder;
  return import_model(read_model(text, "small.osim"), {.joints = {"knee"}, .meshes = {}, .folders = {folder.path()}})
      .omissions;
}

// For an element of any kind at any position: the reader has read it, or the list names it.
TEST(OsimImport, UnsupportedElementIsReported) {
  EXPECT_THAT(missed_of(small_model), Not(Contains(HasSubstr("novelty"))));
  const std::regex with_children(R"(<(\w+)( [^<>/]*)?>(?=\s*<\w))");
  const std::string text = small_model;
  int places = 0;
  for (std::sregex_iterator tag(text.begin(), text.end(), with_children), end; tag != end; ++tag) {
    const std::string name = (*tag)[1];
    // An item of a list is reported as a whole, under its name.
    if (name == "objects" || name == "frames" || name == "coordinates" || name == "OpenSimDocument") continue;
    std::string novel = text;
    novel.insert(static_cast<std::size_t>(tag->position() + tag->length()), "<novelty>7.25</novelty>");
    EXPECT_THAT(missed_of(novel), Contains(AllOf(HasSubstr("novelty"), HasSubstr("7.25")))) << "in " << tag->str();
    ++places;
  }
  EXPECT_GT(places, 30);
}

TEST(OsimImport, ReinterpretedValuesAreReported) {
  const std::string curve = "<ForceVelocityCurve>";
  const auto with = [&](const std::string& before, const std::string& more) {
    return missed_of(changed(before, more + before));
  };
  const std::string tendon = "TendonForceLengthCurve><strain_at_one_norm_force>";
  const auto tendon_of = [&](const char* strain) {
    return with(curve, "<" + tendon + strain + "</strain_at_one_norm_force></TendonForceLengthCurve>");
  };
  EXPECT_THAT(tendon_of("0.1"), Not(Contains(HasSubstr("TendonForceLengthCurve"))));
  EXPECT_THAT(with("<strain_at_one_norm_force>2", "<curviness>0.11</curviness>"),
              Contains(HasSubstr("FiberForceLengthCurve/curviness = 0.11 (M1)")));
  EXPECT_THAT(with("<strain_at_one_norm_force>2", "<curviness>0.75</curviness>"),
              Not(Contains(HasSubstr("curviness"))));
  EXPECT_THAT(with("<range>0 2", "<prescribed>true</prescribed>"),
              Contains(HasSubstr("coordinate flexion: its prescribed function")));
  EXPECT_THAT(with("<range>0 2", "<prescribed>false</prescribed>"), Not(Contains(HasSubstr("prescribed"))));
  EXPECT_THAT(with("<mesh_file>upper", "<mesh_back_file>bone.stl</mesh_back_file>"),
              Contains(HasSubstr("Smith2018ContactMesh: mesh_back_file = bone.stl (upper)")));
  EXPECT_THAT(with("<mass>7",
                   "<attached_geometry><Mesh name=\"bone\"><mesh_file>b.vtp</mesh_file></Mesh>"
                   "</attached_geometry>"),
              Contains(HasSubstr("Body: attached_geometry/Mesh (bone)")));
  EXPECT_THAT(missed_of(changed("<wrap_object>ball", "<wrap_object>none")),
              Contains(HasSubstr("wrap objects without an imported line: ball")));
}

// An end may leave the surface later, and the line then wraps, as in OpenSim.
TEST(OsimImport, ALineWithAnEndInsideItsWrapSurfaceAtTheStartKeepsIt) {
  const Folder folder;
  const Import import = import_model(read_model(changed("<radius>0.02", "<radius>0.03"), "small.osim"),
                                     {.joints = {"knee"}, .meshes = {}, .folders = {folder.path()}});
  EXPECT_THAT(import.omissions,
              Contains(HasSubstr("L1: wrapping over ball from its point 1 while an end lies inside")));
  EXPECT_THAT(import.scenario, HasSubstr("wrap: [ball]"));
  EXPECT_THAT(import.scenario, HasSubstr("inside: straight, segments: one"));
  EXPECT_EQ(test::scenario_from(import.scenario).forces.size(), 1u);
}

Matrix3 about(const Vector3& axis, double angle) {
  return Eigen::AngleAxisd(angle, axis.normalized()).toRotationMatrix();
}

/// The small model with another element in a set, or at the end of the model.
std::string with_element(const std::string& element, const std::string& before) {
  std::string text = small_model;
  return text.insert(text.find(before), element);
}

std::string muscle_of(const std::string& type, const std::string& elements) {
  return "<" + type + R"( name="N1"><GeometryPath><PathPointSet><objects>
      <PathPoint name="p"><socket_parent_frame>/bodyset/thigh</socket_parent_frame><location>-0.03 -0.2 0</location></PathPoint>
      <PathPoint name="q"><socket_parent_frame>/bodyset/shank</socket_parent_frame><location>-0.03 -0.1 0</location></PathPoint>
    </objects></PathPointSet></GeometryPath><max_isometric_force>900</max_isometric_force>
    <optimal_fiber_length>0.07</optimal_fiber_length><tendon_slack_length>0.2</tendon_slack_length>)" +
         elements + "</" + type + ">\n  ";
}

Import imported_knee(const std::string& text) {
  const Folder folder;
  return import_model(read_model(text, "small.osim"), {.joints = {"knee"}, .meshes = {}, .folders = {folder.path()}});
}

TEST(OsimImport, MusclesOfOtherClassesKeepTheirCurves) {
  const std::string table = R"(<SimmSpline name="active_force_length_curve"><x>0.4 1 1.6</x><y>0 1 0</y></SimmSpline>
    <SimmSpline name="tendon_force_length_curve"><x>0 0.01 0.1</x><y>0 0.1 5</y></SimmSpline>)";
  const auto imported = [](const std::string& type, const std::string& elements) {
    return imported_knee(with_element(muscle_of(type, elements), "<CoordinateActuator"));
  };
  const Import schutte =
      imported("Schutte1993Muscle_Deprecated", "<time_scale>0.2</time_scale><damping>0.05</damping>" + table);
  const Scenario scenario = test::scenario_from(schutte.scenario);
  ASSERT_EQ(scenario.forces.size(), 2U);
  const auto& keys = scenario.forces[1].keys;
  EXPECT_EQ(keys["curves"].text(), "schutte1993");
  EXPECT_EQ(keys["max_contraction_velocity"].number(), 5.0);
  EXPECT_EQ(keys["fiber_damping"].number(), 0.05);
  EXPECT_EQ(keys["tendon_curve"]["y"].numbers(), (std::vector<double>{0, 0.1, 5}));
  EXPECT_THAT(imported("Schutte1993Muscle_Deprecated", "").omissions,
              Contains(HasSubstr("Schutte1993Muscle_Deprecated N1: its active_curve is not a spline")));
  const Import degroote =
      imported("DeGrooteFregly2016Muscle", "<tendon_strain_at_one_norm_force>0.1</tendon_strain_at_one_norm_force>");
  EXPECT_THAT(degroote.scenario, AllOf(HasSubstr("curves: degroote2016"), HasSubstr("tendon_strain: 0.1")));
  // An elastic tendon needs damping; OpenSim's default is none.
  EXPECT_THAT(degroote.omissions, Contains(HasSubstr("muscle N1: its fiber_damping 0; 1e-06")));
  EXPECT_THAT(imported("Millard2012AccelerationMuscle", "").omissions,
              Contains(HasSubstr("Millard2012AccelerationMuscle N1: this force is not supported")));
}

TEST(OsimImport, MusclesWithoutForceAndPathSprings) {
  std::string text = with_element(muscle_of("Thelen2003Muscle", ""), "<CoordinateActuator");
  text.replace(text.rfind("<max_isometric_force>900"), 24, "<max_isometric_force>0");
  EXPECT_THAT(imported_knee(text).omissions, Contains(HasSubstr("Thelen2003Muscle N1: its max_isometric_force 0")));
  const Import spring = imported_knee(
      with_element(muscle_of("PathSpring", "<resting_length>0.2</resting_length><stiffness>500</stiffness>"),
                   "<CoordinateActuator"));
  const Scenario scenario = test::scenario_from(spring.scenario);
  ASSERT_EQ(scenario.forces.size(), 2U);
  // Tension 500 N/m (l - 0.2 m): 100 N per strain.
  EXPECT_THAT(spring.scenario, AllOf(HasSubstr("stiffness: 100"), HasSubstr("slack_length: 0.2")));
}

// Frames of bodies and of the model, based on each other, and a body, a joint and its frames among the components.
TEST(OsimImport, FramesBelongToBodiesAndToTheModel) {
  std::string text = with_element(R"(<components>
  <PhysicalOffsetFrame name="base"><socket_parent>/bodyset/shank/inner</socket_parent>
    <translation>0 0 0.02</translation><orientation>0 0 0</orientation></PhysicalOffsetFrame>
  <Body name="sensor"><mass>0.1</mass><mass_center>0 0 0</mass_center><inertia>1e-5 1e-5 1e-5 0 0 0</inertia></Body>
  <PinJoint name="clip"><socket_parent_frame>/base</socket_parent_frame><socket_child_frame>/sensor</socket_child_frame>
    <coordinates><Coordinate name="flexion"><default_value>0.25</default_value></Coordinate></coordinates></PinJoint>
</components>)",
                                  "<BodySet>");
  const std::string inner = R"(<components><PhysicalOffsetFrame name="inner"><socket_parent>..</socket_parent>
    <translation>0.1 0 0</translation><orientation>0 0 0.5</orientation></PhysicalOffsetFrame></components>)";
  text.insert(text.find("<mass>", text.find("<Body name=\"shank\">")), inner);
  const Folder folder;
  const Import import = import_model(read_model(text, "small.osim"),
                                     {.joints = {"knee", "clip"}, .meshes = {}, .folders = {folder.path()}});
  const Scenario scenario = test::scenario_from(import.scenario);
  const auto pose_of = [&](const std::string& name) {
    return std::ranges::find(scenario.bodies, name, &BodySpec::name)->X_WB;
  };
  const Pose X = pose_of("shank").inverse() * pose_of("sensor");
  EXPECT_LT((X.p - Vector3(0.1, 0.0, 0.02)).norm(), 1e-12);
  EXPECT_NEAR(X.R(1, 0), std::sin(0.5 + 0.25), 1e-12);
  // OpenSim tells coordinates of one name by their joints.
  EXPECT_THAT(import.omissions, Contains(HasSubstr("coordinate flexion of clip: its name, which another joint has")));
}

// An axis without a coordinate and without a function does not move.
TEST(OsimImport, AxisWithoutAFunctionIsFixed) {
  std::string bent = with_free_knee();
  const auto axis = bent.rfind("<TransformAxis><coordinates>tz");
  bent.replace(axis, bent.find("</TransformAxis>", axis) - axis,
               "<TransformAxis><coordinates></coordinates><axis>0 0 1</axis>");
  EXPECT_EQ(test::scenario_from(imported_knee(bent).scenario).bodies.size(), 2U);
}

// Abduction x, elevation y and upward rotation z turn the scapula on an ellipsoid with its normal along z, about axes
// that are turned by a right angle against those of the thorax; winging turns it about an axis in its plane.
TEST(OsimImport, ScapulothoracicJointGlidesOnAnEllipsoid) {
  std::string text = small_model;
  const auto begin = text.find("<PinJoint name=\"knee\">"), end = text.find("<WeldJoint");
  const std::array u = {0.2, -0.3, 0.4, 0.15};
  std::string joint =
      "<ScapulothoracicJoint name=\"knee\"><socket_parent_frame>/bodyset/thigh</socket_parent_frame>"
      "<socket_child_frame>/bodyset/shank</socket_child_frame><coordinates>";
  for (std::size_t i = 0; i < u.size(); ++i)
    joint += fmt::format("<Coordinate name=\"u{}\"><default_value>{}</default_value></Coordinate>", i, u[i]);
  joint +=
      "</coordinates><thoracic_ellipsoid_radii_x_y_z>0.07 0.15 0.08</thoracic_ellipsoid_radii_x_y_z>"
      "<scapula_winging_axis_origin>0.05 -0.02</scapula_winging_axis_origin>"
      "<scapula_winging_axis_direction>0.5</scapula_winging_axis_direction></ScapulothoracicJoint>\n  ";
  const Model model = read_model(text.replace(begin, end - begin, joint), "small.osim");
  const Vector3 x = Vector3::UnitX(), y = Vector3::UnitY(), z = Vector3::UnitZ();
  const Matrix3 quarter = about(z, 0.5 * std::numbers::pi);
  const Matrix3 R = about(x, u[0]) * about(y, u[1]) * about(z, u[2]);
  const Vector3 p = quarter * Vector3(0.15, 0.07, 0.08).cwiseProduct(R.col(2));
  const Matrix3 glided = quarter * R * quarter.transpose();
  const Vector3 origin(0.05, -0.02, 0.0), axis(-std::sin(0.5), std::cos(0.5), 0.0);
  const Matrix3 winged = about(axis, u[3]);
  const Pose X = default_pose(model, "thigh").inverse() * default_pose(model, "shank");
  EXPECT_LT((X.R - glided * winged).norm(), 1e-12);
  EXPECT_LT((X.p - (p + glided * (origin - winged * origin))).norm(), 1e-12);
}

// A segment over two objects lists both, in the order of the file.
TEST(OsimImport, SegmentsKeepAllTheirWrapObjects) {
  std::string text = small_model;
  const std::string ball = "</WrapSphere>", use = "</PathWrap>";
  text.insert(text.find(ball) + ball.size(), R"(<WrapCylinder name="roll"><xyz_body_rotation>0 0 0</xyz_body_rotation>
    <translation>0.03 -0.02 0</translation><quadrant>all</quadrant><radius>0.01</radius><length>0.1</length></WrapCylinder>)");
  text.insert(text.find(use) + use.size(), "<PathWrap name=\"v\"><wrap_object>roll</wrap_object></PathWrap>");
  const Import import = imported_knee(text);
  EXPECT_THAT(import.scenario, HasSubstr("wrap: [ball, roll]"));
  EXPECT_EQ(test::scenario_from(import.scenario).forces.size(), 1U);
}

TEST(OsimImport, ErrorsAreReported) {
  const Folder folder;
  const ImportOptions knee{.joints = {"knee"}, .meshes = {}, .folders = {folder.path()}};
  EXPECT_EQ(message_of(small_model, knee), "accepted");
  EXPECT_THAT(message_of(small_model, {.joints = {"elbow"}, .meshes = {}, .folders = {}}),
              AllOf(HasSubstr("'elbow'"), HasSubstr("knee")));
  EXPECT_THAT(
      message_of(small_model, {.joints = {"knee"}, .meshes = {}, .folders = {"/nowhere"}}),
      AllOf(HasSubstr("contact mesh 'lower'"), HasSubstr("/nowhere/lower.stl"), HasSubstr("--mesh lower=FILE")));
  EXPECT_THAT(message_of(changed("0.03 -0.35 0", "0.03 x 0"), knee), HasSubstr("expected 3 numbers, found '0.03 x 0'"));
  EXPECT_THAT(message_of(changed("/bodyset/calf</socket_parent_frame><location>0.03 0.05",
                                 "/bodyset/fibula</socket_parent_frame><location>0.03 0.05"),
                         knee),
              HasSubstr("/bodyset/fibula"));
  for (const char* damaged : {"0,03 -0.35 0", "0.03 -0.35m 0", "0x1 -0.35 0", "0.03;-0.35 0", "0.03 -0.35 inf"}) {
    EXPECT_THAT(message_of(changed("0.03 -0.35 0", damaged), knee),
                HasSubstr(fmt::format("model.osim: PathPoint 'p', location: expected 3 numbers, found '{}'", damaged)));
  }
  EXPECT_THAT(message_of(changed("<mass>7</mass>", "<mass>7,5</mass>"), knee), HasSubstr("Body 'thigh', mass"));
  EXPECT_EQ(message_of(changed("0.03 -0.35 0", "\n+3e-2\t-0.35 1e-400 "), knee), "accepted");
  // Shapes of curves that are not evaluated may be empty.
  EXPECT_EQ(message_of(changed("<FiberForceLengthCurve>", "<FiberForceLengthCurve><curviness></curviness>"), knee),
            "accepted");
  EXPECT_THAT(message_of("<a/>", knee), HasSubstr("expected an OpenSim model"));
  EXPECT_THAT(message_of("no xml", knee), HasSubstr("expected XML"));
}

TEST(OsimImport, ErrorsNameTheFile) {
  const std::string empty = "<OpenSimDocument Version=\"40000\"><Model name=\"none\"></Model></OpenSimDocument>";
  EXPECT_EQ(message_of(empty, {.joints = {}, .meshes = {}, .folders = {}}),
            "model.osim: expected a model with bodies, found none in 'none'");
  EXPECT_THAT(message_of(small_model, {.joints = {"elbow"}, .meshes = {}, .folders = {}}), HasSubstr("(model.osim)"));
}

// Millimetres in the place of metres.
TEST(OsimImport, LinesOutOfReachAreOmitted) {
  const Import import = imported_knee(changed("<slack_length>0.08<", "<slack_length>80<"));
  EXPECT_THAT(import.omissions,
              Contains(AllOf(HasSubstr("L1"), HasSubstr("is not from a 20th to 20 times its slack length, 80 m"))));
}

/// A leg with the elements of whole models: a free joint to ground, a knee about an oblique axis with splines, a
/// dependent kneecap, a universal joint with a locked coordinate, bodies without mass, points that move or are active
/// in a range.
constexpr const char* leg_model = R"(<?xml version="1.0"?>
<OpenSimDocument Version="40000"><Model name="leg">
<gravity>0 -9.81 0</gravity>
<BodySet><objects>
  <Body name="pelvis"><mass>10</mass><mass_center>0 0 0</mass_center><inertia>0.1 0.1 0.1 0 0 0</inertia></Body>
  <Body name="thigh"><mass>7</mass><mass_center>0 -0.2 0</mass_center><inertia>0.1 0.02 0.1 0 0 0</inertia></Body>
  <Body name="shank"><mass>3</mass><mass_center>0 -0.2 0</mass_center><inertia>0.03 0.01 0.03 0 0 0</inertia></Body>
  <Body name="kneecap"><mass>0.1</mass><mass_center>0 0 0</mass_center><inertia>1e-5 1e-5 1e-5 0 0 0</inertia></Body>
  <Body name="swivel"><mass>0</mass><mass_center>0 0 0</mass_center><inertia>0 0 0 0 0 0</inertia></Body>
  <Body name="foot"><mass>1</mass><mass_center>0.05 0 0</mass_center><inertia>0.001 0.001 0.001 0 0 0</inertia></Body>
</objects></BodySet>
<JointSet><objects>
  <FreeJoint name="root"><socket_parent_frame>/ground</socket_parent_frame>
    <socket_child_frame>/bodyset/pelvis</socket_child_frame><coordinates>
      <Coordinate name="rx"><default_value>0.1</default_value></Coordinate>
      <Coordinate name="ry"><default_value>-0.4</default_value></Coordinate>
      <Coordinate name="rz"><default_value>0.7</default_value></Coordinate>
      <Coordinate name="px"><default_value>0.5</default_value></Coordinate>
      <Coordinate name="py"><default_value>0.9</default_value></Coordinate>
      <Coordinate name="pz"><default_value>-0.2</default_value></Coordinate></coordinates></FreeJoint>
  <BallJoint name="hip"><socket_parent_frame>pelvis_offset</socket_parent_frame>
    <socket_child_frame>/bodyset/thigh</socket_child_frame><coordinates>
      <Coordinate name="h1"><default_value>0.3</default_value></Coordinate>
      <Coordinate name="h2"><default_value>-0.2</default_value></Coordinate>
      <Coordinate name="h3"><default_value>0.6</default_value></Coordinate></coordinates>
    <frames><PhysicalOffsetFrame name="pelvis_offset"><socket_parent>/bodyset/pelvis</socket_parent>
      <translation>-0.07 -0.06 0.08</translation><orientation>0.2 0.1 -0.3</orientation></PhysicalOffsetFrame></frames></BallJoint>
  <CustomJoint name="knee"><socket_parent_frame>/bodyset/thigh</socket_parent_frame>
    <socket_child_frame>/bodyset/shank</socket_child_frame>
    <coordinates><Coordinate name="knee_angle"><default_value>-0.8</default_value><range>-2 0.2</range></Coordinate></coordinates>
    <SpatialTransform>
      <TransformAxis name="rotation1"><coordinates>knee_angle</coordinates><axis>0.1 -0.17 0.98</axis>
        <LinearFunction><coefficients>1 0</coefficients></LinearFunction></TransformAxis>
      <TransformAxis name="rotation2"><coordinates></coordinates><axis>0 1 0</axis><Constant><value>0</value></Constant></TransformAxis>
      <TransformAxis name="rotation3"><coordinates></coordinates><axis>1 0 0</axis><Constant><value>0.05</value></Constant></TransformAxis>
      <TransformAxis name="translation1"><coordinates>knee_angle</coordinates><axis>1 0 0</axis>
        <MultiplierFunction><function><SimmSpline><x>-2 -1 -0.5 0 0.5</x><y>-0.003 0.002 0.004 0.005 0.001</y></SimmSpline></function>
        <scale>1.1</scale></MultiplierFunction></TransformAxis>
      <TransformAxis name="translation2"><coordinates>knee_angle</coordinates><axis>0 1 0</axis>
        <PolynomialFunction><coefficients>0.01 -0.02 -0.4</coefficients></PolynomialFunction></TransformAxis>
      <TransformAxis name="translation3"><coordinates></coordinates><axis>0 0 1</axis><Constant><value>0.002</value></Constant></TransformAxis>
    </SpatialTransform></CustomJoint>
  <CustomJoint name="kneecap_joint"><socket_parent_frame>/bodyset/shank</socket_parent_frame>
    <socket_child_frame>/bodyset/kneecap</socket_child_frame>
    <coordinates><Coordinate name="cap"><default_value>0</default_value></Coordinate></coordinates>
    <SpatialTransform>
      <TransformAxis name="rotation1"><coordinates>cap</coordinates><axis>0 0 1</axis>
        <LinearFunction><coefficients>1 0</coefficients></LinearFunction></TransformAxis>
      <TransformAxis name="translation1"><coordinates>cap</coordinates><axis>1 0 0</axis>
        <LinearFunction><coefficients>0.01 0.05</coefficients></LinearFunction></TransformAxis>
    </SpatialTransform></CustomJoint>
  <UniversalJoint name="ankle"><socket_parent_frame>shank_offset</socket_parent_frame>
    <socket_child_frame>/bodyset/swivel</socket_child_frame><coordinates>
      <Coordinate name="a1"><default_value>0.2</default_value></Coordinate>
      <Coordinate name="a2"><default_value>0.4</default_value><locked>true</locked></Coordinate></coordinates>
    <frames><PhysicalOffsetFrame name="shank_offset"><socket_parent>/bodyset/shank</socket_parent>
      <translation>0 -0.4 0</translation><orientation>0 0 0</orientation></PhysicalOffsetFrame></frames></UniversalJoint>
  <PinJoint name="toe"><socket_parent_frame>/bodyset/swivel</socket_parent_frame>
    <socket_child_frame>foot_offset</socket_child_frame>
    <coordinates><Coordinate name="t"><default_value>-0.3</default_value></Coordinate></coordinates>
    <frames><PhysicalOffsetFrame name="foot_offset"><socket_parent>/bodyset/foot</socket_parent>
      <translation>-0.04 0.03 0</translation><orientation>0 0.1 0</orientation></PhysicalOffsetFrame></frames></PinJoint>
</objects></JointSet>
<ConstraintSet><objects>
  <CoordinateCouplerConstraint name="cap_follows"><coupled_coordinates_function>
      <SimmSpline><x>-2 -1 0 0.5</x><y>1 0.6 0.1 0</y></SimmSpline></coupled_coordinates_function>
    <independent_coordinate_names>knee_angle</independent_coordinate_names>
    <dependent_coordinate_name>cap</dependent_coordinate_name><scale_factor>1</scale_factor></CoordinateCouplerConstraint>
</objects></ConstraintSet>
<ForceSet><objects>
  <Millard2012EquilibriumMuscle name="M1"><GeometryPath><PathPointSet><objects>
      <PathPoint name="p"><socket_parent_frame>/bodyset/thigh</socket_parent_frame><location>0.03 -0.05 0</location></PathPoint>
      <ConditionalPathPoint name="c"><socket_parent_frame>/bodyset/thigh</socket_parent_frame><location>0.05 -0.38 0</location>
        <socket_coordinate>/jointset/knee/knee_angle</socket_coordinate><range>-3 -0.5</range></ConditionalPathPoint>
      <MovingPathPoint name="m"><socket_parent_frame>/bodyset/shank</socket_parent_frame>
        <socket_x_coordinate>/jointset/knee/knee_angle</socket_x_coordinate>
        <socket_y_coordinate>/jointset/knee/knee_angle</socket_y_coordinate>
        <socket_z_coordinate>/jointset/knee/knee_angle</socket_z_coordinate>
        <x_location><SimmSpline><x>-2 -1 0 0.5</x><y>0.03 0.04 0.06 0.05</y></SimmSpline></x_location>
        <y_location><SimmSpline><x>-2 0.5</x><y>-0.02 0.01</y></SimmSpline></y_location>
        <z_location><Constant><value>0.001</value></Constant></z_location></MovingPathPoint>
    </objects></PathPointSet></GeometryPath><max_isometric_force>900</max_isometric_force>
    <optimal_fiber_length>0.1</optimal_fiber_length><tendon_slack_length>0.3</tendon_slack_length>
    <ignore_tendon_compliance>true</ignore_tendon_compliance>
  </Millard2012EquilibriumMuscle>
  <CoordinateLimitForce name="stop"><coordinate>knee_angle</coordinate><upper_limit>0</upper_limit><lower_limit>-120</lower_limit>
    <upper_stiffness>20</upper_stiffness><lower_stiffness>30</lower_stiffness><damping>1</damping><transition>5</transition></CoordinateLimitForce>
  <SpringGeneralizedForce name="hold"><coordinate>h2</coordinate><stiffness>5</stiffness><rest_length>0.1</rest_length><viscosity>0.3</viscosity></SpringGeneralizedForce>
</objects></ForceSet>
</Model></OpenSimDocument>
)";

/// Poses of the leg in the ground, from OpenSim's documentation of its joints.
std::map<std::string, Pose> leg_poses(const std::map<std::string, double>& u) {
  const Vector3 x = Vector3::UnitX(), y = Vector3::UnitY(), z = Vector3::UnitZ();
  const auto xyz = [&](double a, double b, double c) { return Matrix3(about(x, a) * about(y, b) * about(z, c)); };
  const double k = u.at("knee_angle");
  const double tx =
      1.1 * make_table({-2, -1, -0.5, 0, 0.5}, {-0.003, 0.002, 0.004, 0.005, 0.001}, Joining::spline)->at(k).f;
  const double cap = make_table({-2, -1, 0, 0.5}, {1, 0.6, 0.1, 0}, Joining::spline)->at(k).f;
  std::map<std::string, Pose> X;
  X["pelvis"] = {.R = xyz(u.at("rx"), u.at("ry"), u.at("rz")), .p = {u.at("px"), u.at("py"), u.at("pz")}};
  X["thigh"] = X["pelvis"] * Pose{.R = xyz(0.2, 0.1, -0.3), .p = {-0.07, -0.06, 0.08}} *
               Pose{.R = xyz(u.at("h1"), u.at("h2"), u.at("h3")), .p = Vector3::Zero()};
  X["shank"] = X["thigh"] * Pose{.R = about({0.1, -0.17, 0.98}, k) * about(x, 0.05),
                                 .p = {tx, 0.01 * k * k - 0.02 * k - 0.4, 0.002}};
  X["kneecap"] = X["shank"] * Pose{.R = about(z, cap), .p = {0.01 * cap + 0.05, 0.0, 0.0}};
  X["swivel"] = X["shank"] * Pose{.R = about(x, u.at("a1")) * about(y, 0.4), .p = {0.0, -0.4, 0.0}};
  X["foot"] = X["swivel"] * Pose{.R = about(z, u.at("t")), .p = Vector3::Zero()} *
              Pose{.R = about(y, 0.1), .p = {-0.04, 0.03, 0.0}}.inverse();
  return X;
}

std::map<std::string, double> leg_defaults() {
  return {{"rx", 0.1}, {"ry", -0.4}, {"rz", 0.7},          {"px", 0.5}, {"py", 0.9}, {"pz", -0.2},
          {"h1", 0.3}, {"h2", -0.2}, {"knee_angle", -0.8}, {"h3", 0.6}, {"a1", 0.2}, {"t", -0.3}};
}

TEST(OsimImport, WholeModelIsAssembledAtItsCoordinates) {
  ImportOptions import_options{.joints = {}, .meshes = {}, .folders = {}};
  for (const double shift : {0.0, 0.13, -0.21, 0.4}) {
    auto u = leg_defaults();
    import_options.coordinates.clear();
    for (auto& [name, value] : u) {
      value += shift;
      if (shift != 0.0) import_options.coordinates[name] = value;
    }
    const Import import = import_model(read_model(leg_model, "leg.osim"), import_options);
    const Scenario scenario = test::scenario_from(import.scenario);
    const auto poses = leg_poses(u);
    ASSERT_EQ(scenario.bodies.size(), 6U);
    for (const BodySpec& body : scenario.bodies) {
      EXPECT_LT((body.X_WB.p - poses.at(body.name).p).norm(), 1e-12) << body.name << " at " << shift;
      EXPECT_LT((body.X_WB.R - poses.at(body.name).R).norm(), 1e-12) << body.name << " at " << shift;
    }
    // 6 + 3 + 1 + 1 of the ankle + 1; the kneecap is dependent.
    EXPECT_EQ(mbs::describe_model(scenario).degrees_of_freedom, 12);
    EXPECT_EQ(scenario.forces.size(), 3U);
    EXPECT_THAT(import.omissions, Contains(HasSubstr("body swivel: it has no mass")));
  }
}

// The knee of the leg on a frame that stations of the thigh define: A to B along -z, AB x AC along x.
TEST(OsimImport, FramesOfStationsAreFixedInTheirBody) {
  const auto station = [](const char* name, const std::string& at) {
    return fmt::format(
        R"(<Station name="{}"><socket_parent_frame>..</socket_parent_frame><location>{}</location></Station>)", name,
        at);
  };
  const auto frame = [](const char* axis, const char* across) {
    return fmt::format(R"(<StationDefinedFrame name="landmarks"><ab_axis>{}</ab_axis><ab_x_ac_axis>{}</ab_x_ac_axis>
      <socket_point_a>/bodyset/thigh/a</socket_point_a><socket_point_b>/bodyset/thigh/b</socket_point_b>
      <socket_point_c>../c</socket_point_c><socket_origin_point>/bodyset/thigh/o</socket_origin_point></StationDefinedFrame>)",
                       axis, across);
  };
  const auto leg_on = [&](const std::string& frame_text, const std::string& c) {
    std::string text = leg_model;
    const std::string parent = "<CustomJoint name=\"knee\"><socket_parent_frame>/bodyset/thigh<";
    text.replace(text.find(parent), parent.size(),
                 "<CustomJoint name=\"knee\"><socket_parent_frame>/bodyset/thigh/landmarks<");
    return text.insert(text.find("<mass>7"), "<components>" + station("a", "0.01 -0.4 0.03") +
                                                 station("b", "0.02 -0.38 -0.03") + station("c", c) +
                                                 station("o", "0.015 -0.41 0") + frame_text + "</components>");
  };
  const ImportOptions whole{.joints = {}, .meshes = {}, .folders = {}};
  const Import import = import_model(read_model(leg_on(frame("-z", "+x"), "0.05 -0.4 0.01"), "leg.osim"), whole);
  const Vector3 ab = Vector3(0.01, 0.02, -0.06).normalized();
  const Vector3 across = ab.cross(Vector3(0.04, 0.0, -0.02)).normalized();
  Pose X_TF{.R = Matrix3::Identity(), .p = {0.015, -0.41, 0.0}};
  X_TF.R << across, (-ab).cross(across), -ab;
  const auto poses = leg_poses(leg_defaults());
  const Pose right = poses.at("thigh") * X_TF * poses.at("thigh").inverse() * poses.at("shank");
  const Scenario scenario = test::scenario_from(import.scenario);
  const Pose shank = std::ranges::find(scenario.bodies, "shank", &BodySpec::name)->X_WB;
  EXPECT_LT((shank.p - right.p).norm(), 1e-12);
  EXPECT_LT((shank.R - right.R).norm(), 1e-12);
  EXPECT_THAT(import.omissions, Not(Contains(HasSubstr("landmarks"))));
  EXPECT_THAT(message_of(leg_on(frame("x", "-x"), "0.05 -0.4 0.01"), whole), HasSubstr("two different axes"));
  EXPECT_THAT(message_of(leg_on(frame("x", "y"), "0.03 -0.36 -0.09"), whole), HasSubstr("that form a triangle"));
}

// A stop that begins at one angle, and dampers without springs.
TEST(OsimImport, StopsMayHaveEqualLimits) {
  std::string text = leg_model;
  const std::string limit = "<lower_limit>-120</lower_limit>";
  text.replace(text.find(limit), limit.size(), "<lower_limit>0</lower_limit>");
  const ImportOptions whole{.joints = {}, .meshes = {}, .folders = {}};
  EXPECT_EQ(mbs::describe_model(test::scenario_from(import_model(read_model(text, "leg.osim"), whole).scenario))
                .degrees_of_freedom,
            12);
  text = leg_model;
  text.replace(text.find(limit), limit.size(), "<lower_limit>1</lower_limit>");
  EXPECT_THAT(message_of(text, whole), HasSubstr("expected a lower_limit not above the upper_limit, found 1 and 0"));
}

// Through the moving point and the one that is active below -0.5 rad.
TEST(OsimImport, PointsMoveWithCoordinates) {
  for (const double k : {-1.1, -0.6, -0.2}) {
    ImportOptions import_options{.joints = {}, .meshes = {}, .folders = {}};
    import_options.coordinates = {{"knee_angle", k}};
    const Scenario scenario =
        test::scenario_from(import_model(read_model(leg_model, "leg.osim"), import_options).scenario);
    const mbs::Model model = mbs::build_model(scenario);
    mbs::VectorX q(12 * static_cast<Eigen::Index>(model.bodies.size()));
    for (std::size_t i = 0; i < model.bodies.size(); ++i) {
      q.segment<12>(12 * static_cast<Eigen::Index>(i)) = mbs::coordinates_from_pose(model.bodies[i].X_WB);
    }
    const auto muscle = model.forces.at(0).make();
    std::vector<double> values;
    const mbs::VectorX qd = mbs::VectorX::Zero(q.size());
    muscle->append_values({0.0, q, qd}, values);
    auto u = leg_defaults();
    u["knee_angle"] = k;
    const auto X = leg_poses(u);
    const Vector3 p = X.at("thigh") * Vector3(0.03, -0.05, 0.0), c = X.at("thigh") * Vector3(0.05, -0.38, 0.0);
    const Vector3 m =
        X.at("shank") * Vector3(make_table({-2, -1, 0, 0.5}, {0.03, 0.04, 0.06, 0.05}, Joining::spline)->at(k).f,
                                -0.02 + 0.03 * (k + 2.0) / 2.5, 0.001);
    const double right = k < -0.5 ? (c - p).norm() + (m - c).norm() : (m - p).norm();
    EXPECT_NEAR(values.at(0), right, 1e-12) << "at " << k;
  }
}

// Degrees of rotations, metres of translations, from the first row on; coordinates without a column are free.
TEST(OsimImport, MotionDrivesAllCoordinatesOfAModel) {
  std::string header = "leg\nversion=1\nnRows=2\nnColumns=13\ninDegrees=yes\nendheader\ntime", first = "1.5",
              second = "2.5";
  for (const auto& [name, value] : leg_defaults()) {
    const bool shift = name.starts_with('p');
    header += "\t" + name;
    first += fmt::format("\t{}", (shift ? 1.0 : 180.0 / std::numbers::pi) * (value + 0.1));
    second += fmt::format("\t{}", (shift ? 1.0 : 180.0 / std::numbers::pi) * (value + 0.2));
  }
  ImportOptions import_options{.joints = {}, .meshes = {}, .folders = {}};
  import_options.motion = {.file = "walk.mot",
                           .table = read_motion_table(header + "\n" + first + "\n" + second + "\n", "walk.mot")};
  const Import import = import_model(read_model(leg_model, "leg.osim"), import_options);
  ASSERT_EQ(import.meshes.size(), 1U);
  EXPECT_EQ(import.meshes[0].to, "walk.csv");
  EXPECT_THAT(import.scenario, AllOf(HasSubstr("type: kinematic"), HasSubstr("end_time: 1\n")));
  const MotionTable table = read_motion_table(import.meshes[0].content, "walk.csv");
  EXPECT_EQ(table.times(), (std::vector<double>{0.0, 1.0}));
  for (const auto& [name, value] : leg_defaults()) EXPECT_NEAR(table.column(name)[1], value + 0.2, 1e-12) << name;
  auto u = leg_defaults();
  for (auto& [name, value] : u) value += 0.1;
  const auto poses = leg_poses(u);
  const Scenario scenario = test::scenario_from(import.scenario);
  for (const BodySpec& body : scenario.bodies) {
    EXPECT_LT((body.X_WB.p - poses.at(body.name).p).norm(), 1e-12) << body.name;
  }
}

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> all;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) all.push_back(cell);
  return all;
}

/// Pose of the tibia in the femur for the six coordinates of the model's knee.
Pose knee_pose(const std::map<std::string, double>& row) {
  const auto rotation = [](double angle, const Vector3& axis) {
    return Eigen::AngleAxisd(angle, axis).toRotationMatrix();
  };
  return {.R = rotation(-row.at("knee_flex_r"), Vector3::UnitZ()) * rotation(row.at("knee_add_r"), Vector3::UnitX()) *
               rotation(row.at("knee_rot_r"), Vector3::UnitY()),
          .p = {row.at("knee_tx_r"), row.at("knee_ty_r"), row.at("knee_tz_r")}};
}

// Lengths and forces of all ligaments of the tibiofemoral joint over OpenSim-JAM's own passive flexion. Its forces have
// five digits and its poses eight; tolerances of 0.1 mm in length and 1 % in force are significant for users of the
// model. Below 1 N the percentage is of 1 N, where a micrometre of length has more effect than the model.
TEST(OsimImport, KneeLigamentsEqualOpenSim) {
  const char* data = std::getenv("HEELSTRIKE_DATA");
  const fs::path folder = fs::path(data == nullptr ? "" : data) / "knee_natural";
  if (data == nullptr || !fs::exists(folder / "lenhart2015.osim")) {
    GTEST_SKIP() << "HEELSTRIKE_DATA names no folder with knee_natural: measured data are not part of the project";
  }
  const Import import =
      import_model(read_model(test::read_text(folder / "lenhart2015.osim"), "lenhart2015.osim"),
                   {.joints = {"knee_r"},
                    .meshes = {{"femur_cartilage", folder / "lenhart2015-R-femur-cartilage_extracted.stl"}},
                    .folders = {folder}});
  const Scenario scenario = test::scenario_from(import.scenario);
  const mbs::Model model = mbs::build_model(scenario);
  const Pose X_WF = scenario.bodies.at(0).X_WB;
  mbs::VectorX q(24), qd = mbs::VectorX::Zero(24);
  q.head<12>() = mbs::coordinates_from_pose(X_WF);
  std::ifstream file(folder / "jam_passive_flexion.csv");
  std::string line;
  std::getline(file, line);
  const auto names = cells(line);
  std::vector<std::unique_ptr<mbs::ForceElement>> forces;
  for (const auto& force : model.forces) forces.push_back(force.make());
  double worst_length = 0.0, worst_force = 0.0;
  int compared = 0;
  while (std::getline(file, line)) {
    const auto values = cells(line);
    std::map<std::string, double> row;
    for (std::size_t i = 0; i < values.size(); ++i) row[names[i]] = std::stod(values[i]);
    q.tail<12>() = mbs::coordinates_from_pose(X_WF * knee_pose(row));
    for (const auto& force : forces) {
      const auto columns = force->columns();
      std::vector<double> outputs;
      force->append_values({0.0, q, qd}, outputs);
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::string& name = columns[i].name;
        const auto dot = name.find('.'), end = name.find(".length_m");
        if (end == std::string::npos) continue;
        const std::string ligament = name.substr(dot + 1, end - dot - 1);
        if (!row.contains(ligament + ".length")) continue;  // a muscle
        const double length = row.at(ligament + ".length"), tension = row.at(ligament + ".force_total");
        worst_length = std::max(worst_length, std::abs(outputs[i] - length));
        worst_force = std::max(worst_force, std::abs(outputs[i + 2] - tension) / std::max(tension, 1.0));
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 251 * 55);
  EXPECT_LT(worst_length, 1e-4);
  EXPECT_LT(worst_force, 0.01);
  RecordProperty("worst_length_m", std::to_string(worst_length));
  RecordProperty("worst_force", std::to_string(worst_force));
}

}  // namespace
}  // namespace heelstrike::osim
