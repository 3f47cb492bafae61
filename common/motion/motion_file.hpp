/// Columns of motion files: OpenSim's .mot and .sto (a header that ends with `endheader`, then headings and rows) and
/// CSV (headings and rows). A byte-order mark, quotes around headings and numbers, and lines that begin with #
/// (comments, or the headings if none follow) are accepted.
#pragma once

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
/// @returns number of removed rows
std::size_t remove_duplicate_times(std::vector<std::vector<double>>& columns);

/// One column.
[[nodiscard]] std::vector<double> motion_column(std::string_view text, const std::string& file_name,
                                                const std::string& heading);

/// All headings of the file in order; empty without a row of text.
[[nodiscard]] std::vector<std::string> motion_headings(std::string_view text);

}  // namespace heelstrike
