#include "report/foot_prints.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "common/files/output_file.hpp"
#include "common/results/thinning.hpp"
#include "scenario/surfaces/foot.hpp"

namespace heelstrike::report {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t page_cells = 240;
constexpr std::size_t path_budget = 2000;

/// Fractions of the length are meaningless for a cut foot.
bool is_whole_foot(const std::optional<Scenario>& model, const std::string& pair) {
  if (!model) return false;
  const auto found = std::ranges::find_if(model->pairs, [&](const PairModel& p) { return p.spec.name == pair; });
  return found != model->pairs.end() && FootSurface::of(found->spec.main.surface).has_value() && !is_cut(*found);
}

std::span<const double> row_near(const TimeSeries& series, double time) {
  const std::size_t n = series.columns.size();
  std::size_t best = 0;
  for (std::size_t r = 1; r < series.rows(); ++r) {
    if (std::abs(series.values[r * n] - time) < std::abs(series.values[best * n] - time)) best = r;
  }
  return {series.values.data() + best * n, series.rows() == 0 ? 0 : n};
}

Json seams_json(const FootPrint& print) {
  std::map<std::array<std::size_t, 2>, std::vector<std::uint32_t>> nodes;
  for (const SharedNode& shared : print.map.shared_nodes()) {
    auto& of_seam = nodes[shared.parts];
    of_seam.insert(of_seam.end(), shared.nodes.begin(), shared.nodes.end());
  }
  Json seams = Json::array();
  for (const auto& [parts, of_seam] : nodes) {
    seams.push_back({{"parts", {print.series.at(parts[0]), print.series.at(parts[1])}}, {"nodes", packed(of_seam)}});
  }
  return seams;
}

/// A series of files and its part of a print.
struct Place {
  std::size_t print = 0;
  std::size_t part = 0;
};

class PrintCollector {
 public:
  PrintCollector(const TimeSeries& series, const std::optional<Scenario>& model) : series_(series), model_(model) {
    if (model) feet_ = feet_of(*model);
  }

  void begin_time() {
    for (FootPrint& print : prints_) print.map.clear_latest();
  }

  void add(const FieldFile& file, const PartOwner& owner, const FieldGrid& grid) {
    const auto known = places_.find(file.name);
    if (known != places_.end()) {
      prints_[known->second.print].map.add(grid, known->second.part);
    } else {
      places_[file.name] = add_first(file.name, file.time, owner, grid);
    }
    FootPrint& print = prints_[places_[file.name].print];
    if (print.loads) print.loads->add(file.time, grid);
    loaded_.insert(places_[file.name].print);
  }

  void end_time(double time) {
    for (const std::size_t k : loaded_) {
      if (prints_[k].regions) prints_[k].regions->add(time, prints_[k].map.latest());
    }
    loaded_.clear();
  }

  [[nodiscard]] std::vector<FootPrint> prints() && { return std::move(prints_); }

 private:
  [[nodiscard]] Foot foot_with(const PartOwner& owner) const {
    for (const Foot& foot : feet_) {
      if (std::ranges::find(foot.parts, owner.pair, &LoadedPart::pair) != foot.parts.end()) return foot;
    }
    return {.name = owner.pair, .label = owner.body, .parts = {{.pair = owner.pair, .body = owner.body, .X_FB = {}}}};
  }

  Place add_first(const std::string& series, double time, const PartOwner& owner, const FieldGrid& grid) {
    const Foot foot = foot_with(owner);
    const auto part = std::ranges::find(foot.parts, owner.pair, &LoadedPart::pair);
    const Pose X_WF = pose_in_row(series_.columns, row_near(series_, time), owner.body) * part->X_FB.inverse();
    const auto print = std::ranges::find(prints_, foot.name, &FootPrint::name);
    if (print != prints_.end()) {
      print->series.push_back(series);
      return {.print = static_cast<std::size_t>(print - prints_.begin()), .part = print->map.add_part(grid, X_WF)};
    }
    PressureMap map(grid, X_WF);
    std::optional<PressureRegions> regions;
    if (foot.parts.size() == 1 && is_whole_foot(model_, owner.pair)) regions.emplace(map);
    std::optional<RegionLoads> loads;
    if (foot.parts.size() == 1 && RegionLoads::has_faces(grid)) loads.emplace(owner.pair, grid);
    prints_.push_back({.name = foot.name,
                       .label = foot.label,
                       .parts = foot.parts,
                       .map = std::move(map),
                       .series = {series},
                       .path = cop_path(series_, foot.parts),
                       .regions = std::move(regions),
                       .loads = std::move(loads)});
    return {.print = prints_.size() - 1, .part = 0};
  }

  const TimeSeries& series_;
  const std::optional<Scenario>& model_;
  std::vector<Foot> feet_;
  std::vector<FootPrint> prints_;
  std::map<std::string, Place> places_;
  std::set<std::size_t> loaded_;  ///< prints with a frame at this time
};

}  // namespace

std::vector<FootPrint> foot_prints(const fs::path& folder, const TimeSeries& series,
                                   const std::optional<Scenario>& model) {
  if (!fs::exists(folder / "fields.pvd")) return {};
  std::vector<FieldFile> files = read_field_index(folder);
  std::ranges::stable_sort(files, {}, &FieldFile::time);
  PrintCollector collector(series, model);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const FieldFile& file = files[i];
    if (i == 0 || file.time > files[i - 1].time) collector.begin_time();
    if (const auto owner = part_owner(file.name, series.columns)) {
      const FieldGrid grid = parse_vtu(read_whole_file(folder / file.file), (folder / file.file).string());
      if (PressureMap::has_pressure(grid)) collector.add(file, *owner, grid);
    }
    if (i + 1 == files.size() || files[i + 1].time > file.time) collector.end_time(file.time);
  }
  return std::move(collector).prints();
}

double find_peak_pressure(const std::vector<FootPrint>& prints) {
  double largest = 0.0;
  for (const FootPrint& print : prints) largest = std::max(largest, print.map.peak_pressure());
  return largest;
}

Json foot_prints_json(const std::vector<FootPrint>& prints, double high) {
  Json json = Json::array();
  for (const FootPrint& print : prints) {
    const PlanView view = print.map.view(print.map.peak(), page_cells);
    std::vector<double> times, u, v;
    std::size_t contact = 0;
    for (const std::size_t row : rows_with_extremes(print.path.forces, path_budget)) {
      if (!times.empty() && print.path.contacts[row] != contact) {
        for (std::vector<double>* column : {&times, &u, &v}) column->push_back(std::nan(""));  // breaks the line
      }
      contact = print.path.contacts[row];
      times.push_back(print.path.times[row]);
      u.push_back(print.path.points[row][view.axes[0]]);
      v.push_back(print.path.points[row][view.axes[1]]);
    }
    Json bodies = Json::array();
    for (const LoadedPart& part : print.parts) bodies.push_back(part.body);
    json.push_back({{"label", print.label},
                    {"bodies", std::move(bodies)},
                    {"view", plan_view_json(view, high)},
                    {"path", {{"time", packed(times)}, {"u", packed(u)}, {"v", packed(v)}}}});
  }
  return json;
}

Json joined_feet_json(const std::vector<FootPrint>& prints) {
  Json json = Json::array();
  for (const FootPrint& print : prints) {
    if (print.parts.size() < 2) continue;
    Json pairs = Json::array();
    for (const LoadedPart& part : print.parts) pairs.push_back(part.pair);
    json.push_back({{"label", print.label}, {"pairs", std::move(pairs)}, {"seams", seams_json(print)}});
  }
  return json;
}

}  // namespace heelstrike::report
