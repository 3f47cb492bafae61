/// The multibody model of a scenario: what moves, what holds it, what pushes it. Plain data with resolved references.
#pragma once

#include <string>
#include <vector>

#include "common/config/scenario.hpp"
#include "mbs_server/model/mass_properties.hpp"

namespace heelstrike::mbs {

/// Index of a body in Model::bodies, or `ground`.
using BodyIndex = int;
inline constexpr BodyIndex ground = -1;

struct Body {
  std::string name;
  MassProperties mass_properties;
  Pose X_WB;   ///< initial pose
  Twist V_WB;  ///< initial twist
};

struct Load {
  BodyIndex body = ground;
  Vector3 force = Vector3::Zero();   ///< [N]
  Vector3 torque = Vector3::Zero();  ///< [N m]
  Vector3 point = Vector3::Zero();   ///< [m] in the body frame
  bool body_fixed = false;           ///< components in body axes instead of world axes
};

struct ContactPair {
  std::string name;
  BodyIndex main = ground;     ///< A
  BodyIndex partner = ground;  ///< B
};

struct Model {
  Vector3 gravity = Vector3::Zero();  ///< [m/s^2]
  std::vector<Body> bodies;
  std::vector<Load> loads;
  std::vector<ContactPair> pairs;
};

/// Resolves names and checks what only the model can know.
/// @throws Error{invalid_input} for unphysical mass properties or unknown bodies
[[nodiscard]] Model build_model(const Scenario& scenario);

}  // namespace heelstrike::mbs
