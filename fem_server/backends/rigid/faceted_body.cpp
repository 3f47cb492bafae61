#include "fem_server/backends/rigid/faceted_body.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fem_server/geometry/surface_topology.hpp"

namespace heelstrike::fem {

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

bool supports(const Probe& corner, const Matrix3& R, const Vector3& n) {
  const Vector3 own = R.transpose() * n;
  return std::ranges::all_of(corner.edge_directions,
                             [&](const Vector3& spoke) { return own.dot(spoke) >= -cone_rounding; });
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
