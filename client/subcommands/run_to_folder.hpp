/// Common part of `run` and `resume`: runs into a folder, writes its page, and prints the summary.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "client/subcommands/options.hpp"
#include "common/results/run_folder.hpp"
#include "library/terminal/exit_codes.hpp"

namespace heelstrike::client {

/// Output on the terminal and format of the rows.
struct SummaryOptions {
  bool quiet = false;                    ///< only errors
  bool json = false;                     ///< the summary as JSON instead of text
  std::vector<std::string> tables = {};  ///< further formats of the rows of a completed run
};

/// Runs `request`, as execute(). @returns the exit code of the program
[[nodiscard]] ExitCode run_to_folder(Runner& runner, const RunRequest& request, RunFolder& folder,
                                     const SummaryOptions& summary_options, const std::stop_token& stop);
/// The same, with a runner for `connection`.
[[nodiscard]] ExitCode run_to_folder(const RunRequest& request, RunFolder& folder, const ConnectionOptions& connection,
                                     const SummaryOptions& summary_options, const std::stop_token& stop);

}  // namespace heelstrike::client
