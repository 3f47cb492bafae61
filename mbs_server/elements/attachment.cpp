#include "mbs_server/elements/attachment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "common/errors/error.hpp"
#include "common/text/suggestion.hpp"
#include "mbs_server/elements/joints/joint_type.hpp"
#include "mbs_server/formulation/coordinate_map.hpp"
#include "scenario/schema/document.hpp"

namespace heelstrike::mbs {

namespace {

/// A rotation whose third column is the unit vector `axis`; the other columns depend on `axis` only.
Matrix3 frame_about(const Vector3& axis) {
  // Gram-Schmidt on the world axis with the largest angle to `axis`, so that the difference never vanishes.
  int least = 0;
  axis.cwiseAbs().minCoeff(&least);
  const Vector3 x = (Vector3::Unit(least) - axis[least] * axis).normalized();
  return (Matrix3() << x, axis.cross(x), axis).finished();
}

/// Rotation with third column `axis` and first column as close to `x` as possible.
Matrix3 frame_near(const Vector3& axis, const Vector3& x) {
  const Vector3 normal = x - x.dot(axis) * axis;
  // If x is parallel to `axis` (universal joint), its projection vanishes and its direction would be rounding noise.
  if (normal.norm() < 1e-6) return frame_about(axis);
  const Vector3 unit = normal.normalized();
  return (Matrix3() << unit, axis.cross(unit), axis).finished();
}

Pose initial_pose(const Model& model, BodyIndex body) {
  return body == ground ? Pose{} : model.bodies[static_cast<std::size_t>(body)].X_WB;
}

BodyIndex body_of(const Model& model, const ElementSpec& element, std::size_t side) {
  return find_body(model, element.ends->bodies.at(side), element.keys.path() + ".bodies");
}

}  // namespace

BodyIndex find_body(const Model& model, const std::string& name, const std::string& where) {
  if (name == "ground") return ground;
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    if (model.bodies[i].name == name) return static_cast<BodyIndex>(i);
  }
  throw input_error(where, fmt::format("{}: expected the name of a body or 'ground', found '{}'", where, name));
}

const Joint& find_joint(const Model& model, const std::string& name) {
  const auto joint = std::ranges::find(model.joints, name, &Joint::name);
  if (joint == model.joints.end()) throw Error(ErrorCode::internal, "joint '" + name + "' was not checked");
  return *joint;
}

WorldFrames world_frames(const Model& model, const ElementSpec& element) {
  const Attachment& ends = *element.ends;
  const BodyIndex body_a = body_of(model, element, 0);
  const BodyIndex body_b = body_of(model, element, 1);
  const Pose X_WA = initial_pose(model, body_a);
  const Pose X_WB = initial_pose(model, body_b);
  Vector3 point_a = X_WB.p, point_b = X_WB.p, axis_a = Vector3::UnitZ(), axis_b = Vector3::UnitZ();
  if (body_b == ground) point_a = point_b = X_WA.p;
  if (ends.in_world) {
    if (!ends.points.empty()) point_a = point_b = ends.points[0];
    if (ends.second_point) point_b = *ends.second_point;
    if (!ends.axes.empty()) axis_a = axis_b = ends.axes[0];
    if (ends.second_axis) axis_b = *ends.second_axis;
  } else {
    point_a = X_WA * ends.points[0];
    point_b = X_WB * ends.points[1];
    if (!ends.axes.empty()) {
      axis_a = X_WA.R * ends.axes[0];
      axis_b = X_WB.R * ends.axes[1];
    }
  }
  const Matrix3 R_a = frame_about(axis_a);
  return {.a = {.R = R_a, .p = point_a}, .b = {.R = frame_near(axis_b, R_a.col(0)), .p = point_b}};
}

Ends ends_at(const Model& model, const ElementSpec& element, const WorldFrames& frames) {
  const BodyIndex a = body_of(model, element, 0);
  const BodyIndex b = body_of(model, element, 1);
  return {.a = {.body = a, .X_BF = initial_pose(model, a).inverse() * frames.a},
          .b = {.body = b, .X_BF = initial_pose(model, b).inverse() * frames.b}};
}

const JointSpec& read_joint_name(const config::Field& field, const Scenario& scenario, HasCoordinate has,
                                 const std::string& what) {
  std::vector<std::string> fitting;
  for (const JointSpec& joint : scenario.joints) {
    if (!has(joint.coordinates)) continue;
    if (joint.name == field.text()) return joint;
    fitting.push_back(joint.name);
  }
  std::vector<std::string> types;
  for (const JointType& type : joint_types()) {
    if (has(type.coordinates)) types.push_back(type.name);
  }
  const auto near = nearest_name(field.text(), fitting);
  field.reject(fmt::format("the name of a joint with {} ({})", what, fmt::join(types, ", ")),
               fmt::format("'{}'", config::excerpt(field.text())),
               near ? fmt::format("did you mean '{}'?", *near) : "name one of these joints");
}

std::vector<std::string> coordinate_names(const JointSpec& joint) {
  std::vector<std::string> names;
  if (!joint.coordinates.named) return names;
  for (const config::Field& coordinate : joint.keys["coordinates"].entries()) names.push_back(coordinate.name());
  return names;
}

const JointSpec& read_coordinate_name(const config::Field& field, const std::string& name, const Scenario& scenario) {
  std::vector<std::string> known;
  for (const JointSpec& joint : scenario.joints) {
    for (const std::string& coordinate : coordinate_names(joint)) {
      if (coordinate == name) return joint;
      known.push_back(coordinate);
    }
  }
  const auto near = nearest_name(name, known);
  field.reject("the name of a coordinate of a joint defined earlier", fmt::format("'{}'", config::excerpt(name)),
               near ? fmt::format("did you mean '{}'?", *near) : "custom joints have coordinates");
}

CoordinateReference find_coordinate(const Model& model, const std::string& name) {
  for (const Joint& joint : model.joints) {
    if (!joint.map) continue;
    const auto& names = joint.map->transform().names;
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return {.joint = &joint, .coordinate = static_cast<std::size_t>(found - names.begin())};
  }
  throw Error(ErrorCode::internal, "coordinate '" + name + "' was not checked");
}

}  // namespace heelstrike::mbs
