#include "mbs_server/elements/build_model.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <iterator>

#include "common/errors/error.hpp"
#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/elements/drivers/driver_type.hpp"
#include "mbs_server/elements/fmu_motion.hpp"
#include "mbs_server/elements/forces/force_type.hpp"
#include "mbs_server/elements/joints/joint_type.hpp"

namespace heelstrike::mbs {
namespace {

Load build_load(const Model& model, const LoadSpec& spec) {
  Load load{.name = spec.name,
            .body = find_body(model, spec.body, "loads." + spec.name + ".body"),
            .force = spec.force,
            .torque = spec.torque,
            .point = spec.point,
            .body_fixed = spec.body_fixed};
  constexpr std::array<const char*, 6> keys = {"fx", "fy", "fz", "tx", "ty", "tz"};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (const auto found = spec.functions.find(keys[i]); found != spec.functions.end()) {
      load.functions[i] = resolved(found->second);
    }
  }
  return load;
}

}  // namespace

Model build_model(const Scenario& scenario) {
  Model model{
      .gravity = scenario.gravity, .bodies = {}, .loads = {}, .joints = {}, .drivers = {}, .forces = {}, .pairs = {}};
  for (const auto& spec : scenario.bodies) {
    Body body{.name = spec.name,
              .mass_properties = {.mass = spec.mass, .center_of_mass = spec.center_of_mass, .inertia = spec.inertia},
              .X_WB = spec.X_WB,
              .V_WB = spec.V_WB};
    body.mass_properties.check(spec.name);
    model.bodies.push_back(std::move(body));
  }
  for (const auto& load : scenario.loads) model.loads.push_back(build_load(model, load));
  for (const auto& spec : scenario.joints) {
    model.joints.push_back(config::type_named(joint_types(), spec.type).build(spec, model));
    model.joints.back().coordinates = spec.coordinates;
    model.joints.back().reactions = spec.reactions;
    model.joints.back().where = spec.where;
  }
  for (const auto& spec : scenario.forces) {
    model.forces.push_back(config::type_named(force_types(), spec.type).build(spec, model));
  }
  for (const auto& spec : scenario.drivers) {
    auto drivers = config::type_named(driver_types(), spec.type).build(spec, model);
    std::ranges::move(drivers, std::back_inserter(model.drivers));
  }
  for (const Force& force : model.forces) {
    if (force.fmu) connect_fmu_outputs(force.fmu, model.drivers);
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
