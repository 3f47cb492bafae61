/// Analyses of prescribed motion: drivers and joints determine every coordinate.
///
/// At each time of the regular output grid: positions by Newton on Phi(q, t) = 0 from the extrapolated last frame,
/// velocities from Phi_q qd = nu, accelerations and multipliers from M qdd + Phi_q' lambda = g. The contact is
/// evaluated at the frame and committed there. A frame for which the contact fails (too deep, not converged) is
/// reported with its reason, counted as a rejected step, and has no row; the next one starts from the last commit. A
/// run with such frames ends as "incomplete"; its energies are those of its rows, with linear powers across gaps.
/// Without history-dependent pairs (no friction), kinematic and inverse analyses evaluate many frames in one batch,
/// which the partner processes in parallel, bitwise equal to sequential evaluation. Energies are integrated over the
/// frames by the trapezoidal rule, so that the energy balance closes to the order of the interval squared.
#pragma once

#include <stop_token>

#include "mbs_server/analysis/run.hpp"

namespace heelstrike::mbs {

/// Requirement of all three on a model. @param degrees_of_freedom  remaining with joints and drivers
/// @throws Error{invalid_input} when there are any
void require_prescribed_motion(int degrees_of_freedom);

/// Motion and contact wrench.
[[nodiscard]] RunSummary run_kinematic(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                                       std::stop_token stop);

/// As kinematic, with the loads required by the motion: for every joint and driver and each body on which it acts, its
/// force and its torque about the body's origin, in the world.
[[nodiscard]] RunSummary run_inverse(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                                     std::stop_token stop);

/// Kinematic, except that the bodies of `analysis.balance` are shifted along the vertical in every frame until the
/// ground supports them with the prescribed force (vertical_balance.hpp). Twists are those of the prescribed motion.
[[nodiscard]] RunSummary run_hybrid(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                                    std::stop_token stop);

}  // namespace heelstrike::mbs
