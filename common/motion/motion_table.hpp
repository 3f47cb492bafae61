/// A whole motion file: OpenSim's .mot and .sto, or CSV. The first column is the time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heelstrike {

/// What a motion file says of its angles, or what OpenSim would assume.
struct AngleUnit {
  bool degrees = false;  ///< else radians
  bool stated = false;   ///< false: assumed
};

/// Of the header's inDegrees, or its sentence "Angles are in degrees." (of files before version 1). Where neither is
/// there: degrees in a .mot file before version 1, which is one of SIMM, else radians, as OpenSim reads them.
/// @throws Error{invalid_input} for an inDegrees that is neither yes nor no
[[nodiscard]] AngleUnit angle_unit_of(std::string_view text, const std::string& file_name);

/// Columns as the file gives them, in its units.
struct MotionTable {
  std::string file_name;                     ///< for messages
  std::vector<std::string> headings;         ///< of all columns, the time first
  std::vector<std::vector<double>> columns;  ///< as many as headings, all of one length
  bool in_degrees = false;                   ///< angles are degrees: angle_unit_of
  std::vector<std::string> notes;            ///< where the header does not fit the rows, which are taken

  [[nodiscard]] std::size_t rows() const { return columns.empty() ? 0 : columns.front().size(); }
  [[nodiscard]] const std::vector<double>& times() const { return columns.front(); }  ///< [s] strictly increasing
  [[nodiscard]] bool has(const std::string& heading) const;
  /// @throws Error{invalid_input} that names the nearest heading
  [[nodiscard]] const std::vector<double>& column(const std::string& heading) const;
};

/// Reads and checks a whole file. Counts of the header (nRows, nColumns, or datarows, datacolumns) that do not fit what
/// follows it are noted, and the rows are taken as they are. Of columns with one heading the first is taken, of rows at
/// one time the last; both are noted.
/// @throws Error{invalid_input} "file:line: ..." for a first column that is not `time` or `time_s`, times that go
///         back, rows of another length, entries that are not numbers
[[nodiscard]] MotionTable read_motion_table(std::string_view text, const std::string& file_name);

}  // namespace heelstrike
