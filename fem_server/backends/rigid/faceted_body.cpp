#include "fem_server/backends/rigid/faceted_body.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

namespace {

/// [rad] 20 degrees: flatter edges of a mesh of many triangles are those of a curve.
constexpr double flat = std::numbers::pi / 9.0;
/// A ball of fewer triangles turns by more than 20 degrees at its edges: with N triangles their inscribed circles have
/// the radius sqrt(4 pi / (3 sqrt(3) N)) of that of the ball, and the angle is twice its arc sine.
constexpr std::size_t min_curve_triangles = 80;
/// [rad] Flat faces of files in single precision have smaller angles.
constexpr double coplanar = 1e-3;
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

/// [m] of a point from the wedge between the faces of an edge, beyond one of them or behind both.
double distance_from_faces(const SharpEdge& edge, const Vector3& p) {
  return std::max(edge.normals[0].dot(p - edge.a), edge.normals[1].dot(p - edge.a));
}

/// The point of `edge` in the middle of its part within the wedge of `other`; beside the wedge if it ends before.
Vector3 middle_within(const SharpEdge& edge, const SharpEdge& other) {
  const Vector3 along = edge.b - edge.a;
  double low = 0.0, high = 1.0;
  for (const Vector3& n : other.normals) {
    const double slope = n.dot(along), at = n.dot(other.a - edge.a) / slope;
    if (slope > 0.0) high = std::min(high, at);
    if (slope < 0.0) low = std::max(low, at);
  }
  return edge.a + 0.5 * (low + high) * along;
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

/// [rad] Edges with a larger angle are sharp.
double min_sharp_angle(const SurfaceMesh& mesh) {
  return mesh.triangles.size() < min_curve_triangles ? coplanar : flat;
}

}  // namespace

bool in_cone(const SharpEdge& edge, const Vector3& n, double outside) {
  const Vector3 along = (edge.b - edge.a).normalized();
  return edge.normals[0].cross(n).dot(along) >= -outside && n.cross(edge.normals[1]).dot(along) >= -outside &&
         n.dot(edge.normals[0] + edge.normals[1]) > 0.0;
}

double from_wedge(const SharpEdge& edge, const Vector3& n, double gap) {
  if (gap >= 0.0) return gap;
  return gap * std::min(n.dot(edge.normals[0]), n.dot(edge.normals[1]));
}

SharpEdge SharpEdge::moved(const Pose& X) const {
  return {.a = X * a, .b = X * b, .normals = {X.R * normals[0], X.R * normals[1]}, .vertices = vertices};
}

std::vector<SharpEdge> sharp_edges(const SurfaceMesh& mesh) {
  std::vector<SharpEdge> edges = edges_of(mesh);
  std::erase_if(edges,
                [least = min_sharp_angle(mesh)](const SharpEdge& edge) { return rotation_of_edge(edge) <= least; });
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
  double largest = 0.0;
  for (const SharpEdge& edge : edges_of(mesh)) {
    const double angle = rotation_of_edge(edge);
    if (angle > coplanar && angle <= min_sharp_angle(mesh)) largest = std::max(largest, angle);
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
  EdgeCrossing at{.p_A = A.a + s * d,
                  .p_B = B.a + t * f,
                  .n = n,
                  .gap = gap,
                  .gap_A = from_wedge(A, n, gap),
                  .gap_B = from_wedge(B, -n, gap),
                  .is_from_cone = !in_cone(A, n) || !in_cone(B, -n)};
  if (gap < 0.0 && at.gap_A > 0.0 && at.gap_B > 0.0) {
    at.inner = middle_within(A, B);
    at.gap_inner = distance_from_faces(B, *at.inner);
  }
  return at;
}

namespace {

/// [rad] Faces with a smaller angle are one plane: single-precision coordinates of files round by this.
constexpr double coplanar_angle = 1e-6;

struct NearFace {
  FacetedBody::Face face;
  Vector3 centre;         ///< [m] of the triangle
  double beside = 0.0;    ///< [m] distance of the corner's projection on the plane from the triangle
  bool is_level = false;  ///< see FacetedBody::Faces
};

bool same_plane(const FacetedBody::Face& one, const FacetedBody::Face& other, double margin) {
  return one.normal.cross(other.normal).norm() <= coplanar_angle && one.normal.dot(other.normal) > 0.0 &&
         std::abs(one.gap - other.gap) <= margin;
}

/// Near `p` the body lies behind both of two faces with a convex edge, and behind one of them otherwise.
bool convex_between(const NearFace& one, const NearFace& other, const Vector3& p) {
  return one.face.normal.dot(other.centre - p) + one.face.gap < 0.0;
}

}  // namespace

bool supports(const Probe& corner, const Matrix3& R, const Vector3& n, double outside) {
  const Vector3 own = R.transpose() * n;
  return std::ranges::all_of(corner.edge_directions, [&](const Vector3& edge) { return own.dot(edge) >= -outside; });
}

std::vector<Probe> corners_of(const SurfaceMesh& mesh, const std::vector<SharpEdge>& edges) {
  std::vector<std::vector<Vector3>> normals(mesh.vertices.size());
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    const Vector3 n = triangle_cross(mesh, t).normalized();
    for (const std::uint32_t vertex : mesh.triangles[t]) normals[vertex].push_back(n);
  }
  std::vector<char> on_rim(mesh.vertices.size(), 0);
  const std::vector<EdgeUse> uses = edge_uses(mesh);
  for (std::size_t begin = 0; begin < uses.size(); begin = end_of_edge(uses, begin)) {
    if (end_of_edge(uses, begin) - begin == 2) continue;
    for (const std::uint32_t vertex : uses[begin].edge) on_rim[vertex] = 1;
  }
  std::vector<std::vector<Vector3>> edge_directions(mesh.vertices.size());
  for (const SharpEdge& edge : edges) {
    const Vector3 along = (edge.b - edge.a).normalized();
    edge_directions[edge.vertices[0]].push_back(along);
    edge_directions[edge.vertices[1]].push_back(-along);
  }
  std::vector<Probe> corners;
  for (std::size_t v = 0; v < mesh.vertices.size(); ++v) {
    // Normals of a corner span the space; within a face they are equal, within an edge they span a plane.
    bool spans = on_rim[v] != 0;
    for (std::size_t i = 1; i < normals[v].size() && !spans; ++i) {
      const Vector3 across = normals[v][0].cross(normals[v][i]);
      spans = across.norm() > coplanar_angle && std::ranges::any_of(normals[v], [&](const Vector3& n) {
                return std::abs(across.normalized().dot(n)) > coplanar_angle;
              });
    }
    if (spans) corners.push_back({.center = mesh.vertices[v], .edge_directions = std::move(edge_directions[v])});
  }
  return corners;
}

FacetedBody::FacetedBody(SurfaceMesh mesh) : mesh_(std::move(mesh)), tree_(mesh_) {
  for (std::size_t t = 0; t < mesh_.triangles.size(); ++t) normals_.push_back(triangle_cross(mesh_, t).normalized());
}

FacetedBody::Faces FacetedBody::faces_at(const Probe& corner, const Vector3& p, const Matrix3& R, double radius,
                                         double margin) const {
  std::vector<NearFace> near;
  const Vector3 half = Vector3::Constant(radius + margin);
  tree_.for_overlapping(p - half, p + half, [&](std::uint32_t t) {
    const Triangle& k = mesh_.triangles[t];
    const Vector3 &a = mesh_.vertices[k[0]], &b = mesh_.vertices[k[1]], &c = mesh_.vertices[k[2]];
    const Vector3& n = normals_[t];
    const Vector3 away = p - closest_on_triangle(p, a, b, c);
    if (away.norm() > radius + margin || !supports(corner, R, n)) return;
    NearFace found{.face = {.normal = n, .gap = n.dot(p - a), .triangle = t}, .centre = (a + b + c) / 3.0};
    found.beside = (away - n.dot(away) * n).norm();
    found.is_level = std::abs(found.face.gap) <= margin;
    const auto same =
        std::ranges::find_if(near, [&](const NearFace& f) { return same_plane(f.face, found.face, margin); });
    if (same == near.end()) {
      near.push_back(found);
      return;
    }
    // The nearest triangle represents its plane, in the position of the first one.
    found.face.triangle = std::min(found.face.triangle, same->face.triangle);
    if (found.beside < same->beside - margin) *same = found;
    same->face.triangle = found.face.triangle;
  });
  std::ranges::sort(near, {}, [](const NearFace& f) { return f.face.triangle; });
  Faces result;
  for (const NearFace& f : near) {
    result.level = result.level || f.is_level;
    if (f.beside > margin) continue;
    // A corner level with the neighbouring face is about to leave this one or to pass it: the overlap has no extent.
    // Behind both faces, the corner is in contact with the one of smaller penetration.
    const bool other_counts = std::ranges::any_of(near, [&](const NearFace& g) {
      if (&g == &f || !convex_between(f, g, p)) return false;
      if (f.face.gap >= -margin) return g.is_level;
      return g.beside <= margin && g.face.gap > f.face.gap;
    });
    if (!other_counts) result.touched.push_back(f.face);
  }
  return result;
}

}  // namespace heelstrike::fem
