#include "mbs_server/elements/joints/joint_type.hpp"

namespace heelstrike::mbs {

JointType prismatic_joint() {
  return quadratic_joint_type({.name = "prismatic",
                               .meaning = "one body translates along an axis of the other",
                               .holds = {.axes = config::AttachmentKeys::Axes::one},
                               .coordinates = {.displacement = true},
                               .equations = always([](const JointVectors& v) {
                                 return joined({on_axis(v), parallel_axes(v), no_rotation(v)});
                               })});
}

}  // namespace heelstrike::mbs
