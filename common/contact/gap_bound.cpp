#include "common/contact/gap_bound.hpp"

#include <limits>
#include <numbers>

namespace heelstrike {
namespace {

/// C in the frame of the other body.
Vector3 position_of_C(const GapBound& bound, const Pose& X_AB) {
  if (bound.on_partner) return X_AB * bound.p_C;
  return X_AB.R.transpose() * (bound.p_C - X_AB.p);
}

/// Velocity of C in that frame.
Vector3 velocity_of_C(const GapBound& bound, const PairState& state) {
  if (bound.on_partner) return point_velocity(state.V_AB, state.X_AB.R * bound.p_C);
  // Relative to B, C moves opposite to the point of B that coincides with it.
  return -(state.X_AB.R.transpose() * point_velocity(state.V_AB, bound.p_C - state.X_AB.p));
}

}  // namespace

GapInterval gap_interval(const GapBound& bound, double gap, const Pose& X_evaluated, const PairState& state) {
  const Vector3 d = position_of_C(bound, state.X_AB) - position_of_C(bound, X_evaluated);
  // The Frobenius norm of R' - R is 2 sqrt(2) sin(theta/2).
  const double rotation = (state.X_AB.R - X_evaluated.R).norm() / std::numbers::sqrt2 * bound.reach;
  const double distance = d.norm();
  const bool convex = bound.normal != Vector3::Zero();
  const double along = bound.normal.dot(d);
  // A gap results from some dozens of operations on lengths of this size, here and in the back-end.
  constexpr double operations = 256.0 * std::numeric_limits<double>::epsilon();
  const double size = 1.0 + X_evaluated.p.norm() + state.X_AB.p.norm() + bound.p_C.norm() + bound.reach + std::abs(gap);
  const double rounding = operations * size;
  const Vector3 v = velocity_of_C(bound, state);
  const double rotation_rate = state.V_AB.w.norm() * bound.reach;
  return {.lower = gap + (convex ? along : -distance) - rotation - rounding,
          .upper = gap + (bound.flat ? along : distance) + rotation + rounding,
          .falling = (convex ? bound.normal.dot(v) : -v.norm()) - rotation_rate,
          .rising = (convex ? bound.normal.dot(v) : v.norm()) + rotation_rate};
}

}  // namespace heelstrike
