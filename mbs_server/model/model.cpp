#include "mbs_server/model/model.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {
namespace {

BodyIndex find_body(const Model& model, const std::string& name, const std::string& where) {
  if (name == "ground") return ground;
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    if (model.bodies[i].name == name) return static_cast<BodyIndex>(i);
  }
  throw input_error(where, fmt::format("{}: expected the name of a body or 'ground', found '{}'", where, name));
}

}  // namespace

Model build_model(const Scenario& scenario) {
  Model model{.gravity = scenario.gravity, .bodies = {}, .loads = {}, .pairs = {}};
  for (const auto& spec : scenario.bodies) {
    Body body{.name = spec.name,
              .mass_properties = {.mass = spec.mass, .center_of_mass = spec.center_of_mass, .inertia = spec.inertia},
              .X_WB = spec.X_WB,
              .V_WB = spec.V_WB};
    body.mass_properties.check(spec.name);
    model.bodies.push_back(std::move(body));
  }
  for (const auto& load : scenario.loads) {
    model.loads.push_back({.body = find_body(model, load.body, "loads." + load.name + ".body"),
                           .force = load.force,
                           .torque = load.torque,
                           .point = load.point,
                           .body_fixed = load.body_fixed});
  }
  for (const auto& pair : scenario.pairs) {
    const std::string where = "contact." + pair.spec.name;
    model.pairs.push_back({.name = pair.spec.name,
                           .main = find_body(model, pair.main_body, where + ".main.body"),
                           .partner = find_body(model, pair.partner_body, where + ".partner.body")});
  }
  return model;
}

}  // namespace heelstrike::mbs
