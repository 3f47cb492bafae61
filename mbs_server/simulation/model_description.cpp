#include "mbs_server/simulation/model_description.hpp"

#include <fmt/format.h>

#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/simulation/coupled_model.hpp"

namespace heelstrike::mbs {

ModelDescription describe_model(const Scenario& scenario, const std::stop_token& stop) {
  CoupledModel model(scenario, build_model(scenario), stop);
  const System& system = model.system();
  const int n_before = system.n_constraints();
  ModelDescription description;
  model.assemble([&](std::string_view level, const std::string& text) {
    description.notes.push_back(fmt::format("{}: {}", level, text));
  });
  description.n_redundant = n_before - system.n_constraints();
  for (std::size_t i = system.model().bodies.size(); i < system.constraints().size(); ++i) {
    const Constraint& constraint = *system.constraints()[i];
    ConstraintDescription& entry = description.constraints.emplace_back();
    entry.name = constraint.name();
    entry.prescribes = constraint.depends_on_time();
    entry.n_equations = constraint.rows();
    for (const BodyIndex body : system.bodies_of(i)) {
      entry.bodies.push_back(system.model().bodies[static_cast<std::size_t>(body)].name);
    }
  }
  for (const auto& force : system.forces()) {
    if (force.get() != &model.contact_force()) description.forces.push_back(force->name());
  }
  description.degrees_of_freedom = system.n_q() - system.n_constraints();
  return description;
}

}  // namespace heelstrike::mbs
