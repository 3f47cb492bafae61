/// The FMUs of a scenario, for callers that do not build its model.
#pragma once

#include <string>
#include <vector>

#include "mbs_server/elements/forces/force_type.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

/// Locations ("file:line: forces.NAME") of the force elements that step an FMU.
[[nodiscard]] inline std::vector<std::string> fmu_elements(const Scenario& scenario) {
  std::vector<std::string> locations;
  for (const ElementSpec& force : scenario.forces) {
    if (steps_fmu(force)) locations.push_back(force.where);
  }
  return locations;
}

}  // namespace heelstrike::mbs
