/// One run from start to end: the only entry of the multibody side, used alike by the gRPC service, by in-process runs
/// and by tests.
#pragma once

#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "common/config/catalog.hpp"
#include "common/contact/contact.hpp"
#include "common/results/run_records.hpp"

namespace heelstrike::mbs {

struct RunInput {
  Scenario scenario;
  std::vector<AssetContent> assets;       ///< files that the scenario names
  std::string run_id;                     ///< for logs
  std::string scenario_digest;            ///< sha256 of the scenario text and the files it names
  std::optional<Checkpoint> resume_from;  ///< none = from the initial state
};

/// What describes a type of analysis. A new one is its file and its entry in run.cpp.
struct AnalysisType : AnalysisSchema {
  RunSummary (*run)(const RunInput& input, const ContactFactory& open_contact, RunSink& sink, std::stop_token stop);
};
[[nodiscard]] std::span<const AnalysisType> analysis_types();

/// Runs the analysis of `input.scenario` to its end, to a failure or until `stop` is requested.
/// Never throws for a failure of the run itself: the summary then has status "failed" and the error, and everything up
/// to the last committed step has been given to `sink`.
/// @throws Error{invalid_input} before the run starts, for a model that cannot be built
[[nodiscard]] RunSummary run_scenario(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                                      std::stop_token stop);

}  // namespace heelstrike::mbs
