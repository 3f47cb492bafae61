#include "mbs_server/elements/joints/joint_type.hpp"

namespace heelstrike::mbs {

JointType spherical_joint() {
  return quadratic_joint_type({.name = "spherical",
                               .meaning = "the bodies share a point",
                               .coordinates = {.rotation = true},
                               .equations = always([](const JointVectors& v) { return same_point(v); })});
}

}  // namespace heelstrike::mbs
