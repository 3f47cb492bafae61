#include "fem_server/geometry/volume_mesh.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::uint32_t no_node = std::numeric_limits<std::uint32_t>::max();

void sort_unique(std::vector<std::uint32_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// Hexahedra with 20 nodes are completed to 27 on reading.
constexpr std::array topologies{
    ElementTopology{4, "tetrahedra", 4, 4, 0, 0, 10, 10, 4},  ElementTopology{10, "tetrahedra", 4, 4, 0, 0, 10, 24, 11},
    ElementTopology{6, "prisms", 6, 2, 3, 2, 0, 13, 6},       ElementTopology{8, "hexahedra", 8, 0, 6, 2, 27, 12, 5},
    ElementTopology{20, "hexahedra", 8, 0, 6, 2, 27, 25, 17}, ElementTopology{27, "hexahedra", 8, 0, 6, 8, 27, 29, 12},
};

}  // namespace

const ElementTopology& element_topology(std::uint32_t n_nodes) {
  for (const ElementTopology& topology : topologies) {
    if (topology.n_nodes == n_nodes) return topology;
  }
  throw Error(ErrorCode::internal, fmt::format("no element has {} nodes", n_nodes));
}

std::array<Triangle, 2> split_quadrilateral(const std::array<std::uint32_t, 4>& side) {
  const auto first = static_cast<std::size_t>(std::min_element(side.begin(), side.end()) - side.begin());
  const auto corner = [&](std::size_t i) { return side[(first + i) % 4]; };
  return {Triangle{corner(0), corner(1), corner(2)}, Triangle{corner(0), corner(2), corner(3)}};
}

std::string_view element_shapes(std::uint32_t nodes_per_element) {
  return element_topology(nodes_per_element).shapes;
}

namespace {

/// Index of the side of a face among the quadrilateral sides.
std::size_t quadrilateral_of(const VolumeMesh& mesh, ElementFace face) {
  return (face.face - mesh.topology().n_triangles) / std::size_t{mesh.topology().n_parts};
}

}  // namespace

std::array<std::uint32_t, 4> side_corners(const VolumeMesh& mesh, ElementFace face) {
  const auto nodes = mesh.element(face.element);
  const std::size_t quadrilateral = quadrilateral_of(mesh, face);
  const auto& side = mesh.hexahedral() ? hexahedron_sides[quadrilateral] : prism_sides[quadrilateral];
  return {nodes[side[0]], nodes[side[1]], nodes[side[2]], nodes[side[3]]};
}

std::vector<std::uint32_t> side_nodes(const VolumeMesh& mesh, ElementFace face) {
  const auto nodes = mesh.element(face.element);
  std::vector<std::uint32_t> result;
  std::span<const std::uint8_t> middles;
  if (mesh.parts_of_side(face.face) > 1) {
    const auto corners = side_corners(mesh, face);
    result.assign(corners.begin(), corners.end());
    middles = hexahedron_side_middles[quadrilateral_of(mesh, face)];
  } else {
    const Triangle corners = face_corners(mesh, face);
    result.assign(corners.begin(), corners.end());
    middles = tetrahedron_face_middles[face.face];
  }
  if (!mesh.topology().quadratic()) return result;
  for (const std::uint8_t middle : middles) result.push_back(nodes[middle]);
  return result;
}

std::vector<std::uint8_t> faces_of_side(const VolumeMesh& mesh, std::uint8_t side) {
  const ElementTopology& topology = mesh.topology();
  if (side < topology.n_triangles) return {side};
  std::vector<std::uint8_t> faces(topology.n_parts);
  const auto first = static_cast<std::uint8_t>(topology.n_triangles + topology.n_parts * (side - topology.n_triangles));
  std::iota(faces.begin(), faces.end(), first);
  return faces;
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

namespace {

/// Eighths 2k and 2k + 1 adjoin the mid-side node between the corners k and k + 1.
Triangle quadratic_side_part(const VolumeMesh& mesh, ElementFace face) {
  const auto nodes = mesh.element(face.element);
  const std::size_t side = quadrilateral_of(mesh, face);
  const std::size_t k = mesh.part_of_side(face.face) / 2U;
  const bool second = mesh.part_of_side(face.face) % 2U == 1;
  const std::uint32_t corner = nodes[hexahedron_sides[side][second ? (k + 1) % 4 : k]];
  const std::uint32_t middle = nodes[hexahedron_side_middles[side][k]];
  const std::uint32_t centre = nodes[hexahedron_side_middles[side][4]];
  return second ? Triangle{corner, centre, middle} : Triangle{corner, middle, centre};
}

}  // namespace

Triangle face_corners(const VolumeMesh& mesh, ElementFace face) {
  if (mesh.parts_of_side(face.face) == 2)
    return split_quadrilateral(side_corners(mesh, face))[mesh.part_of_side(face.face)];
  if (mesh.parts_of_side(face.face) == 8) return quadratic_side_part(mesh, face);
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
    // Only the nodes of the part of the side.
    if (mesh.parts_of_side(face.face) > 1) {
      for (const std::uint32_t corner : face_corners(mesh, face)) nodes.push_back(corner);
    } else {
      for (const std::uint32_t node : side_nodes(mesh, face)) nodes.push_back(node);
    }
  }
  sort_unique(nodes);
  return nodes;
}

std::size_t remove_unused_nodes(VolumeMesh& mesh) {
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

namespace {

using EdgeNodes = std::array<std::uint8_t, 2>;

std::span<const EdgeNodes> edges_of(const VolumeMesh& mesh) {
  if (mesh.nodes_per_element == 4) return tetrahedron_edges;
  if (mesh.nodes_per_element == 8) return hexahedron_edges;
  throw Error(ErrorCode::internal,
              "to_quadratic: expected linear tetrahedra or 8-node hexahedra, found other elements");
}

/// Extends node sets by new nodes: a node is added to the sets that contain all nodes between which it lies.
class SetBuilder {
 public:
  explicit SetBuilder(VolumeMesh& mesh) {
    for (auto& [name, nodes] : mesh.node_sets) {
      auto& [set, inside] = sets_.emplace_back(&nodes, std::vector<bool>(mesh.nodes.size(), false));
      for (const std::uint32_t node : nodes) inside[node] = true;
    }
  }
  /// @param node  the next node number
  void add(std::uint32_t node, std::span<const std::uint32_t> between) {
    for (auto& [set, inside] : sets_) {
      const bool joins = std::ranges::all_of(between, [&](std::uint32_t other) { return inside[other]; });
      inside.push_back(joins);
      if (joins) set->push_back(node);
    }
  }

 private:
  std::vector<std::pair<std::vector<std::uint32_t>*, std::vector<bool>>> sets_;
};

}  // namespace

VolumeMesh to_quadratic(const VolumeMesh& mesh) {
  const std::span<const EdgeNodes> own_edges = edges_of(mesh);
  using Edge = std::array<std::uint32_t, 2>;
  std::vector<Edge> edges;
  edges.reserve(own_edges.size() * mesh.n_elements());
  const auto edge_of = [&](std::size_t e, std::size_t i) {
    const auto nodes = mesh.element(e);
    const auto [low, high] = std::minmax(nodes[own_edges[i][0]], nodes[own_edges[i][1]]);
    return Edge{low, high};
  };
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    for (std::size_t i = 0; i < own_edges.size(); ++i) edges.push_back(edge_of(e, i));
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());

  VolumeMesh quadratic = mesh;
  quadratic.nodes_per_element = static_cast<std::uint32_t>(mesh.nodes_per_element + own_edges.size());
  quadratic.connectivity.clear();
  const auto first_middle = static_cast<std::uint32_t>(mesh.nodes.size());
  SetBuilder sets(quadratic);
  for (std::uint32_t i = 0; i < edges.size(); ++i) {
    quadratic.nodes.push_back(0.5 * (mesh.nodes[edges[i][0]] + mesh.nodes[edges[i][1]]));
    sets.add(first_middle + i, edges[i]);
  }
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    for (const std::uint32_t node : mesh.element(e)) quadratic.connectivity.push_back(node);
    for (std::size_t i = 0; i < own_edges.size(); ++i) {
      const auto found = std::lower_bound(edges.begin(), edges.end(), edge_of(e, i));
      quadratic.connectivity.push_back(first_middle + static_cast<std::uint32_t>(found - edges.begin()));
    }
  }
  return mesh.hexahedral() ? completed(std::move(quadratic)) : quadratic;
}

namespace {

/// Adds the centre nodes of sides, once per side, and of hexahedra.
class InteriorNodes {
 public:
  explicit InteriorNodes(VolumeMesh& mesh) : mesh_(mesh), sets_(mesh) {}

  /// @param around  four corners, then the four nodes between them
  std::uint32_t of_side(const std::array<std::uint32_t, 8>& around) {
    std::array<std::uint32_t, 4> key{around[0], around[1], around[2], around[3]};
    std::ranges::sort(key);
    const auto [entry, fresh] = of_side_.try_emplace(key, static_cast<std::uint32_t>(mesh_.nodes.size()));
    if (fresh) add(around, 4, 0.5);
    return entry->second;
  }
  /// @param around  eight corners, then the twelve nodes between them
  std::uint32_t of_element(std::span<const std::uint32_t> around) {
    add(around, 8, 0.25);
    return static_cast<std::uint32_t>(mesh_.nodes.size() - 1);
  }

 private:
  void add(std::span<const std::uint32_t> around, std::size_t n_corners, double weight_of_middles) {
    Vector3 place = Vector3::Zero();
    for (std::size_t k = 0; k < around.size(); ++k) {
      place += (k < n_corners ? -0.25 : weight_of_middles) * mesh_.nodes[around[k]];
    }
    sets_.add(static_cast<std::uint32_t>(mesh_.nodes.size()), around);
    mesh_.nodes.push_back(place);
  }

  VolumeMesh& mesh_;
  SetBuilder sets_;
  std::map<std::array<std::uint32_t, 4>, std::uint32_t> of_side_;
};

}  // namespace

VolumeMesh completed(VolumeMesh mesh) {
  VolumeMesh result = mesh;
  result.nodes_per_element = 27;
  result.connectivity.clear();
  InteriorNodes inner(result);
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    const auto nodes = mesh.element(e);
    std::array<std::uint32_t, 27> all{};
    std::ranges::copy(nodes, all.begin());
    for (std::size_t s = 0; s < 6; ++s) {
      std::array<std::uint32_t, 8> around{};
      for (std::size_t k = 0; k < 4; ++k) {
        around[k] = nodes[hexahedron_sides[s][k]];
        around[4 + k] = nodes[hexahedron_side_middles[s][k]];
      }
      all[hexahedron_side_middles[s][4]] = inner.of_side(around);
    }
    all[26] = inner.of_element(nodes);
    result.connectivity.insert(result.connectivity.end(), all.begin(), all.end());
  }
  result.face_sets.clear();
  for (const auto& [name, faces] : mesh.face_sets) {
    for (const ElementFace face : faces) {
      const auto of_side = faces_of_side(result, static_cast<std::uint8_t>(quadrilateral_of(mesh, face)));
      for (const std::uint8_t part : of_side) result.face_sets[name].push_back({face.element, part});
    }
    std::ranges::sort(result.face_sets[name]);
    const auto repeated = std::ranges::unique(result.face_sets[name]);
    result.face_sets[name].erase(repeated.begin(), repeated.end());
  }
  return result;
}

namespace {

void require_members(bool any, const std::string& name) {
  if (!any) throw input_error(name, fmt::format("set '{}': expected at least one member, found none", name));
}

}  // namespace

std::vector<ElementFace> select_boundary_faces(const VolumeMesh& mesh,
                                               const std::function<bool(const Vector3&, const Vector3&)>& inside) {
  std::vector<ElementFace> selected;
  for (const ElementFace face : boundary_faces(mesh)) {
    const Triangle corners = face_corners(mesh, face);
    const Vector3& a = mesh.nodes[corners[0]];
    const Vector3& b = mesh.nodes[corners[1]];
    const Vector3& c = mesh.nodes[corners[2]];
    if (inside((a + b + c) / 3.0, (b - a).cross(c - a).normalized())) selected.push_back(face);
  }
  return selected;
}

void add_surface_set(VolumeMesh& mesh, const std::string& name, const std::vector<ElementFace>& faces) {
  require_members(!faces.empty(), name);
  mesh.face_sets[name] = faces;
  mesh.node_sets[name] = nodes_of_faces(mesh, faces);
}

namespace {

/// Among the three axes, projected normal to `direction`, the one with the longest extent of the body.
Vector3 max_extent_across(const VolumeMesh& mesh, const Vector3& direction) {
  Vector3 best = Vector3::Zero();
  double longest = -1.0;
  for (Eigen::Index k = 0; k < 3; ++k) {
    const Vector3 across = Vector3::Unit(k) - direction[k] * direction;
    if (across.norm() < 0.5) continue;  // at least two of the three are longer
    const Vector3 axis = across.normalized();
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const Vector3& p : mesh.nodes) {
      low = std::min(low, axis.dot(p));
      high = std::max(high, axis.dot(p));
    }
    // Strict comparison: among equal extents the first axis is kept, so that the order does not depend on rounding.
    if (high - low <= longest) continue;
    longest = high - low;
    best = axis;
  }
  return best;
}

}  // namespace

void number_from(VolumeMesh& mesh, const Vector3& direction, double layer) {
  if (mesh.nodes.empty()) return;
  const Vector3 out = direction.normalized();
  const Vector3 along = max_extent_across(mesh, out);
  double outermost = -std::numeric_limits<double>::infinity();
  for (const Vector3& p : mesh.nodes) outermost = std::max(outermost, out.dot(p));
  const auto layer_of = [&](std::uint32_t node) { return std::floor((outermost - out.dot(mesh.nodes[node])) / layer); };
  std::vector<std::uint32_t> order(mesh.nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const double layer_a = layer_of(a);
    const double layer_b = layer_of(b);
    if (layer_a != layer_b) return layer_a < layer_b;
    const double along_a = along.dot(mesh.nodes[a]);
    const double along_b = along.dot(mesh.nodes[b]);
    // Ties are resolved by the old number for reproducibility.
    return along_a != along_b ? along_a < along_b : a < b;
  });
  std::vector<std::uint32_t> number(order.size());
  std::vector<Vector3> nodes;
  nodes.reserve(order.size());
  for (std::uint32_t n = 0; n < order.size(); ++n) {
    number[order[n]] = n;
    nodes.push_back(mesh.nodes[order[n]]);
  }
  mesh.nodes = std::move(nodes);
  for (std::uint32_t& node : mesh.connectivity) node = number[node];
  for (auto& [name, members] : mesh.node_sets) {
    for (std::uint32_t& node : members) node = number[node];
    std::ranges::sort(members);
  }
}

}  // namespace heelstrike::fem
