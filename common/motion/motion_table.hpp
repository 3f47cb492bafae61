/// A whole motion file: OpenSim's .mot and .sto, or CSV. The first column is the time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heelstrike {

/// Columns as the file gives them, in its units.
struct MotionTable {
  std::string file_name;                     ///< for messages
  std::vector<std::string> headings;         ///< of all columns, the time first
  std::vector<std::vector<double>> columns;  ///< as many as headings, all of one length
  bool in_degrees = false;                   ///< the header says inDegrees=yes: angles are degrees

  [[nodiscard]] std::size_t rows() const { return columns.empty() ? 0 : columns.front().size(); }
  [[nodiscard]] const std::vector<double>& times() const { return columns.front(); }  ///< [s] strictly increasing
  [[nodiscard]] bool has(const std::string& heading) const;
  /// @throws Error{invalid_input} that names the nearest heading
  [[nodiscard]] const std::vector<double>& column(const std::string& heading) const;
};

/// Reads and checks a whole file. What the header says (nRows, nColumns, or datarows, datacolumns; inDegrees) must fit
/// what follows it.
/// @throws Error{invalid_input} "file:line: ..." for wrong counts, a first column that is not `time` or `time_s`, times
///         that do not increase, headings given twice, rows of another length, entries that are not numbers
[[nodiscard]] MotionTable read_motion_table(std::string_view text, const std::string& file_name);

}  // namespace heelstrike
