#include "fem_server/contact_solver/contact_surface.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace heelstrike::fem {

namespace {

/// Nodes of one triangle of a face, counterclockwise seen from outside, and the type of the first node: a corner of a
/// quadratic side moves with the mean of the other two or, with nine nodes, of all three.
struct Part {
  enum class FirstNodeKind : std::uint8_t { like_others, mid_side, mid_face };
  Triangle nodes;
  FirstNodeKind first;
};

std::vector<Part> parts_of(const VolumeMesh& mesh, ElementFace face) {
  const Triangle corner = face_corners(mesh, face);
  if (mesh.parts_of_side(face.face) == 8) return {{.nodes = corner, .first = Part::FirstNodeKind::mid_face}};
  if (!mesh.topology().quadratic()) return {{.nodes = corner, .first = Part::FirstNodeKind::like_others}};
  Triangle middle{};  // of the edges 01, 12, 20
  for (std::size_t k = 0; k < 3; ++k) {
    middle[k] = mesh.element(face.element)[tetrahedron_face_middles[face.face][k]];
  }
  return {{.nodes = {corner[0], middle[0], middle[2]}, .first = Part::FirstNodeKind::mid_side},
          {.nodes = {corner[1], middle[1], middle[0]}, .first = Part::FirstNodeKind::mid_side},
          {.nodes = {corner[2], middle[2], middle[1]}, .first = Part::FirstNodeKind::mid_side},
          {.nodes = middle, .first = Part::FirstNodeKind::like_others}};
}

void distribute_shape_functions(ContactTriangle& triangle) {
  double n_nodes = 0.0;
  for (const std::uint32_t node : triangle.nodes) n_nodes += node == no_contact_node ? 0.0 : 1.0;
  for (Eigen::Index a = 0; a < 3; ++a) {
    // A corner that is a contact node moves with itself alone.
    if (triangle.displacements.row(a).maxCoeff() == 1.0) {
      triangle.functions.row(a) = triangle.displacements.row(a);
      continue;
    }
    for (Eigen::Index b = 0; b < 4; ++b) {
      if (triangle.nodes[static_cast<std::size_t>(b)] != no_contact_node) triangle.functions(a, b) = 1.0 / n_nodes;
    }
  }
}

/// Numbering of the contact nodes, and the clamped nodes among the others.
struct Numbers {
  std::span<const std::uint32_t> nodes;
  std::span<const std::uint32_t> clamped;
  [[nodiscard]] std::uint32_t of(std::uint32_t node) const {
    const auto found = std::ranges::lower_bound(nodes, node);
    return found != nodes.end() && *found == node ? static_cast<std::uint32_t>(found - nodes.begin()) : no_contact_node;
  }
  [[nodiscard]] bool unknown(std::uint32_t node) const {
    return of(node) == no_contact_node && !std::ranges::binary_search(clamped, node);
  }
};

ContactTriangle contact_triangle(const Part& part, const Numbers& numbers) {
  ContactTriangle triangle;
  for (std::size_t a = 0; a < 3; ++a) {
    triangle.nodes[a] = numbers.of(part.nodes[a]);
    if (triangle.nodes[a] != no_contact_node) {
      triangle.displacements(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(a)) = 1.0;
    }
    triangle.unknown[a] = numbers.unknown(part.nodes[a]);
  }
  if (part.first == Part::FirstNodeKind::mid_face) {
    triangle.displacements.row(0) = (triangle.displacements.colwise().sum() / 3.0).eval();
    triangle.unknown[0] = triangle.unknown[0] || triangle.unknown[1] || triangle.unknown[2];
  }
  if (part.first == Part::FirstNodeKind::mid_side && triangle.unknown[0]) {
    triangle.displacements.row(0) = 0.5 * (triangle.displacements.row(1) + triangle.displacements.row(2));
    triangle.unknown[0] = false;
  }
  distribute_shape_functions(triangle);
  return triangle;
}

/// @param corners  of the side; the first two belong to the quarter, whose third corner is the middle
ContactTriangle quarter(const std::array<std::uint32_t, 4>& corners, const Numbers& numbers) {
  ContactTriangle triangle;
  for (std::size_t b = 0; b < 4; ++b) {
    const auto column = static_cast<Eigen::Index>(b);
    triangle.nodes[b] = numbers.of(corners[b]);
    const bool unknown = numbers.unknown(corners[b]);
    if (b < 2) triangle.unknown[b] = unknown;
    triangle.unknown[2] = triangle.unknown[2] || unknown;
    if (triangle.nodes[b] == no_contact_node) continue;
    if (b < 2) triangle.displacements(column, column) = 1.0;
    triangle.displacements(2, column) = 0.25;
  }
  distribute_shape_functions(triangle);
  return triangle;
}

class SurfaceMaker {
 public:
  SurfaceMaker(const VolumeMesh& mesh, const Numbers& numbers) : mesh_(mesh), numbers_(numbers) {}

  void add_face(ElementFace face) {
    for (const Part& part : parts_of(mesh_, face)) {
      surface_.mesh.triangles.push_back({vertex(part.nodes[0]), vertex(part.nodes[1]), vertex(part.nodes[2])});
      surface_.triangles.push_back(contact_triangle(part, numbers_));
    }
  }
  /// @param face  one of its halves
  void add_side(ElementFace face) {
    const std::array<std::uint32_t, 4> c = side_corners(mesh_, face);
    Vector3 middle = Vector3::Zero();
    for (const std::uint32_t node : c) middle += 0.25 * mesh_.nodes[node];
    const auto in_middle = static_cast<std::uint32_t>(surface_.mesh.vertices.size());
    surface_.mesh.vertices.push_back(middle);
    surface_.vertex_nodes.push_back(c);
    for (std::size_t k = 0; k < 4; ++k) {
      const std::array<std::uint32_t, 4> rotated{c[k], c[(k + 1) % 4], c[(k + 2) % 4], c[(k + 3) % 4]};
      surface_.mesh.triangles.push_back({vertex(rotated[0]), vertex(rotated[1]), in_middle});
      surface_.triangles.push_back(quarter(rotated, numbers_));
    }
  }
  [[nodiscard]] ContactSurface take() { return std::move(surface_); }

 private:
  std::uint32_t vertex(std::uint32_t node) {
    const auto [entry, is_new] =
        vertex_of_.try_emplace(node, static_cast<std::uint32_t>(surface_.mesh.vertices.size()));
    if (!is_new) return entry->second;
    surface_.mesh.vertices.push_back(mesh_.nodes[node]);
    surface_.vertex_nodes.push_back({node, node, node, node});
    return entry->second;
  }

  const VolumeMesh& mesh_;
  Numbers numbers_;
  ContactSurface surface_;
  std::map<std::uint32_t, std::uint32_t> vertex_of_;
};

/// The halves of a side are adjacent.
bool is_second_half(const VolumeMesh& mesh, std::span<const ElementFace> faces, std::size_t i) {
  return i > 0 && faces[i - 1].element == faces[i].element && mesh.part_of_side(faces[i].face) == 1 &&
         faces[i - 1].face + 1 == faces[i].face;
}

}  // namespace

ContactSurface contact_surface(const VolumeMesh& mesh, std::span<const ElementFace> faces,
                               std::span<const std::uint32_t> nodes, std::span<const std::uint32_t> clamped) {
  SurfaceMaker maker(mesh, {.nodes = nodes, .clamped = clamped});
  for (std::size_t i = 0; i < faces.size(); ++i) {
    if (mesh.parts_of_side(faces[i].face) != 2) {
      maker.add_face(faces[i]);
    } else if (!is_second_half(mesh, faces, i)) {
      maker.add_side(faces[i]);
    }
  }
  return maker.take();
}

ContactSurface displaced(ContactSurface surface, const Eigen::VectorXd& u) {
  for (std::size_t v = 0; v < surface.vertex_nodes.size(); ++v) {
    for (const std::uint32_t node : surface.vertex_nodes[v]) {
      surface.mesh.vertices[v] += 0.25 * u.segment<3>(3 * Eigen::Index{node});
    }
  }
  return surface;
}

}  // namespace heelstrike::fem
