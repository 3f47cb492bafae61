#include <fmt/format.h>

#include "common/errors/error.hpp"
#include "mbs_server/elements/joints/joint_type.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

/// (p.p - L^2) / (2 L): in metres, with a gradient of unit norm.
JointEquations rod_equation(const JointSpec& spec, const WorldFrames& frames) {
  const double length = spec.keys.optional_number("length").value_or((frames.b.p - frames.a.p).norm());
  if (!(length > 0.0)) {
    throw input_error(
        spec.keys.path(),
        fmt::format("{}: expected two different points of a rod, found coincident points; use a spherical joint",
                    spec.where));
  }
  return
      [length](const JointVectors& v) { return Equations{dot_equation(v.p_AB, v.p_AB, 0.5 / length, -0.5 * length)}; };
}

}  // namespace

JointType distance_joint() {
  return quadratic_joint_type(
      {.name = "distance",
       .meaning = "a massless rod keeps two points at a constant distance",
       .holds = {.points = config::AttachmentKeys::Points::two,
                 .point_meaning = "end on a, in the world at the initial poses"},
       .keys = {config::number("length", "m", config::lengths,
                               "length of the rod; default: distance at the initial poses")},
       .unilateral_meaning = "the distance of the points is bounded below, as for centres of balls",
       .equations = rod_equation});
}

}  // namespace heelstrike::mbs
