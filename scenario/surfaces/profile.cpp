#include "scenario/surfaces/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/spatial/spatial.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/surfaces/registry.hpp"
#include "scenario/surfaces/values.hpp"

namespace heelstrike {

namespace {

ProfileSurface profile_of(const Surface& surface) {
  return ProfileSurface::of(surface).value();
}

class ProfileDistance final : public SignedDistance {
 public:
  explicit ProfileDistance(const ProfileSurface& profile)
      : curve_(profile.points, profile.closed),
        axes_(profile.axes()),
        center_(profile.center),
        half_width_(0.5 * profile.width) {}
  [[nodiscard]] bool is_distance() const override { return curve_.closed(); }
  [[nodiscard]] SurfacePoint closest(const Vector3& p_BQ) const override {
    const Vector3 q = axes_.transpose() * (p_BQ - center_);
    const CurvePoint foot = curve_.at(curve_.closest(q.head<2>()));
    const double outside = foot.normal.dot(q.head<2>() - foot.p);
    const Vector3 out = axes_.leftCols<2>() * foot.normal;
    const double beyond = std::abs(q.z()) - half_width_;
    // Inside a closed profile the nearer of side and end counts. An open one has no inside: between the planes of its
    // ends the gap is that to the side.
    if (beyond > (curve_.closed() ? std::min(outside, 0.0) : 0.0))
      return closest_on_end(q.z() > 0.0 ? axes_.col(2) : Vector3(-axes_.col(2)), beyond, out, outside);
    SurfacePoint point{.gap = outside, .normal = out, .curvature = Matrix3::Zero(), .bend = 0.0};
    // Level curves are parallel curves: the radius of curvature grows by the gap. At a centre of curvature it is
    // undefined.
    const double growth = 1.0 + foot.curvature * outside;
    if (growth > 0.0) {
      const Vector3 along = axes_.leftCols<2>() * foot.tangent;
      point.bend = foot.curvature / growth;
      point.curvature = point.bend * along * along.transpose();
    }
    return point;
  }

 private:
  static SurfacePoint closest_on_end(const Vector3& end, double beyond, const Vector3& out, double outside) {
    if (outside <= 0.0) return {.gap = beyond, .normal = end, .curvature = Matrix3::Zero(), .bend = 0.0};
    const Vector3 away = beyond * end + outside * out;
    const double distance = away.norm();
    return {.gap = distance, .normal = away / distance, .curvature = Matrix3::Zero(), .bend = 0.0};
  }

  ProfileCurve curve_;
  Matrix3 axes_;
  Vector3 center_;
  double half_width_;
};

std::unique_ptr<SignedDistance> profile_distance(const Surface& surface) {
  return std::make_unique<ProfileDistance>(profile_of(surface));
}

double cross(const Vector2& a, const Vector2& b) {
  return a.x() * b.y() - a.y() * b.x();
}

/// Intersection of segments without common end.
bool intersect(const Vector2& a, const Vector2& b, const Vector2& c, const Vector2& d) {
  return cross(b - a, c - a) * cross(b - a, d - a) <= 0.0 && cross(d - c, a - c) * cross(d - c, b - c) <= 0.0 &&
         // For collinear segments all products vanish: they intersect if their boxes do.
         std::max(a.x(), b.x()) >= std::min(c.x(), d.x()) && std::max(c.x(), d.x()) >= std::min(a.x(), b.x()) &&
         std::max(a.y(), b.y()) >= std::min(c.y(), d.y()) && std::max(c.y(), d.y()) >= std::min(a.y(), b.y());
}

void check_crossings(const ProfileCurve& curve, const std::string& key) {
  std::vector<Vector2> line = curve.sampled();
  if (curve.closed()) line.push_back(line.front());
  const std::size_t n = line.size() - 1;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 2; j < n; ++j) {
      if (curve.closed() && i == 0 && j + 1 == n) continue;
      if (!intersect(line[i], line[i + 1], line[j], line[j + 1])) continue;
      throw_invalid_value(key, "a curve that does not cross itself",
                          fmt::format("a crossing near ({:.6g}, {:.6g}) m", line[i].x(), line[i].y()),
                          "put the points in the order of the outline, or add points where the spline overshoots");
    }
  }
}

void check_profile(const Surface& surface, bool /*is_rigid*/, const std::string& where) {
  const ProfileSurface profile = profile_of(surface);
  const std::string key = where + "." + ProfileSurface::kind + ".points";
  const std::vector<Vector2>& points = profile.points;
  if (points.size() < 4) {
    throw_invalid_value(key, "at least 4 points", fmt::format("{}", points.size()),
                        "a cubic spline requires them: add points");
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t next = (i + 1) % points.size();
    if (next == 0 && !profile.closed) continue;
    if ((points[next] - points[i]).norm() >= config::lengths.min) continue;
    throw_invalid_value(key, "neighbours that differ", fmt::format("({}, {}) m twice", points[i].x(), points[i].y()),
                        next == 0
                            ? "a closed profile implicitly joins its last point to the first: leave the last one out"
                            : "remove one of them");
  }
  if (!profile.closed && (points.front() - points.back()).norm() < config::lengths.min) {
    throw_invalid_value(key, "an open profile", "an end at its start",
                        "leave the last point out and give `closed: true`");
  }
  double area = 0.0;
  for (std::size_t i = 0; i < points.size(); ++i) area += 0.5 * cross(points[i], points[(i + 1) % points.size()]);
  if (profile.closed && !(area > 0.0)) {
    throw_invalid_value(key, "a closed profile counterclockwise, the material on the left", "a clockwise one",
                        "reverse the order of the points");
  }
  check_crossings(ProfileCurve(points, profile.closed), key);
}

/// In the plane and across it.
std::optional<Vector3> profile_extents(const Surface& surface) {
  const ProfileSurface profile = profile_of(surface);
  if (!std::isfinite(profile.width)) return std::nullopt;
  std::vector<Vector3> points;
  for (const Vector2& p : profile.points) points.emplace_back(p.x(), p.y(), 0.0);
  Vector3 extents = extents_of(points);
  extents.z() = profile.width;
  return extents;
}

/// Without ends it is drawn as wide as the contacting body.
Triangles drawn_profile(const Surface& surface, const DrawnPart& part) {
  const ProfileSurface profile = profile_of(surface);
  const ProfileCurve curve(profile.points, profile.closed);
  const double half = 0.5 * (std::isfinite(profile.width) ? profile.width : part.extent);
  const Matrix3 axes = profile.axes();
  Triangles mesh;
  for (const Vector2& p : curve.sampled()) {
    for (const double z : {-half, half}) mesh.vertices.emplace_back(profile.center + axes * Vector3(p.x(), p.y(), z));
  }
  const auto n = static_cast<std::uint32_t>(curve.sampled().size());
  for (std::uint32_t i = 0; i < (profile.closed ? n : n - 1); ++i) {
    const std::uint32_t a = 2 * i;
    const std::uint32_t b = 2 * ((i + 1) % n);
    mesh.triangles.push_back({a, b, b + 1});
    mesh.triangles.push_back({a, b + 1, a + 1});
  }
  return mesh;
}

ParameterMap profile_outline(const Surface& surface) {
  const ProfileSurface profile = profile_of(surface);
  const Matrix3 axes = profile.axes();
  Vector2 low = profile.points.front();
  Vector2 high = low;
  for (const Vector2& p : profile.points) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  const Vector2 size = high - low;
  const Vector2 middle = 0.5 * (low + high);
  // Without a width it is drawn as wide as it is long.
  const double width = std::isfinite(profile.width) ? profile.width : size.maxCoeff();
  // The axes of the profile are those of the body in another order.
  const Vector3 lengths = axes * Vector3(size.x(), size.y(), width);
  const Vector3 center = profile.center + axes * Vector3(middle.x(), middle.y(), 0.0);
  return {{"kind", "block"}, {"lengths", listed(lengths)}, {"center", listed(center)}, {"rough", true}};
}

config::KeySchema profile_keys() {
  config::KeySchema points = config::required(config::vector3_list(
      "points", "m", config::coordinates,
      "points of the outline in order, the material on the left; joined by a cubic spline over the chord length"));
  points.keys = {config::required(config::number_list("", "m", config::coordinates, "one point", {2}))};
  return {.name = ProfileSurface::kind,
          .kind = config::KeyKind::map,
          .meaning = "planar profile by points, extruded; point laws accept a pair of them",
          .keys = {std::move(points),
                   {.name = "closed",
                    .kind = config::KeyKind::flag,
                    .meaning = "the last point is joined to the first; else the ends are extended straight",
                    .fallback = false},
                   {.name = "plane",
                    .kind = config::KeyKind::text,
                    .meaning = "the two axes of the body's frame in which the points are given",
                    .fallback = "xy",
                    .choices = {"xy", "yz", "zx"}},
                   config::vector3("center", "m", config::coordinates, "origin of the points in the body's frame"),
                   config::number("width", "m", config::lengths,
                                  "along the third axis, half to each side; infinite by default")}};
}

}  // namespace

std::optional<ProfileSurface> ProfileSurface::of(const Surface& surface) {
  if (surface.kind != kind) return std::nullopt;
  ProfileSurface profile{.closed = flag(surface.values, "closed"),
                         .plane = text(surface.values, "plane"),
                         .center = vector3(surface.values, "center")};
  profile.width = optional_number(surface.values, "width").value_or(profile.width);
  const std::vector<double>& xy = numbers(surface.values, "points");
  for (std::size_t i = 0; i + 1 < xy.size(); i += 2) profile.points.emplace_back(xy[i], xy[i + 1]);
  return profile;
}

ProfileSurface::operator Surface() const {
  std::vector<double> xy;
  for (const Vector2& p : points) xy.insert(xy.end(), p.begin(), p.end());
  Surface surface{
      .kind = kind,
      .values = {{"points", std::move(xy)}, {"closed", closed}, {"plane", plane}, {"center", listed(center)}}};
  if (std::isfinite(width)) surface.values["width"] = width;
  return surface;
}

Matrix3 ProfileSurface::axes() const {
  const int first = plane.front() - 'x';
  Matrix3 axes = Matrix3::Zero();
  for (int k = 0; k < 3; ++k) axes((first + k) % 3, k) = 1.0;
  return axes;
}

SurfaceKind profile_kind() {
  return {.keys = profile_keys(),
          .place = "center",
          .check = check_profile,
          .distance = profile_distance,
          .curvature = [](const Surface&) -> std::optional<double> { return std::nullopt; },
          .extents = profile_extents,
          .drawing = drawn_profile,
          .outline = profile_outline};
}

}  // namespace heelstrike
