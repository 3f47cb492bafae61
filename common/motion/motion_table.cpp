#include "common/motion/motion_table.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "common/config/parameter.hpp"
#include "common/errors/error.hpp"
#include "common/motion/motion_file.hpp"
#include "common/motion/text_lines.hpp"
#include "common/text/suggestion.hpp"

namespace heelstrike {
namespace {

/// A count that the header states, and where.
struct StatedCount {
  std::size_t value = 0;
  std::size_t line = 0;
  std::string key;
};

struct Header {
  std::optional<StatedCount> rows;
  std::optional<StatedCount> columns;
  bool in_degrees = false;
  std::vector<std::size_t> row_lines;  ///< line numbers of headings and rows
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::optional<StatedCount> count_in(std::string_view key, std::string_view value, const TextLine& line,
                                    const std::string& file_name) {
  std::size_t n = 0;
  const auto result = std::from_chars(value.data(), value.data() + value.size(), n);
  if (value.empty() || result.ec != std::errc() || result.ptr != value.data() + value.size()) {
    throw input_error("file", fmt::format("{}:{}: {}: expected a whole number, found '{}'; correct the header",
                                          file_name, line.number, key, value));
  }
  return StatedCount{.value = n, .line = line.number, .key = std::string(key)};
}

/// One line of the header: `key=value` of OpenSim, `key value` of SIMM.
void read_header_line(const TextLine& line, const std::string& file_name, Header& header) {
  const auto split = line.text.find_first_of("= \t");
  if (split == std::string_view::npos) return;
  const std::string_view key = trimmed(line.text.substr(0, split));
  const std::string_view value = trimmed(line.text.substr(split + 1));
  const std::string name = lower(key);
  if (name == "nrows" || name == "datarows") header.rows = count_in(key, value, line, file_name);
  if (name == "ncolumns" || name == "datacolumns") header.columns = count_in(key, value, line, file_name);
  if (name != "indegrees") return;
  const std::string answer = lower(value);
  if (answer != "yes" && answer != "no") {
    throw input_error("file", fmt::format("{}:{}: {}: expected yes or no, found '{}'; correct the header", file_name,
                                          line.number, key, value));
  }
  header.in_degrees = answer == "yes";
}

Header read_header(std::string_view text, const std::string& file_name) {
  Header header;
  bool in_header = text.find("endheader") != std::string_view::npos;
  TextLines lines(text);
  while (const auto line = lines.next()) {
    if (trimmed(line->text).empty()) continue;
    if (!in_header) {
      header.row_lines.push_back(line->number);
    } else if (trimmed(line->text) == "endheader") {
      in_header = false;
    } else {
      read_header_line(*line, file_name, header);
    }
  }
  return header;
}

void check_counts(const MotionTable& table, const Header& header) {
  const auto check = [&](const std::optional<StatedCount>& stated, std::size_t found, const char* what) {
    if (!stated || stated->value == found) return;
    throw input_error("file", fmt::format("{}:{}: {}: expected {} {} as the header says, found {}; the file is cut off "
                                          "or the header is wrong",
                                          table.file_name, stated->line, stated->key, stated->value, what, found));
  };
  check(header.columns, table.headings.size(), "columns");
  check(header.rows, table.rows(), "rows");
}

void check_times(const MotionTable& table, const Header& header) {
  const auto where = [&](std::size_t row) { return fmt::format("{}:{}", table.file_name, header.row_lines.at(row)); };
  const std::string name = lower(table.headings.front());
  if (name != "time" && name != "time_s") {
    throw input_error("file", fmt::format("{}: expected the first column to be 'time', found '{}'; put the time first",
                                          where(0), table.headings.front()));
  }
  const auto& times = table.times();
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (times[i] > times[i - 1]) continue;
    throw input_error("file", fmt::format("{}: expected a time above {} s of the row before, found {} s; times must "
                                          "increase: correct the file",
                                          where(i + 1), times[i - 1], times[i]));
  }
}

void check_headings(const MotionTable& table, const Header& header) {
  for (std::size_t i = 0; i < table.headings.size(); ++i) {
    if (std::find(table.headings.begin(), table.headings.begin() + static_cast<std::ptrdiff_t>(i), table.headings[i]) ==
        table.headings.begin() + static_cast<std::ptrdiff_t>(i)) {
      continue;
    }
    throw input_error("file", fmt::format("{}:{}: expected headings that differ, found '{}' twice; rename one",
                                          table.file_name, header.row_lines.at(0), table.headings[i]));
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

MotionTable read_motion_table(std::string_view text, const std::string& file_name) {
  const Header header = read_header(text, file_name);
  MotionTable table{
      .file_name = file_name, .headings = motion_headings(text), .columns = {}, .in_degrees = header.in_degrees};
  if (table.headings.empty()) {
    throw input_error("file",
                      fmt::format("{}: expected headings and rows, found none; is the file complete?", file_name));
  }
  check_headings(table, header);
  if (header.columns && header.columns->value != table.headings.size())
    check_counts(table, {.rows = {}, .columns = header.columns, .in_degrees = false, .row_lines = {}});
  table.columns = motion_columns(text, file_name, table.headings);
  check_counts(table, header);
  if (table.rows() == 0) {
    throw input_error("file", fmt::format("{}: expected rows below the headings, found none", file_name));
  }
  check_times(table, header);
  return table;
}

}  // namespace heelstrike
