#include "mbs_server/elements/joints/joint_type.hpp"

namespace heelstrike::mbs {

JointType planar_joint() {
  return quadratic_joint_type({.name = "planar",
                               .meaning = "one body translates and rotates in a plane of the other",
                               .holds = {.axes = config::AttachmentKeys::Axes::one},
                               .equations = always([](const JointVectors& v) {
                                 return joined({in_plane(v), parallel_axes(v)});
                               })});
}

}  // namespace heelstrike::mbs
