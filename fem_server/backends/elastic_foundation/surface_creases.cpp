#include "fem_server/backends/elastic_foundation/surface_creases.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "fem_server/geometry/surface_topology.hpp"

namespace heelstrike::fem {

namespace {

constexpr double max_force_change = 0.1;

/// Corners of triangles, three each, grouped into smooth parts around their vertex.
class CornerParts {
 public:
  explicit CornerParts(std::uint32_t n_corners) {
    part_.reserve(n_corners);
    for (std::uint32_t corner = 0; corner < n_corners; ++corner) part_.push_back(corner);
  }
  [[nodiscard]] std::uint32_t of(std::uint32_t corner) {
    while (part_[corner] != corner) corner = part_[corner] = part_[part_[corner]];
    return corner;
  }
  /// A part has the number of its first corner.
  void join(std::uint32_t a, std::uint32_t b) {
    a = of(a);
    b = of(b);
    part_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint32_t> part_;
};

std::uint32_t corner_at(const SurfaceMesh& mesh, std::uint32_t triangle, std::uint32_t vertex) {
  const Triangle& corners = mesh.triangles[triangle];
  return 3 * triangle + static_cast<std::uint32_t>(std::ranges::find(corners, vertex) - corners.begin());
}

/// Joins corners over consistently oriented edges shared by two triangles at an angle of at most twice the limit of
/// min_smooth_cosine.
CornerParts smooth_corners(const SurfaceMesh& mesh, const std::vector<Vector3>& faces, double min_smooth_cosine) {
  CornerParts parts(static_cast<std::uint32_t>(3 * mesh.triangles.size()));
  const double least = 2.0 * min_smooth_cosine * min_smooth_cosine - 1.0;
  const std::vector<EdgeUse> uses = edge_uses(mesh);
  for (std::size_t begin = 0; begin < uses.size();) {
    const std::size_t end = end_of_edge(uses, begin);
    const EdgeUse& one = uses[begin];
    const EdgeUse& other = uses[end - 1];
    const bool smooth =
        end - begin == 2 && one.forward != other.forward && faces[one.triangle].dot(faces[other.triangle]) >= least;
    for (const std::uint32_t vertex : one.edge) {
      if (smooth) parts.join(corner_at(mesh, one.triangle, vertex), corner_at(mesh, other.triangle, vertex));
    }
    begin = end;
  }
  return parts;
}

/// Angle [rad] of a triangle at one of its corners.
double angle_at(const SurfaceMesh& mesh, const Triangle& corners, std::size_t k) {
  const Vector3& p = mesh.vertices[corners[k]];
  const Vector3 a = (mesh.vertices[corners[(k + 1) % 3]] - p).normalized();
  const Vector3 b = (mesh.vertices[corners[(k + 2) % 3]] - p).normalized();
  return std::acos(std::clamp(a.dot(b), -1.0, 1.0));
}

}  // namespace

double min_smooth_cosine() {
  return 1.0 / std::sqrt(1.0 + max_force_change);
}

SmoothParts split_at_creases(SurfaceMesh& mesh, double min_smooth_cosine) {
  const std::size_t n_corners = 3 * mesh.triangles.size();
  std::vector<Vector3> faces;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) faces.push_back(triangle_cross(mesh, t).normalized());
  CornerParts parts = smooth_corners(mesh, faces, min_smooth_cosine);
  std::vector<Vector3> of_part(n_corners, Vector3::Zero());
  for (std::uint32_t c = 0; c < n_corners; ++c) {
    of_part[parts.of(c)] += angle_at(mesh, mesh.triangles[c / 3], c % 3) * faces[c / 3];
  }
  SmoothParts result;
  result.normals.assign(mesh.vertices.size(), Vector3::Zero());
  constexpr std::uint32_t none = ~0U;
  std::vector<std::uint32_t> vertex_of(n_corners, none);  // of each part
  std::vector<bool> taken(mesh.vertices.size(), false);
  for (std::uint32_t c = 0; c < n_corners; ++c) {
    const std::uint32_t part = parts.of(c);
    std::uint32_t& vertex = mesh.triangles[c / 3][c % 3];
    const Vector3 mean = of_part[part].normalized();
    // At the tip of a cone no edge need be a crease, but the mean normal represents none of its triangles.
    const bool is_crease = mean.dot(faces[c / 3]) < min_smooth_cosine;
    std::uint32_t own = is_crease ? none : vertex_of[part];
    if (own == none) {
      own = vertex;
      if (taken[vertex]) {
        own = static_cast<std::uint32_t>(mesh.vertices.size());
        mesh.vertices.push_back(Vector3(mesh.vertices[vertex]));
        result.normals.emplace_back();
        result.origin.push_back(vertex);
      }
      taken[vertex] = true;
      result.normals[own] = is_crease ? faces[c / 3] : mean;
      if (!is_crease) vertex_of[part] = own;
    }
    vertex = own;
  }
  return result;
}

}  // namespace heelstrike::fem
