#include "mbs_server/analysis/run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/errors/error.hpp"
#include "mbs_server/analysis/forward.hpp"
#include "mbs_server/analysis/prescribed.hpp"
#include "mbs_server/analysis/static_run.hpp"

namespace heelstrike::mbs {
namespace {

struct AnalysisEntry {
  std::string_view type;
  RunSummary (*run)(const RunInput&, const ContactFactory&, RunSink&, std::stop_token);
};

constexpr AnalysisEntry analyses[] = {
    {.type = "forward", .run = run_forward}, {.type = "kinematic", .run = run_kinematic},
    {.type = "inverse", .run = run_inverse}, {.type = "static", .run = run_static},
    {.type = "hybrid", .run = run_hybrid},
};

}  // namespace

RunSummary run_scenario(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                        std::stop_token stop) {
  std::vector<std::string_view> types;
  for (const auto& entry : analyses) {
    if (entry.type == input.scenario.analysis.type) return entry.run(input, open_contact, sink, std::move(stop));
    types.push_back(entry.type);
  }
  throw input_error("analysis.type", fmt::format("analysis.type: expected one of {}, found '{}'",
                                                 fmt::join(types, ", "), input.scenario.analysis.type));
}

}  // namespace heelstrike::mbs
