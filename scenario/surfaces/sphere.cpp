#include "scenario/surfaces/sphere.hpp"

#include <cmath>
#include <numbers>

#include "common/errors/error.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/surfaces/registry.hpp"
#include "scenario/surfaces/values.hpp"

namespace heelstrike {

namespace {

class SphereDistance final : public SignedDistance {
 public:
  explicit SphereDistance(const SphereSurface& sphere) : radius_(sphere.radius), center_(sphere.center) {}
  [[nodiscard]] SurfacePoint closest(const Vector3& p_BQ) const override {
    const Vector3 arm = p_BQ - center_;
    const double distance = arm.norm();
    // A socket has the opposite sign: gap = R - |arm| with R = -radius_, positive inside, in the free space.
    const double sign = radius_ > 0.0 ? 1.0 : -1.0;
    // In the centre the direction is arbitrary, and the infinite curvature is set to zero.
    const Vector3 out = distance > 0.0 ? Vector3(arm / distance) : Vector3(Vector3::UnitZ());
    SurfacePoint point{
        .gap = sign * distance - radius_, .normal = sign * out, .curvature = Matrix3::Zero(), .bend = 0.0};
    if (distance > 0.0) {
      // Level surfaces of the distance are concentric spheres: the curvature at the point is the inverse of its
      // distance from the centre, not of the radius.
      point.bend = sign / distance;
      point.curvature = point.bend * (Matrix3::Identity() - out * out.transpose());
    }
    return point;
  }
  [[nodiscard]] bool is_distance() const override { return true; }

 private:
  double radius_;
  Vector3 center_;
};

SphereSurface sphere_of(const Surface& surface) {
  return SphereSurface::of(surface).value();
}

std::unique_ptr<SignedDistance> sphere_distance(const Surface& surface) {
  const SphereSurface sphere = sphere_of(surface);
  if (sphere.radius == 0.0) throw input_error("partner.surface.radius", "the radius of a sphere must not be 0 m");
  return std::make_unique<SphereDistance>(sphere);
}

Triangles drawn_sphere(const Surface& surface, const DrawnPart& /*part*/) {
  constexpr std::uint32_t n_rows = 25;
  const SphereSurface sphere = sphere_of(surface);
  std::vector<Vector3> vertices;
  for (std::uint32_t row = 0; row < n_rows; ++row) {
    // From the south pole to the north pole, as joined_rows() expects for normals that point outwards.
    const double polar = std::numbers::pi * (1.0 - row / (n_rows - 1.0));
    for (std::uint32_t i = 0; i < points_around; ++i) {
      const Vector3 c = on_circle(i);
      const Vector3 d(std::sin(polar) * c.x(), std::sin(polar) * c.y(), std::cos(polar));
      vertices.push_back(sphere.center + std::abs(sphere.radius) * d);
    }
  }
  return joined_rows(std::move(vertices));
}

config::KeySchema sphere_keys() {
  return {.name = SphereSurface::kind,
          .kind = config::KeyKind::map,
          .meaning = "ball, or a spherical socket",
          .keys = {config::required(config::number("radius", "m", config::lengths, "radius")),
                   config::vector3("center", "m", config::coordinates, "centre in the body's frame"),
                   {.name = "concave",
                    .kind = config::KeyKind::flag,
                    .meaning = "true for a socket: material outside of the sphere",
                    .fallback = false}}};
}

}  // namespace

std::optional<SphereSurface> SphereSurface::of(const Surface& surface) {
  if (surface.kind != kind) return std::nullopt;
  const double radius = number(surface.values, "radius");
  return SphereSurface{.radius = flag(surface.values, "concave") ? -radius : radius,
                       .center = vector3(surface.values, "center")};
}

SphereSurface::operator Surface() const {
  return {.kind = kind,
          .values = {{"radius", std::abs(radius)}, {"concave", radius < 0.0}, {"center", listed(center)}}};
}

SurfaceKind sphere_kind() {
  return {.keys = sphere_keys(),
          .place = "center",
          .fills = true,
          .distance = sphere_distance,
          .curvature = [](const Surface& surface) -> std::optional<double> {
            const double radius = sphere_of(surface).radius;
            return radius == 0.0 ? std::nullopt : std::optional(1.0 / radius);
          },
          .extents = [](const Surface& surface) -> std::optional<Vector3> {
            return Vector3::Constant(2.0 * std::abs(sphere_of(surface).radius));
          },
          .drawing = drawn_sphere,
          .outline = [](const Surface& surface) -> ParameterMap {
            const SphereSurface sphere = sphere_of(surface);
            return {{"kind", "sphere"}, {"radius", std::abs(sphere.radius)}, {"center", listed(sphere.center)}};
          }};
}

}  // namespace heelstrike
