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
  void (*check)(int degrees_of_freedom) = [](int) {};  ///< what the analysis asks of the model
};

constexpr AnalysisEntry analyses[] = {
    {.type = "forward", .run = run_forward},
    {.type = "kinematic", .run = run_kinematic, .check = require_prescribed_motion},
    {.type = "inverse", .run = run_inverse, .check = require_prescribed_motion},
    {.type = "static", .run = run_static},
    {.type = "hybrid", .run = run_hybrid, .check = require_prescribed_motion},
};

const AnalysisEntry& find_analysis(const std::string& type) {
  std::vector<std::string_view> types;
  for (const auto& entry : analyses) {
    if (entry.type == type) return entry;
    types.push_back(entry.type);
  }
  throw input_error("analysis.type",
                    fmt::format("analysis.type: expected one of {}, found '{}'", fmt::join(types, ", "), type));
}

}  // namespace

RunSummary run_scenario(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                        std::stop_token stop) {
  return find_analysis(input.scenario.analysis.type).run(input, open_contact, sink, std::move(stop));
}

ModelDescription describe_scenario(const Scenario& scenario, const std::stop_token& stop) {
  ModelDescription description = describe_model(scenario, stop);
  find_analysis(scenario.analysis.type).check(description.degrees_of_freedom);
  return description;
}

}  // namespace heelstrike::mbs
