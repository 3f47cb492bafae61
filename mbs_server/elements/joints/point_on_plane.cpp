#include "mbs_server/elements/joints/joint_type.hpp"

namespace heelstrike::mbs {

JointType point_on_plane_joint() {
  return quadratic_joint_type(
      {.name = "point_on_plane",
       .meaning = "a point of b lies in a plane of a",
       .holds = {.axes = config::AttachmentKeys::Axes::one},
       .unilateral_meaning = "the point of b stays on the side of the plane to which the axis points",
       .equations = always([](const JointVectors& v) { return in_plane(v); })});
}

}  // namespace heelstrike::mbs
