#include "fem_server/backend_interface/body_sets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

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
