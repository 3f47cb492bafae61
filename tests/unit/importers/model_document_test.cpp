// One arm in the layouts of several versions of OpenSim: every layout has the scenario of version 4.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "common/errors/error.hpp"
#include "importers/opensim/osim_model.hpp"
#include "importers/opensim/osim_scenario.hpp"

namespace heelstrike::osim {
namespace {

using testing::HasSubstr;

constexpr const char* version_4 = R"(<OpenSimDocument Version="40000"><Model name="arm">
<gravity>0 -9.81 0</gravity>
<Ground name="ground"><WrapObjectSet><objects>
  <WrapCylinder name="bar"><xyz_body_rotation>0 0 0</xyz_body_rotation><translation>0.1 0.05 0</translation>
    <radius>0.02</radius><length>0.4</length></WrapCylinder></objects></WrapObjectSet></Ground>
<BodySet><objects>
  <Body name="upper"><mass>2</mass><mass_center>0 -0.2 0</mass_center><inertia>0.02 0.01 0.03 1e-3 2e-3 3e-3</inertia></Body>
  <Body name="lower"><mass>1</mass><mass_center>0 -0.1 0</mass_center><inertia>0.01 0.01 0.01 0 0 0</inertia></Body>
  <Body name="ring"><mass>0.1</mass><mass_center>0 0 0</mass_center><inertia>1e-4 1e-4 1e-4 0 0 0</inertia></Body>
</objects></BodySet>
<JointSet><objects>
  <CustomJoint name="shoulder"><socket_parent_frame>ground_offset</socket_parent_frame>
    <socket_child_frame>upper_offset</socket_child_frame>
    <coordinates><Coordinate name="elevation"><default_value>0.4</default_value><range>-1 2</range></Coordinate></coordinates>
    <frames><PhysicalOffsetFrame name="ground_offset"><socket_parent>/ground</socket_parent>
        <translation>0.1 0.2 0</translation><orientation>0.1 0 0</orientation></PhysicalOffsetFrame>
      <PhysicalOffsetFrame name="upper_offset"><socket_parent>/bodyset/upper</socket_parent>
        <translation>0 0.01 0</translation><orientation>0 0.2 0</orientation></PhysicalOffsetFrame></frames>
    <SpatialTransform>
      <TransformAxis name="rotation1"><coordinates>elevation</coordinates><axis>0 0 1</axis>
        <LinearFunction><coefficients>1 0</coefficients></LinearFunction></TransformAxis>
      <TransformAxis name="translation1"><coordinates>elevation</coordinates><axis>1 0 0</axis>
        <SimmSpline><x>-1 0 1 2</x><y>0 0.01 0.03 0.02</y></SimmSpline></TransformAxis>
    </SpatialTransform></CustomJoint>
  <PinJoint name="elbow"><socket_parent_frame>upper_offset</socket_parent_frame>
    <socket_child_frame>lower_offset</socket_child_frame>
    <coordinates><Coordinate name="flexion"><default_value>0.3</default_value><range>0 2</range></Coordinate></coordinates>
    <frames><PhysicalOffsetFrame name="upper_offset"><socket_parent>/bodyset/upper</socket_parent>
        <translation>0 -0.3 0</translation><orientation>0 0 0</orientation></PhysicalOffsetFrame>
      <PhysicalOffsetFrame name="lower_offset"><socket_parent>/bodyset/lower</socket_parent>
        <translation>0 0 0</translation><orientation>0 0 0</orientation></PhysicalOffsetFrame></frames></PinJoint>
  <FreeJoint name="ring_joint"><socket_parent_frame>/ground</socket_parent_frame>
    <socket_child_frame>/bodyset/ring</socket_child_frame></FreeJoint>
</objects></JointSet>
<ConstraintSet><objects>
  <PointConstraint name="hung"><isEnforced>true</isEnforced><socket_body_1>/ground</socket_body_1>
    <socket_body_2>/bodyset/ring</socket_body_2><location_body_1>0.1 0 0</location_body_1>
    <location_body_2>0.1 0 0</location_body_2></PointConstraint>
  <CoordinateCouplerConstraint name="off"><isEnforced>false</isEnforced></CoordinateCouplerConstraint>
</objects></ConstraintSet>
<ForceSet><objects>
  <Thelen2003Muscle name="biceps"><appliesForce>true</appliesForce><GeometryPath>
    <PathPointSet><objects>
      <PathPoint name="a"><socket_parent_frame>/ground</socket_parent_frame><location>0.1 0.3 0</location></PathPoint>
      <ConditionalPathPoint name="b"><socket_parent_frame>/bodyset/upper</socket_parent_frame>
        <location>0.03 -0.1 0</location><socket_coordinate>/jointset/elbow/flexion</socket_coordinate>
        <range>0.1 2</range></ConditionalPathPoint>
      <MovingPathPoint name="c"><socket_parent_frame>/bodyset/lower</socket_parent_frame>
        <socket_x_coordinate>/jointset/elbow/flexion</socket_x_coordinate>
        <socket_y_coordinate>/jointset/elbow/flexion</socket_y_coordinate>
        <socket_z_coordinate>/jointset/elbow/flexion</socket_z_coordinate>
        <x_location><SimmSpline><x>0 1 2</x><y>0.02 0.03 0.02</y></SimmSpline></x_location>
        <y_location><Constant><value>-0.05</value></Constant></y_location>
        <z_location><Constant><value>0</value></Constant></z_location></MovingPathPoint>
    </objects></PathPointSet>
    <PathWrapSet><objects><PathWrap name="w"><wrap_object>bar</wrap_object><method>hybrid</method></PathWrap></objects>
    </PathWrapSet></GeometryPath>
    <max_isometric_force>600</max_isometric_force><optimal_fiber_length>0.13</optimal_fiber_length>
    <tendon_slack_length>0.2</tendon_slack_length><pennation_angle_at_optimal>0.1</pennation_angle_at_optimal>
    <FmaxMuscleStrain>0.5</FmaxMuscleStrain></Thelen2003Muscle>
</objects></ForceSet>
</Model></OpenSimDocument>)";

/// Layout of 3.3; `defaults` has the muscle's passive strain.
constexpr const char* version_3 = R"(<OpenSimDocument Version="30000"><Model name="arm">
<defaults><Thelen2003Muscle name="default"><isDisabled>false</isDisabled><FmaxMuscleStrain>0.5</FmaxMuscleStrain>
  <max_isometric_force>1</max_isometric_force></Thelen2003Muscle></defaults>
<gravity>0 -9.81 0</gravity>
<BodySet><objects>
  <Body name="ground"><mass>0</mass><mass_center>0 0 0</mass_center><inertia_xx>0</inertia_xx><Joint/>
    <WrapObjectSet><objects>
      <WrapCylinder name="bar"><xyz_body_rotation>0 0 0</xyz_body_rotation><translation>0.1 0.05 0</translation>
        <radius>0.02</radius><length>0.4</length></WrapCylinder></objects></WrapObjectSet></Body>
  <Body name="upper"><mass>2</mass><mass_center>0 -0.2 0</mass_center>
    <inertia_xx>0.02</inertia_xx><inertia_yy>0.01</inertia_yy><inertia_zz>0.03</inertia_zz>
    <inertia_xy>1e-3</inertia_xy><inertia_xz>2e-3</inertia_xz><inertia_yz>3e-3</inertia_yz>
    <Joint><CustomJoint name="shoulder"><parent_body> ground </parent_body>
      <location_in_parent>0.1 0.2 0</location_in_parent><orientation_in_parent>0.1 0 0</orientation_in_parent>
      <location>0 0.01 0</location><orientation>0 0.2 0</orientation>
      <CoordinateSet><objects><Coordinate name="elevation"><motion_type>rotational</motion_type>
        <default_value>0.4</default_value><range>-1 2</range></Coordinate></objects></CoordinateSet>
      <reverse>false</reverse>
      AXES</CustomJoint></Joint></Body>
  <Body name="lower"><mass>1</mass><mass_center>0 -0.1 0</mass_center>
    <inertia_xx>0.01</inertia_xx><inertia_yy>0.01</inertia_yy><inertia_zz>0.01</inertia_zz>
    <inertia_xy>0</inertia_xy><inertia_xz>0</inertia_xz><inertia_yz>0</inertia_yz>
    <Joint><PinJoint name="elbow"><parent_body>upper</parent_body><location_in_parent>0 -0.3 0</location_in_parent>
      <CoordinateSet><objects><Coordinate name="flexion"><default_value>0.3</default_value><range>0 2</range></Coordinate>
      </objects></CoordinateSet></PinJoint></Joint></Body>
  <Body name="ring"><mass>0.1</mass><mass_center>0 0 0</mass_center>
    <inertia_xx>1e-4</inertia_xx><inertia_yy>1e-4</inertia_yy><inertia_zz>1e-4</inertia_zz>
    <Joint><FreeJoint><parent_body>ground</parent_body></FreeJoint></Joint></Body>
</objects></BodySet>
<ConstraintSet><objects>
  <PointConstraint name="hung"><isDisabled>false</isDisabled><body_1>ground</body_1><body_2>ring</body_2>
    <location_body_1>0.1 0 0</location_body_1><location_body_2>0.1 0 0</location_body_2></PointConstraint>
  <CoordinateCouplerConstraint name="off"><isDisabled>true</isDisabled></CoordinateCouplerConstraint>
</objects></ConstraintSet>
<FORCES><objects>
  <Thelen2003Muscle name="biceps">PATH
    <max_isometric_force>600</max_isometric_force><optimal_fiber_length>0.13</optimal_fiber_length>
    <tendon_slack_length>0.2</tendon_slack_length><PENNATION>0.1</PENNATION></Thelen2003Muscle>
</objects></FORCES>
</Model></OpenSimDocument>)";

constexpr const char* axes_3 = R"(<SpatialTransform>
  <TransformAxis name="rotation1"><function><LinearFunction><coefficients>1 0</coefficients></LinearFunction></function>
    <coordinates>elevation</coordinates><axis>0 0 1</axis></TransformAxis>
  <TransformAxis name="translation1"><function><natCubicSpline><x>-1 0 1 2</x><y>0 0.01 0.03 0.02</y></natCubicSpline>
    </function><coordinates>elevation</coordinates><axis>1 0 0</axis></TransformAxis></SpatialTransform>)";

/// Before 1.9.1; an omitted function is the coordinate.
constexpr const char* axes_1 = R"(<TransformAxisSet><objects>
  <TransformAxis name="tx"><function><natCubicSpline><x>-1 0 1 2</x><y>0 0.01 0.03 0.02</y></natCubicSpline></function>
    <coordinate>elevation</coordinate><is_rotation>false</is_rotation><axis>1 0 0</axis></TransformAxis>
  <TransformAxis name="r1"><function/><coordinate>elevation</coordinate><is_rotation>true</is_rotation><axis>0 0 1</axis>
  </TransformAxis></objects></TransformAxisSet>)";

constexpr const char* path_3 = R"(<GeometryPath><PathPointSet><objects>
  <PathPoint name="a"><location>0.1 0.3 0</location><body>ground</body></PathPoint>
  <ConditionalPathPoint name="b"><location>0.03 -0.1 0</location><body>upper</body><range>0.1 2</range>
    <coordinate>flexion</coordinate></ConditionalPathPoint>
  <MovingPathPoint name="c"><body>lower</body><x_coordinate>flexion</x_coordinate><y_coordinate>flexion</y_coordinate>
    <z_coordinate>flexion</z_coordinate>
    <x_location><SimmSpline><x>0 1 2</x><y>0.02 0.03 0.02</y></SimmSpline></x_location>
    <y_location><Constant><value>-0.05</value></Constant></y_location>
    <z_location><Constant><value>0</value></Constant></z_location></MovingPathPoint></objects></PathPointSet>
  <PathWrapSet><objects><PathWrap name="w"><wrap_object>bar</wrap_object><method>hybrid</method></PathWrap></objects>
  </PathWrapSet></GeometryPath>)";

/// Before 2.3, beside the parameters of the muscle.
constexpr const char* path_1 = R"(<MusclePointSet><objects>
  <MusclePoint name="a"><location>0.1 0.3 0</location><body>ground</body></MusclePoint>
  <MuscleViaPoint name="b"><location>0.03 -0.1 0</location><body>upper</body><range>0.1 2</range>
    <coordinates>flexion</coordinates></MuscleViaPoint>
  <MovingMusclePoint name="c"><body>lower</body><x_coordinate>flexion</x_coordinate><y_coordinate>flexion</y_coordinate>
    <z_coordinate>flexion</z_coordinate>
    <XAttachment><natCubicSpline><x>0 1 2</x><y>0.02 0.03 0.02</y></natCubicSpline></XAttachment>
    <YAttachment><Constant><value>-0.05</value></Constant></YAttachment>
    <ZAttachment><Constant><value>0</value></Constant></ZAttachment></MovingMusclePoint></objects></MusclePointSet>
  <MuscleWrapSet><objects><MuscleWrap name="w"><wrap_object>bar</wrap_object><method>hybrid</method></MuscleWrap></objects>
  </MuscleWrapSet>)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string with_parts(const char* version, const char* axes, const char* path, const char* pennation) {
  std::string text = replaced(replaced(version_3, "30000", version), "AXES", axes);
  return replaced(replaced(replaced(text, "PATH", path), "PENNATION", pennation), "FORCES", "ForceSet");
}

/// Layout of 1.6: bodies and constraints in the dynamics engine.
std::string version_1() {
  std::string text = with_parts("10600", axes_1, path_1, "pennation_angle");
  text = replaced(text, "ForceSet", "ActuatorSet");
  text = replaced(text, "<gravity>", "<DynamicsEngine><SimbodyEngine><gravity>");
  return replaced(text, "</ConstraintSet>", "</ConstraintSet></SimbodyEngine></DynamicsEngine>");
}

/// Layouts of the development of version 4.
std::string with_connectors() {
  const std::regex socket("<socket_(\\w+)>([^<]*)</socket_\\w+>");
  return std::regex_replace(replaced(version_4, "40000", "30507"), socket,
                            "<connectors><Connector_X_ name=\"$1\"><connectee_name>$2</connectee_name></Connector_X_>"
                            "</connectors>");
}
std::string with_connectee_names() {
  const std::regex socket("<(/?)socket_(\\w+)>");
  return std::regex_replace(replaced(version_4, "40000", "30516"), socket, "<$1socket_$2_connectee_name>");
}

std::string scenario_of(const std::string& text) {
  return import_model(read_model(text, "arm.osim"), {.joints = {}, .meshes = {}, .folders = {}}).scenario;
}

TEST(OsimVersions, EveryLayoutHasTheScenarioOfVersion4) {
  const std::string expected = scenario_of(version_4);
  ASSERT_THAT(expected, HasSubstr("biceps"));
  ASSERT_THAT(expected, HasSubstr("hung"));
  EXPECT_EQ(scenario_of(with_parts("30000", axes_3, path_3, "pennation_angle_at_optimal")), expected);
  EXPECT_EQ(scenario_of(with_parts("20001", axes_3, path_1, "pennation_angle")), expected);
  EXPECT_EQ(scenario_of(version_1()), expected);
  EXPECT_EQ(scenario_of(with_connectors()), expected);
  EXPECT_EQ(scenario_of(with_connectee_names()), expected);
}

// Joints of the first development versions have frames named after bodies and placed by members of the joint.
TEST(OsimVersions, JointsWithoutOffsetFrames) {
  std::string text = replaced(version_4, "40000", "30501");
  const auto begin = text.find("<PinJoint"), end = text.find("</PinJoint>");
  text.replace(begin, end - begin, R"(<PinJoint name="elbow"><connectors>
    <Connector_PhysicalFrame_ name="parent_body"><connectee_name>../upper</connectee_name></Connector_PhysicalFrame_>
    <Connector_PhysicalFrame_ name="child_body"><connectee_name>../lower</connectee_name></Connector_PhysicalFrame_>
    </connectors><location_in_parent>0 -0.3 0</location_in_parent>
    <CoordinateSet><objects><Coordinate name="flexion"><default_value>0.3</default_value><range>0 2</range></Coordinate>
    </objects></CoordinateSet>)");
  EXPECT_EQ(scenario_of(text), scenario_of(version_4));
}

TEST(OsimVersions, WhatCannotBeConvertedIsRejected) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      return scenario_of(text);
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_THAT(message(replaced(version_4, "40000", "10500")),
              testing::AllOf(HasSubstr("version 1.6 (10600) or later"), HasSubstr("found version 10500")));
  const std::string reversed =
      replaced(with_parts("30000", axes_3, path_3, "pennation_angle_at_optimal"), "<reverse>false", "<reverse>true");
  EXPECT_THAT(message(reversed), HasSubstr("joint 'shoulder': expected reverse = false, found true"));
}

}  // namespace
}  // namespace heelstrike::osim
