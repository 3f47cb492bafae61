// Signed distance to a closed triangle mesh: the tree of fem_server/geometry finds the closest point, the sign comes
// from the angle-weighted pseudonormal of the face, edge or vertex it lies on [baerentzen2005].
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "common/errors/error.hpp"
#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/geometry/surface_topology.hpp"
#include "fem_server/geometry/triangle_tree.hpp"
#include "fem_server/surfaces/mesh_distance.hpp"

namespace heelstrike::fem {

namespace {

class MeshDistance final : public SignedDistance {
 public:
  explicit MeshDistance(SurfaceMesh mesh) : mesh_(std::move(mesh)), tree_(mesh_) {
    for (const Vector3& p : mesh_.vertices) extent_ = std::max(extent_, p.norm());
    for (std::size_t t = 0; t < mesh_.triangles.size(); ++t) {
      face_normals_.push_back(triangle_cross(mesh_, t).normalized());
    }
    find_vertex_normals();
    find_edge_normals();
  }

  [[nodiscard]] SurfacePoint closest(const Vector3& p_BQ) const override {
    const ClosestPoint found = tree_.closest(p_BQ);
    const Vector3 pseudonormal = feature_normal(found);
    const Vector3 away = p_BQ - found.point;
    const double side = away.dot(pseudonormal) < 0.0 ? -1.0 : 1.0;
    SurfacePoint point{.gap = side * found.distance, .normal = pseudonormal, .curvature = Matrix3::Zero(), .bend = 0.0};
    // Near the surface the difference of two close points, rounded like the coordinates, has no direction left; the
    // face knows it.
    if (found.distance > 1e-7 * extent_) point.normal = side / found.distance * away;
    return point;
  }
  /// Outside of the box around the mesh its distance will do: most candidates of a large body are far from touching.
  [[nodiscard]] double gap(const Vector3& p_BQ, double reach) const override {
    // Closest points and boxes are sums and products of coordinates, each rounded: by a few units in the last place of
    // the largest of them, of which this leaves a thousand, so that the bound stays one.
    const double rounding = 1e3 * std::numeric_limits<double>::epsilon() * (extent_ + p_BQ.norm());
    const double least = tree_.distance_to_box(p_BQ) - rounding;
    return least > 0.0 && least > reach ? least : closest(p_BQ).gap;
  }
  [[nodiscard]] bool is_distance() const override { return true; }

 private:
  /// Weighted with the angle of each face at the vertex: only so does the sign not depend on how a flat part is cut
  /// into triangles [baerentzen2005, section 3].
  void find_vertex_normals() {
    vertex_normals_.assign(mesh_.vertices.size(), Vector3::Zero());
    for (std::size_t t = 0; t < mesh_.triangles.size(); ++t) {
      const Triangle& corners = mesh_.triangles[t];
      for (std::size_t k = 0; k < 3; ++k) {
        const Vector3& p = mesh_.vertices[corners[k]];
        const Vector3 a = (mesh_.vertices[corners[(k + 1) % 3]] - p).normalized();
        const Vector3 b = (mesh_.vertices[corners[(k + 2) % 3]] - p).normalized();
        vertex_normals_[corners[k]] += std::acos(std::clamp(a.dot(b), -1.0, 1.0)) * face_normals_[t];
      }
    }
    for (Vector3& normal : vertex_normals_) normal.normalize();
  }

  /// Both faces of an edge meet it with the same angle, pi: their normals weigh alike.
  void find_edge_normals() {
    edge_normals_.resize(mesh_.triangles.size());
    const std::vector<EdgeUse> uses = edge_uses(mesh_);
    for (std::size_t begin = 0; begin < uses.size();) {
      const std::size_t end = end_of_edge(uses, begin);
      Vector3 normal = Vector3::Zero();
      for (std::size_t i = begin; i < end; ++i) normal += face_normals_[uses[i].triangle];
      normal.normalize();
      for (std::size_t i = begin; i < end; ++i) {
        const Triangle& corners = mesh_.triangles[uses[i].triangle];
        const std::uint32_t start = uses[i].edge[uses[i].forward ? 0 : 1];
        for (std::size_t k = 0; k < 3; ++k) {
          if (corners[k] == start) edge_normals_[uses[i].triangle][k] = normal;
        }
      }
      begin = end;
    }
  }

  /// Normal of the face, edge or vertex that holds the point, unit length.
  [[nodiscard]] Vector3 feature_normal(const ClosestPoint& found) const {
    constexpr double on_feature = 1e-9;
    const Triangle& corners = mesh_.triangles[found.triangle];
    const Vector3 cross = triangle_cross(mesh_, found.triangle);
    std::array<double, 3> weights{};
    for (std::size_t k = 0; k < 3; ++k) {
      const Vector3& p = mesh_.vertices[corners[(k + 1) % 3]];
      const Vector3& q = mesh_.vertices[corners[(k + 2) % 3]];
      // Barycentric coordinates of the closest point: one of them is zero on an edge, two in a vertex.
      weights[k] = (p - found.point).cross(q - found.point).dot(cross) / cross.squaredNorm();
    }
    for (std::size_t k = 0; k < 3; ++k) {
      if (weights[k] > 1.0 - on_feature) return vertex_normals_[corners[k]];
    }
    for (std::size_t k = 0; k < 3; ++k) {
      if (weights[k] < on_feature) return edge_normals_[found.triangle][(k + 1) % 3];
    }
    return face_normals_[found.triangle];
  }

  SurfaceMesh mesh_;
  TriangleTree tree_;
  double extent_ = 0.0;  ///< [m] of the farthest vertex from the origin
  std::vector<Vector3> face_normals_;
  std::vector<Vector3> vertex_normals_;
  std::vector<std::array<Vector3, 3>> edge_normals_;  ///< per triangle, of the edge from corner k to corner k + 1
};

}  // namespace

std::unique_ptr<SignedDistance> mesh_distance(SurfaceMesh mesh) {
  require_sound(check_surface(mesh), "partner surface");
  return std::make_unique<MeshDistance>(std::move(mesh));
}

}  // namespace heelstrike::fem
