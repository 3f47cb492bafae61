/// Exit codes of the program; the user documentation is in docs/reference/cli.md and in every --help.
#pragma once

#include <string_view>

#include "common/errors/error.hpp"
#include "common/results/run_records.hpp"

namespace heelstrike {

enum class ExitCode : int {
  ok = 0,
  internal = 1,          ///< a defect of the program
  bad_input = 2,         ///< command line, scenario or one of its files
  run_failed = 3,        ///< the simulation itself, or one row of a comparison
  unavailable = 4,       ///< a server is not reachable, failed, is full, or did not respond in time
  file = 5,              ///< a folder or file cannot be read or written, the disk is full
  version_mismatch = 6,  ///< client and server use different versions of the contract
  incomplete = 7,        ///< the run reached its end, but some frames have no solution
  interrupted = 130      ///< Ctrl-C or SIGTERM
};

[[nodiscard]] ExitCode exit_code(const Error& error);
/// Code of a run that was started; its errors are not attributed to the command line.
[[nodiscard]] ExitCode exit_code(const RunSummary& summary);
[[nodiscard]] constexpr int to_int(ExitCode code) {
  return static_cast<int>(code);
}

/// The list at the end of every --help, which breaks its lines.
inline constexpr std::string_view exit_code_help =
    "Exit codes: 0 done; 2 bad command line or scenario; 3 the run failed; 4 server unreachable or no response in "
    "time; 5 file or folder error; 6 program versions do not match; 7 frames without a solution; 130 interrupted; "
    "1 defect of the program.";

}  // namespace heelstrike
