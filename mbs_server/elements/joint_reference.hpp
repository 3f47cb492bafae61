/// Keys of other elements that name a joint.
#pragma once

#include <string>

#include "common/config/catalog.hpp"

namespace heelstrike::mbs {

using HasCoordinate = bool (*)(const JointCoordinates& coordinates);

/// The joint that `field` names. @param has  the coordinate that it must leave @param what  it is called
/// @throws Mistake when there is none, or one without that coordinate; the types that have it are named
[[nodiscard]] const JointSpec& read_joint_name(const config::Field& field, const Scenario& scenario, HasCoordinate has,
                                               const std::string& what);

}  // namespace heelstrike::mbs
