#include "fem_server/backends/rigid/rigid_edges.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "fem_server/geometry/surface_topology.hpp"

namespace heelstrike::fem {

namespace {

const double flat = std::cos(std::numbers::pi / 9.0);
/// [-] sine of the angle between edges below which they have no common normal worth the name.
constexpr double parallel = 1e-9;
/// [rad] by which the normal may lie outside of a cone: where faces lie on each other it is the edge of the cone, and
/// the pose of a body at rest rounds to either side.
constexpr double rounded = 1e-3;

/// The normal n, at right angles to the edge, lies between those of its faces.
bool in_cone(const SharpEdge& edge, const Vector3& n) {
  const Vector3 along = (edge.b - edge.a).normalized();
  return edge.normals[0].cross(n).dot(along) >= -rounded && n.cross(edge.normals[1]).dot(along) >= -rounded &&
         n.dot(edge.normals[0] + edge.normals[1]) > 0.0;
}

/// [m] from a point at gap n off the edge to its wedge: outside the edge is nearest, inside one of the faces.
double from_wedge(const SharpEdge& edge, const Vector3& n, double gap) {
  if (gap >= 0.0) return gap;
  return gap * std::max(0.0, std::min(n.dot(edge.normals[0]), n.dot(edge.normals[1])));
}

}  // namespace

SharpEdge SharpEdge::moved(const Pose& X) const {
  return {.a = X * a, .b = X * b, .normals = {X.R * normals[0], X.R * normals[1]}};
}

std::vector<SharpEdge> sharp_edges(const SurfaceMesh& mesh) {
  std::vector<SharpEdge> edges;
  const std::vector<EdgeUse> uses = edge_uses(mesh);
  for (std::size_t begin = 0; begin < uses.size(); begin = end_of_edge(uses, begin)) {
    if (end_of_edge(uses, begin) - begin != 2) continue;
    const EdgeUse& one = uses[begin];
    const EdgeUse& other = uses[begin + 1];
    if (one.forward == other.forward) continue;
    SharpEdge edge{.a = mesh.vertices[one.edge[0]],
                   .b = mesh.vertices[one.edge[1]],
                   .normals = {triangle_cross(mesh, one.triangle).normalized(),
                               triangle_cross(mesh, other.triangle).normalized()}};
    if (!one.forward) std::swap(edge.a, edge.b);
    const auto& [n0, n1] = edge.normals;
    const bool convex = n0.cross(n1).dot(edge.b - edge.a) > 0.0;
    if (convex && n0.dot(n1) < flat) edges.push_back(edge);
  }
  return edges;
}

std::vector<SharpEdge> sharp_edges(const BlockSurface& block) {
  std::vector<SharpEdge> edges;
  for (Eigen::Index axis = 0; axis < 3; ++axis) {
    const Vector3 along = 0.5 * block.lengths[axis] * Vector3::Unit(axis);
    for (const double first : {-1.0, 1.0}) {
      for (const double second : {-1.0, 1.0}) {
        std::array<Vector3, 2> normals{first * Vector3::Unit((axis + 1) % 3), second * Vector3::Unit((axis + 2) % 3)};
        const Vector3 middle = block.center + 0.5 * block.lengths.cwiseProduct(normals[0] + normals[1]);
        if (first * second < 0.0) std::swap(normals[0], normals[1]);
        edges.push_back({.a = middle - along, .b = middle + along, .normals = normals});
      }
    }
  }
  return edges;
}

std::optional<EdgeCrossing> crossing(const SharpEdge& A, const SharpEdge& B) {
  const Vector3 d = A.b - A.a;
  const Vector3 f = B.b - B.a;
  const Vector3 product = d.cross(f);
  const double length = product.norm();
  if (!(length > parallel * d.norm() * f.norm())) return std::nullopt;
  Vector3 n = product / length;
  // A.a + s d + g n = B.a + t f; ends belong to the next edge.
  const Vector3 r = B.a - A.a;
  const double s = r.cross(f).dot(n) / length;
  const double t = r.cross(d).dot(n) / length;
  if (!(s >= 0.0 && s < 1.0 && t >= 0.0 && t < 1.0)) return std::nullopt;
  if (!in_cone(A, n)) n = -n;
  if (!in_cone(A, n) || !in_cone(B, -n)) return std::nullopt;
  const double gap = r.dot(n);
  return EdgeCrossing{.p_A = A.a + s * d,
                      .p_B = B.a + t * f,
                      .n = n,
                      .gap = gap,
                      .gap_A = from_wedge(A, n, gap),
                      .gap_B = from_wedge(B, -n, gap)};
}

}  // namespace heelstrike::fem
