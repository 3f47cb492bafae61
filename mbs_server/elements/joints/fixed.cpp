#include "mbs_server/elements/joints/joint_type.hpp"

namespace heelstrike::mbs {

JointType fixed_joint() {
  return quadratic_joint_type({.name = "fixed",
                               .meaning = "no relative motion",
                               .holds = {.points = config::AttachmentKeys::Points::optional},
                               .equations = always([](const JointVectors& v) {
                                 return joined({same_point(v), parallel_axes(v), no_rotation(v)});
                               })});
}

}  // namespace heelstrike::mbs
