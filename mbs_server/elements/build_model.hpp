/// From a scenario to its multibody model.
#pragma once

#include "scenario/scenario.hpp"
#include "mbs_server/formulation/model.hpp"

namespace heelstrike::mbs {

/// Resolves names and checks what only the model can know.
/// @throws Error{invalid_input} for unphysical mass properties, unknown bodies, and what the types of elements refuse
[[nodiscard]] Model build_model(const Scenario& scenario);

}  // namespace heelstrike::mbs
