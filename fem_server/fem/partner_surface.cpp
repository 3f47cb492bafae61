#include "fem_server/fem/partner_surface.hpp"

#include <fmt/format.h>

#include <cmath>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

double PartnerSurface::gap(const Vector3& p_BQ, double /*reach*/) const {
  return closest(p_BQ).gap;
}

namespace {

class PlanePartner final : public PartnerSurface {
 public:
  explicit PlanePartner(const PlaneSurface& plane) : normal_(plane.normal), offset_(plane.normal.dot(plane.point)) {}
  [[nodiscard]] SurfacePoint closest(const Vector3& p_BQ) const override {
    return {.gap = normal_.dot(p_BQ) - offset_, .normal = normal_, .curvature = Matrix3::Zero(), .bend = 0.0};
  }
  [[nodiscard]] double gap(const Vector3& p_BQ, double /*reach*/) const override { return normal_.dot(p_BQ) - offset_; }
  [[nodiscard]] bool is_distance() const override { return true; }

 private:
  Vector3 normal_;
  double offset_;
};

class SpherePartner final : public PartnerSurface {
 public:
  explicit SpherePartner(const SphereSurface& sphere) : radius_(sphere.radius), center_(sphere.center) {}
  [[nodiscard]] SurfacePoint closest(const Vector3& p_BQ) const override {
    const Vector3 arm = p_BQ - center_;
    const double distance = arm.norm();
    const double sign = radius_ > 0.0 ? 1.0 : -1.0;
    const Vector3 out = distance > 0.0 ? Vector3(arm / distance) : Vector3(Vector3::UnitZ());
    SurfacePoint point{
        .gap = sign * distance - radius_, .normal = sign * out, .curvature = Matrix3::Zero(), .bend = 0.0};
    if (distance > 0.0) {
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

class CylinderPartner final : public PartnerSurface {
 public:
  explicit CylinderPartner(const CylinderSurface& cylinder) : cylinder_(cylinder) {}
  /// Inside, the gap to the side jumps to that of the end where there is one.
  [[nodiscard]] bool is_distance() const override { return std::isinf(cylinder_.length); }
  [[nodiscard]] SurfacePoint closest(const Vector3& p_BQ) const override {
    const Vector3 arm = p_BQ - cylinder_.center;
    const double along = arm.dot(cylinder_.axis);
    const Vector3 across = arm - along * cylinder_.axis;
    const double distance = across.norm();
    const Vector3 out = distance > 0.0 ? Vector3(across / distance) : cylinder_.axis.unitOrthogonal();
    const double beyond = std::abs(along) - 0.5 * cylinder_.length;
    const double outside = distance - cylinder_.radius;
    if (beyond > 0.0) return past_the_end(arm, out, outside);
    SurfacePoint point{.gap = outside, .normal = out, .curvature = Matrix3::Zero(), .bend = 0.0};
    if (distance > 0.0) {
      point.bend = 1.0 / distance;
      point.curvature =
          point.bend * (Matrix3::Identity() - out * out.transpose() - cylinder_.axis * cylinder_.axis.transpose());
    }
    return point;
  }

 private:
  /// Distance to the end disc or its rim: flat ends, convex.
  [[nodiscard]] SurfacePoint past_the_end(const Vector3& arm, const Vector3& out, double outside) const {
    const double along = arm.dot(cylinder_.axis);
    const Vector3 end = (along > 0.0 ? 1.0 : -1.0) * cylinder_.axis;
    const double beyond = std::abs(along) - 0.5 * cylinder_.length;
    if (outside <= 0.0) return {.gap = beyond, .normal = end, .curvature = Matrix3::Zero(), .bend = 0.0};
    const Vector3 away = beyond * end + outside * out;
    const double distance = away.norm();
    return {.gap = distance, .normal = away / distance, .curvature = Matrix3::Zero(), .bend = 0.0};
  }

  CylinderSurface cylinder_;
};

void check_unit(const Vector3& v, const char* field) {
  if (std::abs(v.norm() - 1.0) > 1e-9) {
    throw input_error(
        field, fmt::format("expected a unit vector, found ({}, {}, {}) of length {}", v.x(), v.y(), v.z(), v.norm()));
  }
}

}  // namespace

std::unique_ptr<PartnerSurface> make_analytic_partner(const Surface& surface) {
  if (const auto* plane = std::get_if<PlaneSurface>(&surface)) {
    check_unit(plane->normal, "partner.surface.normal");
    return std::make_unique<PlanePartner>(*plane);
  }
  if (const auto* sphere = std::get_if<SphereSurface>(&surface)) {
    if (sphere->radius == 0.0) throw input_error("partner.surface.radius", "the radius of a sphere must not be 0 m");
    return std::make_unique<SpherePartner>(*sphere);
  }
  if (const auto* cylinder = std::get_if<CylinderSurface>(&surface)) {
    check_unit(cylinder->axis, "partner.surface.axis");
    if (!(cylinder->radius > 0.0 && cylinder->length > 0.0)) {
      throw input_error("partner.surface.radius", "radius and length of a cylinder must be > 0 m");
    }
    return std::make_unique<CylinderPartner>(*cylinder);
  }
  throw input_error("partner.surface",
                    fmt::format("expected a plane, sphere or cylinder, found '{}'", surface_name(surface)));
}

}  // namespace heelstrike::fem
