#include "report/pressure_regions.hpp"

#include <algorithm>
#include <utility>

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

}  // namespace heelstrike::report
