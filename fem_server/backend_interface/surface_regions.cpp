#include "fem_server/backend_interface/surface_regions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
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
  std::vector<std::string> requested;
  std::istringstream words(names);
  for (std::string word; words >> word;) {
    if (word == "sets") {
      if (surface.sets.empty()) {
        throw input_error(key, fmt::format("{}: expected named sets of triangles on the {}, found none; "
                                           "use planes, e.g. 'z- z+', or a file with groups (obj, msh)",
                                           key, surface.name));
      }
      for (const auto& [name, triangles] : surface.sets) requested.push_back(name);
    } else if (word == "halves") {
      requested.insert(requested.end(), halves.begin(), halves.end());
    } else {
      requested.push_back(std::move(word));
    }
  }
  for (std::size_t i = 0; i < requested.size(); ++i) {
    const auto here = requested.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(requested.begin(), here, *here) == here) continue;
    throw input_error(key,
                      fmt::format("{}: expected every region once, found '{}' twice; name it once", key, requested[i]));
  }
  return requested;
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

namespace {

bool inside_box(const std::vector<double>& box, const Vector3& p) {
  for (Eigen::Index k = 0; k < 3; ++k) {
    const auto i = static_cast<std::size_t>(k);
    if (p[k] < box[i] || p[k] > box[i + 3]) return false;
  }
  return true;
}

std::vector<std::uint32_t> node_set(const VolumeMesh& mesh, const std::string& name, const std::string& key) {
  const auto set = mesh.node_sets.find(name);
  if (set != mesh.node_sets.end() && !set->second.empty()) return set->second;
  std::vector<std::string> known;
  for (const auto& [other, nodes] : mesh.node_sets) known.push_back(other);
  throw input_error(key, fmt::format("{}: node set '{}' {}; sets of the mesh: {}", key, name,
                                     set == mesh.node_sets.end() ? "does not exist" : "is empty",
                                     known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
}

}  // namespace

std::vector<ParameterSchema> body_set_parameters() {
  std::vector<ParameterSchema> s;
  s.push_back(text_parameter("clamped_set", "node set that is clamped", ""));
  s.push_back(list_parameter("clamped_box", "m", "nodes in this box (lower corner x, y, z, then upper) are clamped"));
  s.push_back(text_parameter("contact_set", "face set for contact; empty = the whole surface outside the clamp", ""));
  s.push_back(list_parameter("contact_box", "m",
                             "contact only on faces with their centre in this box (lower corner, then upper)"));
  s.push_back(
      list_parameter("contact_direction", "-", "contact only on faces that point this way; also the pole of a ball"));
  s.push_back(number_parameter("contact_angle", "rad", "maximum angle between a face normal and contact_direction",
                               std::numbers::pi / 3, {.min = 0.0, .max = std::numbers::pi}));
  return s;
}

std::vector<std::uint32_t> clamped_nodes(const VolumeMesh& mesh, const ParameterScope& place) {
  std::vector<std::uint32_t> nodes;
  const std::string& set = text(place.parameters, "clamped_set");
  if (!set.empty()) nodes = node_set(mesh, set, place.where + "clamped_set");
  const auto box = place.numbers("clamped_box", 6);
  if (!box.empty()) {
    const std::size_t before = nodes.size();
    for (std::uint32_t n = 0; n < mesh.nodes.size(); ++n) {
      if (inside_box(box, mesh.nodes[n])) nodes.push_back(n);
    }
    if (nodes.size() == before) {
      throw input_error(place.where + "clamped_box", place.where + "clamped_box: no node of the mesh lies in this box");
    }
  }
  std::ranges::sort(nodes);
  const auto repeated = std::ranges::unique(nodes);
  nodes.erase(repeated.begin(), repeated.end());
  return nodes;
}

namespace {

struct Side {
  Vector3 middle;  ///< [m] of the corners
  Vector3 normal;  ///< [-] outwards
};

/// The side that contains a face. Its nodes share its area, so all faces of a side can be in contact, or none.
Side side_of(const VolumeMesh& mesh, ElementFace face) {
  if (mesh.parts_of_side(face.face) == 1) {
    const Triangle corners = face_corners(mesh, face);
    const Vector3& a = mesh.nodes[corners[0]];
    const Vector3& b = mesh.nodes[corners[1]];
    const Vector3& c = mesh.nodes[corners[2]];
    return {.middle = (a + b + c) / 3.0, .normal = (b - a).cross(c - a).normalized()};
  }
  const auto corners = side_corners(mesh, face);
  const Vector3& a = mesh.nodes[corners[0]];
  const Vector3& b = mesh.nodes[corners[1]];
  const Vector3& c = mesh.nodes[corners[2]];
  const Vector3& d = mesh.nodes[corners[3]];
  return {.middle = (a + b + c + d) / 4.0, .normal = (c - a).cross(d - b).normalized()};
}

}  // namespace

std::vector<ElementFace> contact_faces(const VolumeMesh& mesh, std::span<const ElementFace> cut,
                                       const ParameterScope& place) {
  const std::string& name = text(place.parameters, "contact_set");
  std::vector<ElementFace> faces = boundary_faces(mesh);
  if (!name.empty()) {
    const auto set = mesh.face_sets.find(name);
    if (set == mesh.face_sets.end() || set->second.empty()) {
      std::vector<std::string> known;
      for (const auto& [other, members] : mesh.face_sets) known.push_back(other);
      throw input_error(place.where + "contact_set",
                        fmt::format("{}contact_set: face set '{}' {}; sets of the mesh: {}", place.where, name,
                                    set == mesh.face_sets.end() ? "does not exist" : "is empty",
                                    known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
    }
    faces = set->second;
  }
  const auto box = place.numbers("contact_box", 6);
  const auto direction = place.numbers("contact_direction", 3);
  const double min_cosine = std::cos(number(place.parameters, "contact_angle"));
  Vector3 towards = Vector3::Zero();
  if (!direction.empty()) towards = Vector3(direction[0], direction[1], direction[2]).normalized();
  std::erase_if(faces, [&](const ElementFace& face) {
    if (std::ranges::binary_search(cut, face)) return true;
    const Side side = side_of(mesh, face);
    if (!box.empty() && !inside_box(box, side.middle)) return true;
    return !direction.empty() && side.normal.dot(towards) < min_cosine;
  });
  return faces;
}

}  // namespace heelstrike::fem
