// Signed distance to a closed triangle mesh: the tree of fem_server/geometry finds the closest point, the sign comes
// from the angle-weighted pseudonormal of the face, edge or vertex it lies on [baerentzen2005].
#include "fem_server/surfaces/mesh_distance.hpp"

#include <utility>

#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/surfaces/triangle_surface.hpp"

namespace heelstrike::fem {

namespace {

class MeshDistance final : public SignedDistance {
 public:
  explicit MeshDistance(SurfaceMesh mesh) : surface_(std::move(mesh)) {}

  [[nodiscard]] SurfacePoint closest(const Vector3& p_BQ) const override {
    const auto [found, pseudonormal] = surface_.foot(p_BQ);
    const SurfaceMesh& mesh = surface_.mesh();
    const Vector3 away = p_BQ - found.point;
    const double side = away.dot(pseudonormal) < 0.0 ? -1.0 : 1.0;
    SurfacePoint point{.gap = side * found.distance, .normal = pseudonormal, .curvature = Matrix3::Zero(), .bend = 0.0};
    // Near the surface the difference of two close points has no direction left; the face knows it.
    const double smallest = 1e-7 * mesh.vertices[mesh.triangles[found.triangle][0]].norm();
    if (found.distance > smallest) point.normal = side / found.distance * away;
    return point;
  }
  [[nodiscard]] bool is_distance() const override { return true; }

 private:
  TriangleSurface surface_;
};

}  // namespace

std::unique_ptr<SignedDistance> mesh_distance(SurfaceMesh mesh) {
  require_sound(check_surface(mesh), "partner surface");
  return std::make_unique<MeshDistance>(std::move(mesh));
}

}  // namespace heelstrike::fem
