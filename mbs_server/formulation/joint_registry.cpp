#include "mbs_server/formulation/joint_registry.hpp"

#include <fmt/format.h>
#include <array>

#include "common/errors/error.hpp"
#include "mbs_server/formulation/gear_constraint.hpp"

namespace heelstrike::mbs {
namespace {

using Equations = std::vector<QuadraticEquation>;

Equations joined(std::initializer_list<Equations> parts) {
  Equations all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Equations same_point(const JointVectors& v) {
  return {component_equation(v.p_AB, 0), component_equation(v.p_AB, 1), component_equation(v.p_AB, 2)};
}
Equations parallel_axes(const JointVectors& v) {
  return {dot_equation(v.x_A, v.z_B), dot_equation(v.y_A, v.z_B)};
}
Equations on_axis(const JointVectors& v) {
  return {dot_equation(v.x_A, v.p_AB), dot_equation(v.y_A, v.p_AB)};
}
Equations in_plane(const JointVectors& v) {
  return {dot_equation(v.z_A, v.p_AB)};
}
Equations no_turn(const JointVectors& v) {
  return {dot_equation(v.x_A, v.y_B)};
}

Equations revolute(const JointVectors& v) {
  return joined({same_point(v), parallel_axes(v)});
}
Equations cylindrical(const JointVectors& v) {
  return joined({on_axis(v), parallel_axes(v)});
}
Equations prismatic(const JointVectors& v) {
  return joined({on_axis(v), parallel_axes(v), no_turn(v)});
}
Equations universal(const JointVectors& v) {
  return joined({same_point(v), {dot_equation(v.z_A, v.z_B)}});
}
Equations planar(const JointVectors& v) {
  return joined({in_plane(v), parallel_axes(v)});
}
Equations fixed(const JointVectors& v) {
  return joined({same_point(v), parallel_axes(v), no_turn(v)});
}
/// (p.p - L^2) / (2 L): in metres, with a gradient of length one.
Equations distance(const JointVectors& v) {
  return {dot_equation(v.p_AB, v.p_AB, 0.5 / v.length, -0.5 * v.length)};
}

}  // namespace

JointVectors joint_vectors(const Joint& joint) {
  const auto axis = [](const JointSide& side, int k) { return body_direction(side.body, side.X_BF.R.col(k)); };
  return {.x_A = axis(joint.a, 0),
          .y_A = axis(joint.a, 1),
          .z_A = axis(joint.a, 2),
          .y_B = axis(joint.b, 1),
          .z_B = axis(joint.b, 2),
          .p_AB = body_point(joint.b.body, joint.b.X_BF.p) - body_point(joint.a.body, joint.a.X_BF.p),
          .length = joint.length};
}

std::span<const JointEntry> joint_registry() {
  static constexpr std::array<JointEntry, 10> entries = {{
      {.type = "spherical", .build = same_point},
      {.type = "revolute", .build = revolute},
      {.type = "cylindrical", .build = cylindrical},
      {.type = "prismatic", .build = prismatic},
      {.type = "universal", .build = universal},
      {.type = "planar", .build = planar},
      {.type = "fixed", .build = fixed},
      {.type = "point_on_line", .build = on_axis},
      {.type = "point_on_plane", .build = in_plane},
      {.type = "distance", .build = distance},
  }};
  return entries;
}

std::unique_ptr<Constraint> make_joint(const Model& model, const Joint& joint, const ConstVector& q0) {
  if (joint.type == "gear") {
    return std::make_unique<GearConstraint>(joint.name, model.joints[static_cast<std::size_t>(joint.first)],
                                            model.joints[static_cast<std::size_t>(joint.second)], joint.teeth_first,
                                            joint.teeth_second, q0);
  }
  for (const auto& entry : joint_registry()) {
    if (entry.type == joint.type) {
      return std::make_unique<QuadraticConstraint>(joint.name, entry.build(joint_vectors(joint)));
    }
  }
  throw input_error("joints." + joint.name, fmt::format("joints.{}: unknown type '{}'", joint.name, joint.type));
}

}  // namespace heelstrike::mbs
