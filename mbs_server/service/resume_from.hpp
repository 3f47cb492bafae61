/// A run that goes on, from what a client keeps of it.
#pragma once

#include <string_view>

#include "mbs_server/simulation/run_input.hpp"

namespace heelstrike::mbs {

/// The input goes on from a checkpoint. @param bytes  of it, a message of simulation.proto, as a client keeps them
/// @throws Error{invalid_input} for bytes that are none, and for one of another scenario or other files
void resume_from(std::string_view bytes, RunInput& input);

}  // namespace heelstrike::mbs
