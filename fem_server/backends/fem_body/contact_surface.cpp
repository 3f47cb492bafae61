#include "fem_server/backends/fem_body/contact_surface.hpp"

#include <algorithm>
#include <map>

namespace heelstrike::fem {

namespace {

/// Nodes of the triangles that a face is made of, counterclockwise seen from outside, and how many of their corners
/// are corners of a quadratic face: none, or the first.
struct Part {
  Triangle nodes;
  bool begins_with_corner;
};

std::vector<Part> parts_of(const VolumeMesh& mesh, ElementFace face) {
  const Triangle corner = face_corners(mesh, face);
  if (mesh.nodes_per_element != 10) return {{.nodes = corner, .begins_with_corner = false}};
  Triangle middle{};  // of the edges 01, 12, 20
  for (std::size_t k = 0; k < 3; ++k) {
    middle[k] = mesh.element(face.element)[tetrahedron_face_middles[face.face][k]];
  }
  return {{.nodes = {corner[0], middle[0], middle[2]}, .begins_with_corner = true},
          {.nodes = {corner[1], middle[1], middle[0]}, .begins_with_corner = true},
          {.nodes = {corner[2], middle[2], middle[1]}, .begins_with_corner = true},
          {.nodes = middle, .begins_with_corner = false}};
}

void share_functions(ContactTriangle& triangle) {
  double n_nodes = 0.0;
  for (const std::uint32_t node : triangle.nodes) n_nodes += node == no_contact_node ? 0.0 : 1.0;
  for (std::size_t a = 0; a < 3; ++a) {
    const auto row = static_cast<Eigen::Index>(a);
    if (triangle.nodes[a] != no_contact_node) {
      triangle.functions(row, row) = 1.0;
      continue;
    }
    for (std::size_t b = 0; b < 3; ++b) {
      if (triangle.nodes[b] != no_contact_node) triangle.functions(row, static_cast<Eigen::Index>(b)) = 1.0 / n_nodes;
    }
  }
}

ContactTriangle contact_triangle(const Part& part, std::span<const std::uint32_t> nodes,
                                 std::span<const std::uint32_t> clamped) {
  ContactTriangle triangle;
  for (std::size_t a = 0; a < 3; ++a) {
    const auto found = std::ranges::lower_bound(nodes, part.nodes[a]);
    const bool is_node = found != nodes.end() && *found == part.nodes[a];
    triangle.nodes[a] = is_node ? static_cast<std::uint32_t>(found - nodes.begin()) : no_contact_node;
    if (is_node) triangle.displacements(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(a)) = 1.0;
    triangle.unknown[a] = !is_node && !std::ranges::binary_search(clamped, part.nodes[a]);
  }
  if (part.begins_with_corner && triangle.unknown[0]) {
    triangle.displacements.row(0) = 0.5 * (triangle.displacements.row(1) + triangle.displacements.row(2));
    triangle.unknown[0] = false;
  }
  share_functions(triangle);
  return triangle;
}

}  // namespace

ContactSurface contact_surface(const VolumeMesh& mesh, std::span<const ElementFace> faces,
                               std::span<const std::uint32_t> nodes, std::span<const std::uint32_t> clamped) {
  ContactSurface surface;
  std::map<std::uint32_t, std::uint32_t> vertex_of;
  for (const ElementFace face : faces) {
    for (const Part& part : parts_of(mesh, face)) {
      Triangle corners{};
      for (std::size_t a = 0; a < 3; ++a) {
        const auto [entry, is_new] =
            vertex_of.try_emplace(part.nodes[a], static_cast<std::uint32_t>(surface.mesh.vertices.size()));
        if (is_new) surface.mesh.vertices.push_back(mesh.nodes[part.nodes[a]]);
        corners[a] = entry->second;
      }
      surface.mesh.triangles.push_back(corners);
      surface.triangles.push_back(contact_triangle(part, nodes, clamped));
    }
  }
  return surface;
}

}  // namespace heelstrike::fem
