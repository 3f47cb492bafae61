#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <limits>

#include "common/errors/error.hpp"
#include "common/parameters/parameter.hpp"
#include "common/results/run_folder.hpp"
#include "common/results/summary.hpp"
#include "common/text/suggestion.hpp"

namespace heelstrike {

namespace fs = std::filesystem;

namespace {

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

void add_values(TimeSeries& series, std::string_view line, const fs::path& file, std::size_t line_number) {
  const auto cells = cells_of(line);
  if (cells.size() != series.columns.size()) {
    throw file_error(file.string(), fmt::format("{}:{}: expected {} values, found {}", file.string(), line_number,
                                                series.columns.size(), cells.size()));
  }
  for (const auto cell : cells) {
    double value = std::numeric_limits<double>::quiet_NaN();
    if (cell.empty()) {
      series.values.push_back(value);
      continue;
    }
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size()) {
      throw file_error(file.string(),
                       fmt::format("{}:{}: expected a number, found '{}'", file.string(), line_number, cell));
    }
    series.values.push_back(value);
  }
}

}  // namespace

std::vector<double> TimeSeries::column(const std::string& name) const {
  const auto it = std::ranges::find(columns, name);
  if (it == columns.end()) {
    throw input_error(name, fmt::format("expected a column of timeseries.csv, found '{}'; {}", name,
                                        suggestion(name, columns, "see its first line")));
  }
  std::vector<double> result;
  for (auto i = static_cast<std::size_t>(it - columns.begin()); i < values.size(); i += columns.size()) {
    result.push_back(values[i]);
  }
  return result;
}

RunSummary read_summary(const fs::path& folder) {
  const fs::path file = folder / "summary.json";
  RunSummary summary = parse_summary(read_whole_file(file), file.string());
  if (const fs::path timing = folder / "timing.json"; fs::exists(timing)) {
    parse_timing(read_whole_file(timing), timing.string(), summary);
  }
  return summary;
}

TimeSeries read_timeseries(const fs::path& folder) {
  const fs::path file = folder / "timeseries.csv";
  const std::string text = read_whole_file(file);
  TimeSeries series;
  std::string_view rest = text;
  for (std::size_t line = 1; rest.find('\n') != std::string_view::npos; ++line) {
    const std::size_t end = rest.find('\n');
    if (line == 1) {
      for (const auto cell : cells_of(rest.substr(0, end))) series.columns.emplace_back(cell);
    } else {
      add_values(series, rest.substr(0, end), file, line);
    }
    rest.remove_prefix(end + 1);
  }
  return series;
}

std::string incomplete_reason(const fs::path& folder) {
  const fs::path file = folder / "INCOMPLETE";
  if (!fs::exists(file)) return {};
  std::string reason = read_whole_file(file);
  while (reason.ends_with('\n')) reason.pop_back();
  return reason.empty() ? "INCOMPLETE is empty" : reason;
}

}  // namespace heelstrike
