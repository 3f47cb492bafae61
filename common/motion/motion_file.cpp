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

/// The lines behind the header, one by one, with their entries.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text), in_header_(text.find("endheader") != std::string_view::npos) {}

  /// @param n_columns  that a line has which ends with a comma and nothing behind it
  /// @returns false at the end of the file
  bool next(std::size_t n_columns = 0) {
    while (!rest_.empty()) {
      const auto end = std::min(rest_.find('\n'), rest_.size());
      std::string_view line = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      entries_ = entries_of(line);
      if (line.ends_with(',') && entries_.size() + 1 == n_columns) entries_.emplace_back();
      if (entries_.empty()) continue;
      if (!in_header_) return true;
      in_header_ = entries_.front() != "endheader";
    }
    return false;
  }
  [[nodiscard]] const std::vector<std::string_view>& entries() const { return entries_; }
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  std::string_view rest_;
  bool in_header_;
  std::size_t number_ = 0;
  std::vector<std::string_view> entries_;
};

std::size_t place_of(const std::string& heading, const Lines& lines, const std::string& where) {
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
                                                std::span<const std::string> headings) {
  Lines lines(text);
  std::vector<std::vector<double>> columns(headings.size());
  if (!lines.next()) return columns;
  const std::size_t n_columns = lines.entries().size();
  std::vector<std::size_t> places;
  for (const auto& heading : headings) {
    places.push_back(place_of(heading, lines, fmt::format("{}:{}", file_name, lines.number())));
  }
  while (lines.next(n_columns)) {
    const std::string where = fmt::format("{}:{}", file_name, lines.number());
    if (lines.entries().size() != n_columns) {
      throw input_error("file", fmt::format("{}: expected {} entries as in the headings, found {}; correct the file",
                                            where, n_columns, lines.entries().size()));
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      columns[i].push_back(number_in(lines.entries()[places[i]], where));
    }
  }
  return columns;
}

std::vector<double> motion_column(std::string_view text, const std::string& file_name, const std::string& heading) {
  return motion_columns(text, file_name, std::span(&heading, 1)).front();
}

std::vector<std::string> motion_headings(std::string_view text) {
  Lines lines(text);
  if (!lines.next()) return {};
  return {lines.entries().begin(), lines.entries().end()};
}

}  // namespace heelstrike
