/// Mapping of the joints of a robot file to joints of a scenario.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "importers/robots/tree_model.hpp"

namespace heelstrike::models {

/// A scenario joint equivalent to a sequence of degrees of freedom. Axes and point are in the body's frame; the first
/// axis is fixed in the parent.
struct ScenarioJoint {
  std::string type;  ///< "free" has no equations
  Vector3 point = Vector3::Zero();
  std::vector<Vector3> axes = {};   ///< none, one common axis, or one per body
  std::vector<JointDof> dofs = {};  ///< represented degrees of freedom
  bool angle = false;               ///< supports a spring about its axis
};

/// One joint for all degrees of freedom if a type matches, otherwise a chain of joints from the parent to the body.
/// Springs and dampers on axes are preserved: with any of them, every axis is a separate joint.
/// @param dofs  in order from the parent; not empty
[[nodiscard]] std::vector<ScenarioJoint> make_joints(std::span<const JointDof> dofs);

// Surfaces of a scenario equivalent to shapes of a robot file.

struct ScenarioSurface {
  std::string text;  ///< value of `surface` in a scenario: "{sphere: {...}}"
  std::string what;  ///< for messages: "collision capsule, lateral surface"
};

/// Empty for a shape without an equivalent surface; a capsule becomes two balls and a cylinder.
/// @param shape  with its pose in a body of the scenario
[[nodiscard]] std::vector<ScenarioSurface> make_surfaces(const Shape& shape);

/// Mesh of a box that is not aligned with the axes of its body.
/// @param name  of the file, without extension
[[nodiscard]] ImportedMesh box_mesh(const Vector3& half_lengths, const std::string& name);

/// True if the edges of a box with this pose are parallel to the axes of the body.
[[nodiscard]] bool is_axis_aligned(const Pose& X_BS);

}  // namespace heelstrike::models
