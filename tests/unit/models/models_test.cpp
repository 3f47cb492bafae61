// Robots as scenarios: what is taken, what is told, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/models/mjcf_model.hpp"
#include "client/models/urdf_model.hpp"
#include "common/errors/error.hpp"
#include "tests/support/local_run.hpp"
#include "tests/unit/models/models.hpp"

namespace heelstrike::client::models {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

Import imported(const std::string& urdf, const UrdfWish& wish = {}) {
  return import_tree(read_urdf(urdf, "arm.urdf", wish));
}

std::string message_of(const std::string& urdf, const fs::path& file = "arm.urdf") {
  try {
    (void)import_tree(read_urdf(urdf, file, {}));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(UrdfImport, ArmBecomesAScenario) {
  const Scenario scenario = test::scenario_from(imported(test::arm_urdf).scenario);
  std::vector<std::string> types;
  for (const auto& joint : scenario.joints) types.push_back(joint.type);
  EXPECT_THAT(types, testing::ElementsAre("revolute", "revolute", "prismatic"));
  ASSERT_EQ(scenario.bodies.size(), 4u);
  EXPECT_EQ(scenario.bodies[1].name, "upper");
  EXPECT_EQ(scenario.bodies[1].X_WB.p.z(), 0.5);
  EXPECT_EQ(scenario.bodies[2].name, "lower");
  EXPECT_NEAR(scenario.bodies[2].mass, 1.25 + 0.3, 1e-12);  // with the camera
  ASSERT_EQ(scenario.forces.size(), 1u);                    // the shoulder's damping
}

TEST(UrdfImport, NothingIsDroppedSilently) {
  const Import import = imported(test::arm_urdf);
  for (const char* missed : {"root link table", "joint elbow: its limits, -1.5 to 1.5", "effort and velocity, 10 and 2",
                             "joint shoulder: its friction 0.05", "transmission drive", "gazebo of lower", "gravity"}) {
    EXPECT_THAT(import.not_taken, Contains(HasSubstr(missed)));
  }
  EXPECT_THAT(import.not_taken, Not(Contains(HasSubstr("damping"))));
  EXPECT_THAT(import.taken, Contains(HasSubstr("body camera as part of lower, to which mount welds it")));
}

TEST(UrdfImport, AFreeBaseMoves) {
  const std::string torso =
      R"(<robot name="torso"><link name="trunk"><inertial><mass value="5"/>
         <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link></robot>)";
  EXPECT_THAT(message_of(torso),
              AllOf(HasSubstr("torso"), HasSubstr("expected at least one body that a joint lets move")));
  const Scenario scenario = test::scenario_from(imported(torso, {.base_is_free = true, .packages = {}}).scenario);
  EXPECT_EQ(scenario.bodies.size(), 1u);
  EXPECT_TRUE(scenario.joints.empty());
}

TEST(UrdfImport, MistakesAreNamed) {
  const std::string arm = test::arm_urdf;
  EXPECT_EQ(message_of(arm), "accepted");
  const std::string slider =
      R"(<inertial><mass value="0.5"/><inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.0015"/></inertial>)";
  EXPECT_THAT(message_of(changed(arm, slider, "")),
              AllOf(HasSubstr("link 'slider'"), HasSubstr("mass above 0 kg"), HasSubstr("joint 'rail' lets it move"),
                    HasSubstr("found none")));
  EXPECT_THAT(message_of(changed(arm, R"(<mass value="0.5"/>)", R"(<mass value="0"/>)")),
              AllOf(HasSubstr("link 'slider'"), HasSubstr("found 0 kg")));
  EXPECT_THAT(message_of(changed(arm, R"(iyy="0.035")", R"(iyy="0.5")")),
              AllOf(HasSubstr("link 'upper'"), HasSubstr("none exceeds the sum of the others")));
  EXPECT_THAT(message_of(changed(arm, R"(izz="0.01")", R"(izz="-0.01")")),
              AllOf(HasSubstr("link 'upper'"), HasSubstr("moments of inertia above 0")));
  EXPECT_THAT(message_of(changed(arm, R"(<mass value="2.5"/>)", R"(<mass value="heavy"/>)")),
              AllOf(HasSubstr("arm.urdf"), HasSubstr("heavy")));
  EXPECT_THAT(message_of(changed(arm, R"(<child link="lower"/>)", R"(<child link="lowest"/>)")),
              AllOf(HasSubstr("arm.urdf"), HasSubstr("lowest")));
  EXPECT_THAT(message_of(changed(arm, R"(<axis xyz="0 1 1"/>)", R"(<axis xyz="0 0 0"/>)")),
              AllOf(HasSubstr("joint 'shoulder'"), HasSubstr("axis other than zero")));
  EXPECT_THAT(message_of("no xml"), HasSubstr("expected a URDF model"));
  EXPECT_THAT(message_of("<robot name='x'/>"), HasSubstr("expected a URDF model"));
}

/// The arm with a mesh that its forearm touches with.
std::string with_mesh(const std::string& name, const std::string& scale = "1 1 1") {
  return changed(test::arm_urdf, R"(<link name="slider">)",
                 R"(<link name="slider"><collision><origin xyz="0.1 0 0"/><geometry><mesh filename=")" + name +
                     R"(" scale=")" + scale + R"("/></geometry></collision>)");
}

TEST(UrdfImport, MeshesComeFromTheirPackageOnly) {
  const test::ModelFolder folder("packages");
  const fs::path file = folder.write("robot/urdf/arm.urdf", "");
  folder.write("robot/meshes/fore arm.STL", "solid\nendsolid\n");
  folder.write("secret.stl", "solid\nendsolid\n");
  const auto message = [&](const std::string& name) { return message_of(with_mesh(name), file); };
  EXPECT_EQ(message("package://robot/meshes/fore arm.STL"), "accepted");
  EXPECT_THAT(message("package://robot/../secret.stl"),
              AllOf(HasSubstr("link 'slider'"), HasSubstr("inside the package 'robot'"), HasSubstr("leads outside")));
  EXPECT_THAT(message("../meshes/fore arm.STL"), AllOf(HasSubstr("the model's folder"), HasSubstr("leads outside")));
  EXPECT_THAT(message("/etc/passwd"), HasSubstr("leads outside"));
  EXPECT_THAT(message("file:///etc/passwd"), HasSubstr("leads outside"));
  fs::create_symlink(folder.path() / "secret.stl", folder.path() / "robot/meshes/link.stl");
  EXPECT_THAT(message("package://robot/meshes/link.stl"), HasSubstr("leads outside"));
  EXPECT_THAT(message("package://robot/meshes/hand.stl"), AllOf(HasSubstr("found no file"), HasSubstr("hand.stl")));
  EXPECT_THAT(message("package://other/hand.stl"),
              AllOf(HasSubstr("package 'other'"), HasSubstr("--package other=FOLDER")));
  EXPECT_THAT(message("package://robot"), HasSubstr("package://NAME/FILE"));

  const Import import =
      import_tree(read_urdf(with_mesh("package://robot/meshes/fore arm.STL", "0.001 0.001 0.001"), file, {}));
  ASSERT_EQ(import.meshes.size(), 1u);
  EXPECT_EQ(import.meshes[0].to, "meshes/fore_arm.stl");
  EXPECT_THAT(import.scenario,
              HasSubstr("#   slider: {mesh: {file: meshes/fore_arm.stl, length_scale: 0.001, position: [0.1, 0, 0]"));
  EXPECT_THAT(import.not_taken, Contains(HasSubstr("it touches nothing by itself")));
  (void)test::scenario_from(import.scenario);
  const Import uneven = import_tree(read_urdf(with_mesh("package://robot/meshes/fore arm.STL", "1 -1 1"), file, {}));
  EXPECT_TRUE(uneven.meshes.empty());
  EXPECT_THAT(uneven.not_taken, Contains(HasSubstr("only equal positive factors")));
}

TEST(MjcfImport, JointsBecomeThoseThatAreLikeThem) {
  const test::ModelFolder folder("mjcf");
  const Import import = import_tree(read_mjcf(folder.write("joints.xml", test::joints_mjcf)));
  const Scenario scenario = test::scenario_from(import.scenario);
  std::vector<std::string> types;
  for (const auto& joint : scenario.joints) types.push_back(joint.type);
  EXPECT_THAT(types, testing::ElementsAre("revolute", "universal", "spherical", "spherical", "cylindrical", "planar",
                                          "revolute", "prismatic"));
  for (const char* missed :
       {"plane floor of the world", "actuator engine", "keyframe rest", "site tip", "sphere geom"}) {
    EXPECT_THAT(import.not_taken, Contains(HasSubstr(missed)));
  }
  EXPECT_THAT(import.taken, Contains(HasSubstr("body weight as part of cardan")));
}

TEST(MjcfImport, JointsThatNothingIsLikeAreTold) {
  const test::ModelFolder folder("skew");
  const Import import = import_tree(read_mjcf(folder.write("skew.xml", R"(<mujoco><worldbody><body name="b">
    <joint name="one" type="hinge" axis="1 0 0"/><joint name="two" type="hinge" axis="1 0 0" pos="0 0.3 0"/>
    <geom type="box" size="0.1 0.2 0.3"/></body></worldbody></mujoco>)")));
  EXPECT_THAT(import.not_taken, Contains(AllOf(HasSubstr("joints one, two"), HasSubstr("2 joints of this body"),
                                               HasSubstr("move freely"))));
  EXPECT_TRUE(test::scenario_from(import.scenario).joints.empty());
}

TEST(MjcfImport, MistakesAreInMujocosWords) {
  const test::ModelFolder folder("wrong");
  const auto message = [&](const std::string& text) -> std::string {
    try {
      (void)read_mjcf(folder.write("wrong.xml", text));
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message("<mujoco><worldbody><body><joint type='hinge'/></body></worldbody></mujoco>"),
              AllOf(HasSubstr("wrong.xml"), HasSubstr("in MuJoCo's words"), HasSubstr("mass and inertia")));
  EXPECT_THAT(message("<mujoco><worldbody><body><joint type='hing'/></body></worldbody></mujoco>"),
              HasSubstr("line 1"));
}

TEST(MjcfImport, CompiledMeshesAreWritten) {
  const test::ModelFolder folder("meshes");
  const Import import = import_tree(read_mjcf(folder.write("wedge.xml", R"(<mujoco><asset>
    <mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset>
    <worldbody><body name="b"><freejoint/><geom name="g" type="mesh" mesh="wedge"/></body></worldbody></mujoco>)")));
  ASSERT_EQ(import.meshes.size(), 1u);
  EXPECT_EQ(import.meshes[0].to, "meshes/wedge.obj");
  EXPECT_THAT(import.meshes[0].content, AllOf(HasSubstr("\nv "), HasSubstr("\nf ")));
  EXPECT_THAT(import.scenario, HasSubstr("#   b: {mesh: {file: meshes/wedge.obj, position: ["));
}

}  // namespace
}  // namespace heelstrike::client::models
