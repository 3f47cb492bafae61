#include "common/wire/pair_spec_wire.hpp"

#include <fmt/format.h>

#include <cmath>

#include "common/wire/parameter_wire.hpp"
#include "common/wire/spatial_wire.hpp"

namespace heelstrike::wire {

namespace {

struct SurfaceWriter {
  v1::ContactBody& to;
  void operator()(const SphereSurface& from) const {
    to.mutable_sphere()->set_radius(from.radius);
    to_proto(from.center, *to.mutable_sphere()->mutable_center());
  }
  void operator()(const PlaneSurface& from) const {
    to_proto(from.normal, *to.mutable_plane()->mutable_normal());
    to_proto(from.point, *to.mutable_plane()->mutable_point());
  }
  void operator()(const CylinderSurface& from) const {
    auto& cylinder = *to.mutable_cylinder();
    cylinder.set_radius(from.radius);
    to_proto(from.axis, *cylinder.mutable_axis());
    to_proto(from.center, *cylinder.mutable_center());
    cylinder.set_length(from.length);
    cylinder.set_core_radius(from.core_radius);
    for (const CylinderLayer& layer : from.layers) {
      auto& message = *cylinder.add_layers();
      message.set_name(layer.name);
      message.set_height(layer.height);
    }
  }
  void operator()(const MeshSurface& from) const {
    auto& mesh = *to.mutable_mesh();
    mesh.set_sha256(from.sha256);
    mesh.set_asset_name(from.asset_name);
    mesh.set_format(from.format);
    mesh.set_length_scale(from.length_scale);
    to_proto(from.X_BodyMesh, *mesh.mutable_placement());
  }
  void operator()(const PointCloudSurface& from) const {
    auto& points = *to.mutable_points();
    for (const auto& p : from.points) {
      for (const double coordinate : {p.x(), p.y(), p.z()}) points.add_xyz(coordinate);
    }
    points.mutable_area()->Assign(from.areas.begin(), from.areas.end());
  }
  void operator()(const BlockSurface& from) const {
    to_proto(from.lengths, *to.mutable_block()->mutable_lengths());
    to_proto(from.center, *to.mutable_block()->mutable_center());
  }
  void operator()(const FootSurface& from) const {
    auto& foot = *to.mutable_foot();
    foot.set_length(from.dimensions.length);
    foot.set_ball_breadth(from.dimensions.ball_breadth);
    foot.set_heel_breadth(from.dimensions.heel_breadth);
    foot.set_arch_height(from.dimensions.arch_height);
    foot.set_instep_height(from.dimensions.instep_height);
    foot.set_toe_height(from.dimensions.toe_height);
    foot.set_ankle_height(from.dimensions.ankle_height);
    foot.set_heel_to_ankle(from.dimensions.heel_to_ankle);
    foot.set_cut_height(from.dimensions.cut_height);
    foot.set_right(from.right);
    to_proto(from.ankle, *foot.mutable_ankle());
  }
};

Vector3 vector(bool present, const v1::Vector3& from, const FieldPath& path) {
  if (!present) refuse_missing(path);
  Vector3 to;
  from_proto(from, to, path);
  return to;
}

/// What is a unit vector to rounding stays as it is, so that a round trip is exact.
Vector3 direction(bool present, const v1::Vector3& from, const FieldPath& path) {
  const Vector3 d = vector(present, from, path);
  const double norm = d.norm();
  if (!(norm > 0.0)) refuse(path, "a direction of any length but zero", norm);
  return std::abs(norm - 1.0) < 1e-14 ? d : Vector3(d / norm);
}

double positive(double value, const FieldPath& path, std::string_view unit) {
  if (!(finite(value, path) > 0.0)) refuse(path, fmt::format("a number > 0 [{}]", unit), value);
  return value;
}

SphereSurface from_proto(const v1::Sphere& from, const FieldPath& path) {
  const double radius = finite(from.radius(), FieldPath(path, "radius"));
  if (radius == 0.0) refuse(FieldPath(path, "radius"), "a number != 0 [m]", radius);
  return {.radius = radius, .center = vector(from.has_center(), from.center(), FieldPath(path, "center"))};
}

PlaneSurface from_proto(const v1::Plane& from, const FieldPath& path) {
  return {.normal = direction(from.has_normal(), from.normal(), FieldPath(path, "normal")),
          .point = vector(from.has_point(), from.point(), FieldPath(path, "point"))};
}

CylinderSurface from_proto(const v1::Cylinder& from, const FieldPath& path) {
  if (!(from.length() > 0.0)) refuse(FieldPath(path, "length"), "a number > 0 [m], infinity allowed", from.length());
  CylinderSurface to{.radius = positive(from.radius(), FieldPath(path, "radius"), "m"),
                     .axis = direction(from.has_axis(), from.axis(), FieldPath(path, "axis")),
                     .center = vector(from.has_center(), from.center(), FieldPath(path, "center")),
                     .length = from.length(),
                     .core_radius = finite(from.core_radius(), FieldPath(path, "core_radius")),
                     .layers = {}};
  if (!(to.core_radius >= 0.0 && to.core_radius < to.radius)) {
    refuse(FieldPath(path, "core_radius"), "0, or a number in (0, radius) [m]", to.core_radius);
  }
  double sum = 0.0;
  for (int i = 0; i < from.layers_size(); ++i) {
    const FieldPath layer(path, "layers", static_cast<std::size_t>(i));
    to.layers.push_back(
        {.name = from.layers(i).name(), .height = positive(from.layers(i).height(), FieldPath(layer, "height"), "m")});
    sum += to.layers.back().height;
  }
  constexpr double rounding = 1e-12;
  if (!to.layers.empty() && !(std::abs(sum - to.length) <= rounding * sum)) {
    refuse(FieldPath(path, "length"), fmt::format("the sum of the layers, {} m", sum), to.length);
  }
  return to;
}

MeshSurface from_proto(const v1::Mesh& from, const FieldPath& path) {
  if (from.sha256().empty() && from.asset_name().empty()) {
    refuse(FieldPath(path, "sha256"), "the digest of an uploaded asset, or `asset_name`", "neither");
  }
  MeshSurface to{.sha256 = from.sha256(),
                 .asset_name = from.asset_name(),
                 .format = from.format(),
                 .length_scale = positive(from.length_scale(), FieldPath(path, "length_scale"), "m per file unit"),
                 .X_BodyMesh = {}};
  if (from.has_placement()) from_proto(from.placement(), to.X_BodyMesh, FieldPath(path, "placement"));
  return to;
}

PointCloudSurface from_proto(const v1::PointCloud& from, const FieldPath& path) {
  const auto n_points = static_cast<std::size_t>(from.area_size());
  if (static_cast<std::size_t>(from.xyz_size()) != 3 * n_points || n_points == 0) {
    refuse(FieldPath(path, "xyz"), "3 coordinates per tributary area and at least one point",
           fmt::format("{} coordinates and {} areas", from.xyz_size(), n_points));
  }
  PointCloudSurface to;
  to.points.reserve(n_points);
  to.areas.reserve(n_points);
  for (std::size_t i = 0; i < n_points; ++i) {
    const FieldPath point(path, "xyz", 3 * i);
    const int first = static_cast<int>(3 * i);
    to.points.emplace_back(finite(from.xyz(first), point), finite(from.xyz(first + 1), point),
                           finite(from.xyz(first + 2), point));
    to.areas.push_back(positive(from.area(static_cast<int>(i)), FieldPath(path, "area", i), "m^2"));
  }
  return to;
}

BlockSurface from_proto(const v1::Block& from, const FieldPath& path) {
  BlockSurface to{.lengths = vector(from.has_lengths(), from.lengths(), FieldPath(path, "lengths")),
                  .center = vector(from.has_center(), from.center(), FieldPath(path, "center"))};
  for (const double length : to.lengths) (void)positive(length, FieldPath(path, "lengths"), "m");
  return to;
}

/// The ranges of the dimensions are those of feet: the mesher checks them.
FootSurface from_proto(const v1::Foot& from, const FieldPath& path) {
  FootSurface to;
  FootDimensions& d = to.dimensions;
  d.length = finite(from.length(), FieldPath(path, "length"));
  d.ball_breadth = finite(from.ball_breadth(), FieldPath(path, "ball_breadth"));
  d.heel_breadth = finite(from.heel_breadth(), FieldPath(path, "heel_breadth"));
  d.arch_height = finite(from.arch_height(), FieldPath(path, "arch_height"));
  d.instep_height = finite(from.instep_height(), FieldPath(path, "instep_height"));
  d.toe_height = finite(from.toe_height(), FieldPath(path, "toe_height"));
  d.ankle_height = finite(from.ankle_height(), FieldPath(path, "ankle_height"));
  d.heel_to_ankle = finite(from.heel_to_ankle(), FieldPath(path, "heel_to_ankle"));
  d.cut_height = finite(from.cut_height(), FieldPath(path, "cut_height"));
  to.right = from.right();
  if (from.has_ankle()) from_proto(from.ankle(), to.ankle, FieldPath(path, "ankle"));
  return to;
}

Surface surface_from_proto(const v1::ContactBody& from, const FieldPath& path) {
  switch (from.surface_case()) {
    case v1::ContactBody::kSphere:
      return from_proto(from.sphere(), FieldPath(path, "sphere"));
    case v1::ContactBody::kPlane:
      return from_proto(from.plane(), FieldPath(path, "plane"));
    case v1::ContactBody::kCylinder:
      return from_proto(from.cylinder(), FieldPath(path, "cylinder"));
    case v1::ContactBody::kMesh:
      return from_proto(from.mesh(), FieldPath(path, "mesh"));
    case v1::ContactBody::kPoints:
      return from_proto(from.points(), FieldPath(path, "points"));
    case v1::ContactBody::kBlock:
      return from_proto(from.block(), FieldPath(path, "block"));
    case v1::ContactBody::kFoot:
      return from_proto(from.foot(), FieldPath(path, "foot"));
    case v1::ContactBody::SURFACE_NOT_SET:
      break;
  }
  refuse_missing(FieldPath(path, "surface"));
}

Material from_proto(const v1::Material& from, const FieldPath& path) {
  const double poisson = finite(from.poissons_ratio(), FieldPath(path, "poissons_ratio"));
  if (poisson < 0.0 || poisson >= 0.5) refuse(FieldPath(path, "poissons_ratio"), "a number in [0, 0.5) [-]", poisson);
  const double density = finite(from.density(), FieldPath(path, "density"));
  if (density < 0.0) refuse(FieldPath(path, "density"), "a number >= 0 [kg/m^3]", density);
  return {.youngs_modulus = positive(from.youngs_modulus(), FieldPath(path, "youngs_modulus"), "Pa"),
          .poissons_ratio = poisson,
          .density = density,
          .set = from.name()};
}

ContactBody from_proto(const v1::ContactBody& from, const FieldPath& path) {
  ContactBody to{.name = from.name(), .surface = surface_from_proto(from, path), .materials = {}};
  for (int i = 0; i < from.materials_size(); ++i) {
    to.materials.push_back(from_proto(from.materials(i), FieldPath(path, "materials", static_cast<std::size_t>(i))));
  }
  return to;
}

void to_proto(const ContactBody& from, v1::ContactBody& to) {
  to.Clear();
  to.set_name(from.name);
  std::visit(SurfaceWriter{to}, from.surface);
  for (const auto& material : from.materials) {
    auto& message = *to.add_materials();
    message.set_youngs_modulus(material.youngs_modulus);
    message.set_poissons_ratio(material.poissons_ratio);
    message.set_density(material.density);
    message.set_name(material.set);
  }
}

}  // namespace

void to_proto(const PairSpec& from, v1::PairSpec& to) {
  to.set_name(from.name);
  to.set_backend(from.backend);
  to_proto(from.parameters, *to.mutable_parameters());
  to_proto(from.main, *to.mutable_main());
  to_proto(from.partner, *to.mutable_partner());
}

PairSpec from_proto(const v1::PairSpec& from, const FieldPath& path) {
  if (!from.has_main()) refuse_missing(FieldPath(path, "main"));
  if (!from.has_partner()) refuse_missing(FieldPath(path, "partner"));
  return {.name = from.name(),
          .backend = from.backend(),
          .parameters = from_proto(from.parameters(), FieldPath(path, "parameters")),
          .main = from_proto(from.main(), FieldPath(path, "main")),
          .partner = from_proto(from.partner(), FieldPath(path, "partner"))};
}

void to_proto(const PairDescription& from, v1::SessionDescription& to) {
  to.set_pair(from.name);
  to.set_backend(from.backend);
  to_proto(from.parameters, *to.mutable_parameters());
  to.set_digest(from.digest);
}

PairDescription from_proto(const v1::SessionDescription& from, const FieldPath& path) {
  return {.name = from.pair(),
          .backend = from.backend(),
          .parameters = from_proto(from.parameters(), FieldPath(path, "parameters")),
          .digest = from.digest()};
}

}  // namespace heelstrike::wire
