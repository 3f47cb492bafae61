/// Keys of other elements that name a joint.
#pragma once

#include <string>

#include "mbs_server/formulation/model.hpp"
#include "scenario/catalog.hpp"

namespace heelstrike::mbs {

using HasCoordinate = bool (*)(const JointCoordinates& coordinates);

/// The joint named in `field`. @param has  the required free coordinate @param what  name of that coordinate
/// @throws Issue if there is no such joint or it lacks that coordinate; the message lists the types that have it
[[nodiscard]] const JointSpec& read_joint_name(const config::Field& field, const Scenario& scenario, HasCoordinate has,
                                               const std::string& what);

/// Names in the key `coordinates` of a joint; empty for types without named coordinates.
[[nodiscard]] std::vector<std::string> coordinate_names(const JointSpec& joint);
/// The joint with the coordinate `name`. @param field  for messages. @throws Issue if no joint has it
const JointSpec& read_coordinate_name(const config::Field& field, const std::string& name, const Scenario& scenario);

/// A coordinate of a joint in a model.
struct CoordinateReference {
  const Joint* joint = nullptr;
  std::size_t coordinate = 0;
};
/// A coordinate that has been checked. @throws Error{internal}
[[nodiscard]] CoordinateReference find_coordinate(const Model& model, const std::string& name);

}  // namespace heelstrike::mbs
