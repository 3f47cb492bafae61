// Scaling of OpenSim models: similarity, one body alone, and errors.
#include "importers/opensim/model_scaling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/errors/error.hpp"
#include "importers/opensim/osim_scenario.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::osim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A hanging thigh and a shank on a knee that rolls: its translations are a spline and a sine of the flexion, and a
/// drawer that a coupler sets.
constexpr const char* leg =
    R"(<OpenSimDocument Version="40000"><Model name="leg"><gravity>0 -9.81 0</gravity><BodySet><objects>
<Body name="thigh"><mass>8</mass><mass_center>0 -0.2 0.01</mass_center><inertia>0.1 0.02 0.1 0.001 0 0</inertia>
  <WrapObjectSet><objects><WrapCylinder name="roll"><translation>0.01 -0.38 0</translation><radius>0.02</radius>
  <length>0.1</length></WrapCylinder></objects></WrapObjectSet></Body>
<Body name="shank"><mass>4</mass><mass_center>0 -0.2 0</mass_center><inertia>0.05 0.01 0.05 0 0 0</inertia></Body>
</objects></BodySet><JointSet><objects>
<CustomJoint name="hip"><socket_parent_frame>/ground</socket_parent_frame><socket_child_frame>/bodyset/thigh</socket_child_frame>
  <coordinates><Coordinate name="height"><default_value>1</default_value></Coordinate></coordinates>
  <SpatialTransform><TransformAxis name="translation2"><coordinates>height</coordinates><axis>0 1 0</axis>
    <LinearFunction><coefficients>1 0</coefficients></LinearFunction></TransformAxis></SpatialTransform></CustomJoint>
<CustomJoint name="knee"><socket_parent_frame>end</socket_parent_frame><socket_child_frame>/bodyset/shank</socket_child_frame>
  <coordinates><Coordinate name="flexion"><default_value>0.3</default_value></Coordinate>
    <Coordinate name="drawer"><default_value>0.004</default_value><range>-0.01 0.01</range></Coordinate></coordinates>
  <frames><PhysicalOffsetFrame name="end"><socket_parent>/bodyset/thigh</socket_parent><translation>0 -0.4 0</translation>
    <orientation>0 0 0</orientation></PhysicalOffsetFrame></frames>
  <SpatialTransform>
    <TransformAxis name="rotation1"><coordinates>flexion</coordinates><axis>0 0 1</axis>
      <LinearFunction><coefficients>1 0</coefficients></LinearFunction></TransformAxis>
    <TransformAxis name="translation1"><coordinates>drawer</coordinates><axis>1 0 0</axis>
      <LinearFunction><coefficients>1 0</coefficients></LinearFunction></TransformAxis>
    <TransformAxis name="translation2"><coordinates>flexion</coordinates><axis>0 1 0</axis>
      <SimmSpline><x>0 0.5 1 2</x><y>0.01 0.02 0.01 0</y></SimmSpline></TransformAxis>
    <TransformAxis name="translation3"><coordinates>flexion</coordinates><axis>0 0 1</axis>
      <Sine><amplitude>0.01</amplitude><omega>2</omega><phase>0.1</phase><offset>0.002</offset></Sine></TransformAxis>
  </SpatialTransform></CustomJoint></objects></JointSet>
<ConstraintSet><objects><CoordinateCouplerConstraint name="rolls"><isEnforced>true</isEnforced>
  <coupled_coordinates_function><PolynomialFunction><coefficients>0.02 0</coefficients></PolynomialFunction>
  </coupled_coordinates_function><independent_coordinate_names>flexion</independent_coordinate_names>
  <dependent_coordinate_name>drawer</dependent_coordinate_name></CoordinateCouplerConstraint></objects></ConstraintSet>
<ForceSet><objects>
<Blankevoort1991Ligament name="band"><GeometryPath><PathPointSet><objects>
  <PathPoint name="a"><socket_parent_frame>/bodyset/thigh</socket_parent_frame><location>0.03 -0.36 0</location></PathPoint>
  <PathPoint name="b"><socket_parent_frame>/bodyset/shank</socket_parent_frame><location>0.03 -0.05 0</location></PathPoint>
  </objects></PathPointSet></GeometryPath><linear_stiffness>1000</linear_stiffness><slack_length>0.08</slack_length>
</Blankevoort1991Ligament>
<Millard2012EquilibriumMuscle name="pull"><GeometryPath><PathPointSet><objects>
  <PathPoint name="a"><socket_parent_frame>/bodyset/thigh</socket_parent_frame><location>0 0 0</location></PathPoint>
  <PathPoint name="b"><socket_parent_frame>/bodyset/thigh</socket_parent_frame><location>0 -0.3 0</location></PathPoint>
  <MovingPathPoint name="c"><socket_parent_frame>/bodyset/shank</socket_parent_frame>
    <socket_x_coordinate>/jointset/knee/flexion</socket_x_coordinate>
    <x_location><PolynomialFunction><coefficients>0.01 0.02</coefficients></PolynomialFunction></x_location>
    <socket_y_coordinate>/jointset/knee/flexion</socket_y_coordinate><y_location><Constant><value>-0.06</value></Constant></y_location>
    <socket_z_coordinate>/jointset/knee/flexion</socket_z_coordinate><z_location><Constant><value>0</value></Constant></z_location>
  </MovingPathPoint>
  </objects></PathPointSet></GeometryPath><max_isometric_force>900</max_isometric_force>
  <optimal_fiber_length>0.07</optimal_fiber_length><tendon_slack_length>0.2</tendon_slack_length></Millard2012EquilibriumMuscle>
</objects></ForceSet><ContactGeometrySet><objects>
<Smith2018ContactMesh name="upper"><socket_frame>/bodyset/thigh</socket_frame><mesh_file>upper.stl</mesh_file>
  <elastic_modulus>5e6</elastic_modulus><poissons_ratio>0.45</poissons_ratio><thickness>0.003</thickness></Smith2018ContactMesh>
</objects></ContactGeometrySet></Model></OpenSimDocument>
)";

Model read_leg() {
  Model model = read_model(leg, "leg.osim");
  (void)apply_couplers(model);
  return model;
}

const Line& line(const Model& model, const std::string& name) {
  return *std::ranges::find(model.lines, name, &Line::name);
}

TEST(ModelScaling, AllBodiesTogetherAreASimilarity) {
  const Model before = read_leg();
  Model after = before;
  constexpr double factor = 1.25;
  // The height over the ground is a coordinate of a joint of the ground, which keeps its size.
  scale_model(after, {{"thigh", factor}, {"shank", factor}}, {});
  (void)apply_couplers(after);
  const auto relative = [](const Model& model, const Vector3& p) {
    return default_pose(model, "thigh").inverse() * (default_pose(model, "shank") * p);
  };
  for (const Vector3& p : {Vector3(0, 0, 0), Vector3(0.1, -0.2, 0.3)}) {
    EXPECT_LT((relative(after, factor * p) - factor * relative(before, p)).norm(), 1e-12);
  }
  EXPECT_NEAR(default_pose(after, "thigh").p.y(), 1.0, 1e-12);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(after.bodies[i].mass, std::pow(factor, 3) * before.bodies[i].mass, 1e-12);
    EXPECT_LT((after.bodies[i].center_of_mass - factor * before.bodies[i].center_of_mass).norm(), 1e-12);
    EXPECT_LT((after.bodies[i].inertia - std::pow(factor, 5) * before.bodies[i].inertia).norm(), 1e-12);
  }
  EXPECT_NEAR(line(after, "band").slack_length, factor * 0.08, 1e-12);
  EXPECT_NEAR(line(after, "band").stiffness, 1000.0, 0.0) << "force per strain";
  EXPECT_NEAR(line(after, "pull").muscle.optimal_length, factor * 0.07, 1e-12);
  EXPECT_NEAR(line(after, "pull").muscle.tendon_length, factor * 0.2, 1e-12);
  EXPECT_EQ(line(after, "pull").muscle.max_force, 900.0);
  EXPECT_NEAR(after.wraps[0].dimensions[0], factor * 0.02, 1e-12);
  EXPECT_NEAR(after.wraps[0].length, factor * 0.1, 1e-12);
  EXPECT_NEAR(after.wraps[0].X_BS.p.y(), factor * -0.38, 1e-12);
  EXPECT_NEAR(after.meshes[0].scale.x(), factor, 1e-12);
  EXPECT_NEAR(after.meshes[0].thickness, factor * 0.003, 1e-12);
  EXPECT_NEAR(coordinate_of(*joint_with(after, "drawer"), "drawer")->max, factor * 0.01, 1e-12);
}

// Functions reach the scenario as text.
TEST(ModelScaling, ScenarioHasTheScaledFunctions) {
  ImportOptions options{.joints = {}, .meshes = {}, .folders = {}};
  const auto place = [&] {
    const Scenario scenario = test::scenario_from(import_model(read_leg(), options).scenario);
    const Pose thigh = scenario.bodies[0].X_WB, shank = scenario.bodies[1].X_WB;
    return (thigh.inverse() * shank).p.eval();
  };
  const Vector3 before = place();
  options.scale = {{"thigh", 1.25}, {"shank", 1.25}};
  options.mass = 60.0;
  EXPECT_LT((place() - 1.25 * before).norm(), 1e-12);
  const Import import = import_model(read_leg(), options);
  EXPECT_THAT(
      import.scenario,
      AllOf(HasSubstr("y: [0.0125, 0.025, 0.0125, 0]"), HasSubstr("amplitude: 0.0125, frequency: 2"),
            HasSubstr(
                "rolls: {type: coupler, coordinate: drawer, constant: 0, of: {flexion: {polynomial: [0, 0.025]}}}")));
  double mass = 0.0;
  for (const BodySpec& body : test::scenario_from(import.scenario).bodies) mass += body.mass;
  EXPECT_NEAR(mass, 60.0, 1e-9);
}

// With the option that the user gave.
TEST(ModelScaling, ErrorsNameTheOption) {
  const auto message_of = [](bool in_section) -> std::string {
    try {
      (void)import_model(
          read_leg(), {.joints = {}, .meshes = {}, .folders = {}, .scale = {{"arm", 1.1}}, .in_section = in_section});
    } catch (const Error& error) {
      return error.what();
    }
    return "it scales";
  };
  EXPECT_THAT(message_of(false), testing::StartsWith("--scale: expected names of bodies"));
  EXPECT_THAT(message_of(true), testing::StartsWith("import.scale: expected names of bodies"));
}

TEST(ModelScaling, LinesFollowTheBodiesTheyCross) {
  const Model before = read_leg();
  Model after = before;
  scale_model(after, {{"shank", 2.0}}, {});
  EXPECT_EQ(after.bodies[0].mass, before.bodies[0].mass);
  EXPECT_LT((default_pose(after, "shank").p - default_pose(before, "shank").p).norm(), 1e-12) << "by its parent";
  const auto length = [](const Model& model) {
    const Line& band = line(model, "band");
    return (default_pose(model, "thigh") * band.points[0].at.X_BF.p -
            default_pose(model, "shank") * band.points[1].at.X_BF.p)
        .norm();
  };
  EXPECT_GT(length(after), 1.2 * length(before));
  EXPECT_NEAR(line(after, "band").slack_length / 0.08, length(after) / length(before), 1e-12);
}

TEST(ModelScaling, MassAloneKeepsProportions) {
  Model model = read_leg();
  scale_model(model, {}, 6.0);
  EXPECT_NEAR(model.bodies[0].mass, 4.0, 1e-12);
  EXPECT_NEAR(model.bodies[1].mass, 2.0, 1e-12);
  EXPECT_NEAR(model.bodies[0].inertia(0, 0), 0.05, 1e-12);
}

std::string message(const std::map<std::string, double>& factors, std::optional<double> mass,
                    Model model = read_leg()) {
  try {
    scale_model(model, factors, mass);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_EQ(error.field(), mass ? "mass" : "scale");
    return error.what();
  }
  return "it scales";
}

TEST(ModelScaling, ErrorsAreReported) {
  EXPECT_THAT(message({{"arm", 1.1}}, {}),
              HasSubstr("expected names of bodies of the model (thigh, shank), found 'arm'"));
  EXPECT_THAT(message({{"thigh", 0.0}}, {}), HasSubstr("thigh: expected a factor > 0, found 0"));
  EXPECT_THAT(message({{"thigh", std::numeric_limits<double>::quiet_NaN()}}, {}), HasSubstr("expected a factor > 0"));
  EXPECT_THAT(message({}, -1.0), HasSubstr("expected a mass > 0 kg, found -1"));
  Model massless = read_leg();
  for (Body& body : massless.bodies) body.mass = 0.0;
  EXPECT_THAT(message({}, 70.0, massless), HasSubstr("expected a model with masses"));
  Model coupled = read_leg();
  coupled.couplers[0].function.terms[0].coordinate = "drawer";
  coupled.couplers[0].coordinate = "flexion";
  EXPECT_THAT(message({{"thigh", 1.1}}, {}, coupled), HasSubstr("flexion follows the translation drawer (rolls)"));
}

}  // namespace
}  // namespace heelstrike::osim
