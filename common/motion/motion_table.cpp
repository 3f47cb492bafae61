#include "common/motion/motion_table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "common/errors/error.hpp"
#include "common/motion/motion_file.hpp"
#include "common/motion/text_lines.hpp"
#include "common/parameters/parameter.hpp"
#include "common/text/marked_text.hpp"
#include "common/text/suggestion.hpp"

namespace heelstrike {
namespace {

struct Header {
  std::optional<std::size_t> rows;
  std::optional<std::size_t> columns;
  std::optional<bool> in_degrees;
  int version = 0;  ///< 0 without a version
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::size_t count_in(std::string_view key, std::string_view value, const TextLine& line, const std::string& file_name) {
  std::size_t n = 0;
  const auto result = std::from_chars(value.data(), value.data() + value.size(), n);
  if (value.empty() || result.ec != std::errc() || result.ptr != value.data() + value.size()) {
    throw input_error("file", fmt::format("{}:{}: {}: expected a whole number, found '{}'; correct the header",
                                          file_name, line.number, key, value));
  }
  return n;
}

/// One line of the header: `key=value` of OpenSim, `key value` of SIMM.
void read_header_line(const TextLine& line, const std::string& file_name, Header& header) {
  const std::string_view text = trimmed(line.text);
  const auto split = text.find_first_of("= \t");
  if (split == std::string_view::npos) return;
  const std::string_view key = text.substr(0, split);
  const std::string_view value = text.substr(std::min(text.find_first_not_of("= \t", split), text.size()));
  const std::string name = lower(key);
  if (name == "nrows" || name == "datarows" || name == "nr") header.rows = count_in(key, value, line, file_name);
  if (name == "ncolumns" || name == "datacolumns" || name == "nc")
    header.columns = count_in(key, value, line, file_name);
  if (name == "version") std::from_chars(value.data(), value.data() + value.size(), header.version);
  if (name == "angles" && header.version == 0 && !header.in_degrees) {
    if (text == "Angles are in degrees.") header.in_degrees = true;
    if (text == "Angles are in radians.") header.in_degrees = false;
  }
  if (name != "indegrees") return;
  const std::string answer = lower(value);
  if (answer != "yes" && answer != "y" && answer != "no" && answer != "n") {
    throw input_error("file", fmt::format("{}:{}: {}: expected yes or no, found '{}'; correct the header", file_name,
                                          line.number, key, value));
  }
  header.in_degrees = answer.starts_with('y');
}

Header read_header(std::string_view text, const std::string& file_name) {
  Header header;
  const MarkedText marked(text);
  if (marked.bytes().find("endheader") == std::string_view::npos) return header;
  TextLines lines(marked.bytes());
  for (auto line = lines.next(); line && trimmed(line->text) != "endheader"; line = lines.next()) {
    read_header_line(*line, file_name, header);
  }
  return header;
}

AngleUnit angle_unit(const Header& header, std::string_view text, const std::string& file_name) {
  if (header.in_degrees) return {.degrees = *header.in_degrees, .stated = true};
  const bool has_header = text.find("endheader") != std::string_view::npos;
  return {.degrees = has_header && header.version < 1 && lower(file_name).ends_with(".mot"), .stated = false};
}

/// The readers of OpenSim for markers and tables use the existing rows.
void note_counts(const Header& header, MotionTable& table) {
  const auto check = [&](const std::optional<std::size_t>& stated, std::size_t found, const char* what) {
    if (!stated || *stated == found) return;
    table.notes.push_back(fmt::format("{}: the header states {} {}, the file has {}, which are used{}", table.file_name,
                                      *stated, what, found, found < *stated ? "; is the file truncated?" : ""));
  };
  check(header.columns, table.headings.size(), "columns");
  check(header.rows, table.rows(), "rows");
}

/// @param lines  numbers of the lines of headings and rows
void check_times(const MotionTable& table, const std::vector<std::size_t>& lines) {
  const auto where = [&](std::size_t row) { return fmt::format("{}:{}", table.file_name, lines.at(row)); };
  const std::string name = lower(table.headings.front());
  if (name != "time" && name != "time_s") {
    throw input_error("file", fmt::format("{}: expected the first column to be 'time', found '{}'; put the time first",
                                          where(0), table.headings.front()));
  }
  const auto& times = table.times();
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (times[i] >= times[i - 1]) continue;
    throw input_error("file", fmt::format("{}: expected a time of at least {} s as in the preceding row, found {} s; "
                                          "times must increase: correct the file",
                                          where(i + 1), times[i - 1], times[i]));
  }
}

/// Of columns with the same heading the first is kept, which is the one that OpenSim finds.
void remove_duplicate_headings(MotionTable& table) {
  for (std::size_t i = 0; i < table.headings.size();) {
    const auto here = table.headings.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(table.headings.begin(), here, *here) == here) {
      ++i;
      continue;
    }
    table.notes.push_back(
        fmt::format("{}: there is more than one column '{}'; the first is used", table.file_name, *here));
    table.headings.erase(here);
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

bool MotionTable::has(const std::string& heading) const {
  return std::ranges::find(headings, heading) != headings.end();
}

const std::vector<double>& MotionTable::column(const std::string& heading) const {
  const auto found = std::ranges::find(headings, heading);
  if (found != headings.end()) return columns[static_cast<std::size_t>(found - headings.begin())];
  throw input_error("file", fmt::format("{}: expected a column '{}', found none of that name; {}", file_name, heading,
                                        suggestion(heading, headings, "name a column of the file")));
}

AngleUnit angle_unit_of(std::string_view text, const std::string& file_name) {
  return angle_unit(read_header(text, file_name), text, file_name);
}

MotionTable read_motion_table(std::string_view text, const std::string& file_name) {
  const Header header = read_header(text, file_name);
  MotionTable table{.file_name = file_name,
                    .headings = motion_headings(text),
                    .columns = {},
                    .in_degrees = angle_unit(header, text, file_name).degrees,
                    .notes = {}};
  if (table.headings.empty()) {
    throw input_error("file",
                      fmt::format("{}: expected headings and rows, found none; is the file complete?", file_name));
  }
  std::vector<std::size_t> lines;
  table.columns = motion_columns(text, file_name, table.headings, &lines);
  note_counts(header, table);
  remove_duplicate_headings(table);
  if (table.rows() == 0) {
    throw input_error("file", fmt::format("{}: expected rows below the headings, found none", file_name));
  }
  check_times(table, lines);
  if (const std::size_t n = remove_duplicate_times(table.columns); n > 0) {
    table.notes.push_back(
        fmt::format("{}: {} rows have the time of the following row and were skipped", table.file_name, n));
  }
  return table;
}

}  // namespace heelstrike
