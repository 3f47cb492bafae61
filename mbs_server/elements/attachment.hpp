/// Attachment of joints and force elements: from the keys of the scenario to frames fixed in the bodies.
#pragma once

#include <string>

#include "mbs_server/formulation/model.hpp"

namespace heelstrike::mbs {

/// @throws Error{invalid_input} for a name that is neither a body nor "ground". @param where  dotted key, for
/// messages
[[nodiscard]] BodyIndex find_body(const Model& model, const std::string& name, const std::string& where);
/// A joint defined earlier in the file. @throws Error{internal}
[[nodiscard]] const Joint& find_joint(const Model& model, const std::string& name);

/// Frames of both ends in the world at the initial poses. Their z axes are the axes given in the file; the frames
/// coincide where the file gives one point and one axis.
struct WorldFrames {
  Pose a, b;
};
/// @param element  with ends
[[nodiscard]] WorldFrames world_frames(const Model& model, const ElementSpec& element);

/// The frames fixed in the bodies.
struct Ends {
  JointSide a, b;
};
[[nodiscard]] Ends ends_at(const Model& model, const ElementSpec& element, const WorldFrames& frames);

}  // namespace heelstrike::mbs
