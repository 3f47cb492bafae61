#include "mbs_server/analysis/run.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"
#include "mbs_server/analysis/forward.hpp"

namespace heelstrike::mbs {

RunSummary run_scenario(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                        std::stop_token stop) {
  if (input.scenario.analysis.type == "forward") return run_forward(input, open_contact, sink, std::move(stop));
  throw input_error("analysis.type",
                    fmt::format("analysis.type: expected 'forward', found '{}'", input.scenario.analysis.type));
}

}  // namespace heelstrike::mbs
