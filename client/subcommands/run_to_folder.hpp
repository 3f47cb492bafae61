/// What `run` and `resume` have in common: a run goes into its folder, gets its page, and is told.
#pragma once

#include <stop_token>

#include "library/terminal/exit_codes.hpp"
#include "client/subcommands/options.hpp"
#include "common/results/run_folder.hpp"

namespace heelstrike::client {

/// How much the terminal is told, and what a run leaves.
struct SummaryOptions {
  bool quiet = false;  ///< only errors
  bool json = false;   ///< the summary as JSON in place of sentences
  bool hdf5 = false;   ///< a completed run has timeseries.h5 in place of timeseries.csv
};

/// Runs `request`, as execute(). @returns what the program ends with
[[nodiscard]] ExitCode run_to_folder(Runner& runner, const RunRequest& request, RunFolder& folder,
                                     const SummaryOptions& summary_options, const std::stop_token& stop);
/// The same, with a runner made for it.
[[nodiscard]] ExitCode run_to_folder(const RunRequest& request, RunFolder& folder, const ConnectionOptions& connection,
                                     const SummaryOptions& summary_options, const std::stop_token& stop);

}  // namespace heelstrike::client
