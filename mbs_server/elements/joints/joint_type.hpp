/// Description of a type of joint. A new type needs one file in this folder and its line in registry.cpp.
#pragma once

#include <functional>
#include <span>

#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/formulation/joint_equations.hpp"
#include "scenario/catalog.hpp"

namespace heelstrike::mbs {

struct JointType : JointSchema {
  /// Builds the joint for a model with its bodies and the joints defined earlier in the file.
  std::function<Joint(const JointSpec& spec, const Model& model)> build;
};

/// In the order of `heelstrike schema`.
[[nodiscard]] std::span<const JointType> joint_types();

/// A type whose equations are quadratic in the coordinates of two bodies.
struct QuadraticJoint {
  std::string name;
  std::string meaning;
  config::AttachmentKeys holds = {};
  std::vector<config::KeySchema> keys = {};  ///< besides those of its attachment
  JointCoordinates coordinates = {};
  /// Meaning of `unilateral: true` for the only equation, a gap; empty = always bilateral.
  std::string unilateral_meaning = {};
  /// @throws Error{invalid_input} for frames that the type does not admit; may be empty
  std::function<void(const JointSpec& spec, const WorldFrames& frames)> check_frames = {};
  /// May depend on the keys and, for lengths, on the frames.
  std::function<JointEquations(const JointSpec& spec, const WorldFrames& frames)> equations;
};
[[nodiscard]] JointType quadratic_joint_type(const QuadraticJoint& description);
/// Equations that depend on neither keys nor frames.
[[nodiscard]] std::function<JointEquations(const JointSpec&, const WorldFrames&)> always(JointEquations equations);

}  // namespace heelstrike::mbs
