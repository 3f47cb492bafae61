#include "importers/robots/tree_joints.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace heelstrike::models {
namespace {

using Kind = JointDof::Kind;

/// Axes and points of a file have about seven digits; values that agree to six are taken as equal. Lengths are compared
/// relative to those of the points.
constexpr double same_direction = 1e-6;

bool parallel(const Vector3& a, const Vector3& b) {
  return a.cross(b).norm() < same_direction;
}

/// True if the axes of two rotations intersect.
bool meet(const JointDof& a, const JointDof& b) {
  const double apart = std::abs((b.point - a.point).dot(a.axis.cross(b.axis)));
  return apart <= same_direction * (a.point.norm() + b.point.norm());
}

/// The intersection of the axes of two rotations.
Vector3 crossing(const JointDof& a, const JointDof& b) {
  const Vector3 n = a.axis.cross(b.axis);
  return a.point + (b.point - a.point).cross(b.axis).dot(n) / n.squaredNorm() * a.axis;
}

struct Sorted {
  std::vector<JointDof> rotations, translations;
  int balls = 0, free = 0;
};

Sorted sorted(std::span<const JointDof> dofs) {
  Sorted all;
  for (const JointDof& f : dofs) {
    if (f.kind == Kind::revolute) all.rotations.push_back(f);
    if (f.kind == Kind::prismatic) all.translations.push_back(f);
    all.balls += f.kind == Kind::spherical ? 1 : 0;
    all.free += f.kind == Kind::free ? 1 : 0;
  }
  return all;
}

/// True if three directions span space.
bool span(const std::vector<JointDof>& three) {
  Matrix3 axes;
  for (int i = 0; i < 3; ++i) axes.col(i) = three[static_cast<std::size_t>(i)].axis;
  return std::abs(axes.determinant()) > same_direction;
}

std::optional<ScenarioJoint> make_joint_of_rotations(const std::vector<JointDof>& rotations) {
  const JointDof& first = rotations.front();
  if (rotations.size() == 1)
    return ScenarioJoint{.type = "revolute", .point = first.point, .axes = {first.axis}, .angle = true};
  if (parallel(first.axis, rotations[1].axis) || !meet(first, rotations[1])) return std::nullopt;
  const Vector3 point = crossing(first, rotations[1]);
  if (rotations.size() == 2) {
    if (std::abs(first.axis.dot(rotations[1].axis)) > same_direction) return std::nullopt;
    return ScenarioJoint{.type = "universal", .point = point, .axes = {first.axis, rotations[1].axis}};
  }
  const Vector3 off = rotations[2].axis.cross(point - rotations[2].point);
  if (rotations.size() != 3 || !span(rotations) ||
      off.norm() > same_direction * (point.norm() + rotations[2].point.norm())) {
    return std::nullopt;
  }
  return ScenarioJoint{.type = "spherical", .point = point};
}

/// None when no joint type of a scenario matches.
std::optional<ScenarioJoint> one_joint(std::span<const JointDof> dofs) {
  const Sorted all = sorted(dofs);
  const std::size_t rotations = all.rotations.size(), translations = all.translations.size();
  if (all.free > 0) return ScenarioJoint{.type = "free"};
  if (translations == 3 && span(all.translations) && (all.balls == 1 || (rotations == 3 && span(all.rotations)))) {
    return ScenarioJoint{.type = "free"};
  }
  if (all.balls == 1 && rotations + translations == 0)
    return ScenarioJoint{.type = "spherical", .point = dofs.front().point};
  if (all.balls > 0) return std::nullopt;
  if (translations == 0 && rotations > 0) return make_joint_of_rotations(all.rotations);
  if (translations == 1 && rotations == 0)
    return ScenarioJoint{.type = "prismatic", .axes = {all.translations[0].axis}};
  if (translations == 1 && rotations == 1 && parallel(all.translations[0].axis, all.rotations[0].axis)) {
    return ScenarioJoint{.type = "cylindrical", .point = all.rotations[0].point, .axes = {all.rotations[0].axis}};
  }
  if (translations == 2 && rotations == 1 && !parallel(all.translations[0].axis, all.translations[1].axis) &&
      parallel(all.translations[0].axis.cross(all.translations[1].axis).normalized(), all.rotations[0].axis)) {
    return ScenarioJoint{.type = "planar", .point = all.rotations[0].point, .axes = {all.rotations[0].axis}};
  }
  return std::nullopt;
}

bool resists(const JointDof& dof) {
  return dof.kind == Kind::revolute && (dof.stiffness != 0.0 || dof.damping != 0.0);
}

}  // namespace

std::vector<ScenarioJoint> make_joints(std::span<const JointDof> dofs) {
  std::vector<ScenarioJoint> joints;
  const bool one_by_one = dofs.size() > 1 && std::ranges::any_of(dofs, resists);
  while (!dofs.empty()) {
    std::size_t count = one_by_one ? 1 : dofs.size();
    std::optional<ScenarioJoint> joint;
    // A single degree of freedom always has a joint type.
    while (!(joint = one_joint(dofs.first(count)))) --count;
    joint->dofs.assign(dofs.begin(), dofs.begin() + static_cast<std::ptrdiff_t>(count));
    joints.push_back(std::move(*joint));
    dofs = dofs.subspan(count);
  }
  return joints;
}

}  // namespace heelstrike::models
