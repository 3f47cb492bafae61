#include <fmt/format.h>

#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/elements/joints/joint_type.hpp"
#include "mbs_server/formulation/coordinate_map.hpp"
#include "mbs_server/formulation/function_constraint.hpp"
#include "scenario/coordinate_functions.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

void check_coupler(const config::Field& field, const Scenario& scenario) {
  read_coordinate_name(field["coordinate"], field["coordinate"].text(), scenario);
  const auto terms = field.entries_of("of");
  if (terms.empty()) field.reject("functions of other coordinates in `of`", "none", "name at least one");
  for (const config::Field& term : terms) {
    read_coordinate_name(term, term.name(), scenario);
    (void)config::read_coordinate_function(term);
    if (term.name() != field["coordinate"].text()) continue;
    term.reject("a coordinate other than the dependent one", fmt::format("'{}'", term.name()),
                "name another coordinate");
  }
}

Joint build_coupler(const JointSpec& spec, const Model& model) {
  const auto term = [&](const std::string& name, ScalarFunctionPtr f) {
    const CoordinateReference found = find_coordinate(model, name);
    return CoupledTerm{found.joint->map, found.coordinate, std::move(f)};
  };
  std::vector<CoupledTerm> terms = {term(spec.keys["coordinate"].text(), make_power_series({0.0, -1.0}))};
  for (const config::Field& field : spec.keys.entries_of("of")) {
    terms.push_back(term(field.name(), config::read_coordinate_function(field)));
  }
  Joint joint{.name = spec.name};
  joint.make = [name = spec.name, functions = coupled_coordinates(spec.keys["constant"].number(), std::move(terms))](
                   const ConstVector&) { return std::make_unique<FunctionConstraint>(name, functions); };
  return joint;
}

}  // namespace

JointType coupler_joint() {
  JointType type;
  type.name = "coupler";
  type.meaning = "a coordinate of a custom joint is a function of others";
  type.keys = {config::required(config::text("coordinate", "name of the dependent coordinate")),
               config::number("constant", "-", config::coordinates, "added to the functions", 0),
               {.name = "of",
                .kind = config::KeyKind::named,
                .meaning = "functions of other coordinates, by their names, that are added",
                .keys = config::coordinate_function_keys()}};
  type.check = check_coupler;
  type.build = build_coupler;
  return type;
}

}  // namespace heelstrike::mbs
