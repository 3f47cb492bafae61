/// The same scenario with several back-ends or coupling schemes, side by side.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "library/runs/exit_codes.hpp"
#include "common/text/table.hpp"
#include "common/results/run_folder.hpp"
#include "common/results/run_records.hpp"

namespace heelstrike::client {

/// How far the bodies of a run are from those of another one of the same scenario.
struct PositionError {
  double largest = 0.0;   ///< [m] distance of the origins of a body in both runs, over all bodies and times of both
  double relative = 0.0;  ///< [-] over the largest distance that a body has from its start in the other run
};
/// @throws Error{invalid_input} when the runs have not the same bodies
[[nodiscard]] PositionError position_error(const TimeSeries& run, const TimeSeries& reference);

/// Largest values of the rows of a time series, over all pairs; none = no contact model told one above zero, as of
/// rigid bodies.
struct PeakContact {
  std::optional<double> peak_pressure = {};  ///< [Pa]
  std::optional<double> area = {};           ///< [m^2]
};
[[nodiscard]] PeakContact find_peak_contact(const TimeSeries& run);

/// What below a table says which contact its columns are of.
inline constexpr const char* first_contact_note =
    "Force, indentation, duration, speed and restitution are those of the first contact; pressure and area are the "
    "largest of the run.\n";

/// One line of a comparison.
struct ComparisonRow {
  std::string backend;
  /// Keys that a sweep varies and their values, as they were assigned; the same keys in every row.
  std::vector<std::pair<std::string, std::string>> parameters = {};
  std::string folder;   ///< of the run, relative to the comparison's folder; empty when it never began
  RunSummary summary;   ///< how it ended
  std::string failure;  ///< why there are no results, or only some; empty when the run completed
  std::optional<PositionError> position_error = {};  ///< of coupling schemes
  PeakContact largest = {};
};

/// Force, indentation, duration, separation speed and restitution are those of the first contact of the run, so that
/// all back-ends are compared under the same approach; pressure and area, energy balance, steps, evaluations and wall
/// time are of the whole run. A run without some of its frames has its numbers, is told beside its name, and is not
/// compared.
struct Comparison {
  std::string scenario;
  std::string reference;             ///< back-end or scheme that the others are measured against; empty = none
  std::string subject = "back-end";  ///< what the rows are of
  std::vector<ComparisonRow> rows;

  /// Worst of its rows: failures before incomplete runs.
  [[nodiscard]] ExitCode exit_code() const;
  /// One sentence for every row that did not complete.
  [[nodiscard]] std::vector<std::string> failures() const;
  /// For a person: few digits, deviations from the reference in percent.
  [[nodiscard]] Table table() const;
  [[nodiscard]] std::string csv() const;
  [[nodiscard]] std::string json() const;
  [[nodiscard]] std::string markdown() const;
};

}  // namespace heelstrike::client
