/// One run from start to end: the only entry of the multibody side, used by the gRPC service, by in-process runs and by
/// tests.
#pragma once

#include <span>
#include <stop_token>

#include "common/results/run_records.hpp"
#include "mbs_server/simulation/run_input.hpp"
#include "scenario/catalog.hpp"

namespace heelstrike::mbs {

/// Description of a type of analysis. A new one needs its file and its name in run.cpp.
struct AnalysisType : AnalysisSchema {
  RunSummary (*run)(const RunInput& input, const ContactFactory& open_contact, RunSink& sink, std::stop_token stop);
  /// Rejects models that the analysis does not support, as its run would; null = supports all.
  /// @param degrees_of_freedom  remaining with joints and drivers
  void (*check_model)(int degrees_of_freedom) = nullptr;
  /// Rejects pairs that the analysis does not support, as its run would; null = supports all.
  void (*check_pairs)(const Scenario& scenario, std::span<const PairDescription> pairs) = nullptr;
};
[[nodiscard]] std::span<const AnalysisType> analysis_types();

/// Runs the analysis of `input.scenario` to its end, to a failure or until `stop` is requested. The model is checked
/// before its contact is prepared.
/// Never throws for a failure of the run itself: the summary then has status "failed" and the error, and all output up
/// to the last committed step has been passed to `sink`.
/// @throws Error{invalid_input} before the run starts, for a model that cannot be built
[[nodiscard]] RunSummary run_scenario(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                                      std::stop_token stop);

/// Describes the model and checks that the analysis supports it; its contact is not prepared.
/// @throws Error{invalid_input} as the run would before its contact is prepared
[[nodiscard]] ModelDescription describe_scenario(const Scenario& scenario, const std::stop_token& stop = {});

/// Checks that the analysis supports these pairs, before they are opened.
/// @param pairs  predicted descriptions, one for each pair of the scenario
/// @throws Error{invalid_input} as the run would
void check_pairs(const Scenario& scenario, std::span<const PairDescription> pairs);

/// Checks that a host can advance the scenario in time, in a Simulation, to the results of its run.
/// @throws Error{invalid_input} for an analysis that is computed only as a whole, with those that a host can advance;
/// as describe_scenario for a model that the analysis does not support
void check_steppable(const Scenario& scenario, const std::stop_token& stop = {});

/// Checks the files of the FMUs of the scenario and what refers to them as the run would, without loading them.
/// @throws Error{invalid_input}
void check_fmu_files(const RunInput& input, const std::stop_token& stop = {});

/// Checks the assembled initial state as the run would. Opens all pairs: only for scenarios with rigid pairs, which are
/// inexpensive.
/// @throws Error{invalid_input} for rigid bodies that overlap, with the pair
void check_rigid_start(const RunInput& input, const ContactFactory& open_contact, const std::stop_token& stop = {});

}  // namespace heelstrike::mbs
