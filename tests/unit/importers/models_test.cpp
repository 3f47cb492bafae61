// Robots as scenarios: imported, reported and rejected content.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numbers>
#include <set>

#include "common/errors/error.hpp"
#include "importers/model_format.hpp"
#include "importers/robots/mjcf_geometry.hpp"
#include "importers/robots/mjcf_model.hpp"
#include "importers/robots/tree_scenario.hpp"
#include "importers/robots/urdf_model.hpp"
#include "tests/support/local_run.hpp"
#include "tests/unit/importers/models.hpp"

namespace heelstrike::models {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

Import imported(const std::string& urdf, const UrdfOptions& import_options = test::urdf_options(),
                const InertiaRepair& repair = {}) {
  return import_tree(read_urdf(urdf, "arm.urdf", import_options), repair);
}

std::string message_of(const std::string& urdf, const fs::path& file = "arm.urdf") {
  try {
    (void)import_tree(read_urdf(urdf, file, test::urdf_options()));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(ModelFormats, AreRecognisedByTheirRootAndShareOptions) {
  std::map<std::string, ModelOption> known;
  std::set<std::string> roots;
  for (const ModelFormat& format : model_formats()) {
    EXPECT_TRUE(roots.insert(format.root).second) << format.name;
    ASSERT_NE(format.import, nullptr) << format.name;
    for (const ModelOption& option : format.options) {
      const auto [first, is_new] = known.try_emplace(option.name, option);
      EXPECT_EQ(first->second.description, option.description) << format.name << ' ' << option.name;
      EXPECT_EQ(first->second.value, option.value) << format.name << ' ' << option.name;
    }
  }
  const ModelInput input{.file = "arm.urdf",
                         .text = test::arm_urdf,
                         .options = {{"--base", {"free"}}, {"--skip-meshes", {}}},
                         .read_mesh = {}};
  EXPECT_THAT(model_formats().front().import(input).scenario, HasSubstr("bodies:"));
}

TEST(UrdfImport, ArmBecomesAScenario) {
  const Scenario scenario = test::scenario_from(imported(test::arm_urdf).scenario);
  std::vector<std::string> types;
  for (const auto& joint : scenario.joints) types.push_back(joint.type);
  EXPECT_THAT(types, testing::ElementsAre("revolute", "revolute", "prismatic"));
  ASSERT_EQ(scenario.bodies.size(), 4u);
  EXPECT_EQ(scenario.bodies[0].name, "upper");  // joints are in the order of the file
  EXPECT_EQ(scenario.bodies[0].X_WB.p.z(), 0.5);
  EXPECT_EQ(scenario.bodies[1].name, "lower");
  EXPECT_NEAR(scenario.bodies[1].mass, 1.25 + 0.3, 1e-12);  // with the camera
  ASSERT_EQ(scenario.forces.size(), 1u);                    // the shoulder's damping
}

TEST(UrdfImport, OmissionsAreReported) {
  const Import import = imported(test::arm_urdf);
  for (const char* missed : {"root link table", "joint elbow: its limits, -1.5 to 1.5", "effort and velocity, 10 and 2",
                             "joint shoulder: its friction 0.05", "transmission drive", "gazebo of lower", "gravity"}) {
    EXPECT_THAT(import.omissions, Contains(HasSubstr(missed)));
  }
  EXPECT_THAT(import.omissions, Not(Contains(HasSubstr("damping"))));
  EXPECT_THAT(import.imported, Contains(HasSubstr("body camera as part of lower, to which mount welds it")));
}

TEST(UrdfImport, SlidersKeepTheirDampingAndPointsOfContactAreSkipped) {
  const Import import = imported(R"(<robot name="r"><link name="base"/><link name="a"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial><collision><geometry><sphere radius="0"/></geometry>
    </collision></link><joint name="slide" type="prismatic"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
    <dynamics damping="5"/><limit effort="1" velocity="1" lower="-1" upper="1"/></joint></robot>)");
  EXPECT_THAT(import.omissions, Not(Contains(HasSubstr("damping"))));
  EXPECT_THAT(import.omissions, Contains(HasSubstr("collision sphere of radius 0 m of a: no equivalent surface type")));
  EXPECT_THAT(import.scenario,
              HasSubstr("coordinate_spring, coordinate: slide, stiffness: 0, damping: 5, neutral: 0}"));
  EXPECT_EQ(test::scenario_from(import.scenario).forces.size(), 1U);
}

/// Two sliders of 3 and 1 kg on the two sides of a rope: half the acceleration of free fall.
TEST(UrdfImport, MimicsBecomeCouplings) {
  const auto slider = [](const std::string& name, double mass, const std::string& more) {
    return fmt::format(R"(<link name="{0}"><inertial><mass value="{1}"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
      <joint name="{0}_slide" type="prismatic"><parent link="base"/><child link="{0}"/><axis xyz="0 0 1"/>{2}</joint>)",
                       name, mass, more);
  };
  const Import import = imported("<robot name=\"rope\"><link name=\"base\"/>" + slider("heavy", 3.0, "") +
                                 slider("light", 1.0, R"(<mimic joint="heavy_slide" multiplier="-1" offset="0.5"/>)") +
                                 slider("alone", 1.0, R"(<mimic joint="absent"/>)") + "</robot>");
  EXPECT_THAT(import.omissions, Contains(HasSubstr("mimic of joint alone_slide: 'absent' is no joint")));
  const test::RecordedRun run = test::run_local(test::scenario_from(import.scenario, {"analysis.end_time=0.4"}));
  ASSERT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
  const double fallen = 0.25 * 9.81 * 0.4 * 0.4;
  EXPECT_NEAR(run.column("heavy.z_m").back(), -fallen, 1e-7);
  EXPECT_NEAR(run.column("light.z_m").back(), 0.5 + fallen, 1e-7);
  EXPECT_NEAR(run.column("alone.z_m").back(), -2.0 * fallen, 1e-7);
}

TEST(UrdfImport, FreeBaseMoves) {
  const std::string torso =
      R"(<robot name="torso"><link name="trunk"><inertial><mass value="5"/>
         <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link></robot>)";
  EXPECT_THAT(message_of(torso), AllOf(HasSubstr("torso"), HasSubstr("expected at least one body moved by a joint"),
                                       HasSubstr("--base free")));
  UrdfOptions import_options = test::urdf_options();
  import_options.base_is_free = true;
  const Scenario scenario = test::scenario_from(imported(torso, import_options).scenario);
  EXPECT_EQ(scenario.bodies.size(), 1u);
  EXPECT_TRUE(scenario.joints.empty());
}

TEST(UrdfImport, ErrorsAreReported) {
  const std::string arm = test::arm_urdf;
  EXPECT_EQ(message_of(arm), "accepted");
  const std::string slider =
      R"(<inertial><mass value="0.5"/><inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.0015"/></inertial>)";
  EXPECT_THAT(message_of(changed(arm, slider, "")), AllOf(HasSubstr("link 'slider'"), HasSubstr("mass above 0 kg"),
                                                          HasSubstr("joint 'rail' moves it"), HasSubstr("found none")));
  EXPECT_THAT(message_of(changed(arm, R"(<mass value="0.5"/>)", R"(<mass value="0"/>)")),
              AllOf(HasSubstr("link 'slider'"), HasSubstr("found 0 kg")));
  EXPECT_THAT(message_of(changed(arm, R"(iyy="0.035")", R"(iyy="0.5")")),
              AllOf(HasSubstr("link 'upper'"), HasSubstr("none of which exceeds the sum of the others")));
  EXPECT_THAT(message_of(changed(arm, R"(izz="0.01")", R"(izz="-0.01")")),
              AllOf(HasSubstr("link 'upper'"), HasSubstr("moments of inertia above 0")));
  EXPECT_THAT(message_of(changed(arm, R"(<mass value="2.5"/>)", R"(<mass value="heavy"/>)")),
              AllOf(HasSubstr("arm.urdf"), HasSubstr("heavy")));
  EXPECT_THAT(message_of(changed(arm, R"(<child link="lower"/>)", R"(<child link="lowest"/>)")),
              AllOf(HasSubstr("arm.urdf"), HasSubstr("lowest")));
  EXPECT_THAT(message_of(changed(arm, R"(<axis xyz="0 1 1"/>)", R"(<axis xyz="0 0 0"/>)")),
              AllOf(HasSubstr("joint 'shoulder'"), HasSubstr("nonzero axis")));
  EXPECT_THAT(message_of("no xml"), HasSubstr("expected a URDF model"));
  EXPECT_THAT(message_of("<robot name='x'/>"), HasSubstr("expected a URDF model"));
}

/// The arm with a contact mesh on its forearm.
std::string with_mesh(const std::string& name, const std::string& scale = "1 1 1") {
  return changed(test::arm_urdf, R"(<link name="slider">)",
                 R"(<link name="slider"><collision><origin xyz="0.1 0 0"/><geometry><mesh filename=")" + name +
                     R"(" scale=")" + scale + R"("/></geometry></collision>)");
}

TEST(UrdfImport, MeshesAreReadFromTheirPackageOnly) {
  const test::ModelFolder folder("packages");
  const fs::path file = folder.write("robot/urdf/arm.urdf", "");
  folder.write("robot/meshes/fore arm.STL", test::wedge_stl);
  folder.write("other.stl", test::wedge_stl);
  const auto message = [&](const std::string& name) { return message_of(with_mesh(name), file); };
  EXPECT_EQ(message("package://robot/meshes/fore arm.STL"), "accepted");
  EXPECT_EQ(message("package:///robot/meshes/fore arm.STL"), "accepted");
  EXPECT_THAT(message("package://robot/../other.stl"),
              AllOf(HasSubstr("link 'slider'"), HasSubstr("inside the package 'robot'"), HasSubstr("outside of it")));
  // Like other importers, from any folder; but meshes only.
  EXPECT_EQ(message("../meshes/fore arm.STL"), "accepted");
  EXPECT_EQ(message("meshes/fore arm.STL"), "accepted") << "relative to a folder above the model";
  EXPECT_EQ(message("file://../meshes/fore%20arm.STL"), "accepted");
  EXPECT_EQ(message("file://" + (folder.path() / "other.stl").string()), "accepted");
  EXPECT_EQ(message((folder.path() / "other.stl").string()), "accepted");
  EXPECT_EQ(message("file://../../other.stl"), "accepted");
  EXPECT_THAT(message("/etc/passwd"), AllOf(HasSubstr("passwd"), HasSubstr("expected a mesh")));
  EXPECT_THAT(message("file:///etc/passwd"), HasSubstr("expected a mesh"));
  EXPECT_THAT(message("http://example.org/a.stl"), HasSubstr("found 'http://"));
  EXPECT_THAT(
      message("package://robot/meshes/hand.stl"),
      AllOf(HasSubstr("not found"), HasSubstr("robot/meshes/hand.stl of link 'slider'"), HasSubstr("--skip-meshes")));
  EXPECT_THAT(message("package://other/hand.stl"),
              AllOf(HasSubstr("package://other/hand.stl"), HasSubstr("--package other=FOLDER")));
  EXPECT_THAT(message("package://robot"), HasSubstr("package://NAME/FILE"));

  const Import import = import_tree(
      read_urdf(with_mesh("package://robot/meshes/fore arm.STL", "0.001 0.001 0.001"), file, test::urdf_options()));
  ASSERT_EQ(import.meshes.size(), 1u);
  EXPECT_EQ(import.meshes[0].to, "meshes/fore_arm.stl");
  EXPECT_THAT(import.scenario,
              HasSubstr("#   slider: {mesh: {file: meshes/fore_arm.stl, length_scale: 0.001, position: [0.1, 0, 0]"));
  EXPECT_THAT(import.omissions, Contains(HasSubstr("no contact pair")));
  (void)test::scenario_from(import.scenario);
}

TEST(UrdfImport, MirroredMeshesAreWrittenMirrored) {
  const test::ModelFolder folder("mirrored");
  folder.write("wedge.stl", test::wedge_stl);
  const Import import =
      import_tree(read_urdf(with_mesh("wedge.stl", "0.5 -2 1"), folder.write("arm.urdf", ""), test::urdf_options()));
  ASSERT_EQ(import.meshes.size(), 1u);
  const fem::SurfaceMesh mesh = test::surface_in(import.meshes[0].content, "wedge.obj");
  // A tetrahedron of edges 1 along the axes; outward normals remain outward.
  EXPECT_NEAR(fem::signed_volume(mesh), 1.0 / 6.0, 1e-15);
  double lowest = 0.0;
  for (const Vector3& v : mesh.vertices) lowest = std::min(lowest, v.y());
  EXPECT_EQ(lowest, -2.0);
  EXPECT_THAT(import.scenario, HasSubstr("#   slider: {mesh: {file: meshes/wedge.obj, position: [0.1, 0, 0]"));
  EXPECT_THAT(message_of(with_mesh("wedge.stl", "0 1 1"), folder.path() / "arm.urdf"), HasSubstr("nonzero factors"));
}

TEST(UrdfImport, MissingMeshesAreReportedTogetherOrOmitted) {
  const std::string two =
      changed(with_mesh("a.stl"), R"(<link name="camera">)",
              R"(<link name="camera"><collision><geometry><mesh filename="b.dae"/></geometry></collision>)");
  EXPECT_THAT(message_of(two), AllOf(HasSubstr("arm.urdf: expected 2 mesh files"), HasSubstr("/a.stl of link 'slider'"),
                                     HasSubstr("/b.dae of link 'camera'"), Not(HasSubstr("outside"))));
  UrdfOptions import_options = test::urdf_options();
  import_options.meshes.leave_out = true;
  const Import import = imported(two, import_options);
  EXPECT_THAT(import.omissions, Contains(HasSubstr("collision mesh a.stl, which was skipped")));
}

TEST(UrdfImport, InvalidInertiasAreReportedTogetherAndRepairedOnRequest) {
  std::string bad = changed(test::arm_urdf, R"(iyy="0.035")", R"(iyy="0.5")");
  bad = changed(bad, R"(<mass value="0.5"/>)", R"(<mass value="0"/>)");
  EXPECT_THAT(message_of(bad),
              AllOf(HasSubstr("arm.urdf: 2 links are invalid"), HasSubstr("link 'upper'"), HasSubstr("link 'slider'"),
                    HasSubstr("--balance-inertia"), HasSubstr("--bound-mass")));
  const std::string twice = changed(bad, R"(ixx="0.012")", R"(ixx="0.12")");
  const std::string message = message_of(twice);
  EXPECT_THAT(message, HasSubstr("arm.urdf: 3 links are invalid"));
  EXPECT_EQ(message.find("--balance-inertia"), message.rfind("--balance-inertia")) << "a remedy is stated once";
  const Import import = imported(bad, test::urdf_options(), {.balance = true, .min_mass = 0.25, .min_moment = 0.0});
  const Scenario scenario = test::scenario_from(import.scenario);
  // The mean of the principal moments is a third of the trace.
  EXPECT_LT((scenario.bodies[0].inertia - (0.03 + 0.5 + 0.01) / 3.0 * Matrix3::Identity()).norm(), 1e-15);
  const auto slider = std::ranges::find(scenario.bodies, "slider", &BodySpec::name);
  ASSERT_NE(slider, scenario.bodies.end());
  EXPECT_EQ(slider->mass, 0.25);
  EXPECT_THAT(import.omissions, Contains(HasSubstr("link upper: its principal moments")));
  EXPECT_THAT(import.omissions, Contains(HasSubstr("link slider: its mass of 0 kg")));
}

TEST(UrdfImport, MasslessLinksBetweenJointsAreMerged) {
  const Import import =
      imported(R"(<robot name="cross"><link name="base"/><link name="cross"/><link name="arm"><inertial>
      <mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
      <joint name="first" type="revolute"><parent link="base"/><child link="cross"/><axis xyz="1 0 0"/></joint>
      <joint name="second" type="revolute"><parent link="cross"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>)");
  const Scenario scenario = test::scenario_from(import.scenario);
  ASSERT_EQ(scenario.bodies.size(), 2u);
  EXPECT_EQ(scenario.bodies[0].mass, 2e-9);
  EXPECT_THAT(import.omissions, Contains(HasSubstr("link cross: its missing mass")));
}

TEST(UrdfImport, AnUndeclaredWorldIsTheGround) {
  const std::string slider =
      R"(<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
      <joint name="slide" type="prismatic"><parent link="world"/><child link="a"/><axis xyz="0 0 1"/></joint>)";
  const Import import = imported("<robot name='r'>" + slider + "</robot>");
  EXPECT_EQ(test::scenario_from(import.scenario).bodies.size(), 1U);
  EXPECT_THAT(import.scenario, HasSubstr("bodies: [ground, a]"));
  EXPECT_THAT(message_of("<robot name='r'>" + changed(slider, "world", "base") + "</robot>"),
              HasSubstr("joint 'slide': expected a link of the file as its parent, found 'base'; the links are 'a'"));
}

TEST(UrdfImport, SphericalJointsOfBullet) {
  const Import import = imported(R"(<robot name="r"><link name="base"/><link name="a"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1"/></inertial></link><joint name="ball" type="spherical"><parent link="base"/>
    <child link="a"/><origin xyz="0 0 1"/></joint></robot>)");
  const Scenario scenario = test::scenario_from(import.scenario);
  ASSERT_EQ(scenario.joints.size(), 1U);
  EXPECT_EQ(scenario.joints[0].type, "spherical");
}

TEST(UrdfImport, FilesOfXacroAndInvalidXmlAreNamed) {
  const std::string arm = test::arm_urdf;
  EXPECT_THAT(message_of(changed(arm, R"(<mass value="2.5"/>)", R"x(<mass value="$(optenv MASS 2)"/>)x")),
              HasSubstr("link 'upper': expected values, found '$(optenv MASS 2)' in 'value' of mass, which xacro "
                        "substitutes; expand the file first"));
  EXPECT_THAT(message_of(changed(arm, R"(<link name="table"/>)", R"(<link name="${prefix}table"/>)")),
              HasSubstr("'${prefix}table' in 'name' of link"));
  EXPECT_EQ(message_of(changed(arm, R"(<gazebo reference="lower"/>)", R"(<gazebo file="$(find x)/a"/>)")), "accepted");
  EXPECT_THAT(message_of(changed(arm, R"(<mass value="2.5"/>)", R"(<mass value="2.5"=/>)")),
              HasSubstr("expected a URDF model in XML, found: "));
}

// As the readers of MuJoCo and ROS accept them.
TEST(UrdfImport, BlanksBetweenAttributesMayBeMissing) {
  std::string text = changed(test::arm_urdf, R"(<link name="table"/>)", "<!-\\- don't -\\->\n<link name=\"table\"/>");
  for (auto at = text.find("\" "); at != std::string::npos; at = text.find("\" ", at + 1)) text.erase(at + 1, 1);
  EXPECT_EQ(imported(text).scenario, imported(test::arm_urdf).scenario);
}

// Words that YAML does not read as names, and names that are too long for a scenario.
TEST(UrdfImport, NamesAreThoseOfAScenario) {
  const std::string longer(70, 'a');
  std::string text = R"(<robot name="r"><link name="base"/>)";
  for (const std::string& name : {std::string("null"), std::string("Null"), std::string("NULL"), std::string("~"),
                                  std::string("true"), std::string("1e5"), longer + "1", longer + "2"}) {
    text += fmt::format(R"(<link name="{0}"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0"
      izz="1"/></inertial></link><joint name="{0}" type="continuous"><parent link="base"/><child link="{0}"/></joint>)",
                        name);
  }
  const Import import = imported(text + "</robot>");
  const Scenario scenario = test::scenario_from(import.scenario);
  std::set<std::string> names;
  for (const BodySpec& body : scenario.bodies) names.insert(body.name);
  EXPECT_EQ(names.size(), 8U);
  EXPECT_THAT(names, testing::IsSupersetOf({"null_", "Null_", "NULL_", "true", "1e5"}));
  EXPECT_THAT(import.omissions, Contains(HasSubstr("'null': renamed to null_")));
}

/// The outer surface of a volume mesh is written.
TEST(UrdfImport, VolumeMeshesBecomeTheirSurfaces) {
  const test::ModelFolder folder("volume");
  folder.write(
      "solid.vtk",
      "# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n0 0 0 1 0 0 0 1 0 0 0 1\n"
      "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n");
  const Import import =
      import_tree(read_urdf(with_mesh("solid.vtk"), folder.write("arm.urdf", ""), test::urdf_options()));
  ASSERT_EQ(import.meshes.size(), 1u);
  EXPECT_EQ(import.meshes[0].to, "meshes/solid.obj");
  EXPECT_NEAR(fem::signed_volume(test::surface_in(import.meshes[0].content, "solid.obj")), 1.0 / 6.0, 1e-15);
}

TEST(UrdfImport, InvalidTreesAreRejected) {
  const std::string head = R"(<robot name="x"><link name="a"/><link name="b"/><link name="c"/>)";
  const auto joint = [](const std::string& name, const std::string& from, const std::string& to) {
    return "<joint name='" + name + "' type='fixed'><parent link='" + from + "'/><child link='" + to + "'/></joint>";
  };
  EXPECT_THAT(message_of(head + joint("1", "a", "b") + "</robot>"), HasSubstr("'a', 'c'"));
  EXPECT_THAT(message_of(head + joint("1", "a", "b") + joint("2", "b", "a") + "</robot>"), HasSubstr("cycles"));
  EXPECT_THAT(message_of(head + joint("1", "a", "c") + joint("2", "b", "c") + "</robot>"), HasSubstr("'1' and '2'"));
  EXPECT_THAT(message_of(head + joint("1", "a", "b") + joint("1", "a", "c") + "</robot>"), HasSubstr("joint '1'"));
  EXPECT_THAT(message_of("<robot name='x' xmlns:xacro='x'><xacro:include/></robot>"), HasSubstr("expand them first"));
}

/// A chain of links, and nested elements: neither overflows the stack.
TEST(UrdfImport, LongChainsAndDeepElements) {
  constexpr int count = 50'000;
  std::string chain = "<robot name='c'><link name='l0'/>", deep = "<robot name='d'>";
  for (int i = 1; i <= count; ++i) {
    chain += fmt::format(
        "<link name='l{0}'/><joint name='j{0}' type='fixed'><parent link='l{1}'/><child link='l{0}'/></joint>", i,
        i - 1);
    deep += "<a>";
  }
  EXPECT_THAT(message_of(chain + "</robot>"), HasSubstr("expected at least one body moved by a joint"));
  EXPECT_THAT(message_of(deep), AllOf(HasSubstr("arm.urdf, line 1"), HasSubstr("1000 nested elements")));
}

TEST(MjcfImport, JointsAreImportedAsEquivalentJoints) {
  const test::ModelFolder folder("mjcf");
  const Import import = import_tree(test::mjcf(folder.write("joints.xml", test::joints_mjcf)));
  const Scenario scenario = test::scenario_from(import.scenario);
  std::vector<std::string> types;
  for (const auto& joint : scenario.joints) types.push_back(joint.type);
  EXPECT_THAT(types, testing::ElementsAre("revolute", "universal", "spherical", "spherical", "cylindrical", "planar",
                                          "revolute", "prismatic"));
  for (const char* missed :
       {"plane floor of the world", "actuator engine", "keyframe rest", "site tip", "sphere geom"}) {
    EXPECT_THAT(import.omissions, Contains(HasSubstr(missed)));
  }
  EXPECT_THAT(import.imported, Contains(HasSubstr("body weight as part of cardan")));
}

TEST(MjcfImport, OtherJointsBecomeChains) {
  const test::ModelFolder folder("skew");
  const Import import = import_tree(test::mjcf(folder.write("skew.xml", R"(<mujoco><worldbody><body name="b">
    <joint name="one" type="hinge" axis="1 0 0"/><joint name="two" type="hinge" axis="1 0 0" pos="0 0.3 0"/>
    <geom type="box" size="0.1 0.2 0.3"/></body></worldbody></mujoco>)")));
  const Scenario scenario = test::scenario_from(import.scenario);
  ASSERT_EQ(scenario.joints.size(), 2u);
  EXPECT_EQ(scenario.joints[0].type, "revolute");
  ASSERT_EQ(scenario.bodies.size(), 2u);
  EXPECT_EQ(scenario.bodies[0].name, "b_one");
  EXPECT_NEAR(scenario.bodies[0].mass, 1e-9 * scenario.bodies[1].mass, 1e-20);
  EXPECT_THAT(import.omissions, Contains(HasSubstr("body b_one: intermediate body between joints of b")));
}

TEST(MjcfImport, ErrorsAreReported) {
  const test::ModelFolder folder("wrong");
  const auto message = [&](const std::string& text) -> std::string {
    try {
      (void)import_tree(test::mjcf(folder.write("wrong.xml", text)));
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  const auto in_body = [&](const std::string& text) {
    return message("<mujoco><worldbody><body name='b'>" + text + "</body></worldbody></mujoco>");
  };
  EXPECT_THAT(in_body("<joint name='j'/>"),
              AllOf(HasSubstr("wrong.xml"), HasSubstr("link 'b'"), HasSubstr("mass above 0")));
  EXPECT_THAT(in_body("<joint type='hing'/>"), AllOf(HasSubstr("joint of body 'b'"), HasSubstr("found 'hing'")));
  EXPECT_THAT(in_body("<geom size='0.1 x'/>"),
              AllOf(HasSubstr("geom of body 'b'"), HasSubstr("'size'"), HasSubstr("'0.1 x'")));
  EXPECT_THAT(in_body("<geom type='box' size='0.1'/>"), HasSubstr("3 lengths"));
  EXPECT_THAT(in_body("<geom name='g' type='mesh' mesh='m'/>"), AllOf(HasSubstr("geom 'g'"), HasSubstr("found 'm'")));
  EXPECT_THAT(
      message("<mujoco><asset><mesh name='m'><plugin/></mesh></asset><worldbody><body><geom type='sdf' mesh='m'/>"
              "</body></worldbody></mujoco>"),
      AllOf(HasSubstr("found 'm'"), HasSubstr("one of its plugins generates")));
  EXPECT_THAT(in_body("<geom class='c' size='1'/>"), HasSubstr("class 'c'"));
  EXPECT_THAT(in_body("<composite type='cable'/>"),
              AllOf(HasSubstr("composite of body 'b'"), HasSubstr("not imported")));
  EXPECT_THAT(message("<mujoco>\n<worldbody>\n<body></mujoco>"), HasSubstr("line 3"));
  EXPECT_THAT(message("<mujoco><compiler coordinate='global'/></mujoco>"), HasSubstr("global"));
  EXPECT_THAT(message("<mujoco><include file='wrong.xml'/></mujoco>"), HasSubstr("included once"));
  EXPECT_THAT(message("<mujoco><asset><model name='m' file='wrong.xml'/></asset><worldbody><body name='b'><attach "
                      "model='m' body='b' prefix='p'/></body></worldbody></mujoco>"),
              HasSubstr("nesting depth"));
}

/// Models attached to themselves to the limit of nesting, and bodies as deep: neither overflows the stack.
TEST(MjcfImport, DeepModelsAreReadWithoutRecursion) {
  const test::ModelFolder folder("deep");
  std::string text = "<mujoco><worldbody>", end;
  for (int i = 0; i < 900; ++i) {
    text += fmt::format("<body name='b{0}' pos='0 0 0.01'><joint name='j{0}'/><geom size='0.01'/>", i);
    end += "</body>";
  }
  const TreeModel tree = test::mjcf(folder.write("deep.xml", text + end + "</worldbody></mujoco>"));
  ASSERT_EQ(tree.links.size(), 900U);
  EXPECT_EQ(tree.links[899].parent, 898U);
  EXPECT_EQ(tree.links[899].joint, "j899");
}

/// MuJoCo takes the convex hull of a file with points only.
TEST(MjcfImport, PointsBecomeTheirHull) {
  const test::ModelFolder folder("points");
  folder.write("points.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0.1 0.1 0.1\n");
  const Import import = import_tree(test::mjcf(folder.write("points.xml", R"(<mujoco>
    <asset><mesh name="m" file="points.obj"/></asset>
    <worldbody><body name="b"><freejoint/><geom type="mesh" mesh="m" density="6"/></body></worldbody></mujoco>)")));
  EXPECT_NEAR(test::scenario_from(import.scenario).bodies[0].mass, 1.0, 1e-12);
  ASSERT_EQ(import.meshes.size(), 1u);
  EXPECT_EQ(test::surface_in(import.meshes[0].content, "hull.obj").triangles.size(), 4U);
  EXPECT_THAT(import.omissions, Contains(HasSubstr("the convex hull of its points")));
}

TEST(MjcfImport, MissingIncludesNameTheirFile) {
  const test::ModelFolder folder("include");
  folder.write("parts/arm.xml", "<mujoco><include file='gone.xml'/></mujoco>");
  try {
    (void)test::mjcf(folder.write("robot.xml", "<mujoco><include file='parts/arm.xml'/></mujoco>"));
    ADD_FAILURE() << "was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("expected the file 'gone.xml' included by"), HasSubstr("parts/arm.xml")));
  }
}

/// A slider of 2 kg with an armature of 3 kg falls with 2/5 of the acceleration of gravity; a wheel of 0.5 kg m^2 with
/// an armature of 1.5 kg m^2 swings on its spring with the period of 2 kg m^2.
TEST(MjcfImport, ArmaturesAreInertiasOfTheirCoordinates) {
  const test::ModelFolder folder("armature");
  const Import import = import_tree(test::mjcf(folder.write("armature.xml", R"(<mujoco><compiler angle="radian"/>
    <option gravity="0 0 -10"/><worldbody>
    <body name="lift"><joint name="up" type="slide" armature="3"/>
      <inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/></body>
    <body name="wheel" pos="1 0 0"><joint name="spin" axis="0 1 0" armature="1.5" stiffness="8" springref="0.5"/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.5 0.5 0.5"/></body>
    <body name="loose" pos="3 0 0"><joint name="ball" type="ball" armature="0.25"/>
      <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody></mujoco>)")));
  EXPECT_THAT(import.omissions,
              Contains(HasSubstr("joint ball: its armature 0.25, which is imported for joints with one "
                                 "coordinate only: the body accelerates more than in MuJoCo")));
  EXPECT_THAT(import.imported, Contains(HasSubstr("joint up: its armature 3 as the inertia of the body up_rotor")));
  const test::RecordedRun run = test::run_local(test::scenario_from(import.scenario, {"analysis.end_time=0.4"}));
  ASSERT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
  EXPECT_NEAR(run.column("lift.z_m").back(), -0.5 * 4.0 * 0.4 * 0.4, 1e-7);
  const double omega = std::sqrt(8.0 / 2.0);
  EXPECT_NEAR(2.0 * std::asin(run.column("wheel.qy").back()), 0.5 * (1.0 - std::cos(omega * 0.4)), 1e-7);
}

/// Files of MuJoCo 3: keys and values that its earlier readers reject, limits without `limited`.
TEST(MjcfImport, CurrentFilesAreRead) {
  const test::ModelFolder folder("today");
  const Import import = import_tree(test::mjcf(folder.write("today.xml", R"(<mujoco><compiler angle="radian"/>
    <option integrator="implicitfast" ls_iterations="10" tolerance="1e-8"><flag nativeccd="disable"/></option>
    <size memory="10M"/>
    <worldbody><geom name="floor" type="plane" size="0 0 0.05" pos="0 0 -1" zaxis="0 1 1"/>
    <frame pos="0 0 1"><body name="b"><joint name="hinge" range="-1 2" actuatorfrcrange="-5 5"/><geom size="0.1"/></body></frame>
    </worldbody><actuator><position name="servo" joint="hinge" kp="10" kv="1"/></actuator></mujoco>)")));
  const Scenario scenario = test::scenario_from(import.scenario);
  ASSERT_EQ(scenario.bodies.size(), 1u);
  EXPECT_EQ(scenario.bodies[0].X_WB.p.z(), 1.0);
  EXPECT_THAT(import.scenario, HasSubstr("#   ground: {plane: {normal: [0, 0.70710678118654"));
  for (const char* missed : {"joint hinge: its limits, -1 to 2 rad", "attributes of joint: actuatorfrcrange (1 times)",
                             "actuator servo", "section size", "attributes of flag: nativeccd (1 times)"}) {
    EXPECT_THAT(import.omissions, Contains(HasSubstr(missed)));
  }
}

TEST(MjcfImport, ReplicatesAndAttachedModels) {
  const test::ModelFolder folder("many");
  folder.write("finger.xml",
               R"(<mujoco model="Finger"><compiler angle="radian"/><default><geom size="0.1"/></default><worldbody>
    <body name="tip" euler="0 0 1"><joint name="bend"/><geom/></body></worldbody></mujoco>)");
  const Import import = import_tree(test::mjcf(folder.write("hand.xml", R"(<mujoco>
    <asset><model file="finger.xml"/></asset><worldbody>
    <replicate count="3" offset="1 0 0" euler="0 0 90" sep="_"><body name="ball" pos="0 2 0"><freejoint/><geom size="0.1"/></body></replicate>
    <body name="palm" pos="0 0 5"><freejoint/><geom size="0.2"/>
      <frame pos="1 0 0"><attach model="Finger" body="tip" prefix="left_"/></frame></body>
    </worldbody></mujoco>)")));
  const Scenario scenario = test::scenario_from(import.scenario);
  ASSERT_EQ(scenario.bodies.size(), 5u);
  // Rotated by 0, 90 and 180 degrees; each offset is along the axes of the preceding one.
  EXPECT_LT((scenario.bodies[0].X_WB.p - Vector3(0, 2, 0)).norm(), 1e-14);
  EXPECT_EQ(scenario.bodies[1].name, "ball_1");
  EXPECT_LT((scenario.bodies[1].X_WB.p - Vector3(-1, 0, 0)).norm(), 1e-14);
  EXPECT_LT((scenario.bodies[2].X_WB.p - Vector3(1, -1, 0)).norm(), 1e-14);
  EXPECT_EQ(scenario.bodies[4].name, "left_tip");
  EXPECT_LT((scenario.bodies[4].X_WB.p - Vector3(1, 0, 5)).norm(), 1e-14);
  EXPECT_NEAR(scenario.bodies[4].X_WB.R(1, 0), std::sin(1.0), 1e-14);  // in the units of its own file
  EXPECT_EQ(scenario.joints[0].name, "left_bend");
}

TEST(MjcfImport, EqualitiesBecomeConstraints) {
  const test::ModelFolder folder("loop");
  const Import import = import_tree(test::mjcf(folder.write("loop.xml", R"(<mujoco><worldbody>
    <body name="a"><joint name="ja" axis="0 1 0"/><geom size="0.1"/><site name="sa" pos="0 0 1"/></body>
    <body name="b" pos="1 0 0"><joint name="jb" axis="0 1 0"/><geom size="0.1"/><site name="sb" pos="-1 0 1"/></body>
    <body name="c" pos="2 0 0" euler="0 30 0"><freejoint/><geom size="0.1"/></body>
    </worldbody><equality><connect name="pin" site1="sa" site2="sb"/><connect name="anchor" body1="b" anchor="0 0 2"/>
    <weld name="glue" body1="b" body2="c"/><weld name="off" body1="a" body2="c" active="false"/>
    <weld name="far" body1="a" body2="c" relpose="0 0 1 1 0 0 0"/>
    <weld name="turned" body1="a" body2="c" relpose="2 0 0 1 0 0 0"/><joint name="gear" joint1="ja" joint2="jb"/></equality></mujoco>)")));
  const Scenario scenario = test::scenario_from(import.scenario);
  std::vector<std::string> joints;
  for (const auto& joint : scenario.joints) joints.push_back(joint.name + " " + joint.type);
  EXPECT_THAT(joints, testing::ElementsAre("ja custom", "jb custom", "gear coupler", "pin spherical",
                                           "anchor spherical", "glue fixed"));
  EXPECT_THAT(import.scenario, HasSubstr("bodies: [b, ground], points: [[0, 0, 2], [1, 0, 2]]"));
  for (const char* missed :
       {"equality off (weld)", "equality far: its points", "equality turned: its frames are turned by 0.524 rad"}) {
    EXPECT_THAT(import.omissions, Contains(HasSubstr(missed)));
  }
}

TEST(MjcfImport, CoupledJointsStartAndMoveTogether) {
  const test::ModelFolder folder("coupled");
  const auto file = folder.write("hand.xml", R"(<mujoco><compiler angle="radian"/><worldbody>
    <body name="a"><joint name="ja" axis="0 1 0" ref="0.3" stiffness="5" springref="0.8"/><geom size="0.1"/></body>
    <body name="b" pos="1 0 0"><joint name="slide" type="slide" axis="0 0 2"/><joint name="jb" axis="0 1 0"/><geom size="0.1"/></body>
    <body name="c" pos="2 0 0"><joint name="jc" axis="0 1 0"/><geom size="0.1"/></body>
    <body name="d" pos="3 0 0"><joint name="jd" type="ball"/><geom size="0.1"/></body></worldbody>
    <equality><joint name="chain" joint1="slide" joint2="jb" polycoef="0.1 2 0 0 0"/>
    <joint name="bend" joint1="jb" joint2="ja" polycoef="0 1 3 0 0"/><joint name="fix" joint1="jc" polycoef="0.25 0 0 0 0"/>
    <joint name="turn" joint1="jd" joint2="ja"/><joint name="loop" joint1="ja" joint2="slide"/></equality>
    <keyframe><key name="bent" qpos="0.5 0 0 0 1 0 0 0"/></keyframe></mujoco>)");
  const Import import = import_tree(test::mjcf(file, "bent"));
  const Scenario scenario = test::scenario_from(import.scenario);
  std::vector<std::string> joints;
  for (const auto& joint : scenario.joints) joints.push_back(joint.name + " " + joint.type);
  EXPECT_THAT(joints, testing::ElementsAre("ja custom", "slide custom", "jb custom", "jd spherical", "chain coupler",
                                           "bend coupler"));
  EXPECT_THAT(import.omissions, Contains(HasSubstr("equality turn: 'jd' is no joint with one coordinate")));
  EXPECT_THAT(import.omissions, Contains(HasSubstr("equality loop: ja would follow itself")));
  // From ref on: ja 0.5 - 0.3, jb u + 3 u^2, slide 0.1 + 2 jb.
  const double ja = 0.2, jb = 0.32, slide = 0.74;
  const auto pose = [&](const char* name) {
    return std::ranges::find(scenario.bodies, std::string(name), &BodySpec::name)->X_WB;
  };
  EXPECT_LT((pose("a").R - rotation_from_vector(ja * Vector3::UnitY())).norm(), 1e-12);
  EXPECT_LT((pose("b").R - rotation_from_vector(jb * Vector3::UnitY())).norm(), 1e-12);
  EXPECT_LT((pose("b").p - Vector3(1, 0, slide)).norm(), 1e-12);
  EXPECT_THAT(import.imported, Contains(HasSubstr("body c as part of the ground")));
  EXPECT_THAT(import.scenario,
              HasSubstr("type: coordinate_spring, coordinate: ja, stiffness: 5, damping: 0, neutral: 0.5}"));
}

/// Mass and moments of a surface of revolution about z: the integral over its profile (r, z), midpoint rule.
MassProperties revolved(const std::function<Vector3(double)>& profile) {
  constexpr int parts = 20'000;
  MassProperties all;
  Vector3 moments = Vector3::Zero();
  for (int i = 0; i < parts; ++i) {
    const Vector3 a = profile(static_cast<double>(i) / parts), b = profile((i + 1.0) / parts);
    const double r = 0.5 * (a.x() + b.x()), z = 0.5 * (a.z() + b.z());
    const double area = 2.0 * std::numbers::pi * r * (b - a).norm();
    all.mass += area;
    moments += area * Vector3(0.5 * r * r + z * z, 0.5 * r * r + z * z, r * r);
  }
  all.inertia = moments.asDiagonal();
  return all;
}

TEST(MjcfGeometry, HollowPrimitives) {
  const auto expect = [](const MassProperties& ours, const MassProperties& right, double tolerance) {
    EXPECT_NEAR(ours.mass, right.mass, tolerance * right.mass);
    EXPECT_LT((ours.inertia - right.inertia).norm(), tolerance * right.inertia.norm());
  };
  constexpr double r = 0.3, half = 0.7;
  const double quarter = 0.5 * std::numbers::pi * r, length = 2.0 * (quarter + half);
  const auto capsule = revolved([&](double s) {
    const double at = s * length, end = at < quarter ? -half : half;
    if (at >= quarter && at <= length - quarter) return Vector3(r, 0.0, at - quarter - half);
    const double angle = at < quarter ? (at - quarter) / r : (at - length + quarter) / r;
    return Vector3(r * std::cos(angle), 0.0, end + r * std::sin(angle));
  });
  // The midpoint rule leaves about the square of 1 / 20,000.
  expect(mass_of_primitive({.type = GeomType::capsule, .size = {r, half, 0.0}}, true), capsule, 1e-7);
  const auto cylinder = revolved([&](double s) {
    const double at = s * 2.0 * (r + half);
    return at < r                ? Vector3(at, 0.0, -half)
           : at > r + 2.0 * half ? Vector3(2.0 * (r + half) - at, 0.0, half)
                                 : Vector3(r, 0.0, at - r - half);
  });
  expect(mass_of_primitive({.type = GeomType::cylinder, .size = {r, half, 0.0}}, true), cylinder, 1e-7);
  const auto ball = mass_of_primitive({.type = GeomType::sphere, .size = {r, 0.0, 0.0}}, true);
  expect(ball,
         {.mass = 4.0 * std::numbers::pi * r * r,
          .inertia = 8.0 / 3.0 * std::numbers::pi * std::pow(r, 4) * Matrix3::Identity()},
         1e-14);
  expect(mass_of_primitive({.type = GeomType::ellipsoid, .size = {r, r, r}}, true), ball, 1e-14);
  // The same box as triangles.
  const Vector3 sides(0.2, 0.3, 0.4);
  const fem::SurfaceMesh box = test::surface_in(box_mesh(sides, "box").content, "box.obj");
  expect(mass_of_primitive({.type = GeomType::box, .size = sides}, true),
         mass_of_mesh({.vertices = box.vertices, .triangles = box.triangles}, MeshMass::shell, "box"), 1e-14);
  expect(mass_of_primitive({.type = GeomType::box, .size = sides}, false),
         mass_of_mesh({.vertices = box.vertices, .triangles = box.triangles}, MeshMass::convex, "box"), 1e-14);
}

TEST(MjcfImport, MeshesOfTheModelAreWritten) {
  const test::ModelFolder folder("meshes");
  const Import import = import_tree(test::mjcf(folder.write("wedge.xml", R"(<mujoco><asset>
    <mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset>
    <worldbody><body name="b"><freejoint/><geom name="g" type="mesh" mesh="wedge"/></body></worldbody></mujoco>)")));
  ASSERT_EQ(import.meshes.size(), 1u);
  EXPECT_EQ(import.meshes[0].to, "meshes/wedge.obj");
  // Points without triangles represent their hull.
  EXPECT_NEAR(fem::signed_volume(test::surface_in(import.meshes[0].content, "wedge.obj")), 1.0 / 6.0, 1e-15);
  EXPECT_THAT(import.scenario, HasSubstr("#   b: {mesh: {file: meshes/wedge.obj, position: [0, 0, 0]"));
}

}  // namespace
}  // namespace heelstrike::models
