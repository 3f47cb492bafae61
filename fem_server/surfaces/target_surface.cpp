#include "fem_server/surfaces/target_surface.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "common/spatial/extents.hpp"
#include "fem_server/geometry/surface_topology.hpp"
#include "fem_server/surfaces/surface_sheets.hpp"

namespace heelstrike::fem {

namespace {

/// Newton's iteration on the distance along a line converges quadratically from a start at the distance itself.
constexpr int max_newton_iterations = 60;
/// [-] over the edge of the triangles: each triangle is compared with a few hundred others during the preparation.
constexpr double max_sheet_extent = 10.0;
/// Exceeds the error of a few roundings.
constexpr double rounded_down = 1.0 - 1e-9;

/// True for one closed piece without concave edges.
bool is_convex(const TriangleSurface& surface) {
  const SurfaceMesh& mesh = surface.mesh();
  if (!surface.closed() || connected_components(mesh).count != 1) return false;
  const double rounding = 1e-9 * extents_of(mesh.vertices).norm();
  const std::vector<EdgeUse> uses = edge_uses(mesh);
  for (std::size_t begin = 0, end = 0; begin < uses.size(); begin = end) {
    end = end_of_edge(uses, begin);
    if (end - begin != 2) return false;
    const Vector3& on_edge = mesh.vertices[uses[begin].edge[0]];
    for (const std::uint32_t v : mesh.triangles[uses[begin + 1].triangle]) {
      if (surface.face_normal(uses[begin].triangle).dot(mesh.vertices[v] - on_edge) > rounding) return false;
    }
  }
  return true;
}

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
    for (int i = 0; i < max_newton_iterations; ++i) {
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

/// Closed form of the results that AnalyticTarget finds by iteration.
class PlaneTarget final : public TargetSurface {
 public:
  explicit PlaneTarget(const PlaneSurface& plane) : plane_(plane) {}
  [[nodiscard]] bool convex() const override { return true; }

  [[nodiscard]] TargetPoint closest(const Vector3& q, std::uint32_t /*near*/) const override {
    return at({.gap = plane_.normal.dot(q - plane_.point), .normal = plane_.normal}, q);
  }
  [[nodiscard]] std::optional<TargetPoint> crossing(const Vector3& q, const Vector3& direction, double reach,
                                                    bool leaving, std::uint32_t /*near*/) const override {
    const auto gap = crossing_gap(plane_, q, leaving ? Vector3(-direction) : direction);
    if (!gap || std::abs(*gap) > reach) return std::nullopt;
    return at({.gap = *gap, .normal = plane_.normal}, q);
  }
  [[nodiscard]] bool is_distance() const override { return true; }
  [[nodiscard]] std::optional<PlaneSurface> plane() const override { return plane_; }
  [[nodiscard]] bool closed() const override { return true; }

 private:
  PlaneSurface plane_;
};

class MeshTarget final : public TargetSurface {
 public:
  MeshTarget(SurfaceMesh mesh, bool interpolate, double depth)
      : surface_(std::move(mesh)), interpolate_(interpolate), convex_(is_convex(surface_)) {
    if (!(depth > 0.0)) return;
    const SurfaceMesh& triangles = surface_.mesh();
    const double edge = std::sqrt(2.0 * surface_area(triangles) / static_cast<double>(triangles.triangles.size()));
    sheets_.emplace(surface_, std::min(2.0 * depth, max_sheet_extent * edge));
  }

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
    // The foot of the perpendicular moves with the query point along the surface.
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
    return at({.gap = leaving ? -found->way : found->way, .normal = found->normal, .triangle = found->triangle},
              q + found->way * direction);
  }

  [[nodiscard]] bool local_crossing(const Vector3& q, const Vector3& away, std::uint32_t near,
                                    LocalCrossing& found) const override {
    if (!sheets_) return false;
    const auto crossing = sheets_->leaving(q, -away, near);
    if (!crossing) return false;
    found = {.gap = -crossing->way, .normal = crossing->normal, .triangle = crossing->triangle};
    if (!(found.gap > 0.0)) return true;
    // Relative to the normal of the crossed triangle, the sheet rises by less than 45 degrees everywhere: below q it is
    // at most gap sin(angle) above the crossing, while q is gap cos(angle) above it.
    const double cosine = std::min(1.0, -found.normal.dot(away));
    const double below = found.gap * (cosine - std::sqrt(1.0 - cosine * cosine));
    found.clear = std::max(0.0, rounded_down * below / std::numbers::sqrt2);
    return true;
  }
  [[nodiscard]] TargetPoint at(const LocalCrossing& crossing, const Vector3& p) const override {
    TargetPoint point = TargetSurface::at(crossing, p);
    if (interpolate_) smooth(p, point);
    return point;
  }

  [[nodiscard]] bool is_distance() const override { return true; }
  [[nodiscard]] bool closed() const override { return surface_.closed(); }
  [[nodiscard]] bool convex() const override { return convex_; }
  [[nodiscard]] std::optional<std::array<Vector3, 2>> box() const override {
    const std::vector<Vector3>& vertices = surface_.mesh().vertices;
    std::array<Vector3, 2> corners{vertices.front(), vertices.front()};
    for (const Vector3& p : vertices) corners = {corners[0].cwiseMin(p), corners[1].cwiseMax(p)};
    return corners;
  }

 private:
  void smooth(const Vector3& p, TargetPoint& point) const {
    const InterpolatedNormal interpolated = surface_.interpolated_normal(point.triangle, p);
    point.smooth_normal = interpolated.normal;
    point.smooth_curvature = interpolated.gradient;
  }

  TriangleSurface surface_;
  bool interpolate_;
  bool convex_;
  std::optional<SurfaceSheets> sheets_;
};

}  // namespace

std::unique_ptr<TargetSurface> analytic_target(std::unique_ptr<SignedDistance> surface) {
  return std::make_unique<AnalyticTarget>(std::move(surface));
}

std::unique_ptr<TargetSurface> plane_target(const PlaneSurface& plane) {
  return std::make_unique<PlaneTarget>(plane);
}

std::unique_ptr<TargetSurface> mesh_target(SurfaceMesh mesh, bool interpolate, double depth) {
  return std::make_unique<MeshTarget>(std::move(mesh), interpolate, depth);
}

}  // namespace heelstrike::fem
