#include "scenario/scenario.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "common/errors/error.hpp"
#include "mbs_server/analysis/catalog.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/points.hpp"
#include "scenario/surfaces/sphere.hpp"

namespace heelstrike {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

BackendSchemas backends() {
  const Range positive{.min = 0.0, .min_excluded = true};
  const Range unit{.min = 0.0, .max = 1.0, .min_excluded = true};
  std::vector<ParameterSchema> law(3);
  law[0].name = "stiffness";
  law[0].unit = "N/m^1.5";
  law[0].meaning = "generalised stiffness";
  law[0].range = positive;
  law[1].name = "exponent";
  law[1].range = positive;
  law[1].fallback = 1.5;
  law[2].name = "restitution";
  law[2].meaning = "coefficient of restitution";
  law[2].required = true;
  law[2].range = unit;
  std::vector<ParameterSchema> elastic(2);
  elastic[0].name = "support";
  elastic[0].kind = ParameterKind::text;
  elastic[0].fallback = std::string("clamped");
  elastic[1].name = "body_box";
  elastic[1].kind = ParameterKind::numbers;
  elastic[1].fallback = std::vector<double>{};
  return {{"flores", law}, {"hunt_crossley", law}, {"hertz", {law[0], law[1]}}, {"elastic", elastic}};
}

Catalog schemas() {
  return mbs::scenario_catalog(backends());
}

const std::string good = R"(heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  ball: {mass: 1.0, inertia: [0.1, 0.1, 0.1], position: [0, 0, 1.0]}
  block:
    mass: 2
    inertia: [0.3, 0.2, 0.25, 0.01, -0.02, 0.03]
    orientation: [0.7071067811865476, 0, 0, 0.7071067811865476]
    velocity: [1, 2, 3]
loads:
  push: {body: ball, force: [1, 0, 0], frame: body}
contact:
  ball-ground:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 2]}}}
    backend: flores
    parameters: {stiffness: 1.4e8, exponent: 1.5, restitution: 0.8}
analysis: {type: forward, end_time: 2.0, integrator: {name: cvode_index1, rtol: 1.0e-9}}
output: {interval: 1.0e-3}
)";

/// `good` with one piece of text replaced.
std::string changed(const std::string& from, const std::string& to) {
  const auto at = good.find(from);
  if (at == std::string::npos) throw std::logic_error("not in the scenario: " + from);
  return std::string(good).replace(at, from.size(), to);
}

std::string message_of(const std::string& yaml) {
  try {
    (void)parse_scenario(yaml, "ball.yaml", schemas());
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_input) << e.what();
    return e.what();
  }
  return "accepted";
}

TEST(Scenario, ReadsEveryPart) {
  const Scenario s = parse_scenario(good, "some/folder/ball.yaml", schemas());
  EXPECT_EQ(s.name, "ball");
  EXPECT_EQ(s.gravity, Vector3(0, 0, -9.81));
  ASSERT_EQ(s.bodies.size(), 2u);
  EXPECT_EQ(s.bodies[0].name, "ball");
  EXPECT_EQ(s.bodies[0].X_WB.p, Vector3(0, 0, 1));
  EXPECT_EQ(s.bodies[1].inertia(0, 1), 0.01);
  EXPECT_EQ(s.bodies[1].inertia(2, 0), -0.02);
  EXPECT_EQ(s.bodies[1].inertia(1, 2), 0.03);
  EXPECT_EQ(s.bodies[1].V_WB.v, Vector3(1, 2, 3));
  // A rotation by 90 degrees about z maps x to y; the text has 16 digits.
  EXPECT_LT((s.bodies[1].X_WB.R * Vector3::UnitX() - Vector3::UnitY()).norm(), 1e-15);
  ASSERT_EQ(s.loads.size(), 1u);
  EXPECT_EQ(s.loads[0].axes_body, s.loads[0].body);
  EXPECT_EQ(s.loads[0].point_body, s.loads[0].body);
  ASSERT_EQ(s.pairs.size(), 1u);
  const PairModel& pair = s.pairs[0];
  EXPECT_EQ(pair.main_body, "ball");
  EXPECT_EQ(pair.partner_body, "ground");
  EXPECT_EQ(SphereSurface::of(pair.spec.main.surface).value().radius, 0.1);
  EXPECT_EQ(PlaneSurface::of(pair.spec.partner.surface).value().normal, Vector3(0, 0, 1)) << "not normalised";
  EXPECT_EQ(number(pair.spec.parameters, "stiffness"), 1.4e8);
  EXPECT_EQ(s.analysis.end_time, 2.0);
  EXPECT_EQ(s.analysis.integrator.rtol, 1e-9);
  EXPECT_EQ(s.output.interval, 1e-3);
}

TEST(Scenario, DefaultsOfTheSchemaAreThoseOfTheStructs) {
  const std::string yaml =
      "heelstrike: 1\ngravity: [0, 0, 0]\nbodies: {a: {mass: 1, inertia: [1, 1, 1]}}\n"
      "analysis: {end_time: 1}\noutput: {interval: 1}\n";
  const Scenario s = parse_scenario(yaml, "a.yaml", mbs::scenario_catalog());
  EXPECT_EQ(s.analysis.type, AnalysisSpec().type);
  EXPECT_EQ(s.analysis.integrator.rtol, IntegratorSpec().rtol);
  EXPECT_EQ(s.analysis.integrator.atol, IntegratorSpec().atol);
  EXPECT_EQ(s.analysis.integrator.max_rejections, IntegratorSpec().max_rejections);
  EXPECT_EQ(s.output.steps, OutputSpec().steps);
  EXPECT_FALSE(s.output.checkpoint_interval.has_value());
  EXPECT_EQ(s.bodies[0].X_WB.R, Matrix3::Identity());
}

TEST(Scenario, BodyTakesItsInitialStateFromAnother) {
  const std::string initial_state =
      "    orientation: [0.7071067811865476, 0, 0, 0.7071067811865476]\n    velocity: [1, 2, 3]\n";
  const Scenario s = parse_scenario(changed(initial_state, "    initial_state_from: ball\n"), "ball.yaml", schemas());
  EXPECT_EQ(s.bodies[1].initial_state_from, "ball");
  EXPECT_THAT(message_of(changed(initial_state, "    starts_with: ball\n")),
              HasSubstr("bodies.block.starts_with: this key is now 'initial_state_from'"));
  EXPECT_THAT(message_of(changed(initial_state, "    initial_state_from: bal\n")), HasSubstr("did you mean 'ball'?"));
  EXPECT_THAT(message_of(changed(initial_state, "    initial_state_from: block\n")),
              HasSubstr("without `initial_state_from`"));
  EXPECT_THAT(message_of(changed(initial_state, initial_state + "    initial_state_from: ball\n")),
              testing::AllOf(StartsWith("ball.yaml:8: bodies.block.orientation"), HasSubstr("`initial_state_from`")));
}

TEST(Scenario, ReadsAllSurfaces) {
  const auto surface = [](const std::string& text) {
    return parse_scenario(changed("{sphere: {radius: 0.1}}", text), "ball.yaml", schemas()).pairs[0].spec.main.surface;
  };
  EXPECT_EQ(SphereSurface::of(surface("{sphere: {radius: 0.1, concave: true}}")).value().radius, -0.1);
  const auto cylinder = CylinderSurface::of(surface("{cylinder: {radius: 0.1, axis: [0, 3, 0]}}")).value();
  EXPECT_EQ(cylinder.axis, Vector3::UnitY());
  EXPECT_TRUE(std::isinf(cylinder.length));
  EXPECT_TRUE(cylinder.layers.empty());
  const auto cloud =
      PointCloudSurface::of(surface("{points: {positions: [[1, 2, 3], [4, 5, 6]], areas: [7, 8]}}")).value();
  EXPECT_EQ(cloud.points.at(1), Vector3(4, 5, 6));
  EXPECT_EQ(cloud.areas.at(1), 8.0);
  const auto mesh = MeshSurface::of(surface("{mesh: {file: femur.stl, length_scale: 0.001}}")).value();
  EXPECT_EQ(mesh.asset_name, "femur.stl");
  EXPECT_EQ(mesh.length_scale, 0.001);
}

TEST(Scenario, ReadsMaterialsOfElementSetsInTheirOrder) {
  const std::string yaml = changed("main: {body: ball, surface: {sphere: {radius: 0.1}}}", R"(main:
      body: ball
      surface: {cylinder: {radius: 0.1, core_radius: 0.02, layers: {tread: {height: 0.01}, base: {height: 0.03}}}}
      material: {youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: 1000}
      materials:
        tread: {youngs_modulus: 2.0e6, poissons_ratio: 0.45, density: 1100}
        bone: {set: core, youngs_modulus: 3.0e9, poissons_ratio: 0.2})");
  const ContactBody body = parse_scenario(yaml, "a.yaml", schemas()).pairs[0].spec.main;
  const auto cylinder = CylinderSurface::of(body.surface).value();
  ASSERT_EQ(cylinder.layers.size(), 2U);
  EXPECT_EQ(cylinder.layers[0].name, "tread");
  EXPECT_EQ(cylinder.layers[1].height, 0.03);
  EXPECT_EQ(cylinder.length, 0.01 + 0.03);
  EXPECT_EQ(cylinder.core_radius, 0.02);
  ASSERT_EQ(body.materials.size(), 3U);
  EXPECT_EQ(body.materials[0].set, "");
  EXPECT_EQ(body.materials[1].set, "tread");
  EXPECT_EQ(body.materials[1].youngs_modulus, 2e6);
  EXPECT_EQ(body.materials[1].poissons_ratio, 0.45);
  EXPECT_EQ(body.materials[1].density, 1100.0);
  EXPECT_EQ(body.materials[2].set, "core");
  EXPECT_EQ(body.materials[2].density, 0.0);
}

TEST(Scenario, ReadsLawsOfMaterials) {
  const std::string side = "main: {body: ball, surface: {sphere: {radius: 0.1}}}";
  const std::string with_law = R"(main:
      body: ball
      surface: {sphere: {radius: 0.1}}
      material: {youngs_modulus: 1.0e6, poissons_ratio: 0.3}
      materials:
        tread: {youngs_modulus: 2.0e6, poissons_ratio: 0.45, law: {material_law: yeoh, yeoh_ratios: [0.4, 0.1]}})";
  Catalog elastic = schemas();
  ParameterSchema support;
  support.name = "support";
  elastic.backends["flores"].push_back(support);
  const ContactBody body = parse_scenario(changed(side, with_law), "a.yaml", elastic).pairs[0].spec.main;
  ASSERT_EQ(body.materials.size(), 2U);
  EXPECT_TRUE(body.materials[0].law.empty());
  EXPECT_EQ(body.materials[1].law,
            (ParameterMap{{"material_law", std::string("yeoh")}, {"yeoh_ratios", std::vector<double>{0.4, 0.1}}}));
  // Elastic bodies define their support; laws have no meaning for others.
  try {
    (void)parse_scenario(changed(side, with_law), "a.yaml", schemas());
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("a.yaml:19: contact.ball-ground.main.materials.tread.law"),
                                         testing::HasSubstr("finite elements"), testing::HasSubstr("flores")));
  }
}

TEST(Scenario, ListsTheFilesItNamesOnce) {
  std::string yaml = changed("{sphere: {radius: 0.1}}", "{mesh: {file: femur.stl}}");
  EXPECT_EQ(referenced_files(parse_scenario(yaml, "a.yaml", schemas())), std::vector<std::string>{"femur.stl"});
  const auto plane = yaml.find("{plane: {normal: [0, 0, 2]}}");
  yaml.replace(plane, 28, "{mesh: {file: femur.stl}}");
  EXPECT_EQ(referenced_files(parse_scenario(yaml, "a.yaml", schemas())).size(), 1u);
  const std::string asset = changed("{sphere: {radius: 0.1}}", "{mesh: {asset: femur.stl}}");
  EXPECT_TRUE(referenced_files(parse_scenario(asset, "a.yaml", schemas())).empty())
      << "the server has it, not the client";
}

TEST(Scenario, AnchorsAliasesAndMergeKeysWork) {
  const std::string yaml =
      "heelstrike: 1\ngravity: [0, 0, 0]\nbodies:\n  a: &a {mass: 1, inertia: [1, 1, 1]}\n"
      "  b: *a\n  c: {<<: *a, mass: 3}\nanalysis: {end_time: 1}\noutput: {interval: 1}\n";
  const Scenario s = parse_scenario(yaml, "a.yaml", mbs::scenario_catalog());
  ASSERT_EQ(s.bodies.size(), 3u);
  EXPECT_EQ(s.bodies[1].mass, 1.0);
  EXPECT_EQ(s.bodies[2].mass, 3.0);
  EXPECT_EQ(s.bodies[2].inertia, Matrix3::Identity());
}

struct InvalidKey {
  std::string name;
  std::string from;
  std::string to;
  int line;
  std::string key;
  std::vector<std::string> parts;  ///< of the message: expected, found, advice
};

void PrintTo(const InvalidKey& invalid, std::ostream* out) {
  *out << invalid.name;
}

class ScenarioErrors : public testing::TestWithParam<InvalidKey> {};

TEST_P(ScenarioErrors, AreReportedWithLineKeyAndRemedy) {
  const InvalidKey& m = GetParam();
  const std::string message = message_of(changed(m.from, m.to));
  EXPECT_THAT(message, StartsWith(fmt::format("ball.yaml:{}: {}", m.line, m.key.empty() ? "" : m.key + ": ")));
  for (const auto& part : m.parts) EXPECT_THAT(message, HasSubstr(part));
}

TEST(ScenarioSections, AMistypedAnalysisIsReportedOnce) {
  const std::string message = message_of(changed("analysis: {", "analisis: {"));
  EXPECT_THAT(message, HasSubstr("did you mean 'analysis'?"));
  EXPECT_THAT(message, testing::Not(HasSubstr("\n"))) << "the output is not compared with a default analysis";
}

INSTANTIATE_TEST_SUITE_P(
    Scenario, ScenarioErrors,
    testing::Values(
        InvalidKey{"key_with_a_dot",
                   "{stiffness: 1.4e8, exponent",
                   "{stiffness.: 1.4e8, exponent",
                   17,
                   "contact.ball-ground.parameters.stiffness.",
                   {"unknown key", "did you mean 'stiffness'?"}},
        InvalidKey{
            "unknown_key", "mass: 1.0", "mas: 1.0", 4, "bodies.ball.mas", {"unknown key", "did you mean 'mass'?"}},
        InvalidKey{"unknown_top_key", "output:", "outptu:", 19, "outptu", {"did you mean 'output'?"}},
        InvalidKey{
            "missing_key", "mass: 1.0, ", "", 4, "bodies.ball.mass", {"missing", "a number in [1e-12, 1e+12] [kg]"}},
        InvalidKey{"wrong_type",
                   "mass: 1.0",
                   "mass: heavy",
                   4,
                   "bodies.ball.mass",
                   {"a number in [1e-12, 1e+12] [kg]", "heavy"}},
        InvalidKey{"list_for_number", "mass: 1.0", "mass: [1]", 4, "bodies.ball.mass", {"a list of 1 value;"}},
        InvalidKey{"unit",
                   "mass: 1.0",
                   "mass: 1 kg",
                   4,
                   "bodies.ball.mass",
                   {"found 1 kg", "write 1, the plain number in kg"}},
        InvalidKey{"other_unit",
                   "mass: 1.0",
                   "mass: 500 g",
                   4,
                   "bodies.ball.mass",
                   {"found 500 g", "units are not read from the file: give the plain number in kg"}},
        InvalidKey{
            "blank", "mass: 1.0, ", "mass:1.0, ", 4, "bodies.ball.mass:1.0", {"a blank after the colon: `mass: 1.0`"}},
        InvalidKey{"quotes", "mass: 1.0", "mass: \"1.0\"", 4, "bodies.ball.mass", {"remove the quotes"}},
        InvalidKey{"negative_mass",
                   "mass: 1.0",
                   "mass: -1.0",
                   4,
                   "bodies.ball.mass",
                   {"in [1e-12, 1e+12] [kg]", "found -1.0"}},
        InvalidKey{"zero_mass", "mass: 1.0", "mass: 0", 4, "bodies.ball.mass", {"in [1e-12, 1e+12] [kg]", "found 0"}},
        InvalidKey{"huge_mass", "mass: 1.0", "mass: 1e300", 4, "bodies.ball.mass", {"in [1e-12, 1e+12] [kg]", "1e300"}},
        InvalidKey{"huge_gravity", "[0, 0, -9.81]", "[0, 0, -1e155]", 2, "gravity[2]", {"in [-1e+06, 1e+06] [m/s^2]"}},
        InvalidKey{"nan", "mass: 1.0", "mass: .nan", 4, "bodies.ball.mass", {"finite"}},
        InvalidKey{"infinity", "end_time: 2.0", "end_time: .inf", 18, "analysis.end_time", {"finite"}},
        InvalidKey{"overflow", "end_time: 2.0", "end_time: 1e999", 18, "analysis.end_time", {"finite"}},
        InvalidKey{"list_length",
                   "[0, 0, -9.81]",
                   "[0, -9.81]",
                   2,
                   "gravity",
                   {"3 numbers in [-1e+06, 1e+06] [m/s^2]", "a list of 2"}},
        InvalidKey{"nan_in_list", "[0, 0, -9.81]", "[0, 0, .nan]", 2, "gravity[2]", {"finite"}},
        InvalidKey{"layers_of_a_rigid_body",
                   "{sphere: {radius: 0.1}}",
                   "{cylinder: {radius: 0.1, layers: {a: {height: 0.1}}}}",
                   14,
                   "contact.ball-ground.main.surface",
                   {"a plain cylinder", "give `materials`"}},
        InvalidKey{"length_beside_layers",
                   "{sphere: {radius: 0.1}}",
                   "{cylinder: {radius: 0.1, length: 1, layers: {a: {height: 0.1}}}}",
                   14,
                   "contact.ball-ground.main.surface.cylinder.length",
                   {"the length is the sum of the layers"}},
        InvalidKey{"core_too_large",
                   "{sphere: {radius: 0.1}}",
                   "{cylinder: {radius: 0.1, core_radius: 0.1}}",
                   14,
                   "contact.ball-ground.main.surface.cylinder.core_radius",
                   {"a radius below that of the cylinder, 0.1 m"}},
        InvalidKey{"set_of_no_stiffness",
                   "surface: {sphere: {radius: 0.1}}}",
                   "surface: {sphere: {radius: 0.1}}, materials: {a: {youngs_modulus: 0, poissons_ratio: 0.3}}}",
                   14,
                   "contact.ball-ground.main.materials.a.youngs_modulus",
                   {"in [0.001, 1e+15] [Pa]", "found 0"}},
        InvalidKey{"negative_inertia",
                   "[0.1, 0.1, 0.1]",
                   "[0.1, 0.1, -0.1]",
                   4,
                   "bodies.ball.inertia",
                   {"positive definite", "-0.1"}},
        InvalidKey{"inertia_triangle",
                   "[0.1, 0.1, 0.1]",
                   "[0.1, 0.1, 0.3]",
                   4,
                   "bodies.ball.inertia",
                   {"at most the sum of the two others", "0.3"}},
        InvalidKey{"quaternion",
                   "[0.7071067811865476, 0, 0, 0.7071067811865476]",
                   "[1, 0, 0, 0.01]",
                   8,
                   "bodies.block.orientation",
                   {"unit quaternion", "norm 1.0000"}},
        InvalidKey{
            "load_body", "body: ball, force", "body: bal, force", 11, "loads.push.body", {"did you mean 'ball'?"}},
        InvalidKey{
            "load_on_ground", "body: ball, force", "body: ground, force", 11, "loads.push.body", {"ball, block"}},
        InvalidKey{"pair_body",
                   "{body: ball, surface",
                   "{body: blal, surface",
                   14,
                   "contact.ball-ground.main.body",
                   {"ball, block, ground", "did you mean 'ball'?"}},
        InvalidKey{"self_pair", "body: ground", "body: ball", 15, "contact.ball-ground.partner.body", {"both sides"}},
        InvalidKey{"negative_radius",
                   "radius: 0.1",
                   "radius: -0.1",
                   14,
                   "contact.ball-ground.main.surface.sphere.radius",
                   {"in [1e-09, 1e+06] [m]", "-0.1"}},
        InvalidKey{"two_surfaces",
                   "{sphere: {radius: 0.1}}",
                   "{sphere: {radius: 0.1}, plane: {}}",
                   14,
                   "contact.ball-ground.main.surface",
                   {"exactly one of sphere, plane, cylinder, block, foot, knee, profile, mesh, points"}},
        InvalidKey{"unknown_surface",
                   "{sphere: {radius: 0.1}}",
                   "{sphera: {radius: 0.1}}",
                   14,
                   "contact.ball-ground.main.surface.sphera",
                   {"did you mean 'sphere'?"}},
        InvalidKey{"zero_normal",
                   "[0, 0, 2]",
                   "[0, 0, 0]",
                   15,
                   "contact.ball-ground.partner.surface.plane.normal",
                   {"nonzero length"}},
        InvalidKey{"points_without_area",
                   "{sphere: {radius: 0.1}}",
                   "{points: {positions: [[0, 0, 0], [1, 0, 0]], areas: [1]}}",
                   14,
                   "contact.ball-ground.main.surface.points.areas",
                   {"as many areas as points (2)", "found 1"}},
        InvalidKey{"backend",
                   "backend: flores",
                   "backend: florse",
                   16,
                   "contact.ball-ground.backend",
                   {"flores, hertz, hunt_crossley", "did you mean 'flores'?"}},
        InvalidKey{"parameter",
                   "restitution: 0.8",
                   "restitutoin: 0.8",
                   17,
                   "contact.ball-ground.parameters.restitutoin",
                   {"did you mean 'restitution'?"}},
        InvalidKey{"restitution_above_one",
                   "restitution: 0.8",
                   "restitution: 1.2",
                   17,
                   "contact.ball-ground.parameters.restitution",
                   {"in (0, 1]", "1.2"}},
        InvalidKey{"restitution_zero",
                   "restitution: 0.8",
                   "restitution: 0",
                   17,
                   "contact.ball-ground.parameters.restitution",
                   {"in (0, 1]", "found 0"}},
        InvalidKey{"stiffness",
                   "stiffness: 1.4e8",
                   "stiffness: -1.4e8",
                   17,
                   "contact.ball-ground.parameters.stiffness",
                   {"> 0 [N/m^1.5]"}},
        InvalidKey{"stiffness_unit",
                   "stiffness: 1.4e8",
                   "stiffness: 1.4e8 N/m^1.5",
                   17,
                   "contact.ball-ground.parameters.stiffness",
                   {"write 1.4e8, the plain number in N/m^1.5"}},
        InvalidKey{"parameter_missing",
                   ", restitution: 0.8",
                   "",
                   17,
                   "contact.ball-ground.parameters.restitution",
                   {"missing"}},
        InvalidKey{"parameter_nan",
                   "restitution: 0.8",
                   "restitution: .nan",
                   17,
                   "contact.ball-ground.parameters.restitution",
                   {"finite"}},
        InvalidKey{"integrator",
                   "name: cvode_index1",
                   "name: cvode_indx1",
                   18,
                   "analysis.integrator.name",
                   {"did you mean 'cvode_index1'?"}},
        InvalidKey{"tolerance", "rtol: 1.0e-9", "rtol: 1", 18, "analysis.integrator.rtol", {"in [1e-14, 0.01]"}},
        InvalidKey{"interval", "interval: 1.0e-3", "interval: 3", 19, "output.interval", {"2 s", "3 s"}},
        InvalidKey{"duplicate",
                   "gravity: [0, 0, -9.81]",
                   "gravity: [0, 0, -9.81]\ngravity: [0, 0, 0]",
                   3,
                   "gravity",
                   {"every key once", "line 2"}},
        InvalidKey{"duplicate_body", "  block:", "  ball:", 5, "ball", {"every key once", "line 4"}},
        InvalidKey{"no_version", "heelstrike: 1", "description: x", 1, "heelstrike", {"missing", "`heelstrike: 1`"}},
        InvalidKey{"newer_version", "heelstrike: 1", "heelstrike: 2", 1, "heelstrike", {"update the program"}},
        InvalidKey{"old_version", "heelstrike: 1", "heelstrike: 0", 1, "heelstrike", {"whole number"}},
        InvalidKey{"not_yaml", "{mass: 1.0", "{mass: 1.0]", 4, "", {"invalid YAML"}},
        InvalidKey{"body_name", "  ball: {mass", "  ba ll: {mass", 4, "bodies", {"letters, digits", "'ba ll'"}},
        InvalidKey{"checkpoints_of_none",
                   "{type: forward, end_time: 2.0, integrator: {name: cvode_index1, rtol: 1.0e-9}}\n"
                   "output: {interval: 1.0e-3}",
                   "{type: kinematic, end_time: 2.0}\noutput: {interval: 1.0e-3, checkpoint_interval: 0.1}",
                   19,
                   "output.checkpoint_interval",
                   {"a forward analysis", "`type: kinematic`", "leave it out"}},
        InvalidKey{"body_ground", "  block:", "  ground:", 6, "bodies.ground", {"other than 'ground'"}},
        InvalidKey{"no_map", "bodies:\n", "bodies: 3\nx:\n", 3, "bodies", {"found 3", "unknown key", "found 'x'"}}),
    [](const auto& info) { return info.param.name; });

/// The ball between the floor and the block.
std::string ball_in_two_pairs(const std::string& second_ball, const std::string& second_rest) {
  std::string text = good;
  const std::string pair =
      text.substr(text.find("  ball-ground:"), text.find("analysis:") - text.find("  ball-ground:"));
  const std::string body =
      "main: {body: ball, surface: {sphere: {radius: 0.1}}, material: {youngs_modulus: 1.0e6, "
      "poissons_ratio: 0.3, density: 1000}}\n    ";
  const std::string floor = "partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}\n    ";
  const std::string block = "partner: {body: block, surface: {plane: {normal: [0, 0, 1]}}}\n    ";
  std::string second = second_ball.empty() ? body : second_ball;
  text.replace(text.find(pair), pair.size(),
               "  ball-ground:\n    " + body + floor + "backend: elastic\n  ball-block:\n    " + second + block +
                   second_rest + "\n");
  return text;
}

// Requirement: a body that two pairs would condense separately is rejected; parts of a body are not, and point laws
// need no compliance.
TEST(Scenario, ElasticBodyInTwoPairsIsRejected) {
  const std::string message = message_of(ball_in_two_pairs("", "backend: elastic"));
  EXPECT_THAT(message, StartsWith("ball.yaml:18: contact.ball-block.main.body: "));
  for (const char* part : {"one pair only", "also in contact.ball-ground", "one surface mesh", "point law"}) {
    EXPECT_THAT(message, HasSubstr(part));
  }
  EXPECT_NO_THROW((void)parse_scenario(ball_in_two_pairs("", "backend: hertz\n    parameters: {stiffness: 1.0e8}"),
                                       "ball.yaml", schemas()));
  EXPECT_NO_THROW(
      (void)parse_scenario(ball_in_two_pairs("", "backend: elastic\n    parameters: {body_box: [0, 0, 0, 1, 1, 1]}"),
                           "ball.yaml", schemas()));
  EXPECT_NO_THROW((void)parse_scenario(
      ball_in_two_pairs("main: {body: ball, surface: {sphere: {radius: 0.1, center: [0, 0, 1]}}, material: "
                        "{youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: 1000}}\n    ",
                        "backend: elastic"),
      "ball.yaml", schemas()));
}

TEST(Scenario, EmptyAndUnusualFilesAreRejected) {
  EXPECT_THAT(message_of(""), HasSubstr("ball.yaml:1: scenario: expected a map"));
  EXPECT_THAT(message_of("just text"), HasSubstr("expected a map"));
  EXPECT_THAT(message_of(good + "---\n" + good), HasSubstr("found a second one"));
  EXPECT_THAT(message_of("a: &a [*a]"), testing::AnyOf(HasSubstr("inside its own anchor"), HasSubstr("invalid YAML")));
  EXPECT_THAT(message_of("? [a, b]\n: c"), HasSubstr("expected a name as key"));
}

std::string example(const std::string& name) {
  std::ifstream file(fmt::format("{}/examples/{}", HEELSTRIKE_SOURCE_DIR, name));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Scenario, ExamplesAreValid) {
  const Scenario ball = parse_scenario(example("bouncing_ball.yaml"), "bouncing_ball.yaml", schemas());
  EXPECT_EQ(ball.pairs.at(0).spec.backend, "flores");
  EXPECT_EQ(ball.bodies.at(0).X_WB.p.z(), 1.0);
  const Scenario spheres = parse_scenario(example("colliding_spheres.yaml"), "colliding_spheres.yaml", schemas());
  EXPECT_EQ(spheres.bodies.at(0).V_WB.v.x() - spheres.bodies.at(1).V_WB.v.x(), 0.3) << "Machado's approach speed";
}

/// Lines of the message about a scenario.
std::vector<std::string> lines_of(const std::string& yaml) {
  std::istringstream message(message_of(yaml));
  std::vector<std::string> lines;
  for (std::string line; std::getline(message, line);) lines.push_back(line);
  return lines;
}

TEST(Scenario, ReportsAllErrorsInTheOrderOfTheFile) {
  std::string yaml = changed("mass: 1.0", "mass: 2,5");  // in braces a comma begins the next key
  const auto replace = [&](const std::string& from, const std::string& to) {
    ASSERT_NE(yaml.find(from), std::string::npos) << from;
    yaml.replace(yaml.find(from), from.size(), to);
  };
  replace("mass: 2\n", "mass: 2,0\n");
  replace("velocity: [1, 2, 3]", "velocity: [1,5, 2, 3]");  // decimal comma in a list
  replace("{body: ball, force", "{body: bal, force");
  replace("radius: 0.1", "radius: -0.1");
  replace("exponent: 1.5, restitution: 0.8", "exponent: 1.5 -, restitutio: 0.8");
  replace("rtol: 1.0e-9", "rtol: 1.0e-9, rtol: 1.0e-8");
  replace("interval: 1.0e-3", "intervall: 1.0e-3");
  using testing::AllOf;
  EXPECT_THAT(
      lines_of(yaml),
      testing::ElementsAre(
          AllOf(StartsWith("ball.yaml:4: bodies.ball.5: unknown key"), HasSubstr("written with a point: 2.5")),
          AllOf(StartsWith("ball.yaml:6: bodies.block.mass: "), HasSubstr("written with a point: 2.0")),
          AllOf(StartsWith("ball.yaml:9: bodies.block.velocity: "), HasSubstr("decimals are written with a point")),
          AllOf(StartsWith("ball.yaml:11: loads.push.body: "), HasSubstr("did you mean 'ball'?")),
          StartsWith("ball.yaml:14: contact.ball-ground.main.surface.sphere.radius: "),
          AllOf(StartsWith("ball.yaml:18: rtol: "), HasSubstr("expected every key once")),
          AllOf(StartsWith("ball.yaml:19: output.intervall: "), HasSubstr("did you mean 'interval'?"))));
  // The pair could not be read before its surface was corrected.
  replace("radius: -0.1", "radius: 0.1");
  const auto lines = lines_of(yaml);
  ASSERT_EQ(lines.size(), 8U) << message_of(yaml);
  EXPECT_THAT(lines[5], StartsWith("ball.yaml:17: contact.ball-ground.parameters.exponent: "));
  EXPECT_THAT(lines[4], AllOf(StartsWith("ball.yaml:17: contact.ball-ground.parameters.restitutio: "),
                              HasSubstr("did you mean 'restitution'?")));
}

TEST(Scenario, ReportsEachErrorOnce) {
  EXPECT_EQ(lines_of(changed("mass: 1.0", "mas: 1.0")).size(), 1U) << "not missing too";
  EXPECT_EQ(lines_of(changed("inertia: [0.1, 0.1, 0.1]", "inertia: [0.1, 0.1]")).size(), 1U)
      << "the body is there for its pairs and loads";
  EXPECT_EQ(lines_of(changed("end_time: 2.0", "end_time: x")).size(), 1U);
}

TEST(Scenario, ReportsTheNumberOfFurtherErrors) {
  std::string yaml = good;
  std::string bodies;
  for (int i = 0; i < 300; ++i) bodies += fmt::format("  b{}: {{mass: -1, inertia: [1, 1, 1]}}\n", i);
  yaml.insert(yaml.find("  ball:"), bodies);
  const auto lines = lines_of(yaml);
  ASSERT_EQ(lines.size(), 21U);
  EXPECT_EQ(lines.back(), "and 280 more");
}

TEST(Scenario, ReportsTabsAndRawBytes) {
  EXPECT_THAT(message_of(changed("  ball: {mass", "\tball: {mass")),
              testing::AllOf(StartsWith("ball.yaml:4: "), HasSubstr("is indented by a tab")));
  EXPECT_THAT(message_of(changed("    mass: 2\n", "\tmass: 2\n")), HasSubstr("line 6 is indented by a tab"));
  EXPECT_THAT(message_of(changed("mass: 2\n", "mass: \xe9\x1b[31m\n")), HasSubstr("\\xe9\\x1b[31m"));
}

// The label is in summaries of completed and of failed runs, on either side of the wire.
TEST(BackendLabel, NamesEachBackendOnceInOneOrder) {
  Scenario scenario;
  EXPECT_EQ(backend_label(scenario), "none");
  EXPECT_EQ(backend_label(scenario, "no-contact"), "no-contact");
  for (const char* backend : {"hooke", "fem_condensed", "hooke"}) {
    scenario.pairs.emplace_back().spec.backend = backend;
  }
  EXPECT_EQ(backend_label(scenario, "no-contact"), "fem_condensed+hooke");
}

}  // namespace
}  // namespace heelstrike
