#include "mbs_server/elements/joints/joint_type.hpp"

namespace heelstrike::mbs {

JointType cylindrical_joint() {
  return quadratic_joint_type({.name = "cylindrical",
                               .meaning = "the bodies share an axis: relative rotation and translation",
                               .holds = {.axes = config::AttachmentKeys::Axes::one},
                               .coordinates = {.angle = true, .displacement = true},
                               .equations = always([](const JointVectors& v) {
                                 return joined({on_axis(v), parallel_axes(v)});
                               })});
}

}  // namespace heelstrike::mbs
