#include "fem_server/backend_interface/surface_regions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>

#include "common/contact/contact.hpp"
#include "common/errors/error.hpp"
#include "common/parameters/parameter.hpp"
#include "scenario/surfaces/values.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::array<std::string_view, 6> halves = {"x-", "x+", "y-", "y+", "z-", "z+"};

Vector3 middle_of(const SurfaceMesh& mesh) {
  Vector3 low = mesh.vertices.front();
  Vector3 high = low;
  for (const Vector3& p : mesh.vertices) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  return 0.5 * (low + high);
}

/// Expands `sets` and `halves` to names of regions.
std::vector<std::string> parse_regions(const std::string& names, const RegionSurface& surface, const std::string& key) {
  std::vector<std::string> wanted;
  std::istringstream words(names);
  for (std::string word; words >> word;) {
    if (word == "sets") {
      if (surface.sets.empty()) {
        throw input_error(key, fmt::format("{}: expected named sets of triangles on the {}, found none; "
                                           "use planes, e.g. 'z- z+', or a file with groups (obj, msh)",
                                           key, surface.name));
      }
      for (const auto& [name, triangles] : surface.sets) wanted.push_back(name);
    } else if (word == "halves") {
      wanted.insert(wanted.end(), halves.begin(), halves.end());
    } else {
      wanted.push_back(std::move(word));
    }
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto here = wanted.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(wanted.begin(), here, *here) == here) continue;
    throw input_error(key,
                      fmt::format("{}: expected every region once, found '{}' twice; name it once", key, wanted[i]));
  }
  return wanted;
}

/// Names of regions become headers of table columns.
void check_name(const std::string& name, const std::string& key) {
  const bool plain = std::ranges::none_of(name, [](char c) { return c == ',' || c == '"' || (c >= '\0' && c < ' '); });
  if (plain && !name.empty()) return;
  throw input_error(key, fmt::format("{}: expected names without commas, quotation marks and line ends, found the set "
                                     "'{}'; rename it in its file, or use planes, e.g. 'z- z+'",
                                     key, name));
}

SurfaceRegion half(std::size_t which, const Vector3& through, const RegionSurface& surface) {
  const auto axis = static_cast<Eigen::Index>(which / 2);
  const bool above = which % 2 == 1;
  SurfaceRegion region{.name = std::string(halves[which]), .triangles = {}};
  for (const Vector3& center : surface.centers) region.triangles.push_back((center[axis] >= through[axis]) == above);
  return region;
}

SurfaceRegion set_named(const std::string& name, const RegionSurface& surface, const std::string& key) {
  std::vector<std::string> known;
  for (const auto& [set, triangles] : surface.sets) {
    if (set == name) return {.name = name, .triangles = triangles};
    known.push_back(set);
  }
  throw input_error(
      key, fmt::format("{}: expected regions of the {}, found '{}'; it has {}, {}", key, surface.name, name,
                       known.empty() ? "no sets" : fmt::format("{}", fmt::join(known, ", ")), fmt::join(halves, ", ")));
}

}  // namespace

RegionSurface cut_surface(std::string name, const SurfaceMesh& mesh) {
  RegionSurface surface{.name = std::move(name), .middle = middle_of(mesh), .centers = {}};
  for (const Triangle& t : mesh.triangles) {
    surface.centers.push_back((mesh.vertices[t[0]] + mesh.vertices[t[1]] + mesh.vertices[t[2]]) / 3.0);
  }
  if (mesh.triangle_groups.size() != mesh.triangles.size()) return surface;
  for (std::uint32_t i = 0; i < mesh.group_names.size(); ++i) {
    std::vector<bool> triangles;
    for (const std::uint32_t group : mesh.triangle_groups) triangles.push_back(group == i);
    surface.sets.emplace_back(mesh.group_names[i], std::move(triangles));
  }
  return surface;
}

std::vector<ParameterSchema> region_parameters(const std::string& surface, const std::string& body) {
  return {text_parameter(
              regions_parameter,
              fmt::format("parts of {} with separate loads in the time series, fields and reports, separated by "
                          "blanks: names of its triangle sets, `sets` for all; x- x+ y- y+ z- z+ for one side of a "
                          "plane across an axis of {}'s frame, `halves` for all six",
                          surface, body),
              ""),
          list_parameter("region_center", "m", "point of the planes of regions; default: the middle of the surface")};
}

void check_region_center(const ParameterMap& parameters, const std::string& where) {
  const std::size_t coordinates = numbers(parameters, "region_center").size();
  if (coordinates == 0 || coordinates == 3) return;
  const std::string key = where + "region_center";
  throw input_error(key, fmt::format("{}: expected a point, three numbers [m], found {} numbers", key, coordinates));
}

std::vector<SurfaceRegion> surface_regions(const std::string& names, const std::vector<double>& center,
                                           const RegionSurface& surface, const std::string& key) {
  const Vector3 through = center.size() == 3 ? Vector3(center[0], center[1], center[2]) : surface.middle;
  const std::size_t all = surface.centers.size();
  std::vector<SurfaceRegion> regions;
  for (const std::string& name : parse_regions(names, surface, key)) {
    check_name(name, key);
    const auto side = std::ranges::find(halves, name);
    regions.push_back(side == halves.end() ? set_named(name, surface, key)
                                           : half(static_cast<std::size_t>(side - halves.begin()), through, surface));
    const auto n = static_cast<std::size_t>(std::ranges::count(regions.back().triangles, true));
    if (n > 0 && n < all) continue;
    throw input_error(key, fmt::format("{}: expected regions that cut the {}, found '{}' with {} of its {} triangles; "
                                       "{}",
                                       key, surface.name, name, n, all,
                                       side == halves.end() ? "omit it, or name the others"
                                                            : "omit it, or move region_center [m] into the "
                                                              "surface"));
  }
  return regions;
}

}  // namespace heelstrike::fem
