#include "mbs_server/elements/joints/joint_type.hpp"

namespace heelstrike::mbs {

JointType revolute_joint() {
  return quadratic_joint_type({.name = "revolute",
                               .meaning = "the bodies share an axis and a point on it: relative rotation",
                               .holds = {.axes = config::AttachmentKeys::Axes::one},
                               .coordinates = {.angle = true},
                               .equations = always([](const JointVectors& v) {
                                 return joined({same_point(v), parallel_axes(v)});
                               })});
}

}  // namespace heelstrike::mbs
