/// Columns of motion files: OpenSim's .mot and .sto (a header that ends with `endheader`, then headings and rows) and
/// CSV (headings and rows). A byte-order mark, quotes around headings and numbers, and lines that begin with # (which
/// are comments, or the headings where none follow) are taken as other programs write them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heelstrike {

/// Columns of numbers by their headings. Entries are separated as the headings are: by commas, by semicolons (numbers
/// may then have a decimal comma), or by tabs and blanks.
/// @param file_name  for messages
/// @param lines  becomes the line numbers of the headings and of every row
/// @throws Error{invalid_input} "file:line: ..." for a column that is not there (the headings found are listed), rows
///         of another length, or entries of these columns that are not numbers
[[nodiscard]] std::vector<std::vector<double>> motion_columns(std::string_view text, const std::string& file_name,
                                                              std::span<const std::string> headings,
                                                              std::vector<std::size_t>* lines = nullptr);

/// Of rows that follow each other at one time the last stays, as a program writes them at an event or with few digits.
/// @param columns  the time first
/// @returns how many went
std::size_t remove_duplicate_times(std::vector<std::vector<double>>& columns);

/// One of them.
[[nodiscard]] std::vector<double> motion_column(std::string_view text, const std::string& file_name,
                                                const std::string& heading);

/// All headings of the file in order; empty for a file without rows of text.
[[nodiscard]] std::vector<std::string> motion_headings(std::string_view text);

}  // namespace heelstrike
