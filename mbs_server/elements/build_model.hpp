/// Builds the multibody model of a scenario, with its drivers by functions and by FMUs.
#pragma once

#include <memory>
#include <vector>

#include "mbs_server/formulation/model.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

/// Replaces the functions of the driven coordinates by the outputs of `unit`: the cubic through value and rate at both
/// ends of each communication step, starting from value and rate of the driver's function at t = 0. Value and rate
/// are continuous, the acceleration is not.
/// @throws Error{invalid_input} for an unknown driver or coordinate
void connect_fmu_outputs(const std::shared_ptr<SampledFmu>& unit, std::vector<Driver>& drivers);

/// Resolves names and checks what requires the complete model.
/// @throws Error{invalid_input} for unphysical mass properties, unknown bodies, and input that an element type rejects
[[nodiscard]] Model build_model(const Scenario& scenario);

}  // namespace heelstrike::mbs
