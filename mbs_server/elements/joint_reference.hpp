/// Keys of other elements that name a joint.
#pragma once

#include <string>

#include "scenario/catalog.hpp"
#include "mbs_server/formulation/model.hpp"

namespace heelstrike::mbs {

using HasCoordinate = bool (*)(const JointCoordinates& coordinates);

/// The joint that `field` names. @param has  the coordinate that it must leave @param what  it is called
/// @throws Mistake when there is none, or one without that coordinate; the types that have it are named
[[nodiscard]] const JointSpec& read_joint_name(const config::Field& field, const Scenario& scenario, HasCoordinate has,
                                               const std::string& what);

/// Names in the key `coordinates` of a joint; none for types that have none.
[[nodiscard]] std::vector<std::string> coordinate_names(const JointSpec& joint);
/// The joint whose coordinate `name` is. @param field  that names it, for messages. @throws Mistake where none has it
const JointSpec& read_coordinate_name(const config::Field& field, const std::string& name, const Scenario& scenario);

/// A coordinate of a joint in a model.
struct CoordinateReference {
  const Joint* joint = nullptr;
  std::size_t coordinate = 0;
};
/// A coordinate that was checked. @throws Error{internal}
[[nodiscard]] CoordinateReference find_coordinate(const Model& model, const std::string& name);

}  // namespace heelstrike::mbs
