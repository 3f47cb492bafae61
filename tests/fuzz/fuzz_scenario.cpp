/// Fuzz target: for any bytes of a scenario file, parsing returns a scenario or throws Error{invalid_input} with file
/// and line; a valid scenario remains valid when an override writes it out again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/errors/error.hpp"
#include "scenario/catalog.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace {

using namespace heelstrike;

BackendSchemas backends() {
  ParameterSchema stiffness;
  stiffness.name = "stiffness";
  stiffness.range = {.min = 0.0, .min_excluded = true};
  ParameterSchema restitution;
  restitution.name = "restitution";
  restitution.range = {.min = 0.0, .max = 1.0, .min_excluded = true};
  return {{"flores", {stiffness, restitution}}, {"hunt_crossley", {stiffness, restitution}}};
}

/// Types of every kind, with keys of every kind; the real ones need more than the scenario reader.
Catalog catalog() {
  using namespace config;
  ElementType spring{.name = "spring_damper", .meaning = "spring", .keys = attachment_keys({})};
  spring.keys.push_back(required(number("stiffness", "N/m", stiffnesses, "slope")));
  const JointSchema revolute{
      {.name = "revolute", .meaning = "hinge", .keys = attachment_keys({.axes = AttachmentKeys::Axes::one})},
      {.angle = true}};
  const JointSchema spherical{{.name = "spherical", .meaning = "ball", .keys = attachment_keys({})}, {}};
  const DriverSchema body{{.name = "body",
                           .meaning = "moves a body",
                           .keys = {required(text("body", "which")), required(function_keys("x", "m", "position"))}},
                          [](const Field& field, DriverSpec& driver, Scenario& scenario) {
                            driver.body = read_body_name(field["body"], scenario.bodies, false);
                            driver.functions.emplace(
                                "x", read_function(field["x"], scenario.analysis.end_time, scenario.files));
                          }};
  const ElementType adaptive{.name = "arkode_erk", .meaning = "finds its step"};
  const ElementType fixed{
      .name = "rk4", .meaning = "fixed step", .keys = {required(number("step", "s", times, "the step"))}};
  return {.joints = {revolute, spherical},
          .forces = {spring},
          .drivers = {body},
          .integrators = {adaptive, fixed},
          .default_integrators = {"arkode_erk", "arkode_erk", "arkode_erk"},
          .analyses = {{{.name = "forward", .meaning = "motion"}, {.finds_events = true, .steppable = true}},
                       {{.name = "kinematic", .meaning = "contact", .keys = {balance_keys()}}, {.prescribed = true}}},
          .couplings = {{.name = "monolithic", .meaning = "one system"},
                        {.name = "jacobi",
                         .meaning = "macro steps",
                         .keys = {required(number("macro_step", "s", times, "distance of exchanges"))}}},
          .backends = backends()};
}

[[noreturn]] void broken(const char* promise, const char* message) {
  std::fprintf(stderr, "broken promise: %s\n%s\n", promise, message);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Catalog known = catalog();
  const std::string yaml(reinterpret_cast<const char*>(data), size);
  try {
    (void)parse_scenario(yaml, "fuzz.yaml", known);
  } catch (const Error& e) {
    const std::string message = e.what();
    if (e.code() != ErrorCode::invalid_input) broken("invalid_input", e.what());
    if (!message.starts_with("fuzz.yaml:") && !message.starts_with("--")) broken("file and line", e.what());
    return 0;
  }
  try {
    const std::string changed = with_override(yaml, "fuzz.yaml", "description=changed", known);
    if (parse_scenario(changed, "fuzz.yaml", known).description != "changed") broken("override", changed.c_str());
  } catch (const Error& e) {
    broken("a good scenario stays good", e.what());
  }
  return 0;
}
