#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/errors/error.hpp"
#include "mbs_server/elements/joints/joint_type.hpp"

namespace heelstrike::mbs {
namespace {

void require_crossed_axes(const JointSpec& spec, const WorldFrames& frames) {
  const double cosine = frames.a.R.col(2).dot(frames.b.R.col(2));
  constexpr double largest = 0.5;  // assembly corrects smaller deviations
  if (std::abs(cosine) <= largest) return;
  throw input_error(spec.keys.path(),
                    fmt::format("{}: expected axes normal to each other, found {:.1f} degrees between them; rotate one",
                                spec.where, std::acos(std::clamp(cosine, -1.0, 1.0)) * 180.0 / std::numbers::pi));
}

}  // namespace

JointType universal_joint() {
  return quadratic_joint_type(
      {.name = "universal",
       .meaning = "the bodies share a point, and an axis of one is normal to an axis of the other",
       .holds = {.axes = config::AttachmentKeys::Axes::two},
       .check_frames = require_crossed_axes,
       .equations = always([](const JointVectors& v) {
         return joined({same_point(v), {dot_equation(v.z_A, v.z_B)}});
       })});
}

}  // namespace heelstrike::mbs
