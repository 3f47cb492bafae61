/// Check of every accepted state, independent of analysis and integrator: all numbers are finite, and in integrated
/// motion the joints are satisfied.
#pragma once

#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {

/// Residuals of the position constraints [m or -] and of the velocity constraints [m/s or 1/s], each relative to the
/// largest coordinate or rate if that exceeds one. Methods with projection achieve 1e-10.
struct ViolationLimit {
  double position;
  double velocity;
};
/// Failure limit: separation at joints of a hundredth of a metre, or a change of body lengths by a hundredth.
inline constexpr ViolationLimit max_violation{.position = 1e-2, .velocity = 1e-1};
/// Warning limit: a hundredth of max_violation.
inline constexpr ViolationLimit warning_violation{.position = 1e-4, .velocity = 1e-3};

/// @param y  {q, qd, s};  @param z  quadratures
/// @throws Error{solver_failed} with the time and the first body or force element that is not finite
void require_numbers(const System& system, double t, const VectorX& y, const VectorX& z);

/// As require_numbers() for a state accepted by an integrator, whose joints must also be satisfied.
/// @returns the name of the constraint with the largest violation if above warning_violation, else an empty string
/// @throws Error{solver_failed} also with the constraint that is violated by more than `max_violation`
[[nodiscard]] std::string check_accepted_state(System& system, double t, const VectorX& y, const VectorX& z);

}  // namespace heelstrike::mbs
