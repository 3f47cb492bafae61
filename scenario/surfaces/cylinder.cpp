#include "scenario/surfaces/cylinder.hpp"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "common/errors/error.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/surfaces/registry.hpp"
#include "scenario/surfaces/values.hpp"

namespace heelstrike {

namespace {

/// Distance to the solid cylinder, exact inside and outside; on surfaces inside where side and end are equally near,
/// its gradient jumps.
class CylinderDistance final : public SignedDistance {
 public:
  explicit CylinderDistance(CylinderSurface cylinder) : cylinder_(std::move(cylinder)) {}
  [[nodiscard]] bool is_distance() const override { return true; }
  [[nodiscard]] SurfacePoint closest(const Vector3& p_BQ) const override {
    const Vector3 arm = p_BQ - cylinder_.center;
    const double along = arm.dot(cylinder_.axis);
    const Vector3 across = arm - along * cylinder_.axis;
    const double distance = across.norm();
    // On the axis the radial direction is arbitrary, and the infinite curvature is set to zero.
    const Vector3 out = distance > 0.0 ? Vector3(across / distance) : cylinder_.axis.unitOrthogonal();
    const Vector3 end = (along > 0.0 ? 1.0 : -1.0) * cylinder_.axis;
    const double outside = distance - cylinder_.radius;
    const double beyond = std::abs(along) - 0.5 * cylinder_.length;
    if (beyond > 0.0 && outside > 0.0) {
      // Beyond the rim the nearest point lies on a circle. The gap and its normal are exact; the curvature of the
      // distance to a circle is not a multiple of a projector and is neglected.
      const Vector3 away = beyond * end + outside * out;
      return {.gap = away.norm(), .normal = away.normalized()};
    }
    if (beyond > outside) return {.gap = beyond, .normal = end};
    SurfacePoint point{.gap = outside, .normal = out};
    if (distance > 0.0) {
      // Level surfaces are coaxial cylinders: curved around the axis, straight along it.
      point.bend = 1.0 / distance;
      point.curvature =
          point.bend * (Matrix3::Identity() - out * out.transpose() - cylinder_.axis * cylinder_.axis.transpose());
    }
    return point;
  }

 private:
  CylinderSurface cylinder_;
};

CylinderSurface cylinder_of(const Surface& surface) {
  return CylinderSurface::of(surface).value();
}

std::unique_ptr<SignedDistance> cylinder_distance(const Surface& surface) {
  CylinderSurface cylinder = cylinder_of(surface);
  check_unit_length(cylinder.axis, "partner.surface.axis");
  if (!(cylinder.radius > 0.0 && cylinder.length > 0.0)) {
    throw input_error("partner.surface.radius", "radius and length of a cylinder must be > 0 m");
  }
  return std::make_unique<CylinderDistance>(std::move(cylinder));
}

/// The rims of a finite cylinder are sharp.
std::optional<double> cylinder_curvature(const Surface& surface) {
  const CylinderSurface cylinder = cylinder_of(surface);
  // An infinite one contains a ball of its radius at every point, by which candidates are selected
  // (docs/theory/contact_fem.md, section 2).
  if (std::isfinite(cylinder.length) || !(cylinder.radius > 0.0)) return std::nullopt;
  return 1.0 / cylinder.radius;
}

/// In the frame of its axis, because the direction does not matter for sizes.
std::optional<Vector3> cylinder_extents(const Surface& surface) {
  const CylinderSurface cylinder = cylinder_of(surface);
  if (!std::isfinite(cylinder.length)) return std::nullopt;
  return Vector3(2.0 * cylinder.radius, 2.0 * cylinder.radius, cylinder.length);
}

/// An infinite cylinder is drawn four times as long as the contacting body, without ends.
Triangles drawn_cylinder(const Surface& surface, const DrawnPart& part) {
  const CylinderSurface cylinder = cylinder_of(surface);
  const bool has_ends = std::isfinite(cylinder.length);
  const double half = 0.5 * (has_ends ? cylinder.length : 4.0 * part.extent);
  const Matrix3 R = Quaternion::FromTwoVectors(Vector3::UnitZ(), cylinder.axis).toRotationMatrix();
  std::vector<Vector3> vertices;
  const auto add_row = [&](double radius, double z) {
    for (std::uint32_t i = 0; i < points_around; ++i) {
      const Vector3 c = on_circle(i);
      vertices.push_back(cylinder.center + R * Vector3(radius * c.x(), radius * c.y(), z));
    }
  };
  if (has_ends) add_row(0.0, -half);
  for (const double z : {-half, half}) add_row(cylinder.radius, z);
  if (has_ends) add_row(0.0, half);
  return joined_rows(std::move(vertices));
}

void check_cylinder(const Surface& surface, bool is_rigid, const std::string& where) {
  const CylinderSurface cylinder = cylinder_of(surface);
  const std::string key = where + "." + CylinderSurface::kind;
  const ParameterMap& values = surface.values;
  if (cylinder.core_radius >= cylinder.radius) {
    throw_invalid_value(key + ".core_radius", fmt::format("a radius below that of the cylinder, {} m", cylinder.radius),
                        fmt::format("{} m", cylinder.core_radius), "make it smaller, or leave it out");
  }
  if (values.contains("layers") && values.contains("length")) {
    throw_invalid_value(key + ".length", "no length beside layers", fmt::format("{} m", number(values, "length")),
                        "the length is the sum of the layers: remove it");
  }
  if (values.contains("layers") && cylinder.layers.empty()) {
    throw_invalid_value(key + ".layers", "at least one layer", "none", "add one, or give `length`");
  }
  if (is_rigid && (cylinder.core_radius > 0.0 || !cylinder.layers.empty())) {
    throw_invalid_value(where, "a plain cylinder as surface of a rigid body", "one with a core or layers",
                        "give `materials`, or remove core_radius and layers");
  }
}

config::KeySchema cylinder_keys() {
  return {
      .name = CylinderSurface::kind,
      .kind = config::KeyKind::map,
      .meaning = "round cylinder",
      .keys = {config::required(config::number("radius", "m", config::lengths, "radius")),
               config::direction("axis", "direction of the axis"),
               config::vector3("center", "m", config::coordinates, "centre in the body's frame"),
               config::number("length", "m", config::lengths, "length; infinite by default; not with layers"),
               config::number("core_radius", "m", config::lengths,
                              "makes the element sets core and shell, for `materials`; below the radius"),
               {.name = "layers",
                .kind = config::KeyKind::named,
                .meaning = "slices along the axis from its negative end, by name: element sets for `materials`",
                .keys = {config::required(config::number("height", "m", config::lengths, "thickness of the slice"))}}}};
}

}  // namespace

std::optional<CylinderSurface> CylinderSurface::of(const Surface& surface) {
  if (surface.kind != kind) return std::nullopt;
  const ParameterMap& values = surface.values;
  CylinderSurface cylinder{
      .radius = number(values, "radius"), .axis = vector3(values, "axis"), .center = vector3(values, "center")};
  cylinder.length = optional_number(values, "length").value_or(cylinder.length);
  cylinder.core_radius = optional_number(values, "core_radius").value_or(0.0);
  if (!values.contains("layers")) return cylinder;
  cylinder.length = 0.0;
  std::istringstream names(text(values, "layers"));
  const std::vector<double>& heights = numbers(values, "layers.height");
  for (std::string name; cylinder.layers.size() < heights.size() && std::getline(names, name, ',');) {
    cylinder.layers.push_back({.name = name, .height = heights[cylinder.layers.size()]});
    cylinder.length += cylinder.layers.back().height;
  }
  return cylinder;
}

CylinderSurface::operator Surface() const {
  Surface surface{.kind = kind, .values = {{"radius", radius}, {"axis", listed(axis)}, {"center", listed(center)}}};
  if (core_radius != 0.0) surface.values["core_radius"] = core_radius;
  if (layers.empty()) {
    if (!std::isinf(length)) surface.values["length"] = length;
    return surface;
  }
  std::string names;
  std::vector<double> heights;
  for (const CylinderLayer& layer : layers) {
    names += (names.empty() ? "" : ",") + layer.name;
    heights.push_back(layer.height);
  }
  surface.values["layers"] = names;
  surface.values["layers.height"] = heights;
  return surface;
}

SurfaceKind cylinder_kind() {
  return {.keys = cylinder_keys(),
          .place = "center",
          .fills = true,
          .check = check_cylinder,
          .distance = cylinder_distance,
          .curvature = cylinder_curvature,
          .extents = cylinder_extents,
          .drawing = drawn_cylinder,
          .outline = [](const Surface& surface) -> ParameterMap {
            const CylinderSurface cylinder = cylinder_of(surface);
            ParameterMap outline{{"kind", "cylinder"},
                                 {"radius", cylinder.radius},
                                 {"axis", listed(cylinder.axis)},
                                 {"center", listed(cylinder.center)}};
            if (std::isfinite(cylinder.length)) outline.emplace("length", cylinder.length);
            return outline;
          }};
}

}  // namespace heelstrike
