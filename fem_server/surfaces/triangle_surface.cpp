#include "fem_server/surfaces/triangle_surface.hpp"

#include <algorithm>
#include <cmath>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

namespace {

/// [-] barycentric tolerance within which a point counts as lying on an edge or vertex.
constexpr double on_feature = 1e-9;

std::size_t corner_opposite(const Triangle& corners, const std::array<std::uint32_t, 2>& edge) {
  for (std::size_t k = 0; k < 3; ++k) {
    if (corners[k] != edge[0] && corners[k] != edge[1]) return k;
  }
  return 0;
}

}  // namespace

TriangleSurface::TriangleSurface(SurfaceMesh mesh) : mesh_(std::move(mesh)), tree_(mesh_) {
  const std::size_t n = mesh_.triangles.size();
  vertex_normals_.assign(mesh_.vertices.size(), Vector3::Zero());
  for (std::size_t t = 0; t < n; ++t) {
    const Triangle& corners = mesh_.triangles[t];
    face_normals_.push_back(triangle_cross(mesh_, t).normalized());
    // Angle-weighted vertex pseudonormals [baerentzen2005].
    for (std::size_t k = 0; k < 3; ++k) {
      const Vector3& p = mesh_.vertices[corners[k]];
      const Vector3 a = (mesh_.vertices[corners[(k + 1) % 3]] - p).normalized();
      const Vector3 b = (mesh_.vertices[corners[(k + 2) % 3]] - p).normalized();
      vertex_normals_[corners[k]] += std::acos(std::clamp(a.dot(b), -1.0, 1.0)) * face_normals_[t];
    }
  }
  for (Vector3& normal : vertex_normals_) normal.normalize();
  edge_normals_.resize(n);
  rim_edges_.assign(n, {false, false, false});
  rim_vertices_.assign(mesh_.vertices.size(), false);
  const std::vector<EdgeUse> uses = edge_uses(mesh_);
  for (std::size_t begin = 0; begin < uses.size();) {
    const std::size_t end = end_of_edge(uses, begin);
    Vector3 sum = Vector3::Zero();
    // Edge pseudonormal: mean of the adjacent face normals.
    for (std::size_t i = begin; i < end; ++i) sum += face_normals_[uses[i].triangle];
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t k = corner_opposite(mesh_.triangles[uses[i].triangle], uses[i].edge);
      edge_normals_[uses[i].triangle][k] = sum.normalized();
      rim_edges_[uses[i].triangle][k] = end - begin == 1;
    }
    if (end - begin == 1) {
      closed_ = false;
      for (const std::uint32_t vertex : uses[begin].edge) rim_vertices_[vertex] = true;
    }
    begin = end;
  }
  // Some hundred units in the last place of the coordinates.
  for (const Vector3& vertex : mesh_.vertices) resolution_ = std::max(resolution_, 1e-13 * vertex.norm());
}

std::array<double, 3> TriangleSurface::weights(std::uint32_t triangle, const Vector3& p) const {
  const Triangle& corners = mesh_.triangles[triangle];
  const Vector3 cross = triangle_cross(mesh_, triangle);
  std::array<double, 3> result{};
  for (std::size_t k = 0; k < 3; ++k) {
    const Vector3& a = mesh_.vertices[corners[(k + 1) % 3]];
    const Vector3& b = mesh_.vertices[corners[(k + 2) % 3]];
    result[k] = (a - p).cross(b - p).dot(cross) / cross.squaredNorm();
  }
  return result;
}

TriangleSurface::Feature TriangleSurface::feature(std::uint32_t triangle, const Vector3& p) const {
  const std::array<double, 3> share = weights(triangle, p);
  for (std::size_t k = 0; k < 3; ++k) {
    if (share[k] > 1.0 - on_feature) return {.vertex = k};
  }
  for (std::size_t k = 0; k < 3; ++k) {
    if (share[k] < on_feature) return {.edge = k};
  }
  return {};
}

const Vector3& TriangleSurface::pseudonormal(std::uint32_t triangle, const Feature& feature) const {
  if (feature.vertex) return vertex_normals_[mesh_.triangles[triangle][*feature.vertex]];
  return feature.edge ? edge_normals_[triangle][*feature.edge] : face_normals_[triangle];
}

bool TriangleSurface::on_rim(std::uint32_t triangle, const Feature& feature) const {
  if (feature.vertex) return rim_vertices_[mesh_.triangles[triangle][*feature.vertex]];
  return feature.edge && rim_edges_[triangle][*feature.edge];
}

NearestOnSurface TriangleSurface::closest(const Vector3& q, std::uint32_t near) const {
  const ClosestPoint found = tree_.closest(q, near);
  const Feature on = feature(found.triangle, found.point);
  const Vector3& pseudo = pseudonormal(found.triangle, on);
  const Vector3 away = q - found.point;
  const double side = away.dot(pseudo) < 0.0 ? -1.0 : 1.0;
  NearestOnSurface nearest{.triangle = found.triangle};
  nearest.surface = {.gap = side * found.distance, .normal = pseudo, .curvature = Matrix3::Zero(), .bend = 0.0};
  const Triangle& corners = mesh_.triangles[found.triangle];
  if (!on.edge && !on.vertex) return nearest;
  nearest.beside = on_rim(found.triangle, on);
  if (found.distance <= resolution_) return nearest;
  // Distance to a vertex or a straight edge: Hessian (1 - n n^T) / gap, less t t^T / gap along the edge.
  const Vector3 n = side / found.distance * away;
  nearest.surface.normal = n;
  // Perpendicular to the face, as over an edge between coplanar triangles, the nearest point moves along the face.
  if (n.cross(face_normals_[found.triangle]).squaredNorm() < on_feature * on_feature) return nearest;
  nearest.surface.curvature = Matrix3::Identity() - n * n.transpose();
  if (on.edge) {
    const Vector3 along =
        (mesh_.vertices[corners[(*on.edge + 1) % 3]] - mesh_.vertices[corners[(*on.edge + 2) % 3]]).normalized();
    nearest.surface.curvature -= along * along.transpose();
  }
  nearest.surface.curvature /= nearest.surface.gap;
  return nearest;
}

SurfaceFoot TriangleSurface::foot(const Vector3& q) const {
  const ClosestPoint found = tree_.closest(q);
  const Feature on = feature(found.triangle, found.point);
  return {.closest = found, .pseudonormal = pseudonormal(found.triangle, on), .beside = on_rim(found.triangle, on)};
}

std::optional<SurfaceCrossing> TriangleSurface::crossing(const Vector3& origin, const Vector3& direction, double reach,
                                                         bool leaving, std::uint32_t near) const {
  const auto found = tree_.crossing(origin, direction, reach, leaving, near);
  if (!found) return std::nullopt;
  // Bit for bit as in SurfaceSheets.
  const Vector3& n = face_normals_[found->triangle];
  const Vector3 above = origin - mesh_.vertices[mesh_.triangles[found->triangle][0]];
  const double exact = -(n.x() * above.x() + n.y() * above.y() + n.z() * above.z()) /
                       (n.x() * direction.x() + n.y() * direction.y() + n.z() * direction.z());
  // For a line nearly parallel to the face the quotient is ill-conditioned; there the sheets return no result that must
  // match.
  const double ray_distance = exact >= 0.0 && exact <= reach ? exact : found->ray_distance;
  return SurfaceCrossing{.ray_distance = ray_distance, .normal = n, .triangle = found->triangle};
}

InterpolatedNormal TriangleSurface::interpolated_normal(std::uint32_t triangle, const Vector3& p) const {
  const Triangle& corners = mesh_.triangles[triangle];
  const std::array<double, 3> share = weights(triangle, p);
  const Vector3 cross = triangle_cross(mesh_, triangle);
  Vector3 sum = Vector3::Zero();
  Matrix3 gradient = Matrix3::Zero();
  for (std::size_t k = 0; k < 3; ++k) {
    const Vector3& normal = vertex_normals_[corners[k]];
    const Vector3 edge = mesh_.vertices[corners[(k + 2) % 3]] - mesh_.vertices[corners[(k + 1) % 3]];
    sum += share[k] * normal;
    // Gradient of the barycentric coordinate k; the normalisation is differentiated below.
    gradient += normal * cross.cross(edge).transpose() / cross.squaredNorm();
  }
  const double length = sum.norm();
  const Vector3 n = sum / length;
  return {.normal = n, .gradient = (Matrix3::Identity() - n * n.transpose()) * gradient / length};
}

}  // namespace heelstrike::fem
