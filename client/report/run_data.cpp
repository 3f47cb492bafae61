#include "client/report/run_data.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "client/report/columns.hpp"
#include "common/config/digest.hpp"
#include "common/results/output_file.hpp"
#include "common/results/thinning.hpp"

namespace heelstrike::client::report {
namespace {

namespace fs = std::filesystem;

std::vector<double> picked(const std::vector<double>& values, const std::vector<std::size_t>& rows) {
  std::vector<double> result;
  result.reserve(rows.size());
  for (const std::size_t row : rows) result.push_back(values[row]);
  return result;
}

Json column_json(const std::string& name, const std::vector<double>& values, const std::vector<double>& time,
                 std::size_t budget) {
  const ColumnName read = read_column_name(name);
  Json json = {{"name", name},
               {"owner", read.owner},
               {"short", read.short_name},
               {"unit", read.unit},
               {"quantity", read.quantity}};
  if (values.size() <= budget) {
    json["packed"] = packed(values);
    return json;
  }
  const auto rows = rows_with_extremes(values, budget);
  const auto kept = picked(values, rows);
  json["packed"] = packed(kept);
  json["times"] = packed(picked(time, rows));
  return json;
}

/// Resultant force over indentation of all contacts of a pair, a NaN between two contacts.
Json loop_json(const TimeSeries& series, const std::string& pair, std::size_t budget) {
  const auto indentation = series.column(pair + ".indentation_m");
  const auto fx = series.column(pair + ".fx_N");
  const auto fy = series.column(pair + ".fy_N");
  const auto fz = series.column(pair + ".fz_N");
  std::vector<double> x;
  std::vector<double> y;
  const auto force = [&](std::size_t i) { return std::hypot(fx[i], fy[i], fz[i]); };
  const auto touching = [&](std::size_t i) { return indentation[i] > 0.0 || force(i) > 0.0; };
  for (std::size_t i = 0; i < indentation.size(); ++i) {
    const bool near = touching(i) || (i > 0 && touching(i - 1)) || (i + 1 < indentation.size() && touching(i + 1));
    if (near) {
      x.push_back(indentation[i]);
      y.push_back(force(i));
    } else if (!x.empty() && !std::isnan(x.back())) {
      x.push_back(std::numeric_limits<double>::quiet_NaN());
      y.push_back(std::numeric_limits<double>::quiet_NaN());
    }
  }
  if (x.size() > budget) {
    std::vector<std::size_t> gaps;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) gaps.push_back(i);
    }
    const auto of_x = rows_with_extremes(x, budget / 2);
    const auto of_y = rows_with_extremes(y, budget / 2);
    std::vector<std::size_t> rows;
    std::set_union(of_x.begin(), of_x.end(), of_y.begin(), of_y.end(), std::back_inserter(rows));
    rows.insert(rows.end(), gaps.begin(), gaps.end());
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    x = picked(x, rows);
    y = picked(y, rows);
  }
  return {{"pair", pair}, {"indentation", packed(x)}, {"force", packed(y)}};
}

}  // namespace

RunData read_run_data(const fs::path& path, std::string label, std::string folder) {
  RunData run{.label = std::move(label),
              .folder = std::move(folder),
              .summary = {},
              .incomplete = {},
              .scenario = {},
              .scenario_digest = {},
              .series = {},
              .prints = {},
              .fields = {}};
  run.scenario = read_whole_file(path / "scenario.yaml");
  run.scenario_digest = sha256_hex(run.scenario);
  run.incomplete = incomplete_reason(path);
  if (fs::exists(path / "summary.json")) run.summary = read_summary(path);
  if (fs::exists(path / "timeseries.csv")) run.series = read_timeseries(path);
  return run;
}

Json charts_json(const RunData& run, std::size_t budget) {
  Json json = {{"label", run.label}, {"columns", Json::array()}, {"loops", Json::array()}};
  if (run.series.columns.empty()) {
    json["time"] = packed(std::span<const double>());
    return json;
  }
  const std::vector<double> time = run.series.column(run.series.columns[0]);
  json["time"] = time.size() <= budget ? packed(time) : packed(std::span<const double>());
  for (std::size_t c = 1; c < run.series.columns.size(); ++c) {
    const std::string& name = run.series.columns[c];
    json["columns"].push_back(column_json(name, run.series.column(name), time, budget));
    constexpr std::string_view ending = ".indentation_m";
    if (name.ends_with(ending)) {
      json["loops"].push_back(loop_json(run.series, name.substr(0, name.size() - ending.size()), budget));
    }
  }
  return json;
}

}  // namespace heelstrike::client::report
