#include "fem_server/geometry/surface_mesh.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

namespace heelstrike::fem {

Vector3 triangle_cross(const SurfaceMesh& mesh, std::size_t t) {
  const Triangle& corners = mesh.triangles[t];
  const Vector3& a = mesh.vertices[corners[0]];
  return (mesh.vertices[corners[1]] - a).cross(mesh.vertices[corners[2]] - a);
}

double surface_area(const SurfaceMesh& mesh) {
  double area = 0.0;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) area += 0.5 * triangle_cross(mesh, t).norm();
  return area;
}

double signed_volume(const SurfaceMesh& mesh) {
  if (mesh.vertices.empty()) return 0.0;
  // Relative to a vertex to avoid cancellation for a body far from the origin.
  const Vector3 base = mesh.vertices.front();
  double volume = 0.0;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    volume += (mesh.vertices[mesh.triangles[t][0]] - base).dot(triangle_cross(mesh, t)) / 6.0;
  }
  return volume;
}

SurfaceMesh mirrored_in_y(const SurfaceMesh& mesh) {
  SurfaceMesh mirrored = mesh;
  for (Vector3& vertex : mirrored.vertices) vertex.y() = -vertex.y();
  for (Triangle& triangle : mirrored.triangles) std::swap(triangle[1], triangle[2]);
  return mirrored;
}

namespace {

std::uint32_t find_root(std::vector<std::uint32_t>& parent, std::uint32_t i) {
  while (parent[i] != i) {
    // Path halving keeps later searches short.
    parent[i] = parent[parent[i]];
    i = parent[i];
  }
  return i;
}

/// Solid angle [sr] of a triangle seen from the origin [vanoosterom1983, equation 8].
double solid_angle(const Vector3& a, const Vector3& b, const Vector3& c) {
  // tan(angle / 2) as a quotient: atan2 is valid for any triangle size and signed by its winding.
  const double la = a.norm();
  const double lb = b.norm();
  const double lc = c.norm();
  return 2.0 * std::atan2(a.dot(b.cross(c)), la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb);
}

}  // namespace

std::size_t remove_unused_vertices(SurfaceMesh& mesh) {
  std::vector<std::uint32_t> number(mesh.vertices.size(), 0);
  for (const Triangle& t : mesh.triangles) {
    for (const std::uint32_t corner : t) number[corner] = 1;
  }
  std::uint32_t kept = 0;
  for (std::size_t v = 0; v < number.size(); ++v) {
    if (number[v] == 0) continue;
    mesh.vertices[kept] = mesh.vertices[v];
    number[v] = kept++;
  }
  const std::size_t n_unused = mesh.vertices.size() - kept;
  mesh.vertices.resize(kept);
  for (Triangle& t : mesh.triangles) {
    for (std::uint32_t& corner : t) corner = number[corner];
  }
  return n_unused;
}

std::vector<EdgeUse> edge_uses(const SurfaceMesh& mesh) {
  std::vector<EdgeUse> uses;
  uses.reserve(3 * mesh.triangles.size());
  for (std::uint32_t t = 0; t < mesh.triangles.size(); ++t) {
    const Triangle& corners = mesh.triangles[t];
    if (corners[0] == corners[1] || corners[1] == corners[2] || corners[2] == corners[0]) continue;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::uint32_t a = corners[i];
      const std::uint32_t b = corners[(i + 1) % 3];
      uses.push_back({{std::min(a, b), std::max(a, b)}, t, a < b});
    }
  }
  std::sort(uses.begin(), uses.end());
  return uses;
}

std::size_t end_of_edge(const std::vector<EdgeUse>& uses, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < uses.size() && uses[end].edge == uses[begin].edge) ++end;
  return end;
}

Components connected_components(const SurfaceMesh& mesh) {
  std::vector<std::uint32_t> parent(mesh.triangles.size());
  std::iota(parent.begin(), parent.end(), 0U);
  const std::vector<EdgeUse> uses = edge_uses(mesh);
  for (std::size_t i = 1; i < uses.size(); ++i) {
    if (uses[i].edge != uses[i - 1].edge) continue;
    const std::uint32_t a = find_root(parent, uses[i - 1].triangle);
    const std::uint32_t b = find_root(parent, uses[i].triangle);
    parent[std::max(a, b)] = std::min(a, b);
  }
  Components components;
  components.of_triangle.resize(mesh.triangles.size());
  for (std::uint32_t t = 0; t < mesh.triangles.size(); ++t) {
    const std::uint32_t root = find_root(parent, t);
    components.of_triangle[t] = root == t ? components.count++ : components.of_triangle[root];
  }
  return components;
}

std::vector<ComponentVolume> component_volumes(const SurfaceMesh& mesh, const Components& components) {
  std::vector<ComponentVolume> bodies(components.count);
  for (ComponentVolume& body : bodies) body.closed = true;
  const std::vector<EdgeUse> uses = edge_uses(mesh);
  for (std::size_t i = 0; i < uses.size();) {
    const std::size_t end = end_of_edge(uses, i);
    if (end - i != 2) bodies[components.of_triangle[uses[i].triangle]].closed = false;
    i = end;
  }
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> first(components.count, none);
  const Vector3 base = mesh.vertices.empty() ? Vector3::Zero() : mesh.vertices.front();
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    const std::uint32_t c = components.of_triangle[t];
    if (first[c] == none) first[c] = t;
    // Tetrahedra from a surface point instead of the origin avoid cancellation for a small distant body.
    bodies[c].volume += (mesh.vertices[mesh.triangles[t][0]] - base).dot(triangle_cross(mesh, t)) / 6.0;
  }
  // Nesting by the winding number of one vertex costs components times triangles; more pieces are a triangle soup, not
  // a body with cavities.
  constexpr std::uint32_t max_components = 1000;
  if (components.count > max_components) return bodies;
  for (std::uint32_t c = 0; c < components.count; ++c) {
    const Vector3& q = mesh.vertices[mesh.triangles[first[c]][0]];
    std::vector<double> angle(components.count, 0.0);
    for (std::size_t t = 0; components.count > 1 && t < mesh.triangles.size(); ++t) {
      const std::uint32_t other = components.of_triangle[t];
      if (other == c || !bodies[other].closed) continue;
      const Triangle& corners = mesh.triangles[t];
      angle[other] +=
          solid_angle(mesh.vertices[corners[0]] - q, mesh.vertices[corners[1]] - q, mesh.vertices[corners[2]] - q);
    }
    // The solid angles of a closed piece sum to 4 pi around an inner point and to 0 outside; 2 pi is the midpoint.
    const auto n_around =
        std::count_if(angle.begin(), angle.end(), [](double a) { return std::abs(a) > 2.0 * std::numbers::pi; });
    bodies[c].cavity = n_around % 2 == 1;
  }
  return bodies;
}

}  // namespace heelstrike::fem
