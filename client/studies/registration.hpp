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

#include "common/results/run_folder.hpp"
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

// Error of one run of a scenario against the force plates, frame by frame, in the stances that the recording cuts off:
// the residual of the registration (registration.hpp).

/// A foot whose constants are identified.
struct RegisteredFoot {
  std::string motion, name;
  ForcePlate measured;             ///< axes and clock of the files
  Vector3 up = Vector3::Zero();    ///< in these axes
  std::vector<std::string> pairs;  ///< of its bodies
  FootRegistrationResult result;   ///< `found` has the current constants
};

/// Residual of one foot in one run.
struct FrameErrors {
  std::vector<double> times;  ///< [s] of the frames in the fit
  std::vector<Vector3>
      error;  ///< predicted minus measured: centre of pressure in the ground [m], or force along up [N]
  double peak_pressure = 0.0;  ///< [Pa]

  [[nodiscard]] double rms() const;
};

/// Runs the scenario of a task with the current constants of its feet.
class RegistrationRuns {
 public:
  /// @throws Error{invalid_input} as fit_registration; the references must outlive this object
  RegistrationRuns(const RegistrationTask& task, Runner& runner, std::stop_token stop);

  [[nodiscard]] std::vector<RegisteredFoot>& feet() { return feet_; }
  /// One run; returns the errors of each foot.
  [[nodiscard]] std::vector<FrameErrors> evaluate();
  [[nodiscard]] int n_runs() const { return n_runs_; }

 private:
  void add_foot(const MarkerMotionSpec& motion, const FootSpec& spec);
  [[nodiscard]] TimeSeries run();
  [[nodiscard]] FrameErrors errors(const RegisteredFoot& foot, const ForcePlate& predicted,
                                   const TimeSeries& series) const;

  const RegistrationTask& task_;
  Runner& runner_;
  std::stop_token stop_;
  RegistrationTarget target_;
  std::vector<RegisteredFoot> feet_;
  int n_runs_ = 0;
};

// The modulus of the soles together with the registration of the feet, from the same incomplete stances: a scan over
// prescribed moduli with the registration refitted for each (registration.hpp), and the minimum of the error between
// them.

/// A registration fitted with one modulus in the material of all main bodies.
struct ModulusTrial {
  double modulus = 0.0;  ///< [Pa]
  double rms = 0.0;      ///< [m] of the centres of pressure or [N] of the vertical forces, over the frames of all feet
  std::vector<FootRegistrationResult> feet;
};

struct ModulusScan {
  std::vector<ModulusTrial> trials;  ///< ascending; the last trial is at the minimum of the parabola
  std::size_t best = 0;              ///< index of the trial with the least rms
  bool at_end = false;               ///< the best trial is the first or the last: the scan does not enclose the minimum
  /// Relative standard deviation of the modulus from the curvature of the squared error and the residual scatter;
  /// frames are assumed independent, which is an approximation. Zero when `at_end`.
  double relative_deviation = 0.0;
};

/// Fits the registration for each modulus, each fit starting from the previous one, then at the minimum of the parabola
/// (in the logarithm) through the best modulus and its neighbours. Complete stances are not used.
/// @param moduli    [Pa] at least three, > 0, ascending
/// @param on_trial  called after each trial
/// @param on_run    as in fit_registration, of the current fit
/// @throws Error{invalid_input} for other moduli; as fit_registration
[[nodiscard]] ModulusScan scan_modulus(const RegistrationTask& task, std::span<const double> moduli, Runner& runner,
                                       const std::stop_token& stop,
                                       const std::function<void(const ModulusTrial&)>& on_trial,
                                       const std::function<void(int, std::span<const double>)>& on_run = {});

/// Abscissa and curvature (second derivative) of the parabola through three points.
struct Parabola {
  double minimum = 0.0;
  double curvature = 0.0;  ///< > 0 for a minimum
};
[[nodiscard]] Parabola parabola_through(std::span<const double, 3> x, std::span<const double, 3> y);

}  // namespace heelstrike::client
