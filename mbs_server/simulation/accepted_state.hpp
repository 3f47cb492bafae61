/// The check that every accepted state passes, whatever analysis and integrator it comes from: numbers are numbers, and
/// where the motion is integrated, joints hold.
#pragma once

#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {

/// Residuals of the position constraints [m or -] and of the velocity constraints [m/s or 1/s], each relative to the
/// largest coordinate or rate where that is above one. Methods with projection keep 1e-10.
struct ViolationLimit {
  double position;
  double velocity;
};
/// Above it bodies come apart at their joints by a hundredth of a metre, or are longer or shorter by a hundredth.
inline constexpr ViolationLimit max_violation{.position = 1e-2, .velocity = 1e-1};
/// Above it a result is to be looked at: a hundredth of the former.
inline constexpr ViolationLimit warning_violation{.position = 1e-4, .velocity = 1e-3};

/// @param y  {q, qd, s};  @param z  quadratures
/// @throws Error{solver_failed} with the time and the first body or force element that is not finite
void require_numbers(const System& system, double t, const VectorX& y, const VectorX& z);

/// The same for a state that an integrator has accepted, whose joints must hold too.
/// @returns the name of the worst constraint when its violation is notable, else an empty text
/// @throws Error{solver_failed} also with the constraint that is violated by more than `max_violation`
[[nodiscard]] std::string check_accepted_state(System& system, double t, const VectorX& y, const VectorX& z);

}  // namespace heelstrike::mbs
