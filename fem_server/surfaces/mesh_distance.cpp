// Signed distance to a closed triangle mesh: the tree of fem_server/geometry finds the closest point, the sign comes
// from the angle-weighted pseudonormal of the face, edge or vertex it lies on [baerentzen2005].
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "common/errors/error.hpp"
#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/geometry/triangle_tree.hpp"
#include "fem_server/surfaces/mesh_distance.hpp"

namespace heelstrike::fem {

namespace {

using Edge = std::pair<std::uint32_t, std::uint32_t>;

class MeshDistance final : public SignedDistance {
 public:
  explicit MeshDistance(SurfaceMesh mesh) : mesh_(std::move(mesh)), tree_(mesh_) {
    vertex_normals_.assign(mesh_.vertices.size(), Vector3::Zero());
    for (std::size_t t = 0; t < mesh_.triangles.size(); ++t) {
      const Triangle& corners = mesh_.triangles[t];
      face_normals_.push_back(triangle_cross(mesh_, t).normalized());
      for (std::size_t k = 0; k < 3; ++k) {
        const Vector3& p = mesh_.vertices[corners[k]];
        const Vector3 a = (mesh_.vertices[corners[(k + 1) % 3]] - p).normalized();
        const Vector3 b = (mesh_.vertices[corners[(k + 2) % 3]] - p).normalized();
        // Weighted by the angle of the face at the vertex: with these weights the sign is right however the faces
        // around it are divided [baerentzen2005].
        vertex_normals_[corners[k]] += std::acos(std::clamp(a.dot(b), -1.0, 1.0)) * face_normals_[t];
        edge_normals_.try_emplace(std::minmax(corners[k], corners[(k + 1) % 3]), Vector3::Zero()).first->second +=
            face_normals_[t];
      }
    }
  }

  [[nodiscard]] SurfacePoint closest(const Vector3& p_BQ) const override {
    const ClosestPoint found = tree_.closest(p_BQ);
    const Vector3 pseudonormal = feature_normal(found);
    const Vector3 away = p_BQ - found.point;
    const double side = away.dot(pseudonormal) < 0.0 ? -1.0 : 1.0;
    SurfacePoint point{.gap = side * found.distance, .normal = pseudonormal, .curvature = Matrix3::Zero(), .bend = 0.0};
    // Near the surface the difference of two close points has no direction left; the face knows it.
    const double smallest = 1e-7 * mesh_.vertices[mesh_.triangles[found.triangle][0]].norm();
    if (found.distance > smallest) point.normal = side / found.distance * away;
    return point;
  }
  [[nodiscard]] bool is_distance() const override { return true; }

 private:
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
      if (weights[k] > 1.0 - on_feature) return vertex_normals_[corners[k]].normalized();
    }
    for (std::size_t k = 0; k < 3; ++k) {
      if (weights[k] < on_feature) {
        return edge_normals_.at(std::minmax(corners[(k + 1) % 3], corners[(k + 2) % 3])).normalized();
      }
    }
    return face_normals_[found.triangle];
  }

  SurfaceMesh mesh_;
  TriangleTree tree_;
  std::vector<Vector3> face_normals_;
  std::vector<Vector3> vertex_normals_;
  std::map<Edge, Vector3> edge_normals_;
};

}  // namespace

std::unique_ptr<SignedDistance> mesh_distance(SurfaceMesh mesh) {
  require_sound(check_surface(mesh), "partner surface");
  return std::make_unique<MeshDistance>(std::move(mesh));
}

}  // namespace heelstrike::fem
