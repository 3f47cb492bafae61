/// Joints of a scenario for what joints of a robot file allow.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "importers/robots/tree_model.hpp"

namespace heelstrike::models {

/// A joint of a scenario that allows what freedoms together allow. Axes and point are in the body's frame; the first
/// axis is carried by the parent.
struct ScenarioJoint {
  std::string type;  ///< "free" has no equations
  Vector3 point = Vector3::Zero();
  std::vector<Vector3> axes = {};   ///< none, one that both carry, or one of each
  std::vector<JointDof> dofs = {};  ///< that it stands for
  bool angle = false;               ///< a spring about its axis is possible
};

/// One joint for all freedoms where there is one, else a chain of joints, from the parent to the body. Springs and
/// dampers about axes stay: where there are some, every axis is a joint of its own.
/// @param freedoms  in the order in which they follow each other from the parent; not empty
[[nodiscard]] std::vector<ScenarioJoint> make_joints(std::span<const JointDof> dofs);

}  // namespace heelstrike::models
