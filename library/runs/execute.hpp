/// One run from request to finished folder.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>

#include "common/results/run_folder.hpp"
#include "library/runs/runner.hpp"

namespace heelstrike {

/// Runs `request`, writes `folder` and shows progress on stderr. A run that fails or is stopped leaves a folder marked
/// incomplete with everything up to its last committed step.
/// @throws Error when the run could not be started or the folder cannot be written
RunSummary execute(Runner& runner, const RunRequest& request, RunFolder& folder, bool quiet, std::stop_token stop);

/// Writes the skipped or approximated elements of an imported model into the log of the folder.
void log_import(const RunRequest& request, RunFolder& folder);

/// Writes the products of the rows of a completed run, and finishes its folder. @throws Error{file}
void finish_folder(const RunRequest& request, RunFolder& folder, const RunSummary& summary);

/// Default run folder: runs/SCENARIO-BACKEND, with -2, -3, ... appended when it exists.
[[nodiscard]] std::filesystem::path default_folder(const RunRequest& request);

/// The last lines of a run on the terminal. @param scenario  of the run
[[nodiscard]] std::string summary_text(const RunSummary& summary, const Scenario& scenario,
                                       const std::filesystem::path& folder);

}  // namespace heelstrike
