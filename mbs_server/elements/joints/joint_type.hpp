/// What describes a type of joint. A new type is one file in this folder and its line in registry.cpp.
#pragma once

#include <functional>
#include <span>

#include "scenario/catalog.hpp"
#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/formulation/joint_equations.hpp"

namespace heelstrike::mbs {

struct JointType : JointSchema {
  /// The joint of a model that has the bodies already, and the joints above it in the file.
  std::function<Joint(const JointSpec& spec, const Model& model)> build;
};

/// In the order of docs/reference/scenario.md.
[[nodiscard]] std::span<const JointType> joint_types();

/// A type whose equations are quadratic in the coordinates of two bodies.
struct QuadraticJoint {
  std::string name;
  std::string meaning;
  config::AttachmentKeys holds = {};
  std::vector<config::KeySchema> keys = {};  ///< besides those that say how it holds
  JointCoordinates coordinates = {};
  /// What `unilateral: true` makes of the only equation, a gap; empty = it holds in both directions.
  std::string unilateral_meaning = {};
  /// @throws Error{invalid_input} for frames that the type cannot do with; may be empty
  std::function<void(const JointSpec& spec, const WorldFrames& frames)> check_frames = {};
  /// May depend on the keys and on the frames, for lengths.
  std::function<JointEquations(const JointSpec& spec, const WorldFrames& frames)> equations;
};
[[nodiscard]] JointType quadratic_joint_type(const QuadraticJoint& description);
/// Equations that depend on neither.
[[nodiscard]] std::function<JointEquations(const JointSpec&, const WorldFrames&)> always(JointEquations equations);

}  // namespace heelstrike::mbs
