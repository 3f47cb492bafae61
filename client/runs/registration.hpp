/// Identification of the constants that place the surface of a foot on its
/// markers
/// (`motion.NAME.feet.FOOT.registration`) from force plates: Gauss-Newton on
/// the distance of the centres of pressure, with the scenario itself as the
/// model.
#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "client/runs/runner.hpp"
#include "common/motion/force_plate.hpp"

namespace heelstrike::client {

/// A constant of a registration.
struct RegistrationParameter {
  std::string name;      ///< pitch, roll, yaw, lateral, forward, toe_angle
  std::string unit;      ///< rad or m
  double step = 0.0;     ///< of difference quotients
  double largest = 0.0;  ///< change in one iteration
};
[[nodiscard]] std::span<const RegistrationParameter> registration_parameters();

struct RegistrationTask {
  RunRequest request;             ///< a hybrid analysis with plates
  std::vector<std::string> free;  ///< names among registration_parameters()
  double least_force = 100.0;     ///< [N] measured, of the frames that count
  int max_iterations = 6;
};

/// What was found for one foot.
struct FootRegistrationResult {
  std::string foot;             ///< MOTION.FOOT
  std::vector<Stance> stances;  ///< used: those that the file cuts off
  std::size_t n_frames = 0;
  FootRegistration before, found;
  double rms_before = 0.0,
         rms = 0.0;                      ///< [m] distance of the centres of pressure
  std::vector<double> deviation;         ///< standard deviation per free parameter, by
                                         ///< the scatter that is left
  std::vector<Vector3> center_by;        ///< [m per unit] mean change of the centre of
                                         ///< pressure, axes of the files
  std::vector<double> peak_pressure_by;  ///< [Pa per unit] change of the largest pressure
};

/// One run per free parameter and iteration, all feet at once, each foot by its
/// own stances that begin before or end after the file; complete stances are
/// kept for validation.
/// @param on_run  told the number of runs and the present rms [m] of each foot
/// @throws Error{invalid_input} without such stances, plates or registrations;
/// Error of a run that fails
[[nodiscard]] std::vector<FootRegistrationResult> fit_registration(
    const RegistrationTask& task, Runner& runner, const std::stop_token& stop,
    const std::function<void(int, std::span<const double>)>& on_run);

/// @param name  among registration_parameters()
[[nodiscard]] double registration_value(const FootRegistration& registration, const std::string& name);

/// The line for the scenario.
[[nodiscard]] std::string registration_text(const FootRegistration& registration);

}  // namespace heelstrike::client
