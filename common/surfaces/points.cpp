#include "common/surfaces/points.hpp"

#include <fmt/format.h>

#include "common/config/keys.hpp"
#include "common/spatial/extents.hpp"
#include "common/surfaces/registry.hpp"
#include "common/surfaces/values.hpp"

namespace heelstrike {

namespace {

void check_points(const Surface& surface, bool /*is_rigid*/, const std::string& where) {
  const PointCloudSurface cloud = PointCloudSurface::of(surface).value();
  const std::string key = where + "." + PointCloudSurface::kind;
  if (cloud.points.empty()) {
    refuse_value(key + ".positions", "at least one point", "an empty list", "add points or use a mesh");
  }
  if (cloud.points.size() == cloud.areas.size()) return;
  refuse_value(key + ".areas", fmt::format("as many areas as points ({}) [m^2]", cloud.points.size()),
               fmt::format("{}", cloud.areas.size()), "give one tributary area for each point");
}

/// @pre not empty
std::optional<Vector3> points_extents(const Surface& surface) {
  return extents_of(PointCloudSurface::of(surface)->points);
}

config::KeySchema points_keys() {
  config::KeySchema positions = config::vector3_list("positions", "m", config::coordinates, "the points");
  positions.keys = {config::required(config::vector3("", "m", config::coordinates, "one point"))};
  return {.name = PointCloudSurface::kind,
          .kind = config::KeyKind::map,
          .meaning = "point cloud",
          .keys = {config::required(std::move(positions)),
                   config::required(config::number_list("areas", "m^2", config::areas,
                                                        "tributary area of each point, as many as points"))}};
}

}  // namespace

std::optional<PointCloudSurface> PointCloudSurface::of(const Surface& surface) {
  if (surface.kind != kind) return std::nullopt;
  const std::vector<double>& xyz = numbers(surface.values, "positions");
  PointCloudSurface cloud{.points = {}, .areas = numbers(surface.values, "areas")};
  cloud.points.reserve(xyz.size() / 3);
  for (std::size_t i = 0; i + 2 < xyz.size(); i += 3) cloud.points.emplace_back(xyz[i], xyz[i + 1], xyz[i + 2]);
  return cloud;
}

PointCloudSurface::operator Surface() const {
  std::vector<double> xyz;
  xyz.reserve(3 * points.size());
  for (const Vector3& p : points) xyz.insert(xyz.end(), p.begin(), p.end());
  return {.kind = kind, .values = {{"positions", std::move(xyz)}, {"areas", areas}}};
}

SurfaceKind points_kind() {
  return {.keys = points_keys(), .is_cloud = true, .check = check_points, .extents = points_extents};
}

}  // namespace heelstrike
