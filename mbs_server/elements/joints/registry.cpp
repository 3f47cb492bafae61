#include <vector>

#include "mbs_server/elements/joints/joint_type.hpp"

namespace heelstrike::mbs {

std::span<const JointType> joint_types() {
// The function of one file of this folder.
#define JOINT(NAME)                  \
  [] {                               \
    extern JointType NAME##_joint(); \
    return NAME##_joint();           \
  }()
  static const std::vector<JointType> types = {
      JOINT(spherical), JOINT(revolute), JOINT(cylindrical),   JOINT(prismatic),      JOINT(universal),
      JOINT(planar),    JOINT(fixed),    JOINT(point_on_line), JOINT(point_on_plane), JOINT(distance),
      JOINT(gear),      JOINT(custom),   JOINT(coupler)};
#undef JOINT
  return types;
}

}  // namespace heelstrike::mbs
