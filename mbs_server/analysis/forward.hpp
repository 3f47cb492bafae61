/// Forward dynamics from the initial state (or a checkpoint) to the end time.
#pragma once

#include <stop_token>

#include "mbs_server/analysis/run.hpp"

namespace heelstrike::mbs {

[[nodiscard]] RunSummary run_forward(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                                     std::stop_token stop);

}  // namespace heelstrike::mbs
