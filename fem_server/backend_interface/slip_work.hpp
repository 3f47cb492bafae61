/// Work that Coulomb friction dissipates between two commits. Shared by all back-ends with friction that sticks.
#pragma once

#include "common/spatial/spatial.hpp"

namespace heelstrike::fem {

/// What is known at the ends of a step of a point that slips at its end.
struct SlipStep {
  Vector3 traction = Vector3::Zero();  ///< [N] at the start
  double limit_before = 0.0;           ///< [N] mu N there, >= |traction| but for rounding
  Vector3 trial = Vector3::Zero();     ///< [N] traction at the end if the point had stuck all the way
  double limit = 0.0;                  ///< [N] mu N at the end
  double slip = 0.0;                   ///< [m] >= 0
};

/// [J] of one point: trial traction and limit are taken linear over the step, so that the point slips from where the
/// trial traction meets the limit, against the mean of the limits there and at the end. Of second order in the step,
/// whether it slid before, began to slip or lost contact within the step. (The traction at the end alone is of first
/// order: half of what a contact gains or loses in a step times its slip.)
[[nodiscard]] double slip_work(const SlipStep& step);

}  // namespace heelstrike::fem
