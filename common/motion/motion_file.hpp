/// Columns of motion files: OpenSim's .mot and .sto (a header that ends with `endheader`, then headings and rows) and
/// CSV (headings and rows).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heelstrike {

/// Columns of numbers by their headings. Entries are separated by commas, tabs or blanks.
/// @param file_name  for messages
/// @throws Error{invalid_input} "file:line: ..." for a column that is not there (the headings found are listed), rows
///         of another length, or entries of these columns that are not numbers
[[nodiscard]] std::vector<std::vector<double>> motion_columns(std::string_view text, const std::string& file_name,
                                                              std::span<const std::string> headings);

/// One of them.
[[nodiscard]] std::vector<double> motion_column(std::string_view text, const std::string& file_name,
                                                const std::string& heading);

/// All headings of the file in order; empty for a file without rows of text.
[[nodiscard]] std::vector<std::string> motion_headings(std::string_view text);

}  // namespace heelstrike
