#include "fem_server/backends/rigid/rolling_cylinder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace heelstrike::fem {

namespace {

/// [-] sine of the angle between the axis and a normal below which the end lies flat and is supported at points around
/// its rim: an inscribed polygon, which at larger angles, where it would affect the motion, is out of reach.
constexpr double flat_end_slope = 0.02;
/// Points around a rim: the support polygon of a flat end is smaller than the end by 2 % at most.
constexpr int n_around = 16;
/// First feature of the points around the rims.
constexpr std::int64_t around_rims = cylinder_features - 2 * n_around;
/// [-] tolerance between equal normals.
constexpr double same_normal = 1e-13;
/// [-] slope of an end below which its lowest point is undefined.
constexpr double level_end = 1e-9;
/// Search of the lowest point of a rim. A flat partner needs two iterations; for a round one of radius R, each
/// iteration multiplies the error by about r / (r + R).
constexpr int max_projection_rounds = 50;
/// [-] sine of the angle between lines below which they have no common normal.
constexpr double parallel_axes = 1e-7;
/// [-] sine of the angle between an axis and a line below which the line counts as parallel to the axis: the direction
/// across both would have a relative error of 1e-16 over this number; the error of points at parallel lines is its
/// square.
constexpr double parallel_to_axis = 1e-5;

/// A point of the rim at the surface of the other body.
ContactPoint rim_point(std::int64_t feature, const RollingCylinder& cylinder, const Vector3& p,
                       const SurfacePoint& at) {
  const double level = 1.0 - at.bend * at.gap;
  return {.feature = feature,
          .p_AC = p - 0.5 * at.gap * at.normal,
          .n_A = at.normal,
          .gap = at.gap,
          .curvature_A = level != 0.0 ? at.bend / level : 0.0,
          .curvature_B = cylinder.bend(p, at.normal)};
}

/// The body around a point of a rim lies towards the centre of the end and behind it.
bool bears(const Rim& rim, const Vector3& p, const Vector3& n) {
  return n.dot(rim.out) <= cone_rounding && n.dot(rim.center - p) >= -cone_rounding * rim.radius;
}

/// The component of -n in the plane of the end: its length is the slope of the end.
Vector3 downhill(const Rim& rim, const Vector3& n) {
  return n.dot(rim.out) * rim.out - n;
}

/// Points at equal angles.
template <std::size_t n>
std::array<Vector3, n> points_around(const Rim& rim) {
  const Vector3 x = rim.out.unitOrthogonal(), y = rim.out.cross(x);
  std::array<Vector3, n> points;
  for (std::size_t k = 0; k < n; ++k) {
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    points[k] = rim.center + rim.radius * (std::cos(angle) * x + std::sin(angle) * y);
  }
  return points;
}

/// The tangent at a point of a rim, an edge between the end and the side.
SharpEdge tangent_at(const Rim& rim, const Vector3& p) {
  const Vector3 radial = (p - rim.center) / rim.radius;
  const Vector3 along = rim.radius * rim.out.cross(radial);
  return {.a = p - along, .b = p + along, .normals = {rim.out, radial}};
}

using RimPoints = std::array<std::optional<Vector3>, 2>;

/// Root of X / cos(t) + Y / sin(t) - k between `low` [rad] and pi / 2, where it increases: by Newton's method, and by
/// halving where that leaves the interval.
double increasing_root(double X, double Y, double k, double low) {
  // As many halvings reach the rounding of an angle.
  constexpr int max_iterations = 60;
  double high = 0.5 * std::numbers::pi, t = 0.5 * (low + high);
  for (int i = 0; i < max_iterations; ++i) {
    const double c = std::cos(t), s = std::sin(t);
    const double value = X / c + Y / s - k, slope = X * s / (c * c) - Y * c / (s * s);
    (value > 0.0 ? high : low) = t;
    double next = t - value / slope;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    const bool is_last = std::abs(next - t) <= std::numeric_limits<double>::epsilon() * t;
    t = next;
    if (is_last) break;
  }
  return t;
}

/// Points of a rim at which its distance to the line through `a` along the unit vector `f` has a local minimum: one
/// before the centre of the rim along f, one behind it. A line parallel to the axis has only the first.
///
/// Along f the rim appears as an ellipse with the half axes R and b, and the line as a point (X, Y), X, Y >= 0 without
/// loss of generality. Over sin(t) cos(t) the derivative of the squared distance is an increasing function in the
/// quadrant of the point, with one root. In the quadrant beside it, across the longer axis, it is a concave function of
/// -t, and has two roots if its maximum is positive: that farther from the end of the longer axis is the other minimum.
RimPoints points_near_line(const Rim& rim, const Vector3& a, const Vector3& f) {
  const Vector3 across = f.cross(rim.out);
  const Vector3 start = across.norm() > parallel_to_axis ? Vector3(across.normalized()) : rim.out.unitOrthogonal();
  Vector3 y = rim.out.cross(start).normalized();
  Vector3 x = y.cross(rim.out);
  const Vector3 shorter = y - y.dot(f) * f;
  const Vector3 arm = a - rim.center;
  const double R = rim.radius, b = R * shorter.norm();
  if (arm.dot(x) < 0.0) x = -x;
  if (arm.dot(shorter) < 0.0) y = -y;
  const double X = std::abs(arm.dot(x)), bY = R * std::abs(arm.dot(shorter));
  const double k = R * R - b * b;
  const auto at = [&](double angle) { return Vector3(rim.center + R * (std::cos(angle) * x + std::sin(angle) * y)); };
  const Vector3 nearest = at(increasing_root(R * X, -bY, k, 0.0));
  const std::size_t order = (nearest - rim.center).dot(f) > parallel_to_axis * R ? 1 : 0;
  RimPoints points;
  points[order] = nearest;
  const double top =
      std::clamp(std::atan2(std::cbrt(bY), std::cbrt(R * X)), same_normal, 0.5 * std::numbers::pi - same_normal);
  if (R * X / std::cos(top) + bY / std::sin(top) < k) points[1 - order] = at(-increasing_root(R * X, bY, k, top));
  return points;
}

/// The point of a rim nearest to p; none if p is on its axis.
std::optional<Vector3> nearest_on(const Rim& rim, const Vector3& p) {
  const Vector3 arm = p - rim.center;
  const Vector3 across = arm - arm.dot(rim.out) * rim.out;
  if (!(across.norm() > parallel_axes * rim.radius)) return std::nullopt;
  return Vector3(rim.center + rim.radius * across.normalized());
}

/// Gaps and normals of the side and the nearer end of a cylinder at a point.
struct SideAndEnd {
  SurfacePoint side, end;
};
SideAndEnd side_and_end(const RollingCylinder& cylinder, const Vector3& p) {
  const Vector3 arm = p - cylinder.center;
  const double along = arm.dot(cylinder.axis);
  const Vector3 across = arm - along * cylinder.axis;
  const double distance = across.norm();
  return {.side = {.gap = distance - cylinder.radius,
                   .normal = distance > 0.0 ? Vector3(across / distance) : cylinder.axis.unitOrthogonal(),
                   .bend = distance > 0.0 ? 1.0 / distance : 0.0},
          .end = {.gap = std::abs(along) - cylinder.half_length,
                  .normal = along > 0.0 ? cylinder.axis : Vector3(-cylinder.axis)}};
}

/// True if the corner of a body at a rim touches an end or a side of a cylinder, with the gap `own` [m], beside its
/// side or end with the gap `other` [m] and the normal n. The latter is irrelevant to a body that does not lie beyond
/// it; where the corner is level with it the overlap has no extent, and behind both the smaller overlap counts.
bool touches(double own, double other, const Rim& rim, const Vector3& p, const Vector3& n, double margin) {
  if (other > margin || !bears(rim, p, n)) return other <= margin;
  return own < -margin ? own >= other : other < -margin;
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

std::array<Rim, 2> RollingCylinder::rims() const {
  const auto rim = [&](const Vector3& out) {
    return Rim{.center = center + half_length * out, .out = out, .radius = radius};
  };
  return {rim(-axis), rim(axis)};
}

double RollingCylinder::extent(const Vector3& n) const {
  const double along = n.dot(axis);
  const double of_length = along != 0.0 ? half_length * std::abs(along) : 0.0;
  return -n.dot(center) + radius * (n - along * axis).norm() + of_length;
}

double RollingCylinder::bend(const Vector3& p, const Vector3& n) const {
  const Vector3 arm = p - center;
  const double across = std::abs(n.dot(arm - arm.dot(axis) * axis)) / radius;
  // The normal crosses the axis at the distance radius / across: the centre of rolling.
  return across > flat_end_slope ? across / radius : 0.0;
}

std::vector<ContactPoint> rim_points(const RollingCylinder& cylinder, const SignedDistance& to, ContactPoint& nearest) {
  std::vector<ContactPoint> found;
  if (!cylinder.is_finite()) return found;
  std::int64_t end = 0;
  for (const Rim& rim : cylinder.rims()) {
    const auto add = [&](std::int64_t feature, const Vector3& p, const SurfacePoint& at) {
      const ContactPoint point = rim_point(feature, cylinder, p, at);
      if (point.gap < nearest.gap) nearest = point;
      if (bears(rim, p, at.normal)) found.push_back(point);
    };
    SurfacePoint at = to.closest(rim.center);
    double slope = 0.0;
    Vector3 p = rim.center;
    for (int round = 0; round < max_projection_rounds; ++round) {
      const Vector3 n = at.normal;
      const Vector3 down = downhill(rim, n);
      slope = down.norm();
      if (!(slope > same_normal)) break;
      p = rim.center + rim.radius / slope * down;
      at = to.closest(p);
      if ((at.normal - n).norm() <= same_normal) break;
    }
    if (slope > level_end) add(end, p, at);
    std::int64_t feature = around_rims + n_around * end++;
    if (slope > flat_end_slope || at.normal.dot(rim.out) > 0.0) continue;
    for (const Vector3& around : points_around<n_around>(rim)) add(feature++, around, to.closest(around));
  }
  return found;
}

void add_rims_on_walls(const RollingCylinder& cylinder, const MeshMinima& mesh, double reach, double margin,
                       std::vector<ContactPoint>& points) {
  if (!cylinder.is_finite()) return;
  std::int64_t end = 0;
  for (const Rim& rim : cylinder.rims()) {
    std::int64_t feature = 2 + 2 * end++;
    const std::int64_t last = feature + 1;
    for (const MeshMinima::Minimum& wall : mesh.near(rim.center, rim.radius + reach, margin)) {
      const Vector3 down = downhill(rim, wall.normal);
      if (!wall.on_face || !(down.norm() > flat_end_slope)) continue;
      const Vector3 p = rim.center + rim.radius / down.norm() * down;
      const SurfacePoint at{.gap = wall.normal.dot(p - wall.point), .normal = wall.normal};
      if (at.gap > reach || !bears(rim, p, at.normal) || !mesh.is_over(wall, p, margin)) continue;
      const bool is_known = std::ranges::any_of(points, [&](const ContactPoint& known) {
        return (known.p_AC - p).norm() <= std::abs(known.gap) + margin &&
               known.n_A.cross(wall.normal).norm() <= cone_rounding;
      });
      if (is_known || feature > last) continue;
      points.push_back(rim_point(feature++, cylinder, p, at));
    }
  }
}

std::vector<ContactPoint> rim_points(const RollingCylinder& cylinder, const RollingCylinder& to, double margin,
                                     ContactPoint& nearest) {
  std::vector<ContactPoint> found;
  if (!cylinder.is_finite()) return found;
  std::int64_t end = 0;
  for (const Rim& rim : cylinder.rims()) {
    const auto add = [&](std::int64_t feature, const Vector3& p, bool on_side) {
      const auto [side, flat] = side_and_end(to, p);
      const SurfacePoint &own = on_side ? side : flat, &other = on_side ? flat : side;
      if (!bears(rim, p, own.normal) || !touches(own.gap, other.gap, rim, p, other.normal, margin)) return;
      const ContactPoint point = rim_point(feature, cylinder, p, own);
      if (point.gap < nearest.gap) nearest = point;
      found.push_back(point);
    };
    std::int64_t feature = 2 + 2 * end;
    for (const auto& p : points_near_line(rim, to.center, to.axis)) {
      if (p) add(feature, *p, true);
      ++feature;
    }
    feature = around_rims + n_around * end;
    if (to.is_finite()) {
      const Vector3 n = rim.out.dot(to.axis) < 0.0 ? to.axis : Vector3(-to.axis);
      const Vector3 down = downhill(rim, n);
      const double slope = down.norm();
      if (slope > level_end) add(end, rim.center + rim.radius / slope * down, false);
      if (slope <= flat_end_slope) {
        for (const Vector3& p : points_around<n_around>(rim)) add(feature++, p, false);
      }
    }
    ++end;
  }
  return found;
}

std::array<std::optional<SharpEdge>, 2> tangents_near(const Rim& rim, const SharpEdge& edge) {
  std::array<std::optional<SharpEdge>, 2> tangents;
  const RimPoints points = points_near_line(rim, edge.a, (edge.b - edge.a).normalized());
  for (std::size_t k = 0; k < 2; ++k) {
    if (points[k]) tangents[k] = tangent_at(rim, *points[k]);
  }
  return tangents;
}

namespace {

/// The point of a rim at a local minimum of its distance to another rim, near p; none for rims apart or tangent to each
/// other, to which the search converges slowly.
std::optional<Vector3> point_near_rim(const Rim& rim, const Rim& other, Vector3 p) {
  // The tangent replaces the other rim: the rate of convergence is the distance over the radius.
  constexpr double slow = 0.5;
  for (double last = std::numeric_limits<double>::infinity();;) {
    const auto q = nearest_on(other, p);
    if (!q) return std::nullopt;
    const Vector3 radial = (*q - other.center) / other.radius;
    const RimPoints points = points_near_line(rim, *q, other.out.cross(radial));
    Vector3 next = points[0].value_or(points[1].value_or(p));
    if (points[1] && (*points[1] - p).norm() < (next - p).norm()) next = *points[1];
    const double step = (next - p).norm();
    if (step <= same_normal * rim.radius) return next;
    if (!(step < slow * last)) return std::nullopt;
    last = step;
    p = next;
  }
}

}  // namespace

std::array<std::optional<std::pair<SharpEdge, SharpEdge>>, 2> tangents_near(const Rim& rim, const Rim& other) {
  // Two crossings of rims that are closer to each other than a start bound an overlap of 0.5 % of the radius.
  constexpr std::size_t starts = 32;
  const auto points = points_around<starts>(rim);
  std::array<double, starts> distances{};
  for (std::size_t k = 0; k < starts; ++k) {
    const auto q = nearest_on(other, points[k]);
    distances[k] = q ? (points[k] - *q).norm() : std::numeric_limits<double>::infinity();
  }
  std::array<std::optional<std::pair<SharpEdge, SharpEdge>>, 2> tangents;
  std::array<double, 2> least{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (std::size_t k = 0; k < starts; ++k) {
    if (!(distances[k] < distances[(k + 1) % starts] && distances[k] <= distances[(k + starts - 1) % starts])) continue;
    const auto p = point_near_rim(rim, other, points[k]);
    const auto q = p ? nearest_on(other, *p) : std::nullopt;
    if (!q) continue;
    // Crossings lie on both sides of the plane through the axis of the rim and the centre of the other.
    const std::size_t side = (*p - rim.center).dot(rim.out.cross(other.center - rim.center)) > 0.0 ? 1 : 0;
    if ((*p - *q).norm() >= least[side]) continue;
    least[side] = (*p - *q).norm();
    tangents[side] = std::pair(tangent_at(rim, *p), tangent_at(other, *q));
  }
  return tangents;
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

std::optional<SurfacePoint> at_corner(const RollingCylinder& cylinder, const Probe& corner, const Vector3& p,
                                      const Matrix3& R, const SurfacePoint& at, double margin) {
  const auto [side, end] = side_and_end(cylinder, p);
  const double low = std::min(std::abs(side.gap), std::abs(end.gap)),
               high = std::max(std::abs(side.gap), std::abs(end.gap));
  // Where the distances are comparable, rounding and small angles decide which is smaller.
  constexpr double comparable = 10.0;
  const bool is_beyond_rim = side.gap > 0.0 && end.gap > 0.0;
  if (!is_beyond_rim && high > comparable * (low + margin)) return at;
  const bool is_inside = side.gap <= margin && end.gap <= margin;
  const bool on_side = is_inside && supports(corner, R, side.normal),
             on_end = is_inside && supports(corner, R, end.normal);
  if (on_side != on_end) return on_side ? side : end;
  if (on_side || supports(corner, R, at.normal)) return at;
  return std::nullopt;
}

}  // namespace heelstrike::fem
