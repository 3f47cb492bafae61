/// A whole scenario from start to end, with a run folder, as in `heelstrike run`.
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
  std::string folder = {};  ///< folder of the results; must not exist unless `overwrite`
  bool overwrite = false;
  std::vector<std::string> tables = {};  ///< further tables of a completed run, by name; see table_formats()
  /// Receives messages for the user: warnings and omissions. Called from the thread of the run; must not throw.
  std::function<void(const std::string& level, const std::string& text)> on_message = {};
};

struct RunOutcome {
  std::string status;  ///< "completed", "incomplete" (some rows have no solution), "cancelled", "failed"
  std::string reason;  ///< why it did not complete; empty when it completed
  ErrorCode code = ErrorCode::internal;  ///< kind of the reason
  bool retryable = false;                ///< the same call may succeed later, as in Error
};

/// Runs the scenario and writes its folder: timeseries.csv or another table, summary.json, fields, report.html
/// (docs/guide/results.md). A failure of the run itself is a status, not an exception; the results up to the failure
/// are in the folder.
/// @throws Error when the run could not be started or the folder cannot be written
HEELSTRIKE_API RunOutcome run(const std::string& file, const RunOptions& options, const Changes& changes = {});

/// timeseries.csv of a run folder.
struct TimeSeries {
  std::vector<std::string> columns;
  std::vector<double> values;  ///< row by row, one value per column
};
/// @throws Error{file} for a folder without time series
[[nodiscard]] HEELSTRIKE_API TimeSeries read_timeseries(const std::string& folder);

/// Meaning of the name of a column: "ball-ground.fz_N" is fz of ball-ground in N.
struct ColumnName {
  std::string owner;       ///< body, pair or joint: "ball-ground"; "energy" for energies; may be empty
  std::string short_name;  ///< "fz"
  std::string unit;        ///< "N"; "-" when the name has none
  std::string quantity;    ///< what is drawn in one chart: "force", "cop", "position", or the short name
};
/// Names of all columns of one table; those of regions are identified by their neighbours.
[[nodiscard]] HEELSTRIKE_API std::vector<ColumnName> read_column_names(const std::vector<std::string>& names);

/// A contact back-end of this library.
struct Backend {
  std::string name;
  std::string summary;
};
[[nodiscard]] HEELSTRIKE_API std::vector<Backend> backends();

/// A format of a further table of a run, e.g. "hdf5": timeseries.h5, compressed, instead of timeseries.csv.
struct Table {
  std::string name;
  std::string option;  ///< of `heelstrike run`
  std::string description;
};
[[nodiscard]] HEELSTRIKE_API std::vector<Table> table_formats();

/// "0.1.0"
[[nodiscard]] HEELSTRIKE_API const char* version() noexcept;

}  // namespace hs
