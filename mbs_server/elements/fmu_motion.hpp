/// Drivers whose motion a unit for co-simulation prescribes.
#pragma once

#include <memory>
#include <vector>

#include "mbs_server/formulation/model.hpp"

namespace heelstrike::mbs {

/// Puts the motion that `unit` gives in the place of the functions of the drivers that it names: the cubic through
/// value and rate at both ends of each communication step, which begins with value and rate of the driver's own
/// function at t = 0. Value and rate are continuous, the acceleration is not.
/// @throws Error{invalid_input} for a driver or coordinate that is not there
void connect_fmu_outputs(const std::shared_ptr<SampledFmu>& unit, std::vector<Driver>& drivers);

}  // namespace heelstrike::mbs
