/// Identification of the constants that place the surface of a foot relative to its markers
/// (`motion.NAME.feet.FOOT.registration`) from force plates: Gauss-Newton with the scenario as the model. A hybrid
/// analysis is fitted to the measured centres of pressure, a kinematic one to the measured vertical forces.
#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "gait/force_plate.hpp"
#include "library/runs/runner.hpp"

namespace heelstrike::client {

/// A constant of a registration.
struct RegistrationParameter {
  std::string name;         ///< pitch, roll, yaw, lateral, forward, height, toe_angle
  std::string unit;         ///< rad or m
  double step = 0.0;        ///< of finite differences
  double max_change = 0.0;  ///< largest change per iteration
};
[[nodiscard]] std::span<const RegistrationParameter> registration_parameters();

struct RegistrationTask {
  RunRequest request;             ///< a hybrid or kinematic analysis with plates
  std::vector<std::string> free;  ///< names among registration_parameters()
  double min_force = 100.0;       ///< [N] minimum measured force for the use of the centre of pressure
  int max_iterations = 6;
};

/// The compared measurement.
enum class RegistrationTarget { center_of_pressure, vertical_force };

/// @throws Error{invalid_input} for an analysis that is neither hybrid nor kinematic
[[nodiscard]] RegistrationTarget registration_target(const RegistrationTask& task);

/// Result for one foot.
struct FootRegistrationResult {
  std::string foot;             ///< MOTION.FOOT
  std::vector<Stance> stances;  ///< used stances: those that the recording cuts off
  std::size_t n_frames = 0;
  FootRegistration before, found;
  double rms_before = 0.0, rms = 0.0;    ///< [m] distance of the centres of pressure, or [N] of the vertical forces
  std::vector<double> deviation;         ///< standard deviation per free parameter, from the residual scatter
  std::vector<Vector3> mean_by;          ///< [m or N per unit] mean change of the residual, axes of the files
  std::vector<double> peak_pressure_by;  ///< [Pa per unit] change of the peak pressure
};

/// One run per free parameter and iteration for all feet; each foot is fitted to its own stances that begin before or
/// end after the recording; complete stances are reserved for validation. Centres of pressure are used where the plate
/// measured at least `min_force`, vertical forces in all frames of the stances.
/// @param on_run  called with the number of runs and the current rms [m or N] of each foot
/// @throws Error{invalid_input} without such stances, plates or registrations, and for `height` in a hybrid analysis,
/// which does not depend on it; errors of a failed run
[[nodiscard]] std::vector<FootRegistrationResult> fit_registration(
    const RegistrationTask& task, Runner& runner, const std::stop_token& stop,
    const std::function<void(int, std::span<const double>)>& on_run);

/// @param name  among registration_parameters()
[[nodiscard]] double registration_value(const FootRegistration& registration, const std::string& name);

/// The registration as a line of the scenario.
[[nodiscard]] std::string registration_text(const FootRegistration& registration);

}  // namespace heelstrike::client
