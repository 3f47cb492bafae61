#include "client/report/pressure_regions.hpp"

#include <algorithm>

namespace heelstrike::client::report {
namespace {

constexpr double heel_end = 0.31;
constexpr double midfoot_end = 0.55;
constexpr double metatarsals_end = 0.80;
constexpr double hallux_width = 0.40;

}  // namespace

PressureRegions::PressureRegions(const PressureMap& map, FootSide side) : area_(map.sole_areas()) {
  for (const char* name : {"heel", "midfoot", "metatarsals"}) rows_.push_back({.name = name});
  if (side == FootSide::unknown) {
    rows_.push_back({.name = "toes"});
  } else {
    for (const char* name : {"hallux", "lesser toes"}) rows_.push_back({.name = name});
  }
  rows_.push_back({.name = "all"});
  last_peak_.assign(rows_.size(), 0.0);
  const auto low = map.lowest_point();
  const auto high = map.highest_point();
  for (std::uint32_t i = 0; i < area_.size(); ++i) {
    const Vector3 p = map.point(i);
    const double along = (p.x() - low.x()) / std::max(high.x() - low.x(), 1e-300);
    const double from_right = (p.y() - low.y()) / std::max(high.y() - low.y(), 1e-300);
    // y points to the left: the inner side of a left foot is its right one.
    const double from_inner = side == FootSide::left ? from_right : 1.0 - from_right;
    std::size_t region = along < heel_end ? 0 : along < midfoot_end ? 1 : along < metatarsals_end ? 2 : 3;
    if (region == 3 && side != FootSide::unknown && from_inner > hallux_width) region = 4;
    region_.push_back(region);
  }
}

void PressureRegions::add(double time, const std::vector<double>& pressure) {
  const std::size_t n = rows_.size();
  std::vector<double> peak(n, 0.0);
  std::vector<double> force(n, 0.0);
  std::vector<double> loaded(n, 0.0);
  for (std::size_t i = 0; i < std::min(pressure.size(), area_.size()); ++i) {
    if (!(pressure[i] > 0.0)) continue;
    for (const std::size_t r : {region_[i], n - 1}) {
      peak[r] = std::max(peak[r], pressure[i]);
      force[r] += pressure[i] * area_[i];
      loaded[r] += area_[i];
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

}  // namespace heelstrike::client::report
