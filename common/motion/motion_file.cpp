#include "common/motion/motion_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "common/errors/error.hpp"
#include "common/parameters/parameter.hpp"
#include "common/text/suggestion.hpp"
#include "common/text/text_file.hpp"

namespace heelstrike {

namespace {

constexpr char blanks = ' ';

/// Entries of a line, without enclosing quotes.
/// @param separator  a comma or a semicolon, with possibly empty entries, or `blanks` for any number of blanks and tabs
std::vector<std::string_view> entries_of(std::string_view line, char separator) {
  const std::string_view separators = separator == blanks ? std::string_view(" \t") : std::string_view(&separator, 1);
  std::vector<std::string_view> entries;
  while (!line.empty()) {
    // Quoted text may contain separators.
    const auto first = line.find_first_not_of(" \t");
    const auto closed =
        first != std::string_view::npos && line[first] == '"' ? line.find('"', first + 1) : std::string_view::npos;
    const auto from = closed == std::string_view::npos ? std::size_t{0} : closed;
    const auto end = std::min(line.find_first_of(separators, from), line.size());
    std::string_view entry = trimmed(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
    if (entry.size() >= 2 && entry.front() == '"' && entry.back() == '"') entry = entry.substr(1, entry.size() - 2);
    if (separator != blanks || !entry.empty()) entries.push_back(trimmed(entry));
  }
  return entries;
}

char separator_of(std::string_view headings) {
  for (const char separator : {',', ';'}) {
    if (entries_of(headings, separator).size() > 1) return separator;
  }
  return blanks;
}

/// A line of the header without the separators that spreadsheets append, and without enclosing quotes.
std::string_view header_text(std::string_view line) {
  std::string_view text = trimmed(line);
  text = text.substr(0, text.find_last_not_of(",; \t") + 1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return trimmed(text);
}

std::optional<double> number_of(std::string_view entry, char separator) {
  std::string with_point;
  if (separator == ';' && entry.find(',') != std::string_view::npos) {
    with_point = entry;
    std::ranges::replace(with_point, ',', '.');
    entry = with_point;
  }
  if (!entry.empty() && entry.front() == '+') entry.remove_prefix(1);
  double value = 0.0;
  const auto result = std::from_chars(entry.data(), entry.data() + entry.size(), value);
  if (entry.empty() || result.ec != std::errc() || result.ptr != entry.data() + entry.size()) return std::nullopt;
  return value;
}

/// Iterates over the lines after the header with their entries: headings, then rows.
class Lines {
 public:
  explicit Lines(std::string_view text)
      : text_(text), lines_(text_.bytes()), in_header_(text_.bytes().find("endheader") != std::string_view::npos) {}

  /// @param n_columns  expected entries, to recognise a trailing separator
  /// @returns false at the end of the file
  bool next(std::size_t n_columns = 0) {
    if (has_first_row_) {
      has_first_row_ = false;
      std::swap(entries_, first_row_);
      number_ = first_row_number_;
      return true;
    }
    while (const auto line = lines_.next()) {
      const std::string_view text = trimmed(line->text);
      number_ = line->number;
      if (in_header_) {
        in_header_ = header_text(text) != "endheader";
      } else if (text.starts_with('#')) {
        comment_ = text.substr(std::min(text.find_first_not_of('#'), text.size()));
        comment_number_ = number_;
      } else if (!text.empty()) {
        if (!has_headings_) return read_headings(text);
        entries_ = entries_of(text, separator_);
        if (separator_ != blanks && text.back() == separator_ && entries_.size() + 1 == n_columns)
          entries_.emplace_back();
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] const std::vector<std::string_view>& entries() const { return entries_; }
  [[nodiscard]] std::size_t number() const { return number_; }
  [[nodiscard]] std::optional<double> number_in(std::size_t column) const {
    return number_of(entries_[column], separator_);
  }

 private:
  /// Reads the first line after the header; if it is a row of numbers, a preceding comment has the headings (numpy).
  bool read_headings(std::string_view text) {
    has_headings_ = true;
    separator_ = separator_of(text);
    entries_ = entries_of(text, separator_);
    const auto is_number = [&](std::string_view entry) { return number_of(entry, separator_).has_value(); };
    if (!std::ranges::all_of(entries_, is_number)) return true;
    const auto headings = entries_of(comment_, separator_);
    if (headings.size() != entries_.size()) return true;
    first_row_ = std::move(entries_);
    first_row_number_ = number_;
    has_first_row_ = true;
    entries_ = headings;
    number_ = comment_number_;
    return true;
  }

  MarkedText text_;
  TextLines lines_;
  bool in_header_, has_headings_ = false, has_first_row_ = false;
  char separator_ = blanks;
  std::size_t number_ = 0, comment_number_ = 0, first_row_number_ = 0;
  std::string_view comment_;
  std::vector<std::string_view> entries_, first_row_;
};

std::size_t location_of(const std::string& heading, const Lines& lines, const std::string& where) {
  const auto& entries = lines.entries();
  const auto found = std::ranges::find(entries, std::string_view(heading));
  if (found == entries.end()) {
    throw input_error("file", fmt::format("{}: expected a column '{}', found {}; name one of these", where, heading,
                                          fmt::join(entries, ", ")));
  }
  return static_cast<std::size_t>(found - entries.begin());
}

}  // namespace

std::vector<std::vector<double>> motion_columns(std::string_view text, const std::string& file_name,
                                                std::span<const std::string> headings,
                                                std::vector<std::size_t>* line_numbers) {
  Lines lines(text);
  std::vector<std::vector<double>> columns(headings.size());
  if (!lines.next()) return columns;
  const auto keep_number = [&] {
    if (line_numbers != nullptr) line_numbers->push_back(lines.number());
  };
  keep_number();
  const std::size_t n_columns = lines.entries().size();
  std::vector<std::size_t> places;
  for (const auto& heading : headings) {
    places.push_back(location_of(heading, lines, fmt::format("{}:{}", file_name, lines.number())));
  }
  while (lines.next(n_columns)) {
    const std::string where = fmt::format("{}:{}", file_name, lines.number());
    if (lines.entries().size() != n_columns) {
      throw input_error("file", fmt::format("{}: expected {} entries as in the headings, found {}; correct the file",
                                            where, n_columns, lines.entries().size()));
    }
    keep_number();
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto value = lines.number_in(places[i]);
      if (!value) {
        const std::string_view entry = lines.entries()[places[i]];
        const bool is_vector = entry.find(',') != std::string_view::npos;
        throw input_error("file",
                          fmt::format("{}: expected a number in column '{}', found '{}'; {}", where, headings[i], entry,
                                      is_vector ? "write each component of a vector or quaternion (DataType) "
                                                  "as a column"
                                                : "correct the file"));
      }
      columns[i].push_back(*value);
    }
  }
  return columns;
}

std::vector<double> remove_duplicate_times(std::vector<std::vector<double>>& columns) {
  const std::vector<double> times = columns.front();
  std::vector<double> removed;
  std::size_t n = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (i + 1 < times.size() && times[i + 1] == times[i]) {
      removed.push_back(times[i]);
      continue;
    }
    for (auto& column : columns) column[n] = column[i];
    ++n;
  }
  for (auto& column : columns) column.resize(n);
  return removed;
}

std::string duplicate_times_note(const std::string& file_name, std::span<const double> times) {
  if (times.empty()) return "";
  constexpr std::size_t n_listed = 3;
  const auto listed = times.first(std::min(times.size(), n_listed));
  return fmt::format(
      "{}: {} rows have the time of the following row and were skipped, the last row of each time is used: t = {:.6g}"
      "{} s; for a jump, give the second row a later time",
      file_name, times.size(), fmt::join(listed, ", "), times.size() > n_listed ? ", ..." : "");
}

std::vector<double> motion_column(std::string_view text, const std::string& file_name, const std::string& heading) {
  return motion_columns(text, file_name, std::span(&heading, 1)).front();
}

std::vector<std::string> motion_headings(std::string_view text) {
  Lines lines(text);
  if (!lines.next()) return {};
  return {lines.entries().begin(), lines.entries().end()};
}

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
  const std::string_view text = header_text(line.text);
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
  for (auto line = lines.next(); line && header_text(line->text) != "endheader"; line = lines.next()) {
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

std::optional<AngleUnit> angle_unit_in_heading(std::string_view heading) {
  const std::string name = lower(trimmed(heading));
  const auto last = name.find_last_not_of(")]");
  if (last == std::string::npos) return std::nullopt;
  const bool in_brackets = last + 1 < name.size();
  const std::string_view text = std::string_view(name).substr(0, last + 1);
  const auto before = text.find_last_of(in_brackets ? "([" : "_");
  if (before == std::string_view::npos) return std::nullopt;
  const std::string_view unit = trimmed(text.substr(before + 1));
  const auto is = [&](std::initializer_list<std::string_view> words) { return std::ranges::count(words, unit) > 0; };
  if (is({"deg", "degree", "degrees", "\u00b0"})) return AngleUnit{.degrees = true, .stated = true};
  if (is({"rad", "radian", "radians"})) return AngleUnit{.degrees = false, .stated = true};
  return std::nullopt;
}

AngleUnit angle_unit_of(std::string_view text, const std::string& file_name) {
  return angle_unit(read_header(text, file_name), text, file_name);
}

MotionTable read_motion_table(std::string_view text, const std::string& file_name) {
  const Header header = read_header(text, file_name);
  const AngleUnit unit = angle_unit(header, text, file_name);
  MotionTable table{.file_name = file_name,
                    .headings = motion_headings(text),
                    .columns = {},
                    .in_degrees = unit.degrees,
                    .unit_stated = unit.stated,
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
  const std::vector<double> removed = remove_duplicate_times(table.columns);
  if (!removed.empty()) table.notes.push_back(duplicate_times_note(table.file_name, removed));
  return table;
}

}  // namespace heelstrike
