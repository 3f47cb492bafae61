#include "mbs_server/integrators/cvode_index1.hpp"

#include <cvodes/cvodes.h>
#include <cvodes/cvodes_ls.h>
#include <cvodes/cvodes_proj.h>

#include <vector>

#include "mbs_server/integrators/sundials_support.hpp"

namespace heelstrike::mbs {
namespace {

class CvodeIndex1 final : public Integrator {
 public:
  CvodeIndex1(const IntegratorSpec& spec, Problem& problem);
  ~CvodeIndex1() override { CVodeFree(&cvode_); }
  CvodeIndex1(const CvodeIndex1&) = delete;
  CvodeIndex1& operator=(const CvodeIndex1&) = delete;

  void restart(double t, const Eigen::VectorXd& y, const Eigen::VectorXd& z, std::optional<double> max_step,
               std::span<const int> directions) override;
  void set_max_step(std::optional<double> max_step) override;
  StepResult step(double t_end) override;
  [[nodiscard]] double attempted_time() const override { return attempted_time_; }
  [[nodiscard]] const Eigen::VectorXd& y() const override { return y_; }
  [[nodiscard]] const Eigen::VectorXd& quadratures() const override { return z_; }
  void interpolate(double t, Eigen::VectorXd& y, Eigen::VectorXd& z) override;
  [[nodiscard]] IntegratorStatistics statistics() const override;

 private:
  static CvodeIndex1& self(void* user_data) { return *static_cast<CvodeIndex1*>(user_data); }
  static int rhs(realtype t, N_Vector y, N_Vector yd, void* user_data);
  static int quadrature(realtype t, N_Vector y, N_Vector zd, void* user_data);
  static int roots(realtype t, N_Vector y, realtype* values, void* user_data);
  static int newton_system(realtype t, N_Vector y, N_Vector fy, SUNMatrix A, booleantype j_ok, booleantype* j_current,
                           realtype gamma, void* user_data, N_Vector, N_Vector, N_Vector);
  static int project(realtype t, N_Vector y, N_Vector correction, realtype tolerance, N_Vector error, void* user_data);

  void create(double t);
  void add_statistics();
  [[noreturn]] void fail(int code);

  IntegratorSpec spec_;
  Problem& problem_;
  std::exception_ptr cause_;
  StallGuard stall_;
  NewtonBridge bridge_;
  Context context_;
  OwnedVector state_, quadrature_state_;
  OwnedMatrix matrix_;
  OwnedLinearSolver solver_;
  void* cvode_ = nullptr;
  Eigen::VectorXd y_, z_, projected_;
  double t_ = 0.0;
  double attempted_time_ = 0.0;
  IntegratorStatistics totals_;  ///< of all runs before the last restart
};

CvodeIndex1::CvodeIndex1(const IntegratorSpec& spec, Problem& problem)
    : spec_(spec),
      problem_(problem),
      bridge_{.solve = [&problem](Problem::MutableRef b) { problem.solve_newton(b); }, .cause = &cause_},
      context_(make_context()),
      state_(N_VNew_Serial(problem.size(), context_.get())),
      quadrature_state_(N_VNew_Serial(problem.n_quadratures(), context_.get())),
      matrix_(make_newton_matrix(context_.get())),
      solver_(make_newton_solver(bridge_, context_.get())),
      y_(problem.size()),
      z_(problem.n_quadratures()),
      projected_(problem.size()) {
  totals_.name = spec.name;
}

int CvodeIndex1::rhs(realtype t, N_Vector y, N_Vector yd, void* user_data) {
  auto& me = self(user_data);
  return guarded([&] { me.problem_.rhs(t, view(y), view(yd)); }, me.cause_);
}

int CvodeIndex1::quadrature(realtype t, N_Vector y, N_Vector zd, void* user_data) {
  auto& me = self(user_data);
  return guarded([&] { me.problem_.quadrature_rhs(t, view(y), view(zd)); }, me.cause_);
}

int CvodeIndex1::roots(realtype t, N_Vector y, realtype* values, void* user_data) {
  auto& me = self(user_data);
  return guarded([&] { me.problem_.roots(t, view(y), Eigen::Map<Eigen::VectorXd>(values, me.problem_.n_roots())); },
                 me.cause_);
}

int CvodeIndex1::newton_system(realtype t, N_Vector y, N_Vector /*fy*/, SUNMatrix /*A*/, booleantype j_ok,
                               booleantype* j_current, realtype gamma, void* user_data, N_Vector, N_Vector, N_Vector) {
  auto& me = self(user_data);
  return guarded(
      [&] {
        if (j_ok == SUNFALSE) me.problem_.linearize(t, view(y));
        *j_current = j_ok == SUNFALSE ? SUNTRUE : SUNFALSE;
        me.problem_.factor_newton(gamma);
      },
      me.cause_);
}

int CvodeIndex1::project(realtype t, N_Vector y, N_Vector correction, realtype /*tolerance*/, N_Vector error,
                         void* user_data) {
  auto& me = self(user_data);
  return guarded(
      [&] {
        me.projected_ = view(y);
        me.problem_.project(t, me.projected_);
        view(correction) = me.projected_ - view(y);
        if (error != nullptr) me.problem_.project_tangent(view(error));
      },
      me.cause_);
}

void CvodeIndex1::create(double t) {
  cvode_ = CVodeCreate(CV_BDF, context_.get());
  if (cvode_ == nullptr) throw Error(ErrorCode::internal, "CVodeCreate failed");
  check_setup(CVodeInit(cvode_, rhs, t, state_.get()), "CVodeInit");
  check_setup(CVodeSetUserData(cvode_, this), "CVodeSetUserData");
  check_setup(CVodeSetErrHandlerFn(cvode_, ignore_message, nullptr), "CVodeSetErrHandlerFn");
  check_setup(CVodeSStolerances(cvode_, spec_.rtol, spec_.atol), "CVodeSStolerances");
  check_setup(CVodeSetLinearSolver(cvode_, solver_.get(), matrix_.get()), "CVodeSetLinearSolver");
  check_setup(CVodeSetLinSysFn(cvode_, newton_system), "CVodeSetLinSysFn");
  check_setup(CVodeSetProjFn(cvode_, project), "CVodeSetProjFn");
  if (spec_.order) check_setup(CVodeSetMaxOrd(cvode_, *spec_.order), "CVodeSetMaxOrd");
  check_setup(CVodeSetMaxNumSteps(cvode_, -1), "CVodeSetMaxNumSteps");
  check_setup(CVodeSetMaxErrTestFails(cvode_, spec_.max_rejections), "CVodeSetMaxErrTestFails");
  check_setup(CVodeSetMaxConvFails(cvode_, spec_.max_rejections), "CVodeSetMaxConvFails");
  if (problem_.n_quadratures() > 0) {
    check_setup(CVodeQuadInit(cvode_, quadrature, quadrature_state_.get()), "CVodeQuadInit");
  }
  if (problem_.n_roots() > 0) {
    check_setup(CVodeRootInit(cvode_, problem_.n_roots(), roots), "CVodeRootInit");
    check_setup(CVodeSetNoInactiveRootWarn(cvode_), "CVodeSetNoInactiveRootWarn");
  }
}

void CvodeIndex1::restart(double t, const Eigen::VectorXd& y, const Eigen::VectorXd& z, std::optional<double> max_step,
                          std::span<const int> directions) {
  view(state_.get()) = y;
  view(quadrature_state_.get()) = z;
  y_ = y;
  z_ = z;
  t_ = t;
  cause_ = nullptr;
  stall_.reset();
  if (cvode_ == nullptr) {
    create(t);
  } else {
    add_statistics();
    check_setup(CVodeReInit(cvode_, t, state_.get()), "CVodeReInit");
    if (problem_.n_quadratures() > 0) check_setup(CVodeQuadReInit(cvode_, quadrature_state_.get()), "CVodeQuadReInit");
  }
  set_max_step(max_step);
  if (problem_.n_roots() > 0 && !directions.empty()) {
    std::vector<int> copy(directions.begin(), directions.end());
    check_setup(CVodeSetRootDirection(cvode_, copy.data()), "CVodeSetRootDirection");
  }
}

void CvodeIndex1::set_max_step(std::optional<double> max_step) {
  // CVODE reads 0 as "no bound".
  check_setup(CVodeSetMaxStep(cvode_, max_step.value_or(spec_.max_step.value_or(0.0))), "CVodeSetMaxStep");
}

void CvodeIndex1::fail(int code) {
  attempted_time_ = t_;
  (void)CVodeGetCurrentTime(cvode_, &attempted_time_);
  if (code == CV_RTFUNC_FAIL && cause_) std::rethrow_exception(cause_);
  throw_solver_failure(cause_, "cvode_index1", describe_code(code, CVodeGetReturnFlagName(code)), attempted_time_);
}

StepResult CvodeIndex1::step(double t_end) {
  check_setup(CVodeSetStopTime(cvode_, t_end), "CVodeSetStopTime");
  const int code = CVode(cvode_, t_ + first_step_horizon, state_.get(), &t_, CV_ONE_STEP);
  if (code < 0) fail(code);
  attempted_time_ = t_;
  StepResult result{.t = t_, .step_size = 0.0, .roots = {}};
  check_setup(CVodeGetLastStep(cvode_, &result.step_size), "CVodeGetLastStep");
  stall_.check(result.step_size, t_, cause_, spec_.name);
  cause_ = nullptr;
  y_ = view(state_.get());
  if (problem_.n_quadratures() > 0) {
    check_setup(CVodeGetQuadDky(cvode_, t_, 0, quadrature_state_.get()), "CVodeGetQuadDky");
    z_ = view(quadrature_state_.get());
  }
  if (code == CV_ROOT_RETURN) {
    std::vector<int> found(static_cast<std::size_t>(problem_.n_roots()));
    check_setup(CVodeGetRootInfo(cvode_, found.data()), "CVodeGetRootInfo");
    for (int i = 0; i < problem_.n_roots(); ++i) {
      if (found[static_cast<std::size_t>(i)] != 0) result.roots.push_back(i);
    }
  }
  return result;
}

void CvodeIndex1::interpolate(double t, Eigen::VectorXd& y, Eigen::VectorXd& z) {
  const OwnedVector y_t(N_VMake_Serial(y.size(), y.data(), context_.get()));
  check_setup(CVodeGetDky(cvode_, t, 0, y_t.get()), "CVodeGetDky");
  if (problem_.n_quadratures() > 0) {
    const OwnedVector z_t(N_VMake_Serial(z.size(), z.data(), context_.get()));
    check_setup(CVodeGetQuadDky(cvode_, t, 0, z_t.get()), "CVodeGetQuadDky");
  }
}

void CvodeIndex1::add_statistics() {
  totals_ = statistics();
  ++totals_.restarts;
}

IntegratorStatistics CvodeIndex1::statistics() const {
  IntegratorStatistics s = totals_;
  if (cvode_ == nullptr) return s;
  long steps = 0;
  long rhs_evaluations = 0;
  long error_failures = 0;
  long nonlinear_failures = 0;
  long jacobians = 0;
  (void)CVodeGetNumSteps(cvode_, &steps);
  (void)CVodeGetNumRhsEvals(cvode_, &rhs_evaluations);
  (void)CVodeGetNumErrTestFails(cvode_, &error_failures);
  (void)CVodeGetNumNonlinSolvConvFails(cvode_, &nonlinear_failures);
  (void)CVodeGetNumJacEvals(cvode_, &jacobians);
  s.steps += steps;
  s.rhs_evaluations += rhs_evaluations;
  s.rejected_steps += error_failures + nonlinear_failures;
  s.jacobian_evaluations += jacobians;
  return s;
}

}  // namespace

std::unique_ptr<Integrator> make_cvode_index1(const IntegratorSpec& spec, Problem& problem) {
  return std::make_unique<CvodeIndex1>(spec, problem);
}

}  // namespace heelstrike::mbs
