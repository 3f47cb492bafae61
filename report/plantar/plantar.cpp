#include "report/plantar/plantar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <variant>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "common/results/run_folder.hpp"
#include "gait/force_plate.hpp"
#include "report/feet.hpp"
#include "report/fields_data.hpp"
#include "report/pressure_regions.hpp"

namespace heelstrike {
namespace {

namespace fs = std::filesystem;

constexpr auto heel = static_cast<std::size_t>(report::FootRegion::heel);
constexpr auto metatarsal = static_cast<std::size_t>(report::FootRegion::metatarsals);

/// Poses of the bodies at a time.
class Poses {
 public:
  explicit Poses(const TimeSeries& series) : series_(series), times_(series.column("time_s")) {}

  [[nodiscard]] Pose at(const std::string& body, double t) {
    if (body == "ground") return {};
    auto& columns = columns_[body];
    if (columns.empty()) {
      for (const char* c : {".x_m", ".y_m", ".z_m", ".qw", ".qx", ".qy", ".qz"}) {
        columns.push_back(series_.column(body + c));
      }
    }
    const auto after = std::ranges::lower_bound(times_, t - 1e-9);
    if (after == times_.end() || std::abs(*after - t) > 1e-6) {
      throw input_error("RUN",
                        fmt::format("fields at t = {} s have no row in timeseries.csv; set output.fields.interval "
                                    "to a multiple of output.interval",
                                    t));
    }
    const auto i = static_cast<std::size_t>(after - times_.begin());
    Pose X_WB;
    X_WB.R = Eigen::Quaterniond(columns[3][i], columns[4][i], columns[5][i], columns[6][i]).toRotationMatrix();
    X_WB.p = Vector3(columns[0][i], columns[1][i], columns[2][i]);
    return X_WB;
  }

 private:
  const TimeSeries& series_;
  std::vector<double> times_;
  std::map<std::string, std::vector<std::vector<double>>> columns_;
};

/// The part of a foot in one pair; a whole foot has one, a foot cut by body_box has several.
struct Segment {
  std::string series;  ///< of fields.pvd
  const PairModel* pair = nullptr;
  std::string foot;
  std::vector<Vector3> points;           ///< [m] in the frame of the body
  std::vector<std::uint32_t> triangles;  ///< contact candidates
  std::vector<double> face_areas;        ///< [m^2] of all triangles of the files
  report::FootMask mask;
};

const report::PointArray* pressure_of(const std::vector<report::PointArray>& arrays) {
  const auto array = std::ranges::find(arrays, "contact_pressure", &report::PointArray::name);
  return array == arrays.end() ? nullptr : &*array;
}

/// Peaks are taken from points, forces from faces, which sum to the normal force also where points have no pressure
/// (rim of a cut). Fields of volumes have points only.
void add_loads(const report::FieldGrid& grid, const Segment& segment, const std::string& file, PlantarFrame& frame) {
  const report::FootMask& mask = segment.mask;
  const report::PointArray* of_points = pressure_of(grid.arrays);
  if (of_points == nullptr) {
    throw input_error(
        "RUN",
        fmt::format(
            "{}: expected the quantity contact_pressure, found none; add it to output.fields.quantities and rerun",
            file));
  }
  const report::PointArray* of_faces = pressure_of(grid.of_triangles);
  for (std::size_t i = 0; i < of_points->values.size(); ++i) {
    const double p = of_points->values[i];
    if (!(p > 0.0)) continue;
    PlantarRegion& load = frame.regions[static_cast<std::size_t>(mask.region[i])];
    if (of_faces == nullptr) load.force += p * mask.area[i];
    load.area += mask.area[i];
    load.peak = std::max(load.peak, p);
  }
  if (of_faces == nullptr) return;
  for (std::size_t t = 0; t < of_faces->values.size(); ++t) {
    for (std::size_t c = 0; c < 3; ++c) {
      const auto region = static_cast<std::size_t>(mask.region[grid.triangles[3 * t + c]]);
      frame.regions[region].force += of_faces->values[t] * segment.face_areas[t] / 3.0;
    }
  }
}

/// Name of the foot of a pair.
std::string foot_of(const std::vector<report::Foot>& feet, const std::string& pair) {
  const auto matches = [&](const report::Foot& foot) {
    return std::ranges::find(foot.parts, pair, &report::LoadedPart::pair) != foot.parts.end();
  };
  const auto foot = std::ranges::find_if(feet, matches);
  return foot == feet.end() ? pair : foot->name;
}

std::vector<double> list_of(const ParameterMap& parameters, const std::string& name) {
  const auto found = parameters.find(name);
  const auto* values = found == parameters.end() ? nullptr : std::get_if<std::vector<double>>(&found->second);
  return values == nullptr ? std::vector<double>{} : *values;
}

/// Retains the contact candidates selected by the back-end with contact_direction: pressure is force per area of these
/// faces, so that steep faces, or those of a cut, would add unloaded area.
void select_contact_faces(const PairModel& pair, Segment& segment) {
  const auto direction = list_of(pair.spec.parameters, "contact_direction");
  if (direction.size() != 3) return;
  constexpr double default_angle = std::numbers::pi / 3.0;  // default of the back-end parameter contact_angle
  const auto given = pair.spec.parameters.find("contact_angle");
  const auto* angle = given == pair.spec.parameters.end() ? nullptr : std::get_if<double>(&given->second);
  const double min_cosine = std::cos(angle == nullptr ? default_angle : *angle);
  const Vector3 towards = Vector3(direction[0], direction[1], direction[2]).normalized();
  std::vector<std::uint32_t> kept;
  for (std::size_t t = 0; t + 2 < segment.triangles.size(); t += 3) {
    const Vector3& a = segment.points[segment.triangles[t]];
    const Vector3& b = segment.points[segment.triangles[t + 1]];
    const Vector3& c = segment.points[segment.triangles[t + 2]];
    if ((b - a).cross(c - a).normalized().dot(towards) < min_cosine) continue;
    const auto first = segment.triangles.begin() + static_cast<std::ptrdiff_t>(t);
    kept.insert(kept.end(), first, first + 3);
  }
  segment.triangles = std::move(kept);
}

std::vector<double> areas_of(const Segment& segment) {
  std::vector<double> areas;
  for (std::size_t t = 0; t + 2 < segment.triangles.size(); t += 3) {
    const Vector3& a = segment.points[segment.triangles[t]];
    const Vector3& b = segment.points[segment.triangles[t + 1]];
    const Vector3& c = segment.points[segment.triangles[t + 2]];
    areas.push_back(0.5 * (b - a).cross(c - a).norm());
  }
  return areas;
}

/// Every series of pressures once, with the shape from its first file.
std::vector<Segment> find_segments(const fs::path& run, const Scenario& scenario,
                                   const std::vector<report::FieldFile>& files, Poses& poses) {
  const std::vector<report::Foot> feet = report::feet_of(scenario);
  std::vector<Segment> segments;
  for (const report::FieldFile& file : files) {
    if (std::ranges::find(segments, file.name, &Segment::series) != segments.end()) continue;
    const auto pair = std::ranges::find_if(
        scenario.pairs, [&](const PairModel& p) { return file.name == p.spec.name + "_" + p.main_body; });
    if (pair == scenario.pairs.end()) continue;
    Segment segment{.series = file.name,
                    .pair = &*pair,
                    .foot = foot_of(feet, pair->spec.name),
                    .points = {},
                    .triangles = {},
                    .face_areas = {},
                    .mask = {}};
    const report::FieldGrid grid = report::parse_vtu(read_whole_file(run / file.file), file.file);
    const Pose X_BW = poses.at(pair->main_body, file.time).inverse();
    for (std::size_t i = 0; i + 2 < grid.points.size(); i += 3) {
      segment.points.push_back(X_BW * Vector3(grid.points[i], grid.points[i + 1], grid.points[i + 2]));
    }
    segment.triangles = grid.triangles;
    segment.face_areas = areas_of(segment);
    select_contact_faces(*pair, segment);
    segments.push_back(std::move(segment));
  }
  return segments;
}

/// Regions follow from the outline of the whole foot: all segments in the frame of the first segment's body, with
/// straight toes.
void mask_foot(const std::string& foot, double toe_line, std::vector<Segment>& segments) {
  std::vector<Segment*> parts;
  for (Segment& segment : segments) {
    if (segment.foot == foot) parts.push_back(&segment);
  }
  if (parts.size() == 1 && report::is_cut(*parts[0]->pair)) {
    throw input_error("RUN", fmt::format("pair '{}': expected fields of all parts of the foot cut by body_box, found "
                                         "only those of this part, which does not determine the length of the foot",
                                         parts[0]->pair->spec.name));
  }
  std::vector<Vector3> points;
  std::vector<std::uint32_t> triangles;
  const Pose X_B1S = report::surface_placement(parts[0]->pair->spec.main.surface);
  for (const Segment* part : parts) {
    const auto first = static_cast<std::uint32_t>(points.size());
    const Pose X_B1B = X_B1S * report::surface_placement(part->pair->spec.main.surface).inverse();
    for (const Vector3& p_BP : part->points) points.push_back(X_B1B * p_BP);
    for (const std::uint32_t corner : part->triangles) triangles.push_back(first + corner);
  }
  const report::FootMask mask = report::foot_mask(points, triangles, toe_line);
  auto from = std::ptrdiff_t{0};
  for (Segment* part : parts) {
    const auto to = from + std::ssize(part->points);
    part->mask.region.assign(mask.region.begin() + from, mask.region.begin() + to);
    part->mask.area.assign(mask.area.begin() + from, mask.area.begin() + to);
    from = to;
  }
}

/// Times of the frames: those with files and, where only loaded frames have files, the other rows on the time grid of
/// the fields. Times without a row are missing.
std::set<double> frame_times(const Scenario& scenario, const TimeSeries& series,
                             const std::vector<report::FieldFile>& files) {
  std::set<double> times;
  for (const report::FieldFile& file : files) times.insert(file.time);
  const auto& fields = scenario.output.fields;
  if (!fields || !fields->contact_only || fields->interval == 0.0) return times;
  for (const double t : series.column("time_s")) {
    const double nearest = std::round(t / fields->interval) * fields->interval;
    const auto known = times.lower_bound(t - 1e-9);
    const bool there = known != times.end() && *known <= t + 1e-9;
    if (std::abs(t - nearest) < 1e-9 && !there) times.insert(t);
  }
  return times;
}

/// @param max_gap  [s] no integration between frames that are farther apart (missing frames)
void summarise(PlantarFoot& foot, double max_gap) {
  for (std::size_t r = 0; r < plantar_regions.size(); ++r) {
    RegionSummary& s = foot.summary[r];
    for (std::size_t i = 0; i < foot.frames.size(); ++i) {
      const PlantarRegion& load = foot.frames[i].regions[r];
      s.max_force = std::max(s.max_force, load.force);
      s.peak_pressure = std::max(s.peak_pressure, load.peak);
      s.max_area = std::max(s.max_area, load.area);
      if (i == 0) continue;
      const PlantarRegion& before = foot.frames[i - 1].regions[r];
      const double h = foot.frames[i].time - foot.frames[i - 1].time;
      if (h > max_gap) continue;
      s.impulse += 0.5 * h * (before.force + load.force);
      s.pressure_time_integral += 0.5 * h * (before.peak + load.peak);
    }
  }
}

/// Heel strike: first loaded frame; foot flat: heel and metatarsal carry 10 % each; heel-off: the heel load falls below
/// 2 %; toe-off: last loaded frame; swing: the next one.
void find_instants(PlantarFoot& foot) {
  std::size_t from = 0, to = 0;
  for (std::size_t i = 0; i < foot.frames.size();) {
    std::size_t end = i;
    while (end < foot.frames.size() && foot.frames[end].force() > stance_threshold) ++end;
    if (i > 0 && end < foot.frames.size() && end - i > to - from) {
      from = i;
      to = end;
    }
    i = end + 1;
  }
  if (to == from) return;
  const auto first = [&](std::size_t begin, const auto& matches) {
    while (begin + 1 < to && !matches(foot.frames[begin])) ++begin;
    return begin;
  };
  const std::size_t flat = first(from, [](const PlantarFrame& f) {
    return f.regions[heel].force > 0.1 * f.force() && f.regions[metatarsal].force > 0.1 * f.force();
  });
  const std::size_t off = first(flat, [](const PlantarFrame& f) { return f.regions[heel].force < 0.02 * f.force(); });
  foot.instants = {{"heel_strike", foot.frames[from].time},
                   {"foot_flat", foot.frames[flat].time},
                   {"heel_off", foot.frames[off].time},
                   {"toe_off", foot.frames[to - 1].time},
                   {"swing", foot.frames[to].time}};
}

}  // namespace

double PlantarFrame::force() const {
  double sum = 0.0;
  for (const PlantarRegion& load : regions) sum += load.force;
  return sum;
}

std::vector<PlantarFoot> plantar_loads(const fs::path& run, const Scenario& scenario, double toe_line) {
  const TimeSeries series = read_timeseries(run);
  Poses poses(series);
  const bool has_fields = fs::exists(run / "fields.pvd");
  const std::vector<report::FieldFile> files =
      has_fields ? report::read_field_index(run) : std::vector<report::FieldFile>();
  std::vector<Segment> segments = find_segments(run, scenario, files, poses);
  if (segments.empty()) {
    throw input_error(
        "output.fields",
        fmt::format("{}: expected fields of a contact pair, found none; add to `output` of the scenario "
                    "`fields: {{interval: 0.02, quantities: [contact_pressure]}}` and repeat the run, with "
                    "a deformable foot: point laws have no pressure field",
                    run.string()));
  }
  const std::set<double> times = frame_times(scenario, series, files);
  const double interval = scenario.output.fields ? scenario.output.fields->interval : 0.0;
  const double max_gap = interval > 0.0 ? 1.5 * interval : std::numeric_limits<double>::infinity();
  std::vector<PlantarFoot> feet;
  for (const Segment& segment : segments) {
    auto foot = std::ranges::find(feet, segment.foot, &PlantarFoot::name);
    if (foot == feet.end()) {
      foot = feet.insert(feet.end(), {.name = segment.foot, .series = {}, .frames = {}, .instants = {}, .summary = {}});
      // A frame with a row but no file (`contact_only`) is unloaded.
      for (const double time : times) foot->frames.push_back({.time = time, .regions = {}});
    }
    foot->series.push_back(segment.series);
  }
  for (const PlantarFoot& foot : feet) mask_foot(foot.name, toe_line, segments);
  for (const report::FieldFile& file : files) {
    const auto segment = std::ranges::find(segments, file.name, &Segment::series);
    if (segment == segments.end()) continue;
    const auto foot = std::ranges::find(feet, segment->foot, &PlantarFoot::name);
    const auto frame = std::ranges::find(foot->frames, file.time, &PlantarFrame::time);
    add_loads(report::parse_vtu(read_whole_file(run / file.file), file.file), *segment, file.file, *frame);
  }
  for (PlantarFoot& foot : feet) {
    summarise(foot, max_gap);
    find_instants(foot);
  }
  return feet;
}

namespace {

/// Rows of all feet; their frames have the same times.
std::string table(const std::vector<PlantarFoot>& feet, const std::string& separator, bool units) {
  std::string text = units ? "time_s" : "time";
  for (const PlantarFoot& foot : feet) {
    for (const auto region : plantar_regions) {
      for (const char* what : {"force_N", "area_m2", "peak_pressure_Pa", "mean_pressure_Pa"}) {
        text += fmt::format("{}{}.{}.{}", separator, foot.name, region, what);
      }
    }
  }
  text += '\n';
  for (std::size_t i = 0; i < feet[0].frames.size(); ++i) {
    text += fmt::format("{}", feet[0].frames[i].time);
    for (const PlantarFoot& foot : feet) {
      for (const PlantarRegion& load : foot.frames.at(i).regions) {
        text += fmt::format("{0}{1}{0}{2}{0}{3}{0}{4}", separator, load.force, load.area, load.peak,
                            load.area > 0.0 ? load.force / load.area : 0.0);
      }
    }
    text += '\n';
  }
  return text;
}

std::string summary_table(const std::vector<PlantarFoot>& feet) {
  std::string text = "foot,region,max_force_N,peak_pressure_Pa,max_area_m2,impulse_Ns,pressure_time_integral_Pas\n";
  for (const PlantarFoot& foot : feet) {
    for (std::size_t r = 0; r < plantar_regions.size(); ++r) {
      const RegionSummary& s = foot.summary[r];
      text += fmt::format("{},{},{},{},{},{},{}\n", foot.name, plantar_regions[r], s.max_force, s.peak_pressure,
                          s.max_area, s.impulse, s.pressure_time_integral);
    }
  }
  return text;
}

/// The files of the five instants, one time step per instant, in order: 1 heel strike ... 5 swing.
std::string instants_index(const fs::path& run, const std::vector<PlantarFoot>& feet) {
  std::string text =
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" "
      "byte_order=\"LittleEndian\">\n<Collection>\n";
  for (const report::FieldFile& file : report::read_field_index(run)) {
    for (std::size_t f = 0; f < feet.size(); ++f) {
      if (std::ranges::find(feet[f].series, file.name) == feet[f].series.end()) continue;
      for (std::size_t i = 0; i < feet[f].instants.size(); ++i) {
        if (feet[f].instants[i].time != file.time) continue;
        text += fmt::format("<!-- {} {} at {} s -->\n<DataSet timestep=\"{}\" part=\"{}\" name=\"{}\" file=\"{}\"/>\n",
                            feet[f].name, feet[f].instants[i].name, file.time, i + 1, f, file.name, file.file);
      }
    }
  }
  return text + "</Collection>\n</VTKFile>\n";
}

}  // namespace

std::vector<std::string> write_plantar(const fs::path& run, const std::vector<PlantarFoot>& feet) {
  const std::string rows = table(feet, "\t", false);
  const auto n_columns = 1 + std::ranges::count(rows.substr(0, rows.find('\n')), '\t');
  const std::string header = fmt::format("plantar_regions\nversion=1\nnRows={}\nnColumns={}\ninDegrees=no\nendheader\n",
                                         feet[0].frames.size(), n_columns);
  const std::vector<std::pair<std::string, std::string>> files = {
      {"plantar_regions.csv", table(feet, ",", true)},
      {"plantar_regions.sto", header + rows},
      {"plantar_summary.csv", summary_table(feet)},
      {"plantar_instants.pvd", instants_index(run, feet)},
  };
  std::vector<std::string> names;
  for (const auto& [name, text] : files) {
    write_whole_file(run / name, text);
    names.push_back((run / name).string());
  }
  return names;
}

}  // namespace heelstrike
