#include "mbs_server/integrators/ida_ggl.hpp"

#include <idas/idas.h>
#include <idas/idas_ls.h>

#include <cmath>
#include <vector>

#include "mbs_server/integrators/sundials_support.hpp"

namespace heelstrike::mbs {
namespace {

class IdaGgl final : public Integrator {
 public:
  IdaGgl(const IntegratorSpec& spec, Problem& problem);
  ~IdaGgl() override { IDAFree(&ida_); }
  IdaGgl(const IdaGgl&) = delete;
  IdaGgl& operator=(const IdaGgl&) = delete;

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
  static IdaGgl& self(void* user_data) { return *static_cast<IdaGgl*>(user_data); }
  static int residual(realtype t, N_Vector x, N_Vector xd, N_Vector r, void* user_data);
  static int quadrature(realtype t, N_Vector x, N_Vector xd, N_Vector zd, void* user_data);
  static int roots(realtype t, N_Vector x, N_Vector xd, realtype* values, void* user_data);
  static int newton_system(realtype t, realtype c, N_Vector x, N_Vector xd, N_Vector r, SUNMatrix A, void* user_data,
                           N_Vector, N_Vector, N_Vector);
  void solve_newton(Problem::MutableRef b);
  static int weights(N_Vector x, N_Vector w, void* user_data);

  void create();
  void make_consistent();
  void add_statistics();
  [[noreturn]] void fail(int code);

  IntegratorSpec spec_;
  Problem& problem_;
  int n_y_;
  std::exception_ptr cause_;
  StallGuard stall_;
  NewtonBridge bridge_;
  Context context_;
  OwnedVector state_, derivative_, quadrature_state_, interpolated_;
  OwnedMatrix matrix_;
  OwnedLinearSolver solver_;
  void* ida_ = nullptr;
  Eigen::VectorXd y_, z_;
  std::vector<int> directions_;
  std::optional<double> max_step_;
  Eigen::VectorXd residual_state_;  ///< at the last residual
  double residual_time_ = 0.0;
  bool factored_ = false;
  double factored_time_ = 0.0;
  double factored_c_ = 0.0;
  std::int64_t n_factorizations_ = 0;
  bool fresh_ = false;  ///< restarted, but not yet given to IDA
  double t_ = 0.0;
  double attempted_time_ = 0.0;
  IntegratorStatistics totals_;  ///< of all runs before the last restart
};

IdaGgl::IdaGgl(const IntegratorSpec& spec, Problem& problem)
    : spec_(spec),
      problem_(problem),
      n_y_(problem.size()),
      bridge_{.solve = [this](Problem::MutableRef b) { solve_newton(b); }, .cause = &cause_},
      context_(make_context()),
      state_(N_VNew_Serial(problem.size() + 2 * problem.n_multipliers(), context_.get())),
      derivative_(N_VClone(state_.get())),
      quadrature_state_(N_VNew_Serial(problem.n_quadratures(), context_.get())),
      interpolated_(N_VClone(state_.get())),
      matrix_(make_newton_matrix(context_.get())),
      solver_(make_newton_solver(bridge_, context_.get())),
      y_(problem.size()),
      z_(problem.n_quadratures()) {
  totals_.name = spec.name;
}

int IdaGgl::residual(realtype t, N_Vector x, N_Vector xd, N_Vector r, void* user_data) {
  auto& me = self(user_data);
  return guarded(
      [&] {
        me.problem_.index2_residual(t, view(x), view(xd), view(r));
        me.residual_time_ = t;
        me.residual_state_ = view(x);
      },
      me.cause_);
}

int IdaGgl::quadrature(realtype t, N_Vector x, N_Vector /*xd*/, N_Vector zd, void* user_data) {
  auto& me = self(user_data);
  return guarded([&] { me.problem_.quadrature_rhs(t, view(x).head(me.n_y_), view(zd)); }, me.cause_);
}

int IdaGgl::roots(realtype t, N_Vector x, N_Vector /*xd*/, realtype* values, void* user_data) {
  auto& me = self(user_data);
  return guarded(
      [&] { me.problem_.roots(t, view(x).head(me.n_y_), Eigen::Map<Eigen::VectorXd>(values, me.problem_.n_roots())); },
      me.cause_);
}

int IdaGgl::newton_system(realtype /*t*/, realtype /*c*/, N_Vector /*x*/, N_Vector /*xd*/, N_Vector /*r*/,
                          SUNMatrix /*A*/, void* user_data, N_Vector, N_Vector, N_Vector) {
  self(user_data).factored_ = false;
  return 0;
}

/// IDA keeps a Newton matrix over many steps, but the constraint directions turn with the bodies and the multipliers
/// take up every error in them: measured on a spinning body, matrices of earlier steps cost more rejected steps than
/// they save factorisations. So every step has its own.
void IdaGgl::solve_newton(Problem::MutableRef b) {
  double c = 0.0;
  check_setup(IDAGetCurrentCj(ida_, &c), "IDAGetCurrentCj");
  if (!factored_ || residual_time_ != factored_time_ || c != factored_c_) {
    problem_.factor_index2(residual_time_, residual_state_, c);
    factored_ = true;
    factored_time_ = residual_time_;
    factored_c_ = c;
    ++n_factorizations_;
  }
  problem_.solve_index2(b);
}

int IdaGgl::weights(N_Vector x, N_Vector w, void* user_data) {
  const auto& me = self(user_data);
  view(w).setZero();
  view(w).head(me.n_y_) = (me.spec_.rtol * view(x).head(me.n_y_).array().abs() + me.spec_.atol).inverse().matrix();
  return view(w).allFinite() ? 0 : -1;
}

void IdaGgl::create() {
  ida_ = IDACreate(context_.get());
  if (ida_ == nullptr) throw Error(ErrorCode::internal, "IDACreate failed");
  check_setup(IDAInit(ida_, residual, t_, state_.get(), derivative_.get()), "IDAInit");
  check_setup(IDASetUserData(ida_, this), "IDASetUserData");
  check_setup(IDASetErrHandlerFn(ida_, ignore_message, nullptr), "IDASetErrHandlerFn");
  check_setup(IDAWFtolerances(ida_, weights), "IDAWFtolerances");
  check_setup(IDASetLinearSolver(ida_, solver_.get(), matrix_.get()), "IDASetLinearSolver");
  check_setup(IDASetJacFn(ida_, newton_system), "IDASetJacFn");
  check_setup(IDASetLinearSolutionScaling(ida_, SUNFALSE), "IDASetLinearSolutionScaling");
  if (spec_.order) check_setup(IDASetMaxOrd(ida_, *spec_.order), "IDASetMaxOrd");
  check_setup(IDASetMaxNumSteps(ida_, -1), "IDASetMaxNumSteps");
  check_setup(IDASetMaxErrTestFails(ida_, spec_.max_rejections), "IDASetMaxErrTestFails");
  check_setup(IDASetMaxConvFails(ida_, spec_.max_rejections), "IDASetMaxConvFails");
  if (problem_.n_quadratures() > 0) {
    check_setup(IDAQuadInit(ida_, quadrature, quadrature_state_.get()), "IDAQuadInit");
  }
  if (problem_.n_roots() > 0) {
    check_setup(IDARootInit(ida_, problem_.n_roots(), roots), "IDARootInit");
    check_setup(IDASetNoInactiveRootWarn(ida_), "IDASetNoInactiveRootWarn");
  }
}

void IdaGgl::restart(double t, const Eigen::VectorXd& y, const Eigen::VectorXd& z, std::optional<double> max_step,
                     std::span<const int> directions) {
  if (ida_ != nullptr && !fresh_) add_statistics();
  y_ = y;
  z_ = z;
  t_ = t;
  cause_ = nullptr;
  stall_.reset();
  directions_.assign(directions.begin(), directions.end());
  max_step_ = max_step;
  fresh_ = true;
}

void IdaGgl::make_consistent() {
  const int m = problem_.n_multipliers();
  auto x = view(state_.get());
  auto xd = view(derivative_.get());
  x.setZero();
  xd.setZero();
  x.head(n_y_) = y_;
  attempted_time_ = t_;
  problem_.rhs(t_, y_, xd.head(n_y_));
  problem_.multipliers(t_, y_, x.segment(n_y_, m));
  view(quadrature_state_.get()) = z_;
  if (ida_ == nullptr) {
    create();
  } else {
    check_setup(IDAReInit(ida_, t_, state_.get(), derivative_.get()), "IDAReInit");
    if (problem_.n_quadratures() > 0) check_setup(IDAQuadReInit(ida_, quadrature_state_.get()), "IDAQuadReInit");
  }
  fresh_ = false;
  factored_ = false;
  set_max_step(max_step_);
  if (problem_.n_roots() > 0 && !directions_.empty()) {
    check_setup(IDASetRootDirection(ida_, directions_.data()), "IDASetRootDirection");
  }
}

void IdaGgl::set_max_step(std::optional<double> max_step) {
  max_step_ = max_step;
  // IDA reads 0 as "no bound".
  if (!fresh_) check_setup(IDASetMaxStep(ida_, max_step.value_or(spec_.max_step.value_or(0.0))), "IDASetMaxStep");
}

void IdaGgl::fail(int code) {
  attempted_time_ = t_;
  (void)IDAGetCurrentTime(ida_, &attempted_time_);
  if (code == IDA_RTFUNC_FAIL && cause_) std::rethrow_exception(cause_);
  throw_solver_failure(cause_, "ida_ggl", describe_code(code, IDAGetReturnFlagName(code)), attempted_time_);
}

StepResult IdaGgl::step(double t_end) {
  if (fresh_) make_consistent();
  check_setup(IDASetStopTime(ida_, t_end), "IDASetStopTime");
  const int code = IDASolve(ida_, t_ + first_step_horizon, &t_, state_.get(), derivative_.get(), IDA_ONE_STEP);
  if (code < 0) fail(code);
  attempted_time_ = t_;
  StepResult result{.t = t_, .step_size = 0.0, .roots = {}};
  check_setup(IDAGetLastStep(ida_, &result.step_size), "IDAGetLastStep");
  stall_.check(result.step_size, t_, cause_, spec_.name);
  cause_ = nullptr;
  y_ = view(state_.get()).head(n_y_);
  problem_.project(t_, y_);
  if (problem_.n_quadratures() > 0) {
    check_setup(IDAGetQuadDky(ida_, t_, 0, quadrature_state_.get()), "IDAGetQuadDky");
    z_ = view(quadrature_state_.get());
  }
  if (code == IDA_ROOT_RETURN) {
    std::vector<int> found(static_cast<std::size_t>(problem_.n_roots()));
    check_setup(IDAGetRootInfo(ida_, found.data()), "IDAGetRootInfo");
    for (int i = 0; i < problem_.n_roots(); ++i) {
      if (found[static_cast<std::size_t>(i)] != 0) result.roots.push_back(i);
    }
  }
  return result;
}

void IdaGgl::interpolate(double t, Eigen::VectorXd& y, Eigen::VectorXd& z) {
  check_setup(IDAGetDky(ida_, t, 0, interpolated_.get()), "IDAGetDky");
  y = view(interpolated_.get()).head(n_y_);
  if (problem_.n_quadratures() > 0) {
    const OwnedVector z_t(N_VMake_Serial(z.size(), z.data(), context_.get()));
    check_setup(IDAGetQuadDky(ida_, t, 0, z_t.get()), "IDAGetQuadDky");
  }
}

void IdaGgl::add_statistics() {
  totals_ = statistics();
  ++totals_.restarts;
}

IntegratorStatistics IdaGgl::statistics() const {
  IntegratorStatistics s = totals_;
  s.jacobian_evaluations = n_factorizations_;
  if (ida_ == nullptr || fresh_) return s;
  long steps = 0;
  long residuals = 0;
  long error_failures = 0;
  long nonlinear_failures = 0;
  (void)IDAGetNumSteps(ida_, &steps);
  (void)IDAGetNumResEvals(ida_, &residuals);
  (void)IDAGetNumErrTestFails(ida_, &error_failures);
  (void)IDAGetNumNonlinSolvConvFails(ida_, &nonlinear_failures);
  s.steps += steps;
  s.rhs_evaluations += residuals + 2;  // two for the consistent start
  s.rejected_steps += error_failures + nonlinear_failures;
  return s;
}

}  // namespace

std::unique_ptr<Integrator> make_ida_ggl(const IntegratorSpec& spec, Problem& problem) {
  return std::make_unique<IdaGgl>(spec, problem);
}

}  // namespace heelstrike::mbs
