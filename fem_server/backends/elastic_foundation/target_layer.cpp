#include "fem_server/backends/elastic_foundation/target_layer.hpp"

#include <algorithm>
#include <array>

#include "fem_server/geometry/triangle_tree.hpp"

namespace heelstrike::fem {

namespace {

/// Fraction of a triangle within which a point counts as lying on an edge or corner, as for the distance.
constexpr double on_feature = 1e-9;

/// Barycentric coordinates of a point of the plane, or of the foot of its perpendicular.
std::array<double, 3> shares(const std::array<Vector3, 3>& corners, const Vector3& p) {
  const Vector3 cross = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
  std::array<double, 3> share{};
  for (std::size_t k = 0; k < 3; ++k) {
    share[k] = (corners[(k + 1) % 3] - p).cross(corners[(k + 2) % 3] - p).dot(cross) / cross.squaredNorm();
  }
  return share;
}

}  // namespace

TargetLayer::TargetLayer(const SurfaceMesh& mesh, const std::vector<double>& thickness)
    : mesh_(mesh), thickness_(thickness), max_thickness_(*std::ranges::max_element(thickness)) {
  for (std::size_t t = 0; t < mesh_.triangles.size(); ++t) {
    const Triangle& corners = mesh_.triangles[t];
    const Vector3 cross = triangle_cross(mesh_, t);
    Vector3 gradient = Vector3::Zero();
    // Differences to the first corner, so that a constant thickness has a gradient of exactly zero.
    for (std::size_t k = 1; k < 3; ++k) {
      const Vector3 edge = mesh_.vertices[corners[(k + 2) % 3]] - mesh_.vertices[corners[(k + 1) % 3]];
      gradient += (thickness_[corners[k]] - thickness_[corners[0]]) / cross.squaredNorm() * cross.cross(edge);
    }
    gradient_.push_back(gradient);
  }
}

LayerPoint TargetLayer::at(std::uint32_t triangle, const Vector3& p) const {
  const std::uint32_t corner = mesh_.triangles[triangle][0];
  const Vector3& gradient = gradient_[triangle];
  return {.thickness = thickness_[corner] + gradient.dot(p - mesh_.vertices[corner]), .gradient = gradient};
}

LayerPoint TargetLayer::nearest(std::uint32_t triangle, const Vector3& q) const {
  const Triangle& corners = mesh_.triangles[triangle];
  const std::array<Vector3, 3> p{mesh_.vertices[corners[0]], mesh_.vertices[corners[1]], mesh_.vertices[corners[2]]};
  const Vector3 foot = closest_on_triangle(q, p[0], p[1], p[2]);
  LayerPoint place = at(triangle, foot);
  // Over an edge between two coplanar triangles the point moves freely.
  if (std::ranges::min(shares(p, q)) >= -on_feature) return place;
  const std::array<double, 3> share = shares(p, foot);
  if (std::ranges::max(share) > 1.0 - on_feature) {
    place.gradient.setZero();
    return place;
  }
  for (std::size_t k = 0; k < 3; ++k) {
    if (share[k] > on_feature) continue;
    const Vector3 along = (p[(k + 2) % 3] - p[(k + 1) % 3]).normalized();
    place.gradient = along.dot(place.gradient) * along;
    break;
  }
  return place;
}

}  // namespace heelstrike::fem
