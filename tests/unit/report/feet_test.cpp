// Contact pairs of one foot, and their total load; bodies as shapes.
#include "report/feet.hpp"
#include "library/registries/catalog.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/errors/error.hpp"
#include "report/scene.hpp"

namespace heelstrike::report {
namespace {

Scenario read(const std::string& yaml) {
  return parse_scenario("heelstrike: 1\n" + yaml, "test.yaml", scenario_catalog());
}

std::string sole(const std::string& name, const std::string& body, const std::string& surface,
                 const std::string& parameters) {
  return "  " + name + ":\n    main: {body: " + body + ", surface: " + surface +
         ", material: {youngs_modulus: 1.2e5, poissons_ratio: 0.3, density: 1100}}\n    partner: {body: ground, "
         "surface: {plane: {normal: [0, 0, 1]}}}\n    backend: fem_condensed\n    parameters: {" +
         parameters + "}\n";
}

const std::string cut_foot =
    "gravity: [0, 0, -9.81]\n"
    "bodies:\n"
    "  foot: {mass: 1, inertia: [1, 1, 1]}\n"
    "  toes: {mass: 1, inertia: [1, 1, 1]}\n"
    "  ball: {mass: 1, inertia: [1, 1, 1]}\n"
    "contact:\n" +
    sole("foot-ground", "foot", "{foot: {}}", "body_box: [-1, -1, -1, 0.13, 1, 1]") +
    sole("toes-ground", "toes", "{foot: {ankle: [-0.13, 0, 0.0563]}}", "body_box: [0, -1, -1, 1, 1, 1]") +
    sole("ball-ground", "ball", "{sphere: {radius: 0.1}}", "element_size: 0.01") +
    "analysis: {end_time: 1}\noutput: {interval: 0.1}\n";

TEST(Feet, PartsCutFromOneShapeAreOneFoot) {
  const auto feet = feet_of(read(cut_foot));
  ASSERT_EQ(feet.size(), 2U);
  EXPECT_EQ(feet[0].label, "foot");
  ASSERT_EQ(feet[0].parts.size(), 2U);
  EXPECT_EQ(feet[0].parts[1].pair, "toes-ground");
  // The ankle is the origin of one body and lies at `ankle` in the other: the zero of the toes' frame is 0.13 m in
  // front of the ankle and 0.0563 m below it.
  EXPECT_LT((feet[0].parts[1].X_FB.p - Vector3(0.13, 0.0, -0.0563)).norm(), 1e-15);
  EXPECT_EQ(feet[1].label, "ball");
}

TEST(Feet, TotalForceIsTheSumOfThePartsForFeetWithSeveral) {
  TimeSeries series;
  series.columns = {"time_s",           "foot-ground.fx_N", "foot-ground.fy_N", "foot-ground.fz_N", "toes-ground.fx_N",
                    "toes-ground.fy_N", "toes-ground.fz_N", "ball-ground.fx_N", "ball-ground.fy_N", "ball-ground.fz_N"};
  series.values = {0, 1, 2, 300, 4, 5, 60, 7, 7, 7, 1, 0, 0, 0, 1, 0, 20, 7, 7, 7};
  const auto forces = foot_forces(read(cut_foot), series, {});
  ASSERT_EQ(forces.size(), 1U);
  EXPECT_EQ(forces[0].force[0], Vector3(5, 7, 360));
  EXPECT_EQ(forces[0].force[1], Vector3(1, 0, 20));
  EXPECT_TRUE(forces[0].measured.empty());
}

/// A plate that measured 700 N along y of a laboratory with y up, from 2 s of its clock on.
TEST(Feet, PlateMeasurementIsTransformedToWorldAndRunTime) {
  const Scenario scenario = read(
      "gravity: [0, 0, -9.81]\n"
      "motion:\n  walk:\n    markers: a.trc\n    static: b.trc\n    plates: c.mot\n    start: 2\n    axes: {x: x, y: "
      "z, z: -y}\n"
      "    feet:\n      right: {hindfoot: [a, b, c], heel: a, toe_tip: b, toe_lateral: c, toe_medial: d, origin: [a], "
      "plate: "
      "ground_force}\n"
      "bodies:\n  heel: {mass: 1, inertia: [1, 1, 1]}\n"
      "drivers:\n  heel: {body: heel, follow: walk.right.hindfoot}\n"
      "contact:\n" +
      sole("sole", "heel", "{foot: {}}", "element_size: 0.01") +
      "analysis: {type: kinematic, end_time: 1}\noutput: {interval: 0.1}\n");
  TimeSeries series;
  series.columns = {"time_s", "sole.fx_N", "sole.fy_N", "sole.fz_N"};
  series.values = {0, 0, 0, 650};
  const ForcePlate plate{.name = "ground_force",
                         .times = {2.0, 2.5},
                         .force = {Vector3(10, 700, 3), Vector3(20, 710, 4)},
                         .point = {Vector3::Zero(), Vector3::Zero()},
                         .moment = {Vector3::Zero(), Vector3::Zero()}};
  const auto forces = foot_forces(scenario, series, {plate});
  ASSERT_EQ(forces.size(), 1U);
  EXPECT_EQ(forces[0].label, "right");
  EXPECT_EQ(forces[0].measured_times, (std::vector<double>{0.0, 0.5}));
  EXPECT_EQ(forces[0].measured[0], Vector3(10, -3, 700));
}

/// A rod of 1 m and 1 kg that hangs from the ground, a spring to a point mass beside it.
/// Without gravity superior is upwards; the tibia of a left knee has its medial side at +z.
TEST(Scene, SidesOfBodiesAndTheVertical) {
  const auto scene_of = [](const std::string& tibia) {
    return scene_json(read("gravity: [0, 0, 0]\n"
                           "bodies:\n"
                           "  femur: {mass: 1, inertia: [1, 1, 1]}\n"
                           "  tibia: {mass: 1, inertia: [1, 1, 1], orientation: [0.7071067811865476, "
                           "0.7071067811865476, 0, 0]}\n"
                           "contact:\n"
                           "  knee:\n"
                           "    main: {body: tibia, surface: {" +
                           tibia +
                           "}, material: {youngs_modulus: 1.0e7, poissons_ratio: 0.45, density: 1100}}\n"
                           "    partner: {body: femur, surface: {sphere: {radius: 0.03}}}\n"
                           "    backend: fem_condensed\n"
                           "analysis: {end_time: 1}\noutput: {interval: 0.1}\n"),
                      {});
  };
  const Json scene = scene_of("knee: {part: tibia, side: left}");
  EXPECT_FALSE(scene["gravity"].get<bool>());
  EXPECT_EQ(scene["up"].dump(), "[0.0,0.0,1.0]") << "y of the tibia, which is turned about x by 90 degrees";
  EXPECT_EQ(scene["pairs"].dump(), R"([{"name":"knee","main":"tibia"}])");
  EXPECT_EQ(scene["bodies"][2]["axes"][2].dump(), R"({"direction":[0.0,0.0,1.0],"ahead":"medial","behind":"lateral"})");
  EXPECT_FALSE(scene["bodies"][1].contains("axes")) << "a sphere has no sides";
  const Json scan = scene_of("mesh: {file: tibia.stl, axes: posterior inferior medial}");
  EXPECT_EQ(scan["up"].dump(), "[-0.0,-0.0,-1.0]");
  EXPECT_EQ(scan["bodies"][2]["axes"][0]["behind"], "anterior");
  try {
    (void)scene_of("mesh: {file: tibia.stl, axes: anterior posterior medial}");
    FAIL() << "accepted two names of one axis";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("main.surface.mesh.axes"),
                                         testing::HasSubstr("posterior superior medial")));
  }
}

TEST(Scene, LinksSpringsAndBlocks) {
  const Scenario scenario = read(
      "gravity: [0, -9.81, 0]\n"
      "bodies:\n"
      "  rod: {mass: 1, inertia: [0.0834, 0.0002, 0.0834], position: [0, -0.5, 0]}\n"
      "  bob: {mass: 1, inertia: [1, 1, 1], position: [1, -1, 0]}\n"
      "joints:\n"
      "  pin: {type: revolute, bodies: [ground, rod], point: [0, 0, 0], axis: [0, 0, 1]}\n"
      "  link: {type: distance, bodies: [rod, bob], points: [[0, -0.5, 0], [0, 0, 0]], length: 1}\n"
      "forces:\n"
      "  spring: {type: spring_damper, bodies: [ground, bob], points: [[1, 0, 0], [0, 0, 0]], stiffness: 1, length: "
      "1}\n"
      "analysis: {end_time: 1}\noutput: {interval: 0.1}\n");
  const Json scene = scene_json(scenario, {});
  EXPECT_EQ(scene["up"].dump(), "[-0.0,1.0,-0.0]");
  EXPECT_TRUE(scene["gravity"].get<bool>());
  const Json& rod = scene["bodies"][1];
  EXPECT_EQ(rod["points"].dump(), "[[0.0,0.5,0.0],[0.0,-0.5,0.0]]") << "pin and link, in the frame of the rod";
  // Edges of a bar: a^2 = 6 (I2 + I3 - I1) / m is 6 * 0.1666 m^2 along it and 6 * 0.0002 m^2 across; eigenvalues come
  // in rising order, so that the bar lies along the first axis.
  EXPECT_NEAR(rod["box"]["lengths"][0].get<double>(), std::sqrt(6 * 0.1666), 1e-12);
  EXPECT_NEAR(rod["box"]["lengths"][1].get<double>(), std::sqrt(6 * 0.0002), 1e-12);
  EXPECT_FALSE(scene["joints"][0]["rod"].get<bool>());
  EXPECT_TRUE(scene["joints"][1]["rod"].get<bool>());
  EXPECT_EQ(scene["springs"][0]["a"].dump(), R"({"body":"ground","point":[1.0,0.0,0.0]})");
}

}  // namespace
}  // namespace heelstrike::report
