#include "fem_server/backends/elastic_foundation/foundation_regions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>

#include "common/errors/error.hpp"

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

/// `sets` and `halves` as the names that they stand for.
std::vector<std::string> wanted_regions(const std::string& names, const SurfaceMesh& mesh, const std::string& key) {
  std::vector<std::string> wanted;
  std::istringstream words(names);
  for (std::string word; words >> word;) {
    if (word == "sets") {
      if (mesh.group_names.empty()) {
        throw input_error(key, fmt::format("{}: expected named sets of triangles on the casting surface, found none; "
                                           "use planes, e.g. 'z- z+', or a file with groups (obj, msh)",
                                           key));
      }
      wanted.insert(wanted.end(), mesh.group_names.begin(), mesh.group_names.end());
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

/// Names of regions head columns of tables.
void check_name(const std::string& name, const std::string& key) {
  const bool plain = std::ranges::none_of(name, [](char c) { return c == ',' || c == '"' || (c >= '\0' && c < ' '); });
  if (plain && !name.empty()) return;
  throw input_error(key, fmt::format("{}: expected names without commas, quotation marks and line ends, found the set "
                                     "'{}'; rename it in its file, or use planes, e.g. 'z- z+'",
                                     key, name));
}

FoundationRegion half(std::size_t which, const Vector3& center, const SurfaceMesh& mesh) {
  const auto axis = static_cast<Eigen::Index>(which / 2);
  const bool above = which % 2 == 1;
  FoundationRegion region{.name = std::string(halves[which]), .triangles = {}};
  for (const Triangle& t : mesh.triangles) {
    const double at = (mesh.vertices[t[0]][axis] + mesh.vertices[t[1]][axis] + mesh.vertices[t[2]][axis]) / 3.0;
    region.triangles.push_back((at >= center[axis]) == above);
  }
  return region;
}

FoundationRegion set_named(const std::string& name, const SurfaceMesh& mesh, const std::string& key) {
  const auto found = std::ranges::find(mesh.group_names, name);
  if (found == mesh.group_names.end() || mesh.triangle_groups.size() != mesh.triangles.size()) {
    throw input_error(
        key, fmt::format("{}: expected regions of the casting surface, found '{}'; it has {}, {}", key, name,
                         mesh.group_names.empty() ? "no sets" : fmt::format("{}", fmt::join(mesh.group_names, ", ")),
                         fmt::join(halves, ", ")));
  }
  const auto index = static_cast<std::uint32_t>(found - mesh.group_names.begin());
  FoundationRegion region{.name = name, .triangles = {}};
  for (const std::uint32_t group : mesh.triangle_groups) region.triangles.push_back(group == index);
  return region;
}

}  // namespace

std::vector<FoundationRegion> foundation_regions(const std::string& names, const std::vector<double>& center,
                                                 const SurfaceMesh& mesh, const std::string& key) {
  const Vector3 through = center.size() == 3 ? Vector3(center[0], center[1], center[2]) : middle_of(mesh);
  std::vector<FoundationRegion> regions;
  for (const std::string& name : wanted_regions(names, mesh, key)) {
    check_name(name, key);
    const auto side = std::ranges::find(halves, name);
    regions.push_back(side == halves.end() ? set_named(name, mesh, key)
                                           : half(static_cast<std::size_t>(side - halves.begin()), through, mesh));
    const auto n = static_cast<std::size_t>(std::ranges::count(regions.back().triangles, true));
    if (n > 0 && n < mesh.triangles.size()) continue;
    throw input_error(key, fmt::format("{}: expected regions that cut the casting surface, found '{}' with {} of its "
                                       "{} triangles; {}",
                                       key, name, n, mesh.triangles.size(),
                                       side == halves.end() ? "leave it away"
                                                            : "leave it away, or move region_center [m] into the "
                                                              "surface"));
  }
  return regions;
}

}  // namespace heelstrike::fem
