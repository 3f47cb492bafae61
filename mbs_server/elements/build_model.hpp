/// Builds the multibody model of a scenario.
#pragma once

#include "mbs_server/formulation/model.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

/// Resolves names and checks what requires the complete model.
/// @throws Error{invalid_input} for unphysical mass properties, unknown bodies, and input that an element type rejects
[[nodiscard]] Model build_model(const Scenario& scenario);

}  // namespace heelstrike::mbs
