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

}  // namespace heelstrike::models
