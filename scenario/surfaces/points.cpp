#include "scenario/surfaces/points.hpp"

#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/surfaces/registry.hpp"
#include "scenario/surfaces/values.hpp"

namespace heelstrike {

namespace {

void check_points(const Surface& surface, bool /*is_rigid*/, const std::string& where) {
  const bool positions = surface.values.contains("positions");
  const bool areas = surface.values.contains("areas");
  const bool file = surface.values.contains("file");
  if (file ? positions || areas : !positions || !areas) {
    throw_invalid_value(where + "." + PointCloudSurface::kind, "positions and areas, or a file with both",
                        file ? "a file and more" : "not all of them",
                        "give `positions:` and `areas:`, or name a table with `file:`");
  }
  if (file) return;  // its content is checked when it is read
  const PointCloudSurface cloud = PointCloudSurface::of(surface).value();
  const std::string key = where + "." + PointCloudSurface::kind;
  if (cloud.points.empty()) {
    throw_invalid_value(key + ".positions", "at least one point", "an empty list", "add points or use a mesh");
  }
  if (cloud.points.size() == cloud.areas.size()) return;
  throw_invalid_value(key + ".areas", fmt::format("as many areas as points ({}) [m^2]", cloud.points.size()),
                      fmt::format("{}", cloud.areas.size()), "give one tributary area for each point");
}

/// @pre not empty
std::optional<Vector3> points_extents(const Surface& surface) {
  if (surface.values.contains("file")) return std::nullopt;
  return extents_of(PointCloudSurface::of(surface)->points);
}

Surface points_of_columns(std::span<const std::vector<double>> columns, const std::string& file_name) {
  PointCloudSurface cloud;
  for (std::size_t i = 0; i < columns[0].size(); ++i) {
    cloud.points.emplace_back(columns[0][i], columns[1][i], columns[2][i]);
    cloud.areas.push_back(columns[3][i]);
  }
  return checked_surface(cloud, true, file_name);
}

config::KeySchema points_keys() {
  config::KeySchema positions = config::vector3_list("positions", "m", config::coordinates, "the points");
  positions.keys = {config::required(config::vector3("", "m", config::coordinates, "one point"))};
  return {
      .name = PointCloudSurface::kind,
      .kind = config::KeyKind::map,
      .meaning = "point cloud",
      .keys = {std::move(positions),
               config::number_list("areas", "m^2", config::areas, "tributary area of each point, as many as points"),
               config::file(
                   "file",
                   "instead of both: table with the columns x_m, y_m, z_m, area_m2 (.csv), relative to the scenario "
                   "file")}};
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
  return {.keys = points_keys(),
          .is_cloud = true,
          .check = check_points,
          .table_headings = {"x_m", "y_m", "z_m", "area_m2"},
          .of_table = points_of_columns,
          .extents = points_extents};
}

}  // namespace heelstrike
