#include "fem_server/backends/rigid/rigid_edges.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "fem_server/geometry/surface_topology.hpp"

namespace heelstrike::fem {

namespace {

/// [rad] 20 degrees.
constexpr double flat = std::numbers::pi / 9.0;
/// [-] sine of the angle between edges below which their common normal is undefined numerically.
constexpr double parallel = 1e-7;

/// `edge` ends (at its parameter `s` from a to b) on a face of `other` with normal n and leaves the face across its
/// border.
bool is_end_beyond(const SharpEdge& edge, double s, double end, const SharpEdge& other, const Vector3& n) {
  const bool at_a = s <= end, at_b = s >= 1.0 - end;
  if (at_a == at_b) return false;
  const Vector3 along = at_a ? Vector3((edge.b - edge.a).normalized()) : Vector3((edge.a - edge.b).normalized());
  const auto faces = [&](const Vector3& face) { return n.cross(face).norm() <= cone_rounding && n.dot(face) > 0.0; };
  for (std::size_t i = 0; i < 2; ++i) {
    if (faces(other.normals[i]) && along.dot(other.normals[1 - i]) > cone_rounding) return true;
  }
  return false;
}

/// All edges with two faces, directed such that the rotation of their normals about a to b is positive where convex.
std::vector<SharpEdge> edges_of(const SurfaceMesh& mesh) {
  std::vector<SharpEdge> edges;
  const std::vector<EdgeUse> uses = edge_uses(mesh);
  for (std::size_t begin = 0; begin < uses.size(); begin = end_of_edge(uses, begin)) {
    if (end_of_edge(uses, begin) - begin != 2) continue;
    const EdgeUse& one = uses[begin];
    const EdgeUse& other = uses[begin + 1];
    if (one.forward == other.forward) continue;
    SharpEdge edge{
        .a = mesh.vertices[one.edge[0]],
        .b = mesh.vertices[one.edge[1]],
        .normals = {triangle_cross(mesh, one.triangle).normalized(), triangle_cross(mesh, other.triangle).normalized()},
        .vertices = {one.edge[0], one.edge[1]}};
    if (!one.forward) {
      std::swap(edge.a, edge.b);
      std::swap(edge.vertices[0], edge.vertices[1]);
    }
    edges.push_back(edge);
  }
  return edges;
}

/// [rad] > 0 where it is convex.
double rotation_of_edge(const SharpEdge& edge) {
  const auto& [n0, n1] = edge.normals;
  return std::atan2(n0.cross(n1).dot((edge.b - edge.a).normalized()), n0.dot(n1));
}

bool is_sharp(const SharpEdge& edge) {
  return rotation_of_edge(edge) > flat;
}

}  // namespace

bool in_cone(const SharpEdge& edge, const Vector3& n, double outside) {
  const Vector3 along = (edge.b - edge.a).normalized();
  return edge.normals[0].cross(n).dot(along) >= -outside && n.cross(edge.normals[1]).dot(along) >= -outside &&
         n.dot(edge.normals[0] + edge.normals[1]) > 0.0;
}

double from_wedge(const SharpEdge& edge, const Vector3& n, double gap) {
  if (gap >= 0.0) return gap;
  return gap * std::max(0.0, std::min(n.dot(edge.normals[0]), n.dot(edge.normals[1])));
}

SharpEdge SharpEdge::moved(const Pose& X) const {
  return {.a = X * a, .b = X * b, .normals = {X.R * normals[0], X.R * normals[1]}, .vertices = vertices};
}

std::vector<SharpEdge> sharp_edges(const SurfaceMesh& mesh) {
  std::vector<SharpEdge> edges = edges_of(mesh);
  std::erase_if(edges, [](const SharpEdge& edge) { return !is_sharp(edge); });
  return edges;
}

bool is_convex(const SurfaceMesh& mesh) {
  // Flat faces of files in single precision have smaller angles.
  constexpr double none = 1e-6;
  const std::vector<SharpEdge> edges = edges_of(mesh);
  // Euler's formula for one closed surface without holes: E = 3 F / 2 = V + F - 2. If all its edges are convex, the
  // surface is convex.
  return 2 * edges.size() == 3 * mesh.triangles.size() &&
         edges.size() + 2 == mesh.vertices.size() + mesh.triangles.size() &&
         std::ranges::all_of(edges, [](const SharpEdge& edge) { return rotation_of_edge(edge) >= -none; });
}

double max_edge_rotation(const SurfaceMesh& mesh) {
  // Flat faces of files in single precision have smaller angles.
  constexpr double none = 1e-3;
  double largest = 0.0;
  for (const SharpEdge& edge : edges_of(mesh)) {
    const double turn = rotation_of_edge(edge);
    if (!is_sharp(edge) && turn > none) largest = std::max(largest, turn);
  }
  return largest;
}

std::optional<EdgeCrossing> crossing(const SharpEdge& A, const SharpEdge& B, double margin) {
  const Vector3 d = A.b - A.a;
  const Vector3 f = B.b - B.a;
  const Vector3 product = d.cross(f);
  const double length = product.norm();
  if (!(length > parallel * d.norm() * f.norm())) return std::nullopt;
  Vector3 n = product / length;
  // A.a + s d + g n = B.a + t f.
  const Vector3 r = B.a - A.a;
  const double s = r.cross(f).dot(n) / length;
  const double t = r.cross(d).dot(n) / length;
  const double end_A = margin / d.norm(), end_B = margin / f.norm();
  if (!(s >= -end_A && s <= 1.0 + end_A && t >= -end_B && t <= 1.0 + end_B)) return std::nullopt;
  if (!in_cone(A, n, edge_tilt)) n = -n;
  if (!in_cone(A, n, edge_tilt) || !in_cone(B, -n, edge_tilt)) return std::nullopt;
  if (is_end_beyond(A, s, end_A, B, -n) || is_end_beyond(B, t, end_B, A, n)) return std::nullopt;
  const double gap = r.dot(n);
  return EdgeCrossing{.p_A = A.a + s * d,
                      .p_B = B.a + t * f,
                      .n = n,
                      .gap = gap,
                      .gap_A = from_wedge(A, n, gap),
                      .gap_B = from_wedge(B, -n, gap),
                      .is_from_cone = !in_cone(A, n) || !in_cone(B, -n)};
}

}  // namespace heelstrike::fem
