/// Work that Coulomb friction dissipates between two commits. Shared by all back-ends with stick-slip friction.
#pragma once

#include "common/spatial/spatial.hpp"

namespace heelstrike::fem {

/// Data at both ends of a step of a point that slips at the end of the step.
struct SlipStep {
  Vector3 traction = Vector3::Zero();  ///< [N] at the start
  double limit_before = 0.0;           ///< [N] mu N there, >= |traction| up to rounding
  Vector3 trial = Vector3::Zero();     ///< [N] traction at the end if the point had stuck throughout
  double limit = 0.0;                  ///< [N] mu N at the end
  double slip = 0.0;                   ///< [m] >= 0
};

/// [J] of one point. Trial traction and limit are linear over the step, so the point slips from the time at which the
/// trial traction reaches the limit, against the mean of the limits at that time and at the end. Second order in the
/// step, whether the point slid before, began to slip or lost contact within the step. (The traction at the end alone
/// is first order: the error is half of the force gained or lost in the step, times the slip.)
[[nodiscard]] double slip_work(const SlipStep& step);

}  // namespace heelstrike::fem
