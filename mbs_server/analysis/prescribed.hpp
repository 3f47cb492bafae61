/// Analyses of motion that is known beforehand: drivers and joints determine every coordinate.
///
/// At each time of the regular output grid: positions by Newton on Phi(q, t) = 0 from the extrapolated last frame,
/// velocities from Phi_q qd = nu, accelerations and multipliers from M qdd + Phi_q' lambda = g. The contact is
/// evaluated at the frame and committed there. A frame that the contact cannot answer (too deep, not converged) is told
/// with its reason, counted among the rejected steps, and has no row; the next one starts from the last commit. A run
/// with such frames ends as "incomplete"; its energies are those of its rows, powers linear across what is missing.
/// Where no pair remembers what was committed (no friction), kinematic and inverse analyses ask for many frames at
/// once, which the partner answers in parallel: with the same bits as one after the other. Energies are integrated over
/// the frames by the trapezoidal rule, so that the energy balance closes to the order of the interval squared.
#pragma once

#include <stop_token>

#include "mbs_server/analysis/run.hpp"

namespace heelstrike::mbs {

/// What all three ask of a model. @param degrees_of_freedom  that joints and drivers leave free
/// @throws Error{invalid_input} when there are any
void require_prescribed_motion(int degrees_of_freedom);

/// Motion and contact wrench.
[[nodiscard]] RunSummary run_kinematic(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                                       std::stop_token stop);

/// The same with the loads that the motion needs: for every joint and driver and each body that it acts on, its force
/// and its torque about the body's origin, in the world.
[[nodiscard]] RunSummary run_inverse(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                                     std::stop_token stop);

/// Kinematic, except that the bodies of `analysis.balance` are shifted along the vertical in every frame until the
/// ground carries them with the given force (vertical_balance.hpp). Twists stay those of the prescribed motion.
[[nodiscard]] RunSummary run_hybrid(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                                    std::stop_token stop);

}  // namespace heelstrike::mbs
