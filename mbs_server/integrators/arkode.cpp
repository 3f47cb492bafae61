/// The Runge-Kutta methods of ARKODE ([reynolds2023] in docs/references.bib), with their common base: the state {y, z}
/// with the quadratures appended, the projection of every accepted step, and statistics.
///
/// ARKODE fails immediately on a recoverable error of an explicit stage or of the projection; the step is then repeated
/// here from its start with a quarter of its size, up to max_rejections times.
///
/// The quadratures do not affect the state, but the error test includes them with a separate tolerance
/// (quadrature_atol), as for CVODE and IDA.
#include <arkode/arkode_arkstep.h>
#include <arkode/arkode_ls.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "mbs_server/integrators/one_step.hpp"
#include "mbs_server/integrators/sundials_support.hpp"

namespace heelstrike::mbs {
namespace {

class ArkodeStepper : public OneStepIntegrator {
 public:
  ArkodeStepper(const IntegratorSpec& spec, Problem& problem, bool implicit);
  ~ArkodeStepper() override { ARKStepFree(&arkode_); }
  ArkodeStepper(const ArkodeStepper&) = delete;
  ArkodeStepper& operator=(const ArkodeStepper&) = delete;

  [[nodiscard]] IntegratorStatistics statistics() const final {
    IntegratorStatistics s = totals_;
    if (arkode_ != nullptr) add_current(s);
    s.rejected_steps += n_rejected_;
    s.restarts = n_restarts();
    return s;
  }

 protected:
  /// Sets tables and solvers of a new ARKODE instance.
  virtual void configure(void* arkode) = 0;
  /// F = {f, integrands} at (t, Y).
  void evaluate(double t, Eigen::Ref<const Eigen::VectorXd> Y, Eigen::Ref<Eigen::VectorXd> F);
  void count_evaluations(std::int64_t n) { totals_.rhs_evaluations += n; }
  [[nodiscard]] std::exception_ptr& cause() { return cause_; }
  [[nodiscard]] SUNContext context() const { return context_.get(); }
  [[nodiscard]] static ArkodeStepper& self(void* user_data) { return *static_cast<ArkodeStepper*>(user_data); }

 private:
  static int full_rhs(sunrealtype t, N_Vector Y, N_Vector F, void* user_data) {
    auto& me = self(user_data);
    return to_sundials_code([&] { me.evaluate(t, view(Y), view(F)); }, me.cause_);
  }
  /// Implicit part of the split right-hand side: the motion, for which the problem provides the Newton matrix.
  static int motion_rhs(sunrealtype t, N_Vector Y, N_Vector F, void* user_data) {
    auto& me = self(user_data);
    return to_sundials_code(
        [&] {
          me.problem().rhs(t, view(Y).head(me.n_y()), view(F).head(me.n_y()));
          view(F).tail(me.n_z()).setZero();
        },
        me.cause_);
  }
  /// Explicit part: the quadratures, which do not affect the state.
  static int quadrature_rhs(sunrealtype t, N_Vector Y, N_Vector F, void* user_data) {
    auto& me = self(user_data);
    return to_sundials_code(
        [&] {
          view(F).head(me.n_y()).setZero();
          if (me.n_z() > 0) me.problem().quadrature_rhs(t, view(Y).head(me.n_y()), view(F).tail(me.n_z()));
        },
        me.cause_);
  }
  /// [eich1993]: after the error test, so that the estimate is that of the formula. One-step methods have no history
  /// with unprojected parts.
  static int project(sunrealtype t, N_Vector Y, void* user_data) {
    auto& me = self(user_data);
    return to_sundials_code([&] { me.problem().project(t, view(Y).head(me.n_y())); }, me.cause_);
  }
  static int weights(N_Vector Y, N_Vector w, void* user_data) {
    auto& me = self(user_data);
    // The error test includes work and dissipation, with their own absolute tolerance: otherwise the step size would be
    // unbounded where the motion is a polynomial.
    const auto y = view(Y).head(me.n_y());
    view(w).head(me.n_y()) = (me.spec().rtol * y.array().abs() + me.spec().atol).inverse().matrix();
    view(w).tail(me.n_z()) =
        (me.spec().rtol * view(Y).tail(me.n_z()).array().abs() + quadrature_atol(me.spec())).inverse().matrix();
    return view(w).allFinite() ? 0 : -1;
  }

  void begin(const Node& start) final;
  void max_step_changed() final {
    const double bound = std::min(max_step(), max_repeated_step_);
    // For ARKODE 0 means no bound.
    check_setup(ARKStepSetMaxStep(arkode_, std::isinf(bound) ? 0.0 : bound), "ARKStepSetMaxStep");
  }
  void advance(double t_end, Node& from, Node& to) final;
  void create(double t);
  void reinitialize(const Node& start);
  [[nodiscard]] bool can_repeat_step(int code) const;
  [[noreturn]] void fail(int code, double t);
  void add_current(IntegratorStatistics& s) const;

  /// Writes the derivative [1/s of the state] at an end of the last step to `derivative_`.
  void get_derivative(double t) {
    const int code = ARKStepGetDky(arkode_, t, 1, derivative_.get());
    // ARKODE evaluates the right-hand side at the end of a step, where a run may also be cancelled.
    if (code < 0 && cause_) std::rethrow_exception(cause_);
    check_setup(code, "ARKStepGetDky");
  }

  bool implicit_;
  std::exception_ptr cause_;
  StallGuard stall_;
  Context context_;
  OwnedVector state_, derivative_;
  void* arkode_ = nullptr;
  double max_repeated_step_;  ///< [s] bound while a rejected step is repeated; otherwise infinite
  double repeat_end_ = 0.0;   ///< [s] end of the rejected step
  std::int64_t n_rejected_ = 0;
  IntegratorStatistics totals_;  ///< of all runs before the last restart
};

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

void ArkodeStepper::create(double t) {
  arkode_ = implicit_ ? ARKStepCreate(quadrature_rhs, motion_rhs, t, state_.get(), context_.get())
                      : ARKStepCreate(full_rhs, nullptr, t, state_.get(), context_.get());
  if (arkode_ == nullptr) throw Error(ErrorCode::internal, "ARKStepCreate failed");
  check_setup(ARKStepSetUserData(arkode_, this), "ARKStepSetUserData");
  silence_messages(SundialsSolver::arkode, arkode_);
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
    max_step_changed();
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
    max_step_changed();
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

ARKODE_ERKTableID table_of(const IntegratorSpec& spec) {
  switch (spec.order.value_or(default_order)) {
    case 2:
      return ARKODE_HEUN_EULER_2_1_2;
    case 3:
      return ARKODE_BOGACKI_SHAMPINE_4_2_3;
    case 4:
      return ARKODE_ZONNEVELD_5_3_4;
    case 5:
      return ARKODE_DORMAND_PRINCE_7_4_5;
    case 6:
      return ARKODE_VERNER_8_5_6;
    case 8:
      return ARKODE_FEHLBERG_13_7_8;
    default:
      throw input_error("analysis.integrator.order",
                        fmt::format("analysis.integrator.order: expected 2, 3, 4, 5, 6 or 8 for {}, found {}",
                                    spec.name, *spec.order));
  }
}

struct TableDeleter {
  void operator()(ARKodeButcherTable table) const { ARKodeButcherTable_Free(table); }
};

/// Explicit methods on the index-1 form, with a projection of every accepted step onto the constraints. Order 5 is the
/// pair of Dormand and Prince ([dormand1980]); 2 Heun-Euler, 3 Bogacki-Shampine, 4 Zonneveld, 6 Verner, 8 Fehlberg.
class ArkodeErk final : public ArkodeStepper {
 public:
  ArkodeErk(const IntegratorSpec& spec, Problem& problem)
      : ArkodeStepper(spec, problem, false), table_(table_of(spec)) {
    if (spec.order.value_or(default_order) > hermite_order) formula_.reset(ARKodeButcherTable_LoadERK(table_));
  }

 private:
  /// Up to this order Hermite interpolation between the ends of a step is as accurate as the step.
  static constexpr int hermite_order = 5;

  void configure(void* arkode) override {
    check_setup(ARKStepSetTableNum(arkode, ARKODE_DIRK_NONE, table_), "ARKStepSetTableNum");
  }
  void dense_output(double t, const Node& from, const Node& to, Eigen::VectorXd& Y) override;

  ARKODE_ERKTableID table_;
  std::unique_ptr<std::remove_pointer_t<ARKodeButcherTable>, TableDeleter> formula_;  ///< of orders above hermite_order
  std::vector<Eigen::VectorXd> slopes_;
};

/// Orders 6 and 8 have no interpolant as accurate as their large steps: a shorter step of the same formula to `t` is
/// used.
void ArkodeErk::dense_output(double t, const Node& from, const Node& to, Eigen::VectorXd& Y) {
  if (!formula_) {
    ArkodeStepper::dense_output(t, from, to, Y);
    return;
  }
  const double h = t - from.t;
  const auto n_stages = static_cast<std::size_t>(formula_->stages);
  slopes_.resize(n_stages);
  // The first stage of the explicit table is the known derivative at the start of the step.
  slopes_[0] = from.F;
  for (std::size_t i = 1; i < n_stages; ++i) {
    Y = from.Y;
    for (std::size_t j = 0; j < i; ++j) Y += h * formula_->A[i][j] * slopes_[j];
    slopes_[i].resize(Y.size());
    evaluate(from.t + formula_->c[i] * h, Y, slopes_[i]);
  }
  count_evaluations(formula_->stages - 1);
  Y = from.Y;
  for (std::size_t i = 0; i < n_stages; ++i) Y += h * formula_->b[i] * slopes_[i];
}

using DirkTables = std::pair<ARKODE_DIRKTableID, ARKODE_ERKTableID>;

/// Additive pairs of [kennedy2003] and [kennedy2019] with L-stable implicit parts: the implicit table integrates the
/// state, its explicit counterpart with the same stages integrates the quadratures.
DirkTables tables_of(const IntegratorSpec& spec) {
  switch (spec.order.value_or(default_order)) {
    case 3:
      return {ARKODE_ARK324L2SA_DIRK_4_2_3, ARKODE_ARK324L2SA_ERK_4_2_3};
    case 4:
      return {ARKODE_ARK437L2SA_DIRK_7_3_4, ARKODE_ARK437L2SA_ERK_7_3_4};
    case 5:
      return {ARKODE_ARK548L2SAb_DIRK_8_4_5, ARKODE_ARK548L2SAb_ERK_8_4_5};
    default:
      throw input_error(
          "analysis.integrator.order",
          fmt::format("analysis.integrator.order: expected 3, 4 or 5 for {}, found {}", spec.name, *spec.order));
  }
}

/// Diagonally implicit, L-stable methods on the index-1 form ([kennedy2003], [kennedy2019]), with exact Newton systems
/// and a projection of every accepted step onto the constraints. The explicit counterpart of the method integrates the
/// quadratures outside of the Newton iteration.
class ArkodeDirk final : public ArkodeStepper {
 public:
  ArkodeDirk(const IntegratorSpec& spec, Problem& problem)
      : ArkodeStepper(spec, problem, true),
        tables_(tables_of(spec)),
        // The quadratures have no implicit part: their Newton matrix is the identity.
        newton_context_{.solve = [&problem](Problem::MutableRef b) { problem.solve_newton(b.head(problem.size())); },
                        .cause = &cause()},
        matrix_(make_newton_matrix(context())),
        solver_(make_newton_solver(newton_context_, context())) {}

 private:
  static int newton_system(sunrealtype t, N_Vector Y, N_Vector /*F*/, SUNMatrix /*A*/, SUNMatrix /*M*/,
                           sunbooleantype j_ok, sunbooleantype* j_current, sunrealtype gamma, void* user_data, N_Vector,
                           N_Vector, N_Vector) {
    auto& me = static_cast<ArkodeDirk&>(self(user_data));
    return to_sundials_code(
        [&] {
          // ARKODE keeps J while only gamma changes; refactorisation for a new gamma needs no evaluation of the model.
          if (j_ok == SUNFALSE) me.problem().linearize(t, view(Y).head(me.n_y()));
          *j_current = j_ok == SUNFALSE ? SUNTRUE : SUNFALSE;
          me.problem().factor_newton(gamma);
        },
        me.cause());
  }

  void configure(void* arkode) override {
    check_setup(ARKStepSetTableNum(arkode, tables_.first, tables_.second), "ARKStepSetTableNum");
    check_setup(ARKStepSetLinearSolver(arkode, solver_.get(), matrix_.get()), "ARKStepSetLinearSolver");
    check_setup(ARKStepSetLinSysFn(arkode, newton_system), "ARKStepSetLinSysFn");
    // Stage predictor from the last step, of lower order for later stages: a third of the trivial one's evaluations.
    constexpr int variable_order = 2;
    check_setup(ARKStepSetPredictorMethod(arkode, variable_order), "ARKStepSetPredictorMethod");
  }

  DirkTables tables_;
  NewtonSolverContext newton_context_;
  OwnedMatrix matrix_;
  OwnedLinearSolver solver_;
};

}  // namespace

IntegratorEntry arkode_erk() {
  return integrator_entry<ArkodeErk>(
      "arkode_erk", "explicit Runge-Kutta of order 2 to 8, index-1 form, projection onto the constraints",
      {order_key("order", {2, 3, 4, 5, 6, 8}, default_order)});
}

IntegratorEntry arkode_dirk() {
  return integrator_entry<ArkodeDirk>(
      "arkode_dirk", "diagonally implicit Runge-Kutta of order 3 to 5, index-1 form, projection onto the constraints",
      {order_key("order", {3, 4, 5}, default_order)});
}

}  // namespace heelstrike::mbs
