#include <vector>

#include "mbs_server/elements/joints/joint_type.hpp"

namespace heelstrike::mbs {

// One function JointType NAME_joint() for each file.
#define HEELSTRIKE_JOINTS(LISTED) \
  LISTED(spherical)               \
  LISTED(revolute)                \
  LISTED(cylindrical)             \
  LISTED(prismatic)               \
  LISTED(universal)               \
  LISTED(planar)                  \
  LISTED(fixed)                   \
  LISTED(point_on_line)           \
  LISTED(point_on_plane)          \
  LISTED(distance)                \
  LISTED(gear)                    \
  LISTED(custom)                  \
  LISTED(coupler)

#define HEELSTRIKE_LISTED(NAME) JointType NAME##_joint();
HEELSTRIKE_JOINTS(HEELSTRIKE_LISTED)
#undef HEELSTRIKE_LISTED

std::span<const JointType> joint_types() {
#define HEELSTRIKE_LISTED(NAME) NAME##_joint(),
  static const std::vector<JointType> types = {HEELSTRIKE_JOINTS(HEELSTRIKE_LISTED)};
#undef HEELSTRIKE_LISTED
  return types;
}

}  // namespace heelstrike::mbs
