/// Columns of motion files: OpenSim's .mot and .sto (a header that ends with `endheader`, then headings and rows) and
/// CSV (headings and rows).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heelstrike {

/// One column of numbers. Entries are separated by commas, tabs or blanks.
/// @param file_name  for messages
/// @throws Error{invalid_input} "file:line: ..." for a column that is not there (the headings found are listed), rows
///         of another length, or entries that are not numbers
[[nodiscard]] std::vector<double> motion_column(std::string_view text, const std::string& file_name,
                                                const std::string& heading);

}  // namespace heelstrike
