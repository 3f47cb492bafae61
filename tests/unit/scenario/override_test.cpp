#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/errors/error.hpp"
#include "mbs_server/analysis/catalog.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

ParameterSchema positive(const std::string& name) {
  ParameterSchema schema;
  schema.name = name;
  schema.range = {.min = 0.0, .min_excluded = true};
  return schema;
}

BackendSchemas pair_backends() {
  return {{"flores", {positive("stiffness"), positive("restitution")}}, {"hertz", {positive("stiffness")}}};
}

Catalog pair_schemas() {
  return mbs::scenario_catalog(pair_backends());
}

const std::string two_pairs = R"(heelstrike: 1
description: "1.0"  # a text that looks like a number
gravity: [0, 0, -9.81]
bodies:
  a: {mass: 1, inertia: [1, 1, 1]}
  b: {mass: 1, inertia: [1, 1, 1]}
contact:
  a-ground:
    main: {body: a, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {}}}
    backend: flores
    parameters: {stiffness: 1, restitution: 0.8}
  b-ground:
    main: {body: b, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {}}}
    backend: flores
analysis: {end_time: 2}
output: {interval: 1}
)";

Scenario with(const std::string& assignment) {
  return parse_scenario(with_override(two_pairs, "f.yaml", assignment, pair_schemas()), "f.yaml", pair_schemas());
}

std::string override_message(const std::string& assignment) {
  try {
    (void)with(assignment);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_input);
    return e.what();
  }
  return "accepted";
}

TEST(Override, ReplacesAnyKeyAndKeepsTheRest) {
  const Scenario s = with("analysis.end_time=5");
  EXPECT_EQ(s.analysis.end_time, 5.0);
  EXPECT_EQ(s.description, "1.0");
  EXPECT_EQ(s.gravity, Vector3(0, 0, -9.81));
  EXPECT_EQ(s.pairs.size(), 2u);
  EXPECT_EQ(with("gravity=[0, 0, -1.62]").gravity, Vector3(0, 0, -1.62));
  EXPECT_EQ(with("bodies.b.mass=3").bodies[1].mass, 3.0);
  EXPECT_EQ(with("analysis.integrator.rtol=1e-6").analysis.integrator.rtol, 1e-6) << "a map that was not there";
}

TEST(Override, ContactParameterOfAllPairsOrOne) {
  const Scenario all = with("contact.restitution=0.6");
  EXPECT_EQ(number(all.pairs[0].spec.parameters, "restitution"), 0.6);
  EXPECT_EQ(number(all.pairs[1].spec.parameters, "restitution"), 0.6);
  EXPECT_EQ(number(all.pairs[0].spec.parameters, "stiffness"), 1.0) << "the others are unchanged";
  const Scenario one = with("contact.b-ground.restitution=0.6");
  EXPECT_EQ(number(one.pairs[0].spec.parameters, "restitution"), 0.8);
  EXPECT_EQ(number(one.pairs[1].spec.parameters, "restitution"), 0.6);
  EXPECT_EQ(with("contact.b-ground.backend=hertz").pairs[1].spec.backend, "hertz");
  EXPECT_EQ(with("contact.b-ground.main.surface.sphere.radius=0.2").pairs.size(), 2u);
}

TEST(Override, MessagesNameTheOption) {
  EXPECT_THAT(override_message("analysis.end_time=-5"),
              StartsWith("--set analysis.end_time=-5: analysis.end_time: expected"));
  EXPECT_THAT(override_message("contact.restitution=-1"), StartsWith("--set contact.restitution=-1: contact.a-ground"));
  EXPECT_THAT(override_message("contact.restitutoin=0.6"),
              AllOf(StartsWith("--set contact.restitutoin=0.6: "), HasSubstr("did you mean 'restitution'?")));
  EXPECT_THAT(override_message("analysis.end_tme=5"),
              AllOf(StartsWith("--set analysis.end_tme=5: "), HasSubstr("did you mean 'end_time'?")));
  EXPECT_THAT(override_message("restitution=0.6"), HasSubstr("did you mean contact.restitution?"));
  EXPECT_THAT(override_message("contact.youngs_modulus=1e6"),
              HasSubstr("did you mean contact.a-ground.main.material.youngs_modulus?"));
  EXPECT_THAT(override_message("contact.b-ground.density=1e3"),
              HasSubstr("did you mean contact.b-ground.main.material.density?"));
  EXPECT_THAT(override_message("end_time=5"), HasSubstr("did you mean analysis.end_time?"));
  EXPECT_THAT(override_message("integrator.rtol=1e-6"), HasSubstr("did you mean analysis.integrator.rtol?"));
  EXPECT_THAT(override_message("contatc.restitution=0.6"), HasSubstr("did you mean 'contact'?"));
  EXPECT_THAT(override_message("contact.a-grund.restitution=1"), HasSubstr("did you mean 'a-ground'?"));
  EXPECT_THAT(override_message("bodies.c.mass=1"), HasSubstr("expected one of a, b, found 'c'"));
  EXPECT_THAT(override_message("bodies.a={mass: 1}"),
              StartsWith("--set bodies.a={mass: 1}: bodies.a.inertia: missing"));
  EXPECT_THAT(override_message("analysis.end_time"), HasSubstr("expected key=value"));
  EXPECT_THAT(override_message("=3"), HasSubstr("expected key=value"));
  EXPECT_THAT(override_message("analysis..end_time=3"), HasSubstr("single dots"));
  EXPECT_THAT(override_message("gravity=[1, 2"), AllOf(StartsWith("--set gravity=[1, 2"), HasSubstr("invalid YAML")));
}

TEST(Override, MessagesStillNameEarlierOptions) {
  std::string yaml = with_override(two_pairs, "f.yaml", "analysis.end_time=-5", pair_schemas());
  yaml = with_override(yaml, "f.yaml", "contact.restitution=0.6", pair_schemas());
  try {
    (void)parse_scenario(yaml, "f.yaml", pair_schemas());
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), StartsWith("--set analysis.end_time=-5: "));
  }
}

TEST(Override, OtherErrorsKeepTheirLine) {
  std::string yaml = two_pairs;
  yaml.replace(yaml.find("interval: 1}"), 12, "interval: -1}");
  yaml = with_override(yaml, "f.yaml", "analysis.end_time=5", pair_schemas());
  yaml = with_override(yaml, "f.yaml", "contact.a-ground.restitution=0.6", pair_schemas());
  try {
    (void)parse_scenario(yaml, "f.yaml", pair_schemas());
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), StartsWith("f.yaml:18: output.interval: ")) << yaml;
  }
}

/// A flow map puts several values on the line of the note; only the overridden one is responsible.
TEST(Override, NeighboursOnTheLineAreNotReported) {
  std::string yaml = two_pairs;
  yaml.replace(yaml.find("inertia: [1, 1, 1]"), 18, "inertia: [1, 1, 9]");
  yaml = with_override(yaml, "f.yaml", "bodies.a.mass=2", pair_schemas());
  try {
    (void)parse_scenario(yaml, "f.yaml", pair_schemas());
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), StartsWith("f.yaml:5: bodies.a.inertia: ")) << yaml;
  }
}

TEST(Backend, IsReplacedInAllPairsAndDroppedParametersAreReported) {
  std::vector<std::string> dropped;
  const std::string yaml = with_backend(two_pairs, "f.yaml", "hertz", pair_backends(), dropped);
  const Scenario s = parse_scenario(yaml, "f.yaml", pair_schemas());
  EXPECT_EQ(s.pairs[0].spec.backend, "hertz");
  EXPECT_EQ(s.pairs[1].spec.backend, "hertz");
  EXPECT_THAT(dropped, ElementsAre("a-ground.restitution"));
  EXPECT_EQ(s.pairs[0].spec.parameters.size(), 1u);
}

TEST(Backend, WithoutElasticBodiesHasNoMaterialLaws) {
  std::string elastic = two_pairs;
  const std::string side = "main: {body: a, surface: {sphere: {radius: 0.1}}}";
  elastic.replace(elastic.find(side), side.size(),
                  "main: {body: a, surface: {sphere: {radius: 0.1}}, "
                  "material: {youngs_modulus: 1e6, poissons_ratio: 0.3, law: {material_law: yeoh}}, "
                  "materials: {pad: {youngs_modulus: 1e6, poissons_ratio: 0.3, law: {material_law: ogden}}}}");
  std::vector<std::string> dropped;
  const std::string yaml = with_backend(elastic, "f.yaml", "hertz", pair_backends(), dropped);
  EXPECT_THAT(dropped,
              ElementsAre("a-ground.main.material.law", "a-ground.main.materials.pad.law", "a-ground.restitution"));
  const Scenario s = parse_scenario(yaml, "f.yaml", pair_schemas());
  ASSERT_EQ(s.pairs[0].spec.main.materials.size(), 2u);
  EXPECT_TRUE(s.pairs[0].spec.main.materials[1].law.empty());
}

TEST(Backend, UnknownNameIsReportedWithTheKnownOnes) {
  std::vector<std::string> dropped;
  try {
    (void)with_backend(two_pairs, "f.yaml", "herz", pair_backends(), dropped);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), AllOf(StartsWith("--backend herz: "), HasSubstr("flores, hertz"), HasSubstr("'hertz'?")));
  }
}

}  // namespace
}  // namespace heelstrike
