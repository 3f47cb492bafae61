/// Identification of the modulus, or of the clamp height, that gives a prescribed force at a prescribed depth.
///
/// The partner moves against the body along one direction until the undeformed shapes overlap by the depth; the force
/// along that direction is compared. Every trial prepares and solves the contact again, so that the method does not
/// assume linearity: the next value is that of the secant through the last two, which is exact for a linear body.
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
  Pose X_AB;                         ///< initial pose of the partner, without contact
  std::optional<Vector3> direction;  ///< [-] in A, of the partner's motion; none = the inward normal of a plane partner
  double depth = 0.0;                ///< [m] > 0
  double force = 0.0;                ///< [N] > 0
  double tolerance = 1e-4;           ///< [-] of the force
  int depth_steps = 8;               ///< number of committed steps to the depth
  CalibratedValue value = CalibratedValue::youngs_modulus;
  std::vector<double> clamp_range;  ///< [m] lower and upper bound of the clamp height
  double clamp_step = 1e-3;         ///< [m] difference for the sensitivity
};

/// One contact solution.
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
  std::vector<CalibrationTrial> trials;         ///< in order of execution, including those for the sensitivities
};

/// An earlier trial with these values; none = no such trial.
using CachedTrial =
    std::function<std::optional<CalibrationTrial>(double youngs_modulus, std::optional<double> clamp_height)>;

/// @param on_trial  called after every solution; may be empty
/// @param known     queried before every solution, which it replaces; may be empty
/// @throws Error{invalid_input} for an inconsistent task, Error{solver_failed} when no value in the range gives the
/// force, and errors of opening and evaluation
[[nodiscard]] CalibrationResult calibrate(const CalibrationTask& task, const ContactFactory& open,
                                          const OpenContext& context,
                                          const std::function<void(const CalibrationTrial&)>& on_trial,
                                          const CachedTrial& known = {});

}  // namespace heelstrike::client
