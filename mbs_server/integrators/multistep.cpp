#include "mbs_server/integrators/multistep.hpp"

#include <utility>

namespace heelstrike::mbs {

MultistepIntegrator::MultistepIntegrator(const IntegratorSpec& spec, Problem& problem, const MultistepCalls& calls,
                                         int n_state, std::function<void(Eigen::Ref<Eigen::VectorXd>)> solve_newton)
    : spec_(spec),
      problem_(problem),
      calls_(calls),
      n_y_(problem.size()),
      roots_(problem),
      newton_context_{.solve = std::move(solve_newton), .cause = &cause_},
      context_(make_context()),
      state_(N_VNew_Serial(n_state, context_.get())),
      quadrature_state_(N_VNew_Serial(problem.n_quadratures(), context_.get())),
      dense_(N_VClone(state_.get())),
      matrix_(make_newton_matrix(context_.get())),
      solver_(make_newton_solver(newton_context_, context_.get())),
      y_(problem.size()),
      z_(problem.n_quadratures()) {
  totals_.name = spec.name;
}

void MultistepIntegrator::configure(void* memory) {
  memory_ = memory;
  silence_messages(calls_.solver, memory);
  if (spec_.order) check_setup(calls_.set_max_order(memory, *spec_.order), "SetMaxOrd");
  // No limit of steps: budgets and StallGuard end runs without progress.
  check_setup(calls_.set_max_steps(memory, -1), "SetMaxNumSteps");
  check_setup(calls_.set_max_error_failures(memory, spec_.max_rejections), "SetMaxErrTestFails");
  check_setup(calls_.set_max_newton_failures(memory, spec_.max_rejections), "SetMaxConvFails");
}

void MultistepIntegrator::restart(double t, const Eigen::VectorXd& y, const Eigen::VectorXd& z,
                                  std::optional<double> max_step, std::span<const int> directions) {
  totals_ = statistics();
  if (memory_ != nullptr) ++totals_.restarts;
  y_ = y;
  z_ = z;
  t_ = t;
  cause_ = nullptr;
  stall_.reset();
  roots_.set_directions(directions);
  max_step_ = max_step;
  fresh_ = true;
}

/// Not called in restart(): the model may reject the initial state, which step() must report.
void MultistepIntegrator::start() {
  attempted_time_ = t_;
  view(state_.get()).head(n_y_) = y_;
  view(quadrature_state_.get()) = z_;
  make_consistent();
  if (memory_ == nullptr) {
    create();
  } else {
    reinitialize();
  }
  fresh_ = false;
  // After the (re)initialisation, which begins with order 1: its first step is chosen from the derivatives at the
  // start.
  apply_max_step();
  roots_.begin(t_, y_);
}

void MultistepIntegrator::set_max_step(std::optional<double> max_step) {
  max_step_ = max_step;
  if (!fresh_) apply_max_step();
}

void MultistepIntegrator::apply_max_step() {
  // For CVODE and IDA 0 means no bound.
  check_setup(calls_.set_max_step(memory_, max_step_.value_or(spec_.max_step.value_or(0.0))), "SetMaxStep");
}

void MultistepIntegrator::fail(int code) {
  attempted_time_ = t_;
  (void)calls_.get_current_time(memory_, &attempted_time_);
  throw_solver_failure(cause_, spec_.name, describe_code(code, calls_.code_name(code)), attempted_time_);
}

void MultistepIntegrator::advance_solver(double t_end) {
  check_setup(calls_.set_stop_time(memory_, t_end), "SetStopTime");
  // One step; the solver stops at t_end, and the horizon only affects its choice of the first step.
  const int code = advance(t_ + first_step_horizon, t_);
  if (code < 0) fail(code);
  attempted_time_ = t_;
  check_setup(calls_.get_last_step(memory_, &step_size_), "GetLastStep");
  stall_.check(step_size_, t_, cause_, spec_.name);
  cause_ = nullptr;
  // A root function may be rejected by the model: the caller then repeats the step with a smaller bound. This is not a
  // failure of the solver.
  roots_.set_step(t_, view(state_.get()).head(n_y_));
}

StepResult MultistepIntegrator::step(double t_end) {
  if (fresh_) start();
  if (roots_.at_end()) advance_solver(t_end);
  StepResult result;
  result.roots = roots_.advance([this](double t, Eigen::VectorXd& y) { interpolate(t, y, z_); });
  result.t = roots_.time();
  result.inside = !roots_.at_end();
  result.step_size = step_size_;
  interpolate(result.t, y_, z_);
  // The multipliers of the index-2 form, which follow y in the solver's state, are not copied.
  if (!result.inside) y_ = view(state_.get()).head(n_y_);
  // The solver's state is not projected, which would disturb the history of its formula.
  finish_step(result.t, y_);
  return result;
}

void MultistepIntegrator::interpolate(double t, Eigen::VectorXd& y, Eigen::VectorXd& z) {
  check_setup(calls_.get_dense(memory_, t, 0, dense_.get()), "GetDky");
  y = view(dense_.get()).head(n_y_);
  if (problem_.n_quadratures() > 0) {
    // Written directly into the caller's vector.
    const OwnedVector z_t(N_VMake_Serial(static_cast<sunindextype>(z.size()), z.data(), context_.get()));
    check_setup(calls_.get_quadratures(memory_, t, 0, z_t.get()), "GetQuadDky");
  }
}

IntegratorStatistics MultistepIntegrator::statistics() const {
  IntegratorStatistics s = totals_;
  if (memory_ == nullptr || fresh_) return s;
  long steps = 0;
  long evaluations = 0;
  long error_failures = 0;
  long newton_failures = 0;
  (void)calls_.get_steps(memory_, &steps);
  (void)calls_.get_evaluations(memory_, &evaluations);
  (void)calls_.get_error_failures(memory_, &error_failures);
  (void)calls_.get_newton_failures(memory_, &newton_failures);
  s.steps += steps;
  s.rhs_evaluations += evaluations;
  s.rejected_steps += error_failures + newton_failures;
  add_statistics(s);
  return s;
}

}  // namespace heelstrike::mbs
