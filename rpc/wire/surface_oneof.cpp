#include "rpc/wire/surface_oneof.hpp"

#include <fmt/format.h>

#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/foot.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/points.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "rpc/wire/spatial_wire.hpp"

namespace heelstrike::wire {

namespace {

Vector3 vector(bool present, const v1::Vector3& from, const FieldPath& path) {
  if (!present) throw_missing(path);
  Vector3 to;
  from_proto(from, to, path);
  return to;
}

Surface from_message(const v1::Sphere& from, const FieldPath& path) {
  return SphereSurface{.radius = from.radius(),
                       .center = vector(from.has_center(), from.center(), FieldPath(path, "center"))};
}

Surface from_message(const v1::Plane& from, const FieldPath& path) {
  return PlaneSurface{.normal = vector(from.has_normal(), from.normal(), FieldPath(path, "normal")),
                      .point = vector(from.has_point(), from.point(), FieldPath(path, "point"))};
}

/// With layers the length that the message repeats is their sum.
Surface from_message(const v1::Cylinder& from, const FieldPath& path) {
  CylinderSurface to{.radius = from.radius(),
                     .axis = vector(from.has_axis(), from.axis(), FieldPath(path, "axis")),
                     .center = vector(from.has_center(), from.center(), FieldPath(path, "center")),
                     .length = from.length(),
                     .core_radius = from.core_radius(),
                     .layers = {}};
  for (const v1::CylinderLayer& layer : from.layers()) to.layers.push_back({layer.name(), layer.height()});
  return to;
}

Surface from_message(const v1::Mesh& from, const FieldPath& path) {
  MeshSurface to{.sha256 = from.sha256(),
                 .asset_name = from.asset_name(),
                 .format = from.format(),
                 .length_scale = from.length_scale(),
                 .X_BodyMesh = {}};
  if (from.has_placement()) from_proto(from.placement(), to.X_BodyMesh, FieldPath(path, "placement"));
  return to;
}

Surface from_message(const v1::PointCloud& from, const FieldPath& path) {
  if (from.xyz_size() != 3 * from.area_size()) {
    refuse(FieldPath(path, "xyz"), "3 coordinates per tributary area",
           fmt::format("{} coordinates and {} areas", from.xyz_size(), from.area_size()));
  }
  PointCloudSurface to{.points = {}, .areas = {from.area().begin(), from.area().end()}};
  for (int i = 0; i < from.xyz_size(); i += 3) to.points.emplace_back(from.xyz(i), from.xyz(i + 1), from.xyz(i + 2));
  return to;
}

Surface from_message(const v1::Block& from, const FieldPath& path) {
  return BlockSurface{.lengths = vector(from.has_lengths(), from.lengths(), FieldPath(path, "lengths")),
                      .center = vector(from.has_center(), from.center(), FieldPath(path, "center"))};
}

Surface from_message(const v1::Foot& from, const FieldPath& path) {
  FootSurface to{.dimensions = {.length = from.length(),
                                .ball_breadth = from.ball_breadth(),
                                .heel_breadth = from.heel_breadth(),
                                .arch_height = from.arch_height(),
                                .instep_height = from.instep_height(),
                                .toe_height = from.toe_height(),
                                .ankle_height = from.ankle_height(),
                                .heel_to_ankle = from.heel_to_ankle(),
                                .cut_height = from.cut_height()},
                 .right = from.right(),
                 .ankle = Vector3::Zero()};
  if (from.has_ankle()) from_proto(from.ankle(), to.ankle, FieldPath(path, "ankle"));
  return to;
}

}  // namespace

Surface surface_from_oneof(const v1::ContactBody& from, const FieldPath& path) {
  switch (from.surface_case()) {
    case v1::ContactBody::kSphere:
      return from_message(from.sphere(), FieldPath(path, "sphere"));
    case v1::ContactBody::kPlane:
      return from_message(from.plane(), FieldPath(path, "plane"));
    case v1::ContactBody::kCylinder:
      return from_message(from.cylinder(), FieldPath(path, "cylinder"));
    case v1::ContactBody::kMesh:
      return from_message(from.mesh(), FieldPath(path, "mesh"));
    case v1::ContactBody::kPoints:
      return from_message(from.points(), FieldPath(path, "points"));
    case v1::ContactBody::kBlock:
      return from_message(from.block(), FieldPath(path, "block"));
    case v1::ContactBody::kFoot:
      return from_message(from.foot(), FieldPath(path, "foot"));
    case v1::ContactBody::SURFACE_NOT_SET:
      break;
  }
  throw_missing(FieldPath(path, "surface"));
}

}  // namespace heelstrike::wire
