#include "report/pressure_regions.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike::report {

namespace {

constexpr double hallux_breadth = 0.35;  // of the toes

}  // namespace

FootMask foot_mask(std::span<const Vector3> points, std::span<const std::uint32_t> triangles, double toe_line) {
  FootMask mask{.region = {}, .area = std::vector<double>(points.size(), 0.0)};
  if (points.empty()) return mask;
  const auto by_x = [](const Vector3& a, const Vector3& b) { return a.x() < b.x(); };
  const auto [back, tip] = std::ranges::minmax_element(points, by_x);
  const double toes_begin = back->x() + toe_line * (tip->x() - back->x());
  double low = tip->y();
  double high = tip->y();
  for (const Vector3& p : points) {
    if (p.x() < toes_begin) continue;
    low = std::min(low, p.y());
    high = std::max(high, p.y());
  }
  const bool inner_is_high = tip->y() > 0.5 * (low + high);
  for (const Vector3& p : points) {
    if (p.x() >= toes_begin) {
      const double from_inner = inner_is_high ? high - p.y() : p.y() - low;
      mask.region.push_back(from_inner < hallux_breadth * (high - low) ? FootRegion::hallux : FootRegion::lesser_toes);
    } else {
      const double third = 3.0 * (p.x() - back->x()) / (toes_begin - back->x());
      mask.region.push_back(third < 1.0   ? FootRegion::heel
                            : third < 2.0 ? FootRegion::midfoot
                                          : FootRegion::metatarsals);
    }
  }
  for (std::size_t t = 0; t + 2 < triangles.size(); t += 3) {
    const Vector3& a = points[triangles[t]];
    const double area = 0.5 * (points[triangles[t + 1]] - a).cross(points[triangles[t + 2]] - a).norm();
    for (std::size_t c = 0; c < 3; ++c) mask.area[triangles[t + c]] += area / 3.0;
  }
  return mask;
}

PressureRegions::PressureRegions(const PressureMap& map) : mask_(foot_mask(map.points(), map.triangles())) {
  for (const char* name : {"heel", "midfoot", "metatarsals", "hallux", "lesser toes", "all"}) {
    rows_.push_back({.name = name});
  }
  last_peak_.assign(rows_.size(), 0.0);
}

void PressureRegions::add(double time, const std::vector<double>& pressure) {
  const std::size_t n = rows_.size();
  std::vector<double> peak(n, 0.0);
  std::vector<double> force(n, 0.0);
  std::vector<double> loaded(n, 0.0);
  for (std::size_t i = 0; i < std::min(pressure.size(), mask_.area.size()); ++i) {
    if (!(pressure[i] > 0.0)) continue;
    for (const std::size_t r : {static_cast<std::size_t>(mask_.region[i]), n - 1}) {
      peak[r] = std::max(peak[r], pressure[i]);
      force[r] += pressure[i] * mask_.area[i];
      loaded[r] += mask_.area[i];
    }
  }
  for (std::size_t r = 0; r < n; ++r) {
    RegionLoad& row = rows_[r];
    if (peak[r] > row.peak_pressure) {
      row.peak_pressure = peak[r];
      row.peak_time = time;
    }
    if (loaded[r] > 0.0) row.mean_pressure = std::max(row.mean_pressure, force[r] / loaded[r]);
    row.force = std::max(row.force, force[r]);
    row.area = std::max(row.area, loaded[r]);
    if (!first_) row.pressure_integral += 0.5 * (peak[r] + last_peak_[r]) * (time - last_time_);
  }
  last_peak_ = peak;
  last_time_ = time;
  first_ = false;
}

namespace {

constexpr std::string_view region_prefix = "region:";
constexpr std::array required_face_arrays = {"contact_pressure", "loaded_area", "penetration"};

const PointArray* array_of(const std::vector<PointArray>& arrays, std::string_view name) {
  const auto found = std::ranges::find(arrays, name, &PointArray::name);
  return found == arrays.end() ? nullptr : &*found;
}

Vector3 point_of(const FieldGrid& grid, std::uint32_t i) {
  return {grid.points[3 * i], grid.points[3 * i + 1], grid.points[3 * i + 2]};
}

/// Load of a face in additive quantities.
struct Face {
  double area = 0.0;         ///< [m^2]
  Vector3 centre;            ///< [m]
  double peak_corner = 0.0;  ///< [Pa] peak pressure of its corners
};

Face face_of(const FieldGrid& grid, std::size_t t, const PointArray* at_points) {
  const std::array corners = {grid.triangles[3 * t], grid.triangles[3 * t + 1], grid.triangles[3 * t + 2]};
  const Vector3 a = point_of(grid, corners[0]);
  const Vector3 b = point_of(grid, corners[1]);
  const Vector3 c = point_of(grid, corners[2]);
  Face face{.area = 0.5 * (b - a).cross(c - a).norm(), .centre = (a + b + c) / 3.0};
  for (const std::uint32_t corner : corners) {
    if (at_points != nullptr) face.peak_corner = std::max(face.peak_corner, at_points->values[corner]);
  }
  return face;
}

std::string entries(const FaceLoad& load) {
  std::string text = fmt::format(",{},{},{},{}", load.force, load.area, load.mean(), load.peak);
  text += load.force > 0.0 ? fmt::format(",{},{},{}", load.center.x(), load.center.y(), load.center.z()) : ",,,";
  return text + fmt::format(",{},{}", load.active, load.penetration);
}

}  // namespace

bool RegionLoads::has_faces(const FieldGrid& grid) {
  return std::ranges::all_of(required_face_arrays,
                             [&](const char* name) { return array_of(grid.of_triangles, name) != nullptr; });
}

RegionLoads::RegionLoads(std::string pair, const FieldGrid& first) : pair_(std::move(pair)) {
  for (const PointArray& array : first.of_triangles) {
    if (array.name.starts_with(region_prefix)) names_.push_back(array.name.substr(region_prefix.size()));
  }
  names_.emplace_back("all");
}

void RegionLoads::add(double time, const FieldGrid& frame) {
  const PointArray* pressure = array_of(frame.of_triangles, required_face_arrays[0]);
  const PointArray* loaded = array_of(frame.of_triangles, required_face_arrays[1]);
  const PointArray* depth = array_of(frame.of_triangles, required_face_arrays[2]);
  std::vector<const PointArray*> regions;
  for (const std::string& name : names_) {
    regions.push_back(name == "all" ? loaded : array_of(frame.of_triangles, std::string(region_prefix) + name));
  }
  if (pressure == nullptr || loaded == nullptr || depth == nullptr || std::ranges::count(regions, nullptr) > 0) {
    throw file_error(
        "fields.pvd",
        fmt::format(
            "expected pressure and regions of the faces of '{}' in every frame, found a frame without them at {} s",
            pair_, time));
  }
  const PointArray* at_points = array_of(frame.arrays, required_face_arrays[0]);
  std::vector<FaceLoad> sums(names_.size());
  for (std::size_t t = 0; t < frame.triangles.size() / 3; ++t) {
    if (!(loaded->values[t] > 0.0)) continue;
    const Face face = face_of(frame, t, at_points);
    const double force = pressure->values[t] * face.area;
    for (std::size_t r = 0; r < sums.size(); ++r) {
      if (!(regions[r]->values[t] > 0.0)) continue;
      FaceLoad& sum = sums[r];
      sum.force += force;
      sum.area += loaded->values[t];
      sum.peak = std::max({sum.peak, face.peak_corner, pressure->values[t]});
      sum.penetration = std::max(sum.penetration, depth->values[t]);
      sum.center += force * face.centre;
      ++sum.active;
    }
  }
  for (FaceLoad& sum : sums) {
    if (sum.force > 0.0) sum.center /= sum.force;
  }
  times_.push_back(time);
  loads_.push_back(std::move(sums));
}

std::string region_table(const std::vector<RegionLoads>& pairs) {
  std::set<double> times;
  std::string text = "time_s";
  for (const RegionLoads& pair : pairs) {
    times.insert(pair.times().begin(), pair.times().end());
    for (const std::string& region : pair.names()) {
      for (const char* what : {"force_N", "area_m2", "mean_pressure_Pa", "peak_pressure_Pa", "copx_m", "copy_m",
                               "copz_m", "active_faces", "penetration_m"}) {
        text += fmt::format(",{}.{}.{}", pair.pair(), region, what);
      }
    }
  }
  text += '\n';
  for (const double time : times) {
    text += fmt::format("{}", time);
    for (const RegionLoads& pair : pairs) {
      const auto at = std::ranges::find(pair.times(), time);
      for (std::size_t r = 0; r < pair.names().size(); ++r) {
        text += at == pair.times().end()
                    ? ",,,,,,,,,"
                    : entries(pair.loads()[static_cast<std::size_t>(at - pair.times().begin())][r]);
      }
    }
    text += '\n';
  }
  return text;
}

}  // namespace heelstrike::report
