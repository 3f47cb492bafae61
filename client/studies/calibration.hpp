/// Which modulus, or which height of the clamp, makes a body answer with a given force at a given depth.
///
/// The partner is moved against the body along one direction until the undeformed shapes overlap by the depth; the
/// force along that direction is compared. Every trial prepares and solves the contact anew, so that the method does
/// not rely on linearity: the next value comes from the secant through the last two, which for a linear body is exact
/// at once.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"

namespace heelstrike::client {

enum class CalibratedValue { youngs_modulus, clamp_height };

struct CalibrationTask {
  std::vector<PairSpec> pairs;  ///< one pair
  std::vector<AssetContent> assets;
  Pose X_AB;                         ///< where the partner comes from; the shapes do not touch there
  std::optional<Vector3> direction;  ///< [-] in A, of the partner's motion; none = out of the partner's plane
  double depth = 0.0;                ///< [m] > 0
  double force = 0.0;                ///< [N] > 0
  double tolerance = 1e-4;           ///< [-] of the force
  int depth_steps = 8;               ///< the depth is reached in so many committed steps
  CalibratedValue value = CalibratedValue::youngs_modulus;
  std::vector<double> clamp_range;  ///< [m] two heights between which the clamp may lie, ascending
  double clamp_step = 1e-3;         ///< [m] difference for the sensitivity
};

/// One real solve.
struct CalibrationTrial {
  double youngs_modulus = 0.0;           ///< [Pa]
  std::optional<double> clamp_height{};  ///< [m] lower face of clamped_box in z; none = another support
  double force = 0.0;                    ///< [N]
  double area = 0.0;                     ///< [m^2]
  double peak_pressure = 0.0;            ///< [Pa]
  double stiffness = 0.0;                ///< [N/m] d force / d depth, from the tangent
  double seconds = 0.0;
};

struct CalibrationResult {
  CalibrationTrial found;
  double force_by_modulus = 0.0;                ///< [N/Pa] dF/dE
  std::optional<double> force_by_clamp_height;  ///< [N/m] dF/dz
  std::vector<CalibrationTrial> trials;         ///< in the order made, those for the sensitivities included
};

/// A trial that has been made before with these values; none = it has not.
using CachedTrial =
    std::function<std::optional<CalibrationTrial>(double youngs_modulus, std::optional<double> clamp_height)>;

/// @param on_trial  told after every solve; may be empty
/// @param known     asked before every solve, which is left out then; may be empty
/// @throws Error{invalid_input} for a task that makes no sense, Error{solver_failed} when no value in range gives the
/// force, and what opening and evaluating throw
[[nodiscard]] CalibrationResult calibrate(const CalibrationTask& task, const ContactFactory& open,
                                          const OpenContext& context,
                                          const std::function<void(const CalibrationTrial&)>& on_trial,
                                          const CachedTrial& known = {});

}  // namespace heelstrike::client
