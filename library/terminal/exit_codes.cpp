#include "library/terminal/exit_codes.hpp"

namespace heelstrike {

ExitCode exit_code(const Error& error) {
  switch (error.code()) {
    case ErrorCode::invalid_input:
      return ExitCode::bad_input;
    case ErrorCode::unavailable:
    case ErrorCode::deadline:
      return ExitCode::unavailable;
    case ErrorCode::limit:
      // A full server may accept the run later, or another server may; a mesh or a memory demand above the limits is a
      // property of the run.
      return error.retryable() ? ExitCode::unavailable : ExitCode::run_failed;
    case ErrorCode::version_mismatch:
      return ExitCode::version_mismatch;
    case ErrorCode::file:
      return ExitCode::file;
    case ErrorCode::cancelled:
      return ExitCode::interrupted;
    case ErrorCode::out_of_order:
    case ErrorCode::not_found:
    case ErrorCode::recoverable:
    case ErrorCode::solver_failed:
    case ErrorCode::unimplemented:
      return ExitCode::run_failed;
    case ErrorCode::internal:
      return ExitCode::internal;
  }
  return ExitCode::internal;
}

ExitCode exit_code(const RunSummary& summary) {
  if (summary.status == "completed") return ExitCode::ok;
  if (summary.status == "incomplete") return ExitCode::incomplete;
  if (!summary.error) return ExitCode::run_failed;
  const ExitCode code = exit_code(*summary.error);
  return code == ExitCode::bad_input ? ExitCode::run_failed : code;
}

}  // namespace heelstrike
