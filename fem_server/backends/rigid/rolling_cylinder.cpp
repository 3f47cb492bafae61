#include "fem_server/backends/rigid/rolling_cylinder.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

namespace {

/// [-] sine of the angle between the axis and a normal below which the end lies flat and is supported at points around
/// its rim: an inscribed polygon, which at larger angles, where it would affect the motion, is out of reach.
constexpr double flat_end_slope = 0.02;
/// Points around a rim: the support polygon of a flat end is smaller than the end by 2 % at most.
constexpr int n_around = 16;
/// [-] tolerance between equal normals.
constexpr double same_normal = 1e-13;
/// Search of the lowest point of a rim. A flat partner needs two iterations; for a round one of radius R, each
/// iteration multiplies the error by about r / (r + R).
constexpr int max_projection_rounds = 50;
/// [-] sine of the angle between lines below which they have no common normal.
constexpr double parallel_axes = 1e-7;

class SolidCylinder final : public SignedDistance {
 public:
  SolidCylinder(std::unique_ptr<SignedDistance> outside, RollingCylinder cylinder)
      : outside_(std::move(outside)), cylinder_(std::move(cylinder)) {}
  [[nodiscard]] SurfacePoint closest(const Vector3& p) const override {
    SurfacePoint point = outside_->closest(p);
    const double along = (p - cylinder_.center).dot(cylinder_.axis);
    const double beyond = std::abs(along) - cylinder_.half_length;
    if (point.gap >= 0.0 || beyond <= point.gap) return point;
    return {.gap = beyond,
            .normal = (along > 0.0 ? 1.0 : -1.0) * cylinder_.axis,
            .curvature = Matrix3::Zero(),
            .bend = 0.0};
  }
  [[nodiscard]] bool is_distance() const override { return true; }

 private:
  std::unique_ptr<SignedDistance> outside_;
  RollingCylinder cylinder_;
};

/// A point of the rim at the surface of the other body. @param bend  [1/m] of the cylinder in its normal's direction
ContactPoint rim_point(std::int64_t feature, const Vector3& p, const SurfacePoint& at, double bend) {
  const double level = 1.0 - at.bend * at.gap;
  return {.feature = feature,
          .p_AC = p - 0.5 * at.gap * at.normal,
          .n_A = at.normal,
          .gap = at.gap,
          .curvature_A = level != 0.0 ? at.bend / level : 0.0,
          .curvature_B = bend};
}

/// Closest points of two lines.
struct Crossed {
  Vector3 n;              ///< [-] perpendicular to both
  double s = 0, t = 0;    ///< along `d` and `f`
  double distance = 0.0;  ///< [m] from the first line to the second, along n
};
std::optional<Crossed> crossed(const Vector3& a, const Vector3& d, const Vector3& b, const Vector3& f) {
  const Vector3 product = d.cross(f);
  const double length = product.norm();
  if (!(length > parallel_axes * d.norm() * f.norm())) return std::nullopt;
  const Vector3 n = product / length;
  const Vector3 r = b - a;
  return Crossed{.n = n, .s = r.cross(f).dot(n) / length, .t = r.cross(d).dot(n) / length, .distance = r.dot(n)};
}

}  // namespace

std::optional<RollingCylinder> RollingCylinder::of(const Surface& surface) {
  const auto cylinder = CylinderSurface::of(surface);
  if (!cylinder) return std::nullopt;
  return RollingCylinder{.radius = cylinder->radius,
                         .axis = cylinder->axis,
                         .center = cylinder->center,
                         .half_length = 0.5 * cylinder->length};
}

RollingCylinder RollingCylinder::moved(const Pose& X) const {
  return {.radius = radius, .axis = X.R * axis, .center = X * center, .half_length = half_length};
}

std::vector<ContactPoint> rim_points(const RollingCylinder& cylinder, const SignedDistance& to, double reach,
                                     ContactPoint& nearest) {
  std::vector<ContactPoint> found;
  if (!std::isfinite(cylinder.half_length)) return found;
  for (const int end : {0, 1}) {
    const Vector3 out = (end == 0 ? -1.0 : 1.0) * cylinder.axis;
    const Vector3 middle = cylinder.center + cylinder.half_length * out;
    // The body around a point of the rim lies towards the centre of the end and behind it.
    const auto add = [&](const ContactPoint& point, const Vector3& p) {
      if (point.gap < nearest.gap) nearest = point;
      const bool bears =
          point.n_A.dot(out) <= cone_rounding && point.n_A.dot(middle - p) >= -cone_rounding * cylinder.radius;
      if (bears && point.gap <= reach) found.push_back(point);
    };
    SurfacePoint at = to.closest(middle);
    double down = 0.0;
    Vector3 p = middle;
    for (int round = 0; round < max_projection_rounds; ++round) {
      const Vector3 n = at.normal;
      const Vector3 radial = n.dot(out) * out - n;
      down = radial.norm();
      if (!(down > same_normal)) break;
      p = middle + cylinder.radius / down * radial;
      at = to.closest(p);
      if ((at.normal - n).norm() <= same_normal) break;
    }
    // The normal crosses the axis at radius / down: the centre of rolling.
    if (down > 1e-9) add(rim_point(end, p, at, down > flat_end_slope ? down / cylinder.radius : 0.0), p);
    if (down > flat_end_slope || at.normal.dot(out) > 0.0) continue;
    const Vector3 x = cylinder.axis.unitOrthogonal(), y = cylinder.axis.cross(x);
    for (int k = 0; k < n_around; ++k) {
      const double angle = 2.0 * std::numbers::pi * k / n_around;
      const Vector3 around = middle + cylinder.radius * (std::cos(angle) * x + std::sin(angle) * y);
      add(rim_point(2 + n_around * end + k, around, to.closest(around), 0.0), around);
    }
  }
  return found;
}

std::optional<ContactPoint> side_on_edge(const RollingCylinder& cylinder, const SharpEdge& edge,
                                         const SignedDistance& to, double margin) {
  const Vector3 f = edge.b - edge.a;
  const auto crossing_point = crossed(cylinder.center, cylinder.axis, edge.a, f);
  if (!crossing_point) return std::nullopt;
  const double end = margin / f.norm();
  if (std::abs(crossing_point->s) > cylinder.half_length + margin || crossing_point->t < -end ||
      crossing_point->t > 1.0 + end)
    return std::nullopt;
  Vector3 n = crossing_point->n;
  double away = -crossing_point->distance;
  if (!in_cone(edge, n)) {
    n = -n;
    away = -away;
  }
  if (!in_cone(edge, n) || away <= 0.0) return std::nullopt;
  // The axis must be nearest to this edge of the body; otherwise the contact is elsewhere.
  const Vector3 p_axis = cylinder.center + crossing_point->s * cylinder.axis;
  if (to.closest(p_axis).gap < (1.0 - cone_rounding) * away - margin) return std::nullopt;
  const double gap = away - cylinder.radius;
  return ContactPoint{.p_AC = edge.a + crossing_point->t * f + 0.5 * gap * n,
                      .n_A = n,
                      .gap = gap,
                      .curvature_B = 1.0 / cylinder.radius};
}

std::optional<ContactPoint> side_on_side(const RollingCylinder& A, const RollingCylinder& B, double margin) {
  const auto crossing_point = crossed(A.center, A.axis, B.center, B.axis);
  if (!crossing_point || std::abs(crossing_point->s) > A.half_length + margin ||
      std::abs(crossing_point->t) > B.half_length + margin) {
    return std::nullopt;
  }
  const Vector3 n = crossing_point->distance < 0.0 ? Vector3(-crossing_point->n) : crossing_point->n;
  const double gap = std::abs(crossing_point->distance) - A.radius - B.radius;
  return ContactPoint{.p_AC = A.center + crossing_point->s * A.axis + (A.radius + 0.5 * gap) * n,
                      .n_A = n,
                      .gap = gap,
                      .curvature_A = 1.0 / A.radius,
                      .curvature_B = 1.0 / B.radius};
}

std::unique_ptr<SignedDistance> solid_cylinder(const Surface& surface) {
  return std::make_unique<SolidCylinder>(signed_distance(surface), RollingCylinder::of(surface).value());
}

}  // namespace heelstrike::fem
