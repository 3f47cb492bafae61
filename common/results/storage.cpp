#include "common/results/storage.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace heelstrike {

namespace {

/// "ball.vz_m_s" -> "ball.vz": storage files imply the units.
std::string label(const Column& column) {
  std::string suffix = "_" + column.unit;
  std::erase(suffix, ' ');
  std::erase(suffix, '^');
  std::ranges::replace(suffix, '/', '_');
  return column.name.ends_with(suffix) ? column.name.substr(0, column.name.size() - suffix.size()) : column.name;
}

std::vector<std::size_t> rows_of_distinct_times(const TimeSeries& series) {
  std::vector<std::size_t> rows;
  const std::size_t width = series.columns.size();
  for (std::size_t row = 0; row < series.rows(); ++row) {
    if (!rows.empty() && series.values[rows.back() * width] == series.values[row * width]) rows.pop_back();
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

bool is_load(const Column& column) {
  return column.unit == "N" || column.unit == "N m";
}

bool is_motion(const Column& column) {
  constexpr const char* units[] = {"-", "m", "m/s", "rad", "rad/s", "m/s^2", "rad/s^2"};
  return std::ranges::find(units, column.unit) != std::end(units);
}

std::string storage_text(const std::string& name, std::span<const Column> columns, const TimeSeries& series,
                         bool (*wanted)(const Column&)) {
  std::vector<std::size_t> selected;
  for (std::size_t i = 1; i < columns.size(); ++i) {
    if (wanted(columns[i])) selected.push_back(i);
  }
  const auto rows = rows_of_distinct_times(series);
  std::string text = fmt::format("{}\nversion=1\nnRows={}\nnColumns={}\ninDegrees=no\nendheader\ntime", name,
                                 rows.size(), selected.size() + 1);
  for (const std::size_t i : selected) text.append("\t").append(label(columns[i]));
  text += '\n';
  for (const std::size_t row : rows) {
    const double* values = &series.values[row * series.columns.size()];
    fmt::format_to(std::back_inserter(text), "{}", values[0]);
    for (const std::size_t i : selected) fmt::format_to(std::back_inserter(text), "\t{}", values[i]);
    text += '\n';
  }
  return text;
}

}  // namespace heelstrike
