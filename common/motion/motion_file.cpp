#include "common/motion/motion_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <charconv>

#include "common/errors/error.hpp"

namespace heelstrike {
namespace {

/// Entries of a line: separated by commas, which may have nothing between them, or by tabs and blanks.
std::vector<std::string_view> entries_of(std::string_view line) {
  const bool commas = line.find(',') != std::string_view::npos;
  const std::string_view separators = commas ? "," : " \t";
  std::vector<std::string_view> entries;
  while (!line.empty()) {
    const auto end = std::min(line.find_first_of(separators), line.size());
    std::string_view entry = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    while (!entry.empty() && (entry.front() == ' ' || entry.front() == '\t')) entry.remove_prefix(1);
    while (!entry.empty() && (entry.back() == ' ' || entry.back() == '\t')) entry.remove_suffix(1);
    if (commas || !entry.empty()) entries.push_back(entry);
  }
  return entries;
}

double number_in(std::string_view entry, const std::string& where) {
  if (!entry.empty() && entry.front() == '+') entry.remove_prefix(1);
  double value = 0.0;
  const auto result = std::from_chars(entry.data(), entry.data() + entry.size(), value);
  if (entry.empty() || result.ec != std::errc() || result.ptr != entry.data() + entry.size()) {
    throw input_error("file", fmt::format("{}: expected a number, found '{}'; correct the file", where, entry));
  }
  return value;
}

}  // namespace

std::vector<double> motion_column(std::string_view text, const std::string& file_name, const std::string& heading) {
  const bool has_header = text.find("endheader") != std::string_view::npos;
  bool in_header = has_header;
  std::size_t line_number = 0;
  std::size_t n_columns = 0;
  std::size_t column = 0;
  std::vector<double> values;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const std::string where = fmt::format("{}:{}", file_name, line_number);
    const auto entries = entries_of(line);
    if (entries.empty()) continue;
    if (in_header) {
      in_header = entries.front() != "endheader";
    } else if (n_columns == 0) {
      n_columns = entries.size();
      const auto found = std::ranges::find(entries, std::string_view(heading));
      if (found == entries.end()) {
        throw input_error("file", fmt::format("{}: expected a column '{}', found {}; name one of these", where, heading,
                                              fmt::join(entries, ", ")));
      }
      column = static_cast<std::size_t>(found - entries.begin());
    } else {
      if (entries.size() != n_columns) {
        throw input_error("file", fmt::format("{}: expected {} entries as in the headings, found {}; correct the file",
                                              where, n_columns, entries.size()));
      }
      values.push_back(number_in(entries[column], where));
    }
  }
  return values;
}

}  // namespace heelstrike
