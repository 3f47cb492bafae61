#include "fem_server/backends/elastic_foundation/target_surface.hpp"

#include <cmath>
#include <utility>

namespace heelstrike::fem {

namespace {

/// Newton's iteration on the distance along a line doubles the digits from a start at the distance itself.
constexpr int most_steps = 60;

class AnalyticTarget final : public TargetSurface {
 public:
  explicit AnalyticTarget(std::unique_ptr<SignedDistance> surface) : surface_(std::move(surface)) {}

  [[nodiscard]] TargetPoint closest(const Vector3& q, std::uint32_t /*near*/) const override {
    return of(surface_->closest(q));
  }

  [[nodiscard]] std::optional<TargetPoint> crossing(const Vector3& q, const Vector3& direction, double reach,
                                                    bool leaving, std::uint32_t /*near*/) const override {
    const double sense = leaving ? 1.0 : -1.0;
    double way = 0.0;
    for (int i = 0; i < most_steps; ++i) {
      const SurfacePoint point = surface_->closest(q + way * direction);
      const double slope = sense * point.normal.dot(direction);
      if (!(slope > 0.0)) return std::nullopt;
      const double step = -sense * point.gap / slope;
      way += step;
      if (!(way <= reach && way >= -reach)) return std::nullopt;
      if (std::abs(step) > 1e-15 * (q.norm() + std::abs(way))) continue;
      TargetPoint found = of(surface_->closest(q + way * direction));
      found.gap = -sense * way;
      return found;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_distance() const override { return surface_->is_distance(); }
  [[nodiscard]] bool closed() const override { return true; }

 private:
  static TargetPoint of(const SurfacePoint& p) {
    return {.gap = p.gap,
            .normal = p.normal,
            .curvature = p.curvature,
            .smooth_normal = p.normal,
            .smooth_curvature = p.curvature};
  }
  std::unique_ptr<SignedDistance> surface_;
};

class MeshTarget final : public TargetSurface {
 public:
  MeshTarget(SurfaceMesh mesh, bool interpolate) : surface_(std::move(mesh)), interpolate_(interpolate) {}

  [[nodiscard]] TargetPoint closest(const Vector3& q, std::uint32_t near) const override {
    const NearestOnSurface found = surface_.closest(q, near);
    TargetPoint point{.gap = found.surface.gap,
                      .normal = found.surface.normal,
                      .curvature = found.surface.curvature,
                      .smooth_normal = found.surface.normal,
                      .smooth_curvature = found.surface.curvature,
                      .triangle = found.triangle,
                      .beside = found.beside};
    if (!interpolate_) return point;
    // The foot of the perpendicular follows the query point along the surface.
    const Vector3& n = found.surface.normal;
    const Matrix3 follows = Matrix3::Identity() - n * n.transpose() - found.surface.gap * found.surface.curvature;
    smooth(q - found.surface.gap * n, point);
    point.smooth_curvature *= follows;
    return point;
  }

  [[nodiscard]] std::optional<TargetPoint> crossing(const Vector3& q, const Vector3& direction, double reach,
                                                    bool leaving, std::uint32_t near) const override {
    const auto found = surface_.crossing(q, direction, reach, leaving, near);
    if (!found) return std::nullopt;
    TargetPoint point{.gap = leaving ? -found->way : found->way,
                      .normal = found->normal,
                      .curvature = Matrix3::Zero(),
                      .smooth_normal = found->normal,
                      .smooth_curvature = Matrix3::Zero(),
                      .triangle = found->triangle};
    if (interpolate_) smooth(q + found->way * direction, point);
    return point;
  }

  [[nodiscard]] bool is_distance() const override { return true; }
  [[nodiscard]] bool closed() const override { return surface_.closed(); }

 private:
  void smooth(const Vector3& p, TargetPoint& point) const {
    const InterpolatedNormal interpolated = surface_.interpolated_normal(point.triangle, p);
    point.smooth_normal = interpolated.normal;
    point.smooth_curvature = interpolated.gradient;
  }

  TriangleSurface surface_;
  bool interpolate_;
};

}  // namespace

std::unique_ptr<TargetSurface> analytic_target(std::unique_ptr<SignedDistance> surface) {
  return std::make_unique<AnalyticTarget>(std::move(surface));
}

std::unique_ptr<TargetSurface> mesh_target(SurfaceMesh mesh, bool interpolate) {
  return std::make_unique<MeshTarget>(std::move(mesh), interpolate);
}

}  // namespace heelstrike::fem
