#include "report/run_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "common/files/output_file.hpp"
#include "common/results/resolution.hpp"
#include "common/results/thinning.hpp"
#include "gait/ground_reactions.hpp"
#include "report/columns.hpp"
#include "report/feet.hpp"
#include "report/relative_rotations.hpp"
#include "report/shapes.hpp"
#include "report/tables.hpp"

namespace heelstrike::report {
namespace {

namespace fs = std::filesystem;

std::vector<double> selected(const std::vector<double>& values, const std::vector<std::size_t>& rows) {
  std::vector<double> result;
  result.reserve(rows.size());
  for (const std::size_t row : rows) result.push_back(values[row]);
  return result;
}

Json column_json(const std::string& name, const ColumnName& read, const std::vector<double>& values,
                 const std::vector<double>& time, std::size_t budget) {
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
  const auto kept = selected(values, rows);
  json["packed"] = packed(kept);
  json["times"] = packed(selected(time, rows));
  return json;
}

/// Resultant force over indentation of all contacts of a pair, with NaN between two contacts.
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
    x = selected(x, rows);
    y = selected(y, rows);
  }
  return {{"pair", pair}, {"indentation", packed(x)}, {"force", packed(y)}};
}

/// Scales of the columns of a run, below whose relative resolution values are rounding: the largest value of their
/// unit, for forces also the weight and that of the impacts.
class ColumnScales {
 public:
  ColumnScales(const RunData& run, const std::vector<ColumnName>& names) {
    const std::size_t n = names.size();
    // A run that fails before its first row has units without values.
    for (const ColumnName& name : names) scales_[name.unit] = 0.0;
    for (std::size_t i = 0; i < run.series.values.size(); ++i) {
      const double size = std::abs(run.series.values[i]);
      double& scale = scales_[names[i % n].unit];
      if (std::isfinite(size)) scale = std::max(scale, size);
    }
    double& force = scales_["N"];
    if (run.summary) force = std::max(force, impact_force_scale(*run.summary));
    if (run.model) {
      double mass = 0.0;
      for (const BodySpec& body : run.model->bodies) mass += body.mass;
      force = std::max(force, mass * run.model->gravity.norm());
    }
    scales_["N m"] = std::max(scales_["N m"], force * scales_["m"]);
  }

  /// Values of a column without rounding; step sizes and numbers without a unit are as they are.
  [[nodiscard]] std::vector<double> without_rounding(std::vector<double> values, const std::string& unit) const {
    if (unit == "s" || unit == "-") return values;
    const double limit = relative_resolution * scales_.at(unit);
    for (double& value : values) {
      if (std::abs(value) < limit) value = 0.0;
    }
    return values;
  }

 private:
  std::map<std::string, double> scales_;
};

/// Pairs whose contacts are impacts of rigid bodies.
std::set<std::string> impulsive_pairs(const RunData& run) {
  std::set<std::string> pairs;
  if (!run.summary) return pairs;
  for (const ContactEpisode& e : run.summary->contacts) {
    if (e.max_impulse) pairs.insert(e.pair);
  }
  return pairs;
}

/// Components of the total force of a foot, as columns with separate times.
void add_foot_force(const FootForce& foot, const Vector3& up, std::size_t budget, Json& columns) {
  const auto add = [&](const std::vector<double>& times, const std::vector<Vector3>& force, const std::string& ending) {
    for (int axis = 0; axis < 3; ++axis) {
      const bool vertical = std::abs(up[axis]) > 0.9;
      const std::string name = (vertical ? "vertical" : std::string(1, "xyz"[axis])) + ending;
      const double sign = vertical && up[axis] < 0.0 ? -1.0 : 1.0;
      std::vector<double> values;
      for (const Vector3& f : force) values.push_back(sign * f[axis]);
      const ColumnName read{.owner = foot.label, .short_name = name, .unit = "N", .quantity = "foot_force"};
      Json json = column_json(fmt::format("{}: {}", foot.label, name), read, values, times, budget);
      // Separate times also without thinning.
      if (!json.contains("times")) json["times"] = packed(times);
      columns.push_back(std::move(json));
    }
  };
  add(foot.times, foot.force, "");
  if (!foot.measured.empty()) add(foot.measured_times, foot.measured, ", measured");
}

Json contacts_json(const RunData& run) {
  Json json = Json::array();
  if (!run.summary) return json;
  for (const ContactEpisode& e : run.summary->contacts) {
    json.push_back({{"pair", e.pair},
                    {"onset", e.onset},
                    {"end", e.end.value_or(run.summary->simulated_time)},
                    {"peak", e.max_force_time},
                    {"force", e.max_force}});
  }
  return json;
}

}  // namespace

std::optional<Scenario> read_model(const fs::path& folder, const Catalog& catalog) {
  const fs::path file = folder / "scenario.yaml";
  try {
    return parse_scenario(read_whole_file(file), file.string(), catalog);
  } catch (const Error&) {
    return std::nullopt;
  }
}

RunData read_run_data(const fs::path& path, std::string label, std::string folder, const Catalog& catalog) {
  RunData run{.label = std::move(label),
              .folder = std::move(folder),
              .summary = {},
              .incomplete = {},
              .scenario = {},
              .scenario_digest = {},
              .model = {},
              .series = {},
              .measured = {},
              .prints = {},
              .fields = {},
              .shapes = read_shapes(path)};
  run.scenario = read_whole_file(path / "scenario.yaml");
  run.scenario_digest = sha256_hex(run.scenario);
  run.model = read_model(path, catalog);
  run.incomplete = incomplete_reason(path);
  if (fs::exists(path / "summary.json")) run.summary = read_summary(path);
  const bool has_csv = fs::exists(path / "timeseries.csv");
  for (const TableFormat& format : table_formats()) {
    if (!format.replaces_csv || !fs::exists(path / format.file)) continue;
    run.table = format.file;
    if (has_csv) continue;
    throw file_error(path.string(), fmt::format("{}: expected timeseries.csv, found {} (run {}): its page was written "
                                                "at the end of the run; rerun without {} for another page",
                                                path.string(), format.file, format.option(), format.option()));
  }
  if (has_csv) run.series = read_timeseries(path);
  if (const fs::path file = path / measured_reactions_file; fs::exists(file)) {
    run.measured = read_force_plates(read_motion_table(read_whole_file(file), file.string()));
  }
  return run;
}

bool has_pairs(const RunData& run) {
  if (run.model) return !run.model->pairs.empty();
  return std::ranges::any_of(run.series.columns, [](const std::string& name) { return name.ends_with(".gap_m"); });
}

PageUnits units_of(std::span<const RunData> runs) {
  PageUnits units;
  for (const RunData& run : runs) {
    const std::vector<ColumnName> names = read_column_names(run.series.columns);
    for (std::size_t c = 0; c < names.size(); ++c) {
      if (names[c].unit != "Pa" && names[c].unit != "m²") continue;
      for (std::size_t at = c; at < run.series.values.size(); at += names.size()) {
        units.add(names[c].unit, run.series.values[at]);
      }
    }
    units.add("Pa", find_peak_pressure(run.prints));
  }
  return units;
}

Json charts_json(const RunData& run, std::size_t budget) {
  Json json = {
      {"label", run.label}, {"columns", Json::array()}, {"loops", Json::array()}, {"contacts", contacts_json(run)}};
  if (run.series.columns.empty()) {
    json["time"] = packed(std::span<const double>());
    return json;
  }
  const std::vector<double> time = run.series.column(run.series.columns[0]);
  json["time"] = time.size() <= budget ? packed(time) : packed(std::span<const double>());
  const std::vector<ColumnName> read = read_column_names(run.series.columns);
  const ColumnScales scales(run, read);
  const std::set<std::string> impulsive = impulsive_pairs(run);
  for (std::size_t c = 1; c < run.series.columns.size(); ++c) {
    const std::string& name = run.series.columns[c];
    const bool is_indentation = name.ends_with(".indentation_m");
    // Rigid bodies have none.
    if (is_indentation && impulsive.contains(read[c].owner)) continue;
    const std::vector<double> values = scales.without_rounding(run.series.column(name), read[c].unit);
    json["columns"].push_back(column_json(name, read[c], values, time, budget));
    if (is_indentation) json["loops"].push_back(loop_json(run.series, read[c].owner, budget));
  }
  if (!run.model) return json;
  const Vector3 g = run.model->gravity;
  const Vector3 up = g.norm() > 0.0 ? Vector3(-g.normalized()) : Vector3(Vector3::UnitZ());
  for (const FootForce& foot : foot_forces(*run.model, run.series, run.measured)) {
    add_foot_force(foot, up, budget, json["columns"]);
  }
  json["turns"] = relative_rotations_json(*run.model, run.series, budget);
  return json;
}

}  // namespace heelstrike::report
