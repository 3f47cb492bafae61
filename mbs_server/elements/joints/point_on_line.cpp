#include "mbs_server/elements/joints/joint_type.hpp"

namespace heelstrike::mbs {

JointType point_on_line_joint() {
  return quadratic_joint_type({.name = "point_on_line",
                               .meaning = "a point of b lies on a line of a",
                               .holds = {.axes = config::AttachmentKeys::Axes::one},
                               .equations = always([](const JointVectors& v) { return on_axis(v); })});
}

}  // namespace heelstrike::mbs
