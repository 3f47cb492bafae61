/// Comparison of a scenario with several back-ends or coupling schemes.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/results/run_folder.hpp"
#include "common/results/run_records.hpp"
#include "common/text/table.hpp"
#include "library/terminal/exit_codes.hpp"

namespace heelstrike::client {

/// Distance between the bodies in two runs of the same scenario.
struct PositionError {
  double largest = 0.0;   ///< [m] distance of the origins of a body, maximum over all bodies and times
  double relative = 0.0;  ///< [-] relative to the largest distance of a body from its start in the reference run
};
/// @throws Error{invalid_input} when the runs do not have the same bodies
[[nodiscard]] PositionError position_error(const TimeSeries& run, const TimeSeries& reference);

/// Peak values of the rows of a time series, over all pairs; none = no contact model reported a positive value, as for
/// rigid bodies.
struct PeakContact {
  std::optional<double> peak_pressure = {};  ///< [Pa]
  std::optional<double> area = {};           ///< [m^2]
};
[[nodiscard]] PeakContact find_peak_contact(const TimeSeries& run);

/// Note below a table about the contact of its columns.
inline constexpr const char* first_contact_note =
    "Force, indentation, duration, velocity and restitution are those of the first contact; pressure and area are the "
    "peak values of the run.\n";

/// The quantities of a comparison that a run has, by their column names in files ("max_force_N"), finite.
using Quantities = std::map<std::string, double>;
/// @param peak  of the rows of the run
[[nodiscard]] Quantities quantities_of(const RunSummary& summary, const PeakContact& peak = {});

/// One line of a comparison.
struct ComparisonRow {
  std::string backend;
  /// Keys that a sweep varies, with their values as assigned; the same keys in every row.
  std::vector<std::pair<std::string, std::string>> parameters = {};
  std::string folder;             ///< of the run, relative to that of the comparison; empty when it was not started
  std::string status = "failed";  ///< of the run, see RunSummary
  std::string failure;            ///< reason for missing or incomplete results; empty when the run completed
  std::optional<PositionError> position_error = {};  ///< of coupling schemes
  Quantities quantities = {};
};

/// Force, indentation, duration, separation velocity and restitution are those of the first contact of the run, so that
/// all back-ends are compared at the same approach; pressure, area, energy balance, steps, evaluations and wall time
/// are those of the whole run. Tables and files have the quantities that at least one run has. A run without some of
/// its frames is shown with its numbers and status, and is not compared.
struct Comparison {
  std::string scenario;
  std::string reference;             ///< back-end or scheme for the deviations; empty = none
  std::string subject = "back-end";  ///< kind of the rows
  std::vector<ComparisonRow> rows;
  std::map<std::string, std::string> units = {};  ///< SI, of the keys that a sweep varies; without those of none
  std::size_t n_planned = 0;                      ///< runs of a sweep, ended or not; 0 = those of the rows

  /// Worst code of the rows: failures before incomplete runs.
  [[nodiscard]] ExitCode exit_code() const;
  /// One sentence for every row that did not complete.
  [[nodiscard]] std::vector<std::string> failures() const;
  /// For terminals: few digits, deviations from the reference in percent.
  [[nodiscard]] Table table() const;
  [[nodiscard]] std::string csv() const;
  [[nodiscard]] std::string json() const;
  [[nodiscard]] std::string markdown() const;
};

}  // namespace heelstrike::client
