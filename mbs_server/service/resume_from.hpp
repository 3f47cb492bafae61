/// Resumption of a run from the checkpoint of a client.
#pragma once

#include <string_view>

#include "mbs_server/simulation/run_input.hpp"

namespace heelstrike::mbs {

/// Sets the checkpoint from which the input resumes. @param bytes  of a message of simulation.proto, stored by a client
/// @throws Error{invalid_input} for other bytes, and for a checkpoint of another scenario or other files
void resume_from(std::string_view bytes, RunInput& input);

}  // namespace heelstrike::mbs
