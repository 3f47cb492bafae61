/// The integrator of a forward run with its restarts: it owns what decides when the integrator restarts, and with which
/// bound of the step size rejected steps are repeated.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mbs_server/integrators/integrator.hpp"
#include "mbs_server/simulation/coupled_model.hpp"

namespace heelstrike::mbs {

class RunIntegrator {
 public:
  /// @param problem  outlives this object
  /// @throws Error{invalid_input} for an integrator that cannot be created
  RunIntegrator(const IntegratorSpec& spec, RunProblem& problem);

  [[nodiscard]] Integrator& method() { return *method_; }
  /// As Integrator::step().
  [[nodiscard]] StepResult step(double t_end) {
    fresh_ = false;
    return method_->step(t_end);
  }
  /// Restarts the method from the committed state with the current bound of the step size: multistep methods begin with
  /// order 1 and a small step, one-step methods only estimate their first step anew.
  void restart(const CommittedState& from);
  /// Creates the method anew, after a change of the system size. Counts are preserved.
  void recreate();

  /// The next step begins with a restart.
  void request_restart() { restart_due_ = true; }
  /// As request_restart(), after a change of the forces or of the committed state: the history of the method is
  /// invalid.
  void invalidate() {
    restart_due_ = true;
    fresh_ = false;
  }
  [[nodiscard]] bool restart_is_due() const { return restart_due_; }
  /// True if the method has been restarted at the committed state without a bound of the step size: every run of the
  /// scenario, also a resumed one, is in the same state here.
  [[nodiscard]] bool is_fresh() const { return fresh_; }
  /// A step has been committed. @returns true when the method has to be restarted after so many steps without event
  [[nodiscard]] bool needs_periodic_restart();

  /// A step has been rejected: it is repeated from the committed state with a smaller size. Repetitions are counted
  /// until the run has passed the time of the first failure, so that a run cannot stall before an obstacle.
  /// @param t_attempted  [s] end of the rejected step
  /// @throws Error{solver_failed} with `reason` after IntegratorSpec::max_rejections repetitions
  void reject_step(double t_committed, double t_attempted, const std::string& reason);
  /// Removes the bound of the step size once the run has passed the time of the failure.
  void clear_bound_beyond_failure(double t_committed);
  /// Removes the bound of the step size at a restart; repetitions are counted anew.
  void forget_rejections(double t_committed);

  /// Counts of all advances, also before a resumption.
  [[nodiscard]] IntegratorStatistics statistics() const;
  /// Sets the counts of the resumed run.
  void resume_statistics(const IntegratorStatistics& totals);

 private:
  IntegratorSpec spec_;
  RunProblem& problem_;
  std::unique_ptr<Integrator> method_;
  bool restart_due_ = false;
  bool fresh_ = false;
  int steps_since_restart_ = 0;          ///< committed since it was last fresh
  std::optional<double> max_step_size_;  ///< [s] while a step is repeated with a smaller size
  double repeat_end_ = 0.0;              ///< [s] end of the step that failed
  int n_repetitions_ = 0;                ///< since the run last passed `repeat_end_`
  IntegratorStatistics earlier_;         ///< of methods before the current one, and of the run that is resumed
};

}  // namespace heelstrike::mbs
