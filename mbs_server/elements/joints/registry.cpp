#include <vector>

#include "mbs_server/elements/joints/joint_type.hpp"

namespace heelstrike::mbs {

// One function for each file.
JointType spherical_joint(), revolute_joint(), cylindrical_joint(), prismatic_joint(), universal_joint(),
    planar_joint(), fixed_joint(), point_on_line_joint(), point_on_plane_joint(), distance_joint(), gear_joint(),
    custom_joint(), coupler_joint();

std::span<const JointType> joint_types() {
  static const std::vector<JointType> types = {
      spherical_joint(), revolute_joint(), cylindrical_joint(),   prismatic_joint(),      universal_joint(),
      planar_joint(),    fixed_joint(),    point_on_line_joint(), point_on_plane_joint(), distance_joint(),
      gear_joint(),      custom_joint(),   coupler_joint()};
  return types;
}

}  // namespace heelstrike::mbs
