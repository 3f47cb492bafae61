/// A whole scenario from its start to its end, with a run folder, as `heelstrike run`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <heelstrike/error.hpp>
#include <heelstrike/options.hpp>
#include <heelstrike/types.hpp>

namespace hs {

struct RunOptions : OpenOptions {
  std::string mbs = {};     ///< mbs_server: "host:port" or "unix:/path"; empty = integrate in this process
  std::string folder = {};  ///< of the results; must not exist unless `overwrite`
  bool overwrite = false;
  bool hdf5 = false;  ///< of a completed run: rows as timeseries.h5, compressed, in place of timeseries.csv
  /// Sentences that a person should read: warnings, what was left out. Called from the thread that runs; must not
  /// throw.
  std::function<void(const std::string& level, const std::string& text)> on_message = {};
};

struct RunOutcome {
  std::string status;  ///< "completed", "incomplete" (some rows have no solution), "cancelled", "failed"
  std::string reason;  ///< why it did not complete; empty when it did
  ErrorCode code = ErrorCode::internal;  ///< kind of the reason
  bool retryable = false;              ///< whether the same call may succeed later, as of Error
};

/// Runs the scenario and writes its folder: timeseries.csv or timeseries.h5, summary.json, fields, report.html
/// (docs/guide/results.md). A failure of the run itself is no exception but a status; what was computed until then is
/// in the folder.
/// @throws Error when the run could not be started or the folder cannot be written
HEELSTRIKE_API RunOutcome run(const std::string& file, const RunOptions& options, const Changes& changes = {});

/// timeseries.csv of a folder.
struct TimeSeries {
  std::vector<std::string> columns;
  std::vector<double> values;  ///< row by row, one value per column
};
/// @throws Error{file} for a folder without one
[[nodiscard]] HEELSTRIKE_API TimeSeries read_timeseries(const std::string& folder);

/// A contact back-end of this library.
struct Backend {
  std::string name;
  std::string summary;
};
[[nodiscard]] HEELSTRIKE_API std::vector<Backend> backends();

/// "0.1.0"
[[nodiscard]] HEELSTRIKE_API const char* version() noexcept;

}  // namespace hs
