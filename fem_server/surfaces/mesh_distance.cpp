// Signed distance to a triangle mesh: the tree of fem_server/geometry finds the closest point, the sign follows from
// the angle-weighted pseudonormal of its face, edge or vertex [baerentzen2005].
#include "fem_server/surfaces/mesh_distance.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/surfaces/triangle_surface.hpp"

namespace heelstrike::fem {

namespace {

class MeshDistance final : public SignedDistance {
 public:
  explicit MeshDistance(SurfaceMesh mesh) : surface_(std::move(mesh)) {
    for (const Vector3& p : surface_.mesh().vertices) extent_ = std::max(extent_, p.norm());
  }

  [[nodiscard]] SurfacePoint closest(const Vector3& p_BQ) const override {
    const auto [found, pseudonormal, beside] = surface_.foot(p_BQ);
    const Vector3 away = p_BQ - found.point;
    const double side = !beside && away.dot(pseudonormal) < 0.0 ? -1.0 : 1.0;
    SurfacePoint point{.gap = side * found.distance, .normal = pseudonormal, .curvature = Matrix3::Zero(), .bend = 0.0};
    // Near the surface the direction between two close points is lost to rounding of the coordinates; the face normal
    // is used instead.
    if (found.distance > 1e-7 * extent_) point.normal = side / found.distance * away;
    return point;
  }
  /// Outside the bounding box its distance suffices: most candidates of a large body are far from contact.
  [[nodiscard]] double gap(const Vector3& p_BQ, double reach) const override {
    // A point outside the bounding box of an open surface may still lie behind the surface.
    if (!surface_.closed()) return closest(p_BQ).gap;
    // Closest points and boxes carry rounding errors of a few units in the last place of the largest coordinate; a
    // margin of a thousand units keeps the bound valid.
    const double rounding = 1e3 * std::numeric_limits<double>::epsilon() * (extent_ + p_BQ.norm());
    const double least = surface_.distance_to_box(p_BQ) - rounding;
    return least > 0.0 && least > reach ? least : closest(p_BQ).gap;
  }
  [[nodiscard]] bool is_distance() const override { return surface_.closed(); }

 private:
  TriangleSurface surface_;
  double extent_ = 0.0;  ///< [m] distance of the farthest vertex from the origin
};

/// Open edges are not a defect of a partner.
void require_valid_partner(SurfaceReport report) {
  std::erase_if(report.findings,
                [](const SurfaceFinding& finding) { return finding.defect == SurfaceDefect::open_edge; });
  require_valid(report, "partner surface");
}

}  // namespace

std::unique_ptr<SignedDistance> mesh_distance(SurfaceMesh mesh) {
  require_valid_partner(check_surface(mesh));
  return std::make_unique<MeshDistance>(std::move(mesh));
}

}  // namespace heelstrike::fem
