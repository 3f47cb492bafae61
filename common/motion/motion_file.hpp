/// Columns of motion files: OpenSim's .mot and .sto (a header that ends with `endheader`, then headings and rows) and
/// CSV (headings and rows). A byte-order mark, quotes around headings and numbers, and lines that begin with #
/// (comments, or the headings if none follow) are accepted.
///
/// A complete motion file: OpenSim .mot and .sto, or CSV. The first column is the time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heelstrike {

/// Columns of numbers by heading. Entries are separated like the headings: by commas, by semicolons (numbers may then
/// have a decimal comma), or by tabs and blanks.
/// @param file_name  for messages
/// @param lines  becomes the line numbers of the headings and of every row
/// @throws Error{invalid_input} "file:line: ..." for a missing column (the headings found are listed), rows
///         of another length, or entries of these columns that are not numbers
[[nodiscard]] std::vector<std::vector<double>> motion_columns(std::string_view text, const std::string& file_name,
                                                              std::span<const std::string> headings,
                                                              std::vector<std::size_t>* lines = nullptr);

/// Keeps the last of consecutive rows at the same time, which result from an event or from few digits.
/// @param columns  the time first
/// @returns the times of the removed rows
std::vector<double> remove_duplicate_times(std::vector<std::vector<double>>& columns);

/// Note for the times of remove_duplicate_times: the number of rows, and the first times. Empty without any.
[[nodiscard]] std::string duplicate_times_note(const std::string& file_name, std::span<const double> times);

/// One column.
[[nodiscard]] std::vector<double> motion_column(std::string_view text, const std::string& file_name,
                                                const std::string& heading);

/// All headings of the file in order; empty without a row of text.
[[nodiscard]] std::vector<std::string> motion_headings(std::string_view text);

/// Angle unit of a motion file, as stated or as assumed by OpenSim.
struct AngleUnit {
  bool degrees = false;  ///< else radians
  bool stated = false;   ///< false: assumed
};

/// From the header's inDegrees, or its sentence "Angles are in degrees." (files before version 1). Without both:
/// degrees in a .mot file before version 1 (SIMM), else radians, as in OpenSim.
/// @throws Error{invalid_input} for an inDegrees that is neither yes nor no
[[nodiscard]] AngleUnit angle_unit_of(std::string_view text, const std::string& file_name);

/// Unit in a heading: `q_deg`, `q [deg]`, `q (degrees)`, `q_rad`, ... None for headings without a unit of angles.
[[nodiscard]] std::optional<AngleUnit> angle_unit_in_heading(std::string_view heading);

/// Columns of the file, in its units.
struct MotionTable {
  std::string file_name;                     ///< for messages
  std::vector<std::string> headings;         ///< of all columns, time first
  std::vector<std::vector<double>> columns;  ///< as many as headings, all of one length
  bool in_degrees = false;                   ///< angles are degrees: angle_unit_of
  bool unit_stated = false;                  ///< of angles; false: `in_degrees` is assumed
  std::vector<std::string> notes;            ///< mismatches between header and rows; the rows are used

  [[nodiscard]] std::size_t rows() const { return columns.empty() ? 0 : columns.front().size(); }
  [[nodiscard]] const std::vector<double>& times() const { return columns.front(); }  ///< [s] strictly increasing
  [[nodiscard]] bool has(const std::string& heading) const;
  /// @throws Error{invalid_input} with the nearest heading
  [[nodiscard]] const std::vector<double>& column(const std::string& heading) const;
};

/// Reads and checks a complete file. Counts in the header (nRows, nColumns, or datarows, datacolumns) that do not match
/// the data are noted, and the rows are used. Of columns with the same heading the first is used, of rows at the same
/// time the last; both are noted.
/// @throws Error{invalid_input} "file:line: ..." for a first column that is not `time` or `time_s`, decreasing times,
/// rows of another length, entries that are not numbers
[[nodiscard]] MotionTable read_motion_table(std::string_view text, const std::string& file_name);

}  // namespace heelstrike
