/// Inverse kinematics: coordinates of all joints that move the markers of a model to measured positions.
///
/// In every frame the coordinates u minimise
///
///   sum_m w_m |p_WM(u) - p_m|^2
///
/// and the terms w_k (u_k - value_k)^2 of coordinate tasks, over the markers that are seen [lu1999], with a weak pull
/// to the solution of the frame before. All independent coordinates have drivers; the bodies follow from the
/// constraints at their values, and the direction J_k = dq/du_k of coordinate k gives the derivative of every marker,
/// which is affine in q: the derivatives are exact. The Levenberg-Marquardt method of MINPACK (in Eigen) starts from
/// the solution of the frame before.
///
/// The null space of the derivatives contains the coordinates that the seen markers of a frame do not determine, alone
/// or together with others. Their values are interpolated in time between the frames that determine them (outside of
/// these frames: the nearest one), and the frame is solved again from there: what markers determine is not changed.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

#include "scenario/inverse_kinematics.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

/// @param on_frame  after every frame, with the number of frames done
/// @throws Error{invalid_input} for an unknown body or coordinate, no markers, no frames, no frame with a
///         marker; Error{solver_failed} with the time for a frame whose poses cannot be reached
[[nodiscard]] InverseKinematicsResult solve_inverse_kinematics(const Scenario& scenario, InverseKinematicsTask task,
                                                               const std::function<void(std::size_t)>& on_frame,
                                                               const std::stop_token& stop);

}  // namespace heelstrike::mbs
