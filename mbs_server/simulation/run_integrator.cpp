#include "mbs_server/simulation/run_integrator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {
namespace {

/// Steps without event after which the integrator is restarted, so that a run can be resumed with little repeated work:
/// a number of steps is reproducible, wall time is not. docs/theory/integrators.md has the measurement: a restart of a
/// BDF formula costs some 30 steps, so that this is 3 % of the work of a motion without events and negligible
/// otherwise.
constexpr int max_steps_between_restarts = 1000;

/// Adds `sign` times the counts of `b` to `a`.
void add_counts(IntegratorStatistics& a, const IntegratorStatistics& b, std::int64_t sign) {
  a.steps += sign * b.steps;
  a.rejected_steps += sign * b.rejected_steps;
  a.rhs_evaluations += sign * b.rhs_evaluations;
  a.jacobian_evaluations += sign * b.jacobian_evaluations;
  a.restarts += sign * b.restarts;
}

}  // namespace

RunIntegrator::RunIntegrator(const IntegratorSpec& spec, RunProblem& problem)
    : spec_(spec), problem_(problem), method_(make_integrator(spec, problem)) {}

void RunIntegrator::restart(const CommittedState& from) {
  restart_due_ = false;
  // Not fresh with a step bound, which results from a rejected step.
  fresh_ = !max_step_size_;
  if (fresh_) steps_since_restart_ = 0;
  method_->restart(from.t, from.y, from.z, max_step_size_, problem_.root_directions());
}

void RunIntegrator::recreate() {
  earlier_ = statistics();
  method_ = make_integrator(spec_, problem_);
  ++earlier_.restarts;
}

bool RunIntegrator::needs_periodic_restart() {
  return ++steps_since_restart_ >= max_steps_between_restarts && !max_step_size_;
}

void RunIntegrator::reject_step(double t_committed, double t_attempted, const std::string& reason) {
  repeat_end_ = std::max(repeat_end_, t_attempted);
  if (n_repetitions_ >= spec_.max_rejections) {
    throw Error(ErrorCode::solver_failed,
                fmt::format("the step from t = {} s was repeated {} times with smaller steps without getting past t = "
                            "{} s. Last reason: {}",
                            t_committed, n_repetitions_, repeat_end_, reason));
  }
  ++n_repetitions_;
  // A quarter, as in the integrators after a rejection; a rejection at the start of the step cannot be reduced.
  if (t_attempted > t_committed) max_step_size_ = 0.25 * (t_attempted - t_committed);
}

void RunIntegrator::clear_bound_beyond_failure(double t_committed) {
  // Only after the time of the failure: earlier, the same step would be repeated.
  if (!max_step_size_ || t_committed < repeat_end_) return;
  max_step_size_.reset();
  n_repetitions_ = 0;
  method_->set_max_step(std::nullopt);
}

void RunIntegrator::forget_rejections(double t_committed) {
  max_step_size_.reset();
  n_repetitions_ = 0;
  repeat_end_ = t_committed;
}

IntegratorStatistics RunIntegrator::statistics() const {
  IntegratorStatistics s = method_->statistics();
  add_counts(s, earlier_, +1);
  return s;
}

void RunIntegrator::resume_statistics(const IntegratorStatistics& totals) {
  earlier_ = totals;
  add_counts(earlier_, method_->statistics(), -1);
}

}  // namespace heelstrike::mbs
