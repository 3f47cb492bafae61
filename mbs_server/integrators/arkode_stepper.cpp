#include "mbs_server/integrators/arkode_stepper.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heelstrike::mbs {

ArkodeStepper::ArkodeStepper(const IntegratorSpec& spec, Problem& problem, bool implicit)
    : OneStepIntegrator(spec, problem, true),
      implicit_(implicit),
      context_(make_context()),
      state_(N_VNew_Serial(n_y() + n_z(), context_.get())),
      derivative_(N_VClone(state_.get())),
      max_repeated_step_(std::numeric_limits<double>::infinity()) {
  totals_.name = spec.name;
}

void ArkodeStepper::evaluate(double t, Eigen::Ref<const Eigen::VectorXd> Y, Eigen::Ref<Eigen::VectorXd> F) {
  problem().rhs(t, Y.head(n_y()), F.head(n_y()));
  if (n_z() > 0) problem().quadrature_rhs(t, Y.head(n_y()), F.tail(n_z()));
}

int ArkodeStepper::full_rhs(realtype t, N_Vector Y, N_Vector F, void* user_data) {
  auto& me = self(user_data);
  return to_sundials_code([&] { me.evaluate(t, view(Y), view(F)); }, me.cause_);
}

/// Implicit part of the split right-hand side: the motion, for which the problem provides the Newton matrix.
int ArkodeStepper::motion_rhs(realtype t, N_Vector Y, N_Vector F, void* user_data) {
  auto& me = self(user_data);
  return to_sundials_code(
      [&] {
        me.problem().rhs(t, view(Y).head(me.n_y()), view(F).head(me.n_y()));
        view(F).tail(me.n_z()).setZero();
      },
      me.cause_);
}

/// Explicit part: the quadratures, which do not affect the state.
int ArkodeStepper::quadrature_rhs(realtype t, N_Vector Y, N_Vector F, void* user_data) {
  auto& me = self(user_data);
  return to_sundials_code(
      [&] {
        view(F).head(me.n_y()).setZero();
        if (me.n_z() > 0) me.problem().quadrature_rhs(t, view(Y).head(me.n_y()), view(F).tail(me.n_z()));
      },
      me.cause_);
}

/// [eich1993]: after the error test, so that the estimate is that of the formula. One-step methods have no history with
/// unprojected parts.
int ArkodeStepper::project(realtype t, N_Vector Y, void* user_data) {
  auto& me = self(user_data);
  return to_sundials_code([&] { me.problem().project(t, view(Y).head(me.n_y())); }, me.cause_);
}

int ArkodeStepper::weights(N_Vector Y, N_Vector w, void* user_data) {
  auto& me = self(user_data);
  // The error test includes work and dissipation, with their own absolute tolerance: otherwise the step size would be
  // unbounded where the motion is a polynomial.
  const auto y = view(Y).head(me.n_y());
  view(w).head(me.n_y()) = (me.spec().rtol * y.array().abs() + me.spec().atol).inverse().matrix();
  view(w).tail(me.n_z()) =
      (me.spec().rtol * view(Y).tail(me.n_z()).array().abs() + quadrature_atol(me.spec())).inverse().matrix();
  return view(w).allFinite() ? 0 : -1;
}

void ArkodeStepper::create(double t) {
  arkode_ = implicit_ ? ARKStepCreate(quadrature_rhs, motion_rhs, t, state_.get(), context_.get())
                      : ARKStepCreate(full_rhs, nullptr, t, state_.get(), context_.get());
  if (arkode_ == nullptr) throw Error(ErrorCode::internal, "ARKStepCreate failed");
  check_setup(ARKStepSetUserData(arkode_, this), "ARKStepSetUserData");
  check_setup(ARKStepSetErrHandlerFn(arkode_, ignore_message, nullptr), "ARKStepSetErrHandlerFn");
  check_setup(ARKStepWFtolerances(arkode_, weights), "ARKStepWFtolerances");
  check_setup(ARKStepSetPostprocessStepFn(arkode_, project), "ARKStepSetPostprocessStepFn");
  // Only the derivative at the end of a step is obtained from it.
  check_setup(ARKStepSetInterpolantType(arkode_, ARK_INTERP_HERMITE), "ARKStepSetInterpolantType");
  check_setup(ARKStepSetMaxNumSteps(arkode_, -1), "ARKStepSetMaxNumSteps");
  // No limit of steps: budgets and StallGuard end runs without progress.
  check_setup(ARKStepSetMaxErrTestFails(arkode_, spec().max_rejections), "ARKStepSetMaxErrTestFails");
  check_setup(ARKStepSetMaxConvFails(arkode_, spec().max_rejections), "ARKStepSetMaxConvFails");
  configure(arkode_);
}

void ArkodeStepper::reinitialize(const Node& start) {
  view(state_.get()) = start.Y;
  // ARKODE resets its counts with every ReInit.
  add_current(totals_);
  check_setup(implicit_ ? ARKStepReInit(arkode_, quadrature_rhs, motion_rhs, start.t, state_.get())
                        : ARKStepReInit(arkode_, full_rhs, nullptr, start.t, state_.get()),
              "ARKStepReInit");
}

void ArkodeStepper::begin(const Node& start) {
  cause_ = nullptr;
  stall_.reset();
  max_repeated_step_ = std::numeric_limits<double>::infinity();
  if (arkode_ == nullptr) {
    view(state_.get()) = start.Y;
    create(start.t);
  } else {
    reinitialize(start);
  }
}

void ArkodeStepper::max_step_changed() {
  apply_max_step();
}

void ArkodeStepper::apply_max_step() {
  const double bound = std::min(max_step(), max_repeated_step_);
  // For ARKODE 0 means no bound.
  check_setup(ARKStepSetMaxStep(arkode_, std::isinf(bound) ? 0.0 : bound), "ARKStepSetMaxStep");
}

bool ArkodeStepper::can_repeat_step(int code) const {
  if (code != ARK_UNREC_RHSFUNC_ERR && code != ARK_POSTPROCESS_STEP_FAIL) return false;
  try {
    if (cause_) std::rethrow_exception(cause_);
    return false;
  } catch (const RecoverableError&) {
    return true;
  } catch (...) {
    return false;
  }
}

void ArkodeStepper::fail(int code, double t) {
  double attempted = t;
  (void)ARKStepGetCurrentTime(arkode_, &attempted);
  set_attempted_time(attempted);
  throw_solver_failure(cause_, spec().name, describe_code(code, ARKStepGetReturnFlagName(code)), attempted);
}

void ArkodeStepper::advance(double t_end, Node& from, Node& to) {
  if (from.t >= repeat_end_ && !std::isinf(max_repeated_step_)) {
    max_repeated_step_ = std::numeric_limits<double>::infinity();
    apply_max_step();
  }
  double t = from.t;
  for (int attempt = 0;; ++attempt) {
    check_setup(ARKStepSetStopTime(arkode_, t_end), "ARKStepSetStopTime");
    const int code = ARKStepEvolve(arkode_, from.t + first_step_horizon, state_.get(), &t, ARK_ONE_STEP);
    if (code >= 0) break;
    if (attempt >= spec().max_rejections || !can_repeat_step(code)) fail(code, from.t);
    ++n_rejected_;
    double h = 0.0;
    check_setup(ARKStepGetCurrentStep(arkode_, &h), "ARKStepGetCurrentStep");
    // A quarter, not a half: the model often rejects a contact with far too large penetration. The bound applies up to
    // the end of the step that was rejected first.
    h = std::min(h, max_repeated_step_);
    if (std::isinf(max_repeated_step_)) repeat_end_ = from.t + h;
    max_repeated_step_ = 0.25 * h;
    reinitialize(from);
    apply_max_step();
  }
  set_attempted_time(t);
  stall_.check(t - from.t, t, cause_, spec().name);
  cause_ = nullptr;
  // ARKODE has evaluated the start of its first step; later nodes reuse the end of the preceding step.
  if (first_after_restart()) {
    get_derivative(from.t);
    from.F = view(derivative_.get());
  }
  to.t = t;
  to.Y = view(state_.get());
  get_derivative(t);
  to.F = view(derivative_.get());
}

// ARKODE evaluates the right-hand side at the end of a step, where a run may also be cancelled.
void ArkodeStepper::get_derivative(double t) {
  const int code = ARKStepGetDky(arkode_, t, 1, derivative_.get());
  if (code < 0 && cause_) std::rethrow_exception(cause_);
  check_setup(code, "ARKStepGetDky");
}

void ArkodeStepper::add_current(IntegratorStatistics& s) const {
  long steps = 0;
  long explicit_evaluations = 0;
  long implicit_evaluations = 0;
  long error_failures = 0;
  long nonlinear_failures = 0;
  long jacobians = 0;
  (void)ARKStepGetNumSteps(arkode_, &steps);
  (void)ARKStepGetNumRhsEvals(arkode_, &explicit_evaluations, &implicit_evaluations);
  (void)ARKStepGetNumErrTestFails(arkode_, &error_failures);
  s.steps += steps;
  s.rhs_evaluations += implicit_ ? implicit_evaluations : explicit_evaluations;
  if (implicit_) {
    (void)ARKStepGetNumStepSolveFails(arkode_, &nonlinear_failures);
    (void)ARKStepGetNumJacEvals(arkode_, &jacobians);
    // Counts of the linear solver are reset with the first step only: before it they are those of the previous run.
    if (steps == 0) jacobians = 0;
  }
  s.rejected_steps += error_failures + nonlinear_failures;
  s.jacobian_evaluations += jacobians;
}

IntegratorStatistics ArkodeStepper::statistics() const {
  IntegratorStatistics s = totals_;
  if (arkode_ != nullptr) add_current(s);
  s.rejected_steps += n_rejected_;
  s.restarts = n_restarts();
  return s;
}

}  // namespace heelstrike::mbs
