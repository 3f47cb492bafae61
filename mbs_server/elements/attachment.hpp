/// Attachment of joints and force elements: from the keys of the scenario to frames fixed in the bodies.
///
/// Keys of other elements that name a joint.
#pragma once

#include <string>

#include "mbs_server/formulation/model.hpp"
#include "scenario/catalog.hpp"

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

using HasCoordinate = bool (*)(const JointCoordinates& coordinates);

/// The joint named in `field`. @param has  the required free coordinate @param what  name of that coordinate
/// @throws Issue if there is no such joint or it lacks that coordinate; the message lists the types that have it
[[nodiscard]] const JointSpec& read_joint_name(const config::Field& field, const Scenario& scenario, HasCoordinate has,
                                               const std::string& what);

/// Names in the key `coordinates` of a joint; empty for types without named coordinates.
[[nodiscard]] std::vector<std::string> coordinate_names(const JointSpec& joint);
/// The joint with the coordinate `name`. @param field  for messages. @throws Issue if no joint has it
const JointSpec& read_coordinate_name(const config::Field& field, const std::string& name, const Scenario& scenario);

/// True if the coordinate `name` of a joint rotates it, so that its values are in rad, else m.
[[nodiscard]] bool is_rotation(const JointSpec& joint, const std::string& name);

/// A coordinate of a joint in a model.
struct CoordinateReference {
  const Joint* joint = nullptr;
  std::size_t coordinate = 0;
};
/// A coordinate that has been checked. @throws Error{internal}
[[nodiscard]] CoordinateReference find_coordinate(const Model& model, const std::string& name);

}  // namespace heelstrike::mbs
