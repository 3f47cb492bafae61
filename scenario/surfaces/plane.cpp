#include "scenario/surfaces/plane.hpp"

#include "scenario/schema/keys.hpp"
#include "scenario/surfaces/registry.hpp"
#include "scenario/surfaces/values.hpp"

namespace heelstrike {

namespace {

class PlaneDistance final : public SignedDistance {
 public:
  explicit PlaneDistance(const PlaneSurface& plane) : normal_(plane.normal), offset_(plane.normal.dot(plane.point)) {}
  [[nodiscard]] SurfacePoint closest(const Vector3& p_BQ) const override {
    // Exact at any distance and on either side.
    return {.gap = normal_.dot(p_BQ) - offset_, .normal = normal_, .curvature = Matrix3::Zero(), .bend = 0.0};
  }
  [[nodiscard]] double gap(const Vector3& p_BQ, double /*reach*/) const override { return normal_.dot(p_BQ) - offset_; }
  [[nodiscard]] bool is_distance() const override { return true; }
  [[nodiscard]] Vector3 half_space() const override { return normal_; }

 private:
  Vector3 normal_;
  double offset_;
};

PlaneSurface plane_of(const Surface& surface) {
  return PlaneSurface::of(surface).value();
}

std::unique_ptr<SignedDistance> plane_distance(const Surface& surface) {
  const PlaneSurface plane = plane_of(surface);
  check_unit_length(plane.normal, "partner.surface.normal");
  return std::make_unique<PlaneDistance>(plane);
}

/// A plane is drawn as the square below the body.
Triangles drawn_plane(const Surface& surface, const DrawnPart& part) {
  const PlaneSurface plane = plane_of(surface);
  const Vector3 middle = part.center - plane.normal.dot(part.center - plane.point) * plane.normal;
  const Matrix3 R = Quaternion::FromTwoVectors(Vector3::UnitZ(), plane.normal).toRotationMatrix();
  const Vector3 x = 2.0 * part.extent * R.col(0);
  const Vector3 y = 2.0 * part.extent * R.col(1);
  return {.vertices = {middle - x - y, middle + x - y, middle + x + y, middle - x + y},
          .triangles = {{0, 1, 2}, {0, 2, 3}}};
}

}  // namespace

std::optional<PlaneSurface> PlaneSurface::of(const Surface& surface) {
  if (surface.kind != kind) return std::nullopt;
  return PlaneSurface{.normal = vector3(surface.values, "normal"), .point = vector3(surface.values, "point")};
}

PlaneSurface::operator Surface() const {
  return {.kind = kind, .values = {{"normal", listed(normal)}, {"point", listed(point)}}};
}

SurfaceKind plane_kind() {
  return {.keys = {.name = PlaneSurface::kind,
                   .kind = config::KeyKind::map,
                   .meaning = "half space",
                   .keys = {config::direction("normal", "direction towards the free side"),
                            config::vector3("point", "m", config::coordinates, "any point of the plane")}},
          .place = "point",
          .distance = plane_distance,
          .curvature = [](const Surface& /*surface*/) -> std::optional<double> { return 0.0; },
          .drawing = drawn_plane,
          .outline = [](const Surface& surface) -> ParameterMap {
            ParameterMap outline = surface.values;
            outline.emplace("kind", "plane");
            return outline;
          }};
}

}  // namespace heelstrike
