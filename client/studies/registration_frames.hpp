/// Error of one run of a scenario against the force plates, frame by frame, in the stances that the recording cuts off:
/// the residual of the registration (registration.hpp).
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "client/studies/registration.hpp"
#include "common/results/run_folder.hpp"

namespace heelstrike::client {

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

}  // namespace heelstrike::client
