#include "fem_server/geometry/volume_mesh.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::uint32_t no_node = std::numeric_limits<std::uint32_t>::max();

void sort_unique(std::vector<std::uint32_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

std::array<Triangle, 2> halves_of(const std::array<std::uint32_t, 4>& side) {
  const auto first = static_cast<std::size_t>(std::min_element(side.begin(), side.end()) - side.begin());
  const auto corner = [&](std::size_t i) { return side[(first + i) % 4]; };
  return {Triangle{corner(0), corner(1), corner(2)}, Triangle{corner(0), corner(2), corner(3)}};
}

std::string_view element_shapes(std::uint32_t nodes_per_element) {
  return nodes_per_element == 8 ? "hexahedra" : nodes_per_element == 6 ? "prisms" : "tetrahedra";
}

std::array<std::uint32_t, 4> side_corners(const VolumeMesh& mesh, ElementFace face) {
  const auto nodes = mesh.element(face.element);
  const auto& side =
      mesh.hexahedral() ? hexahedron_sides[face.face / 2U] : prism_sides[(face.face - prism_triangles.size()) / 2U];
  return {nodes[side[0]], nodes[side[1]], nodes[side[2]], nodes[side[3]]};
}

std::vector<std::uint8_t> faces_of_side(const VolumeMesh& mesh, std::uint8_t side) {
  const auto whole = static_cast<std::uint8_t>(mesh.hexahedral()  ? 0
                                               : mesh.prismatic() ? prism_triangles.size()
                                                                  : mesh.sides_per_element());
  if (side < whole) return {side};
  const auto first = static_cast<std::uint8_t>(whole + 2 * (side - whole));
  return {first, static_cast<std::uint8_t>(first + 1)};
}

Vector3 element_center(const VolumeMesh& mesh, std::size_t e) {
  Vector3 sum = Vector3::Zero();
  for (const std::uint32_t node : mesh.element(e).first(mesh.corners_per_element())) sum += mesh.nodes[node];
  return sum / static_cast<double>(mesh.corners_per_element());
}

double element_volume(const VolumeMesh& mesh, std::size_t e) {
  const auto corners = mesh.element(e);
  const Vector3& a = mesh.nodes[corners[0]];
  if (mesh.hexahedral() || mesh.prismatic()) {
    double volume = 0.0;
    for (std::uint8_t f = 0; f < mesh.faces_per_element(); ++f) {
      const Triangle t = face_corners(mesh, {static_cast<std::uint32_t>(e), f});
      // Tetrahedra from the first corner to all faces.
      volume += (mesh.nodes[t[0]] - a).dot((mesh.nodes[t[1]] - a).cross(mesh.nodes[t[2]] - a)) / 6.0;
    }
    return volume;
  }
  return (mesh.nodes[corners[1]] - a).cross(mesh.nodes[corners[2]] - a).dot(mesh.nodes[corners[3]] - a) / 6.0;
}

Triangle face_corners(const VolumeMesh& mesh, ElementFace face) {
  if (mesh.is_half(face.face)) return halves_of(side_corners(mesh, face))[face.face % 2U];
  const auto nodes = mesh.element(face.element);
  const auto& local = mesh.prismatic() ? prism_triangles[face.face] : tetrahedron_faces[face.face];
  return {nodes[local[0]], nodes[local[1]], nodes[local[2]]};
}

std::vector<ElementFace> boundary_faces(const VolumeMesh& mesh) {
  struct Keyed {
    Triangle key;
    ElementFace face;
  };
  std::vector<Keyed> all;
  all.reserve(mesh.faces_per_element() * mesh.n_elements());
  for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) {
    for (std::uint8_t f = 0; f < mesh.faces_per_element(); ++f) {
      Triangle key = face_corners(mesh, {e, f});
      std::sort(key.begin(), key.end());
      all.push_back({key, {e, f}});
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Keyed& a, const Keyed& b) { return std::tie(a.key, a.face) < std::tie(b.key, b.face); });
  std::vector<ElementFace> boundary;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i + 1;
    while (end < all.size() && all[end].key == all[i].key) ++end;
    if (end == i + 1) boundary.push_back(all[i].face);
    i = end;
  }
  std::sort(boundary.begin(), boundary.end());
  return boundary;
}

Boundary boundary_surface(const VolumeMesh& mesh) {
  Boundary boundary;
  boundary.faces = boundary_faces(mesh);
  std::vector<std::uint32_t> vertex_of_node(mesh.nodes.size(), no_node);
  for (const ElementFace face : boundary.faces) {
    Triangle triangle = face_corners(mesh, face);
    for (std::uint32_t& corner : triangle) {
      std::uint32_t& vertex = vertex_of_node[corner];
      if (vertex == no_node) {
        vertex = static_cast<std::uint32_t>(boundary.vertex_nodes.size());
        boundary.vertex_nodes.push_back(corner);
        boundary.surface.vertices.push_back(mesh.nodes[corner]);
      }
      corner = vertex;
    }
    boundary.surface.triangles.push_back(triangle);
  }
  return boundary;
}

std::vector<std::uint32_t> nodes_of_faces(const VolumeMesh& mesh, std::span<const ElementFace> faces) {
  std::vector<std::uint32_t> nodes;
  for (const ElementFace face : faces) {
    for (const std::uint32_t corner : face_corners(mesh, face)) nodes.push_back(corner);
    if (mesh.nodes_per_element != 10) continue;
    const auto element = mesh.element(face.element);
    for (const std::uint8_t local : tetrahedron_face_middles[face.face]) nodes.push_back(element[local]);
  }
  sort_unique(nodes);
  return nodes;
}

std::size_t drop_unused_nodes(VolumeMesh& mesh) {
  std::vector<std::uint32_t> new_index(mesh.nodes.size(), no_node);
  for (const std::uint32_t node : mesh.connectivity) new_index[node] = 0;
  std::uint32_t n_used = 0;
  for (std::size_t i = 0; i < mesh.nodes.size(); ++i) {
    if (new_index[i] == no_node) continue;
    mesh.nodes[n_used] = mesh.nodes[i];
    new_index[i] = n_used++;
  }
  const std::size_t n_dropped = mesh.nodes.size() - n_used;
  if (n_dropped == 0) return 0;
  mesh.nodes.resize(n_used);
  for (std::uint32_t& node : mesh.connectivity) node = new_index[node];
  for (auto& [name, nodes] : mesh.node_sets) {
    for (std::uint32_t& node : nodes) node = new_index[node];
    nodes.erase(std::remove(nodes.begin(), nodes.end(), no_node), nodes.end());
  }
  return n_dropped;
}

VolumeMesh to_quadratic(const VolumeMesh& mesh) {
  if (mesh.nodes_per_element != 4) {
    throw Error(ErrorCode::internal, "to_quadratic: expected a mesh of linear tetrahedra, found other elements");
  }
  using Edge = std::pair<std::uint32_t, std::uint32_t>;
  std::vector<Edge> edges;
  edges.reserve(6 * mesh.n_elements());
  const auto edge_of = [&](std::size_t e, std::size_t i) {
    const auto nodes = mesh.element(e);
    return Edge(std::minmax(nodes[tetrahedron_edges[i][0]], nodes[tetrahedron_edges[i][1]]));
  };
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    for (std::size_t i = 0; i < 6; ++i) edges.push_back(edge_of(e, i));
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());

  VolumeMesh quadratic = mesh;
  quadratic.nodes_per_element = 10;
  quadratic.connectivity.clear();
  const auto first_middle = static_cast<std::uint32_t>(mesh.nodes.size());
  for (const auto& [a, b] : edges) quadratic.nodes.push_back(0.5 * (mesh.nodes[a] + mesh.nodes[b]));
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    for (const std::uint32_t node : mesh.element(e)) quadratic.connectivity.push_back(node);
    for (std::size_t i = 0; i < 6; ++i) {
      const auto found = std::lower_bound(edges.begin(), edges.end(), edge_of(e, i));
      quadratic.connectivity.push_back(first_middle + static_cast<std::uint32_t>(found - edges.begin()));
    }
  }
  for (auto& [name, nodes] : quadratic.node_sets) {
    std::vector<bool> inside(mesh.nodes.size(), false);
    for (const std::uint32_t node : nodes) inside[node] = true;
    for (std::uint32_t i = 0; i < edges.size(); ++i) {
      if (inside[edges[i].first] && inside[edges[i].second]) nodes.push_back(first_middle + i);
    }
  }
  return quadratic;
}

}  // namespace heelstrike::fem
