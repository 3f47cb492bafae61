#include "client/report/foot_prints.hpp"

#include <yaml-cpp/yaml.h>

#include <cmath>
#include <map>

#include "common/results/output_file.hpp"
#include "common/results/thinning.hpp"

namespace heelstrike::client::report {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t page_cells = 240;
constexpr std::size_t path_budget = 2000;

/// Side of the project's own foot; none for any other surface.
bool is_whole_foot(const YAML::Node& scenario, const std::string& pair) {
  try {
    const YAML::Node contact = scenario["contact"][pair];
    const YAML::Node surface = contact["main"]["surface"];
    // Of a foot that is cut, the shares of its length say nothing.
    const bool cut = contact["parameters"] && contact["parameters"]["body_box"];
    return surface && surface.IsMap() && surface["foot"] && !cut;
  } catch (const YAML::Exception&) {
    return false;  // a scenario that cannot be read has no feet; the page shows its text anyway
  }
}

YAML::Node read_scenario(const fs::path& folder) {
  try {
    return YAML::Load(read_whole_file(folder / "scenario.yaml"));
  } catch (const YAML::Exception&) {
    return {};
  }
}

std::span<const double> row_near(const TimeSeries& series, double time) {
  const std::size_t n = series.columns.size();
  std::size_t best = 0;
  for (std::size_t r = 1; r < series.rows(); ++r) {
    if (std::abs(series.values[r * n] - time) < std::abs(series.values[best * n] - time)) best = r;
  }
  return {series.values.data() + best * n, series.rows() == 0 ? 0 : n};
}

}  // namespace

std::vector<FootPrint> foot_prints(const fs::path& folder, const TimeSeries& series) {
  std::vector<FootPrint> prints;
  if (!fs::exists(folder / "fields.pvd")) return prints;
  const YAML::Node scenario = read_scenario(folder);
  std::map<std::string, std::size_t> place;
  for (const FieldFile& file : read_field_index(folder)) {
    const auto owner = part_owner(file.name, series.columns);
    if (!owner) continue;
    const FieldGrid grid = parse_vtu(read_whole_file(folder / file.file), (folder / file.file).string());
    if (!PressureMap::has_pressure(grid)) continue;
    const auto [known, is_new] = place.try_emplace(file.name, prints.size());
    if (is_new) {
      const Pose X_WB = pose_in_row(series.columns, row_near(series, file.time), owner->body);
      PressureMap map(grid, X_WB);
      std::optional<PressureRegions> regions;
      if (is_whole_foot(scenario, owner->pair)) regions.emplace(map);
      prints.push_back(
          {owner->pair, owner->body, std::move(map), cop_path(series, owner->pair, owner->body), std::move(regions)});
    } else {
      prints[known->second].map.add(grid);
    }
    FootPrint& print = prints[known->second];
    if (print.regions) print.regions->add(file.time, print.map.latest());
  }
  return prints;
}

Json foot_prints_json(const std::vector<FootPrint>& prints) {
  Json json = Json::array();
  for (const FootPrint& print : prints) {
    const PlanView view = print.map.view(print.map.peak(), page_cells);
    std::vector<double> times, u, v;
    std::size_t contact = 0;
    for (const std::size_t row : rows_with_extremes(print.path.forces, path_budget)) {
      if (!times.empty() && print.path.contacts[row] != contact) {
        for (std::vector<double>* column : {&times, &u, &v}) column->push_back(std::nan(""));  // lifts the pen
      }
      contact = print.path.contacts[row];
      times.push_back(print.path.times[row]);
      u.push_back(print.path.points[row][view.axes[0]]);
      v.push_back(print.path.points[row][view.axes[1]]);
    }
    json.push_back({{"pair", print.pair},
                    {"body", print.body},
                    {"view", plan_view_json(view, print.map.largest())},
                    {"path", {{"time", packed(times)}, {"u", packed(u)}, {"v", packed(v)}}}});
  }
  return json;
}

}  // namespace heelstrike::client::report
