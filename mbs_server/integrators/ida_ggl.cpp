/// IDA on the stabilised index-2 form of Gear, Gupta and Leimkuhler ([gear1985]): BDF for positions,
/// velocities and both sets of multipliers simultaneously, so that position and velocity constraints hold at every step
/// without a separate projection of its history.
///
/// The multipliers are excluded from the error test and the convergence test: both would require more accuracy of an
/// algebraic variable than an index-2 problem provides ([brenan1996] ch. 5). Returned positions and velocities are
/// projected, which removes the residual of the Newton iteration.
#include <idas/idas.h>
#include <idas/idas_ls.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mbs_server/integrators/multistep.hpp"

namespace heelstrike::mbs {
namespace {

constexpr MultistepCalls ida_calls = {
    .solver = SundialsSolver::ida,
    .set_max_order = IDASetMaxOrd,
    .set_max_steps = IDASetMaxNumSteps,
    .set_max_error_failures = IDASetMaxErrTestFails,
    .set_max_newton_failures = IDASetMaxConvFails,
    .set_stop_time = IDASetStopTime,
    .set_max_step = IDASetMaxStep,
    .get_current_time = IDAGetCurrentTime,
    .get_last_step = IDAGetLastStep,
    .get_dense = IDAGetDky,
    .get_quadratures = IDAGetQuadDky,
    .get_steps = IDAGetNumSteps,
    .get_evaluations = IDAGetNumResEvals,
    .get_error_failures = IDAGetNumErrTestFails,
    .get_newton_failures = IDAGetNumNonlinSolvConvFails,
    .code_name = IDAGetReturnFlagName,
};

class IdaGgl final : public MultistepIntegrator {
 public:
  IdaGgl(const IntegratorSpec& spec, Problem& problem)
      : MultistepIntegrator(spec, problem, ida_calls, problem.size() + 2 * problem.n_multipliers(),
                            [this](Problem::MutableRef b) { solve_newton(b); }),
        derivative_(N_VClone(state())) {}
  ~IdaGgl() override { IDAFree(&ida_); }
  IdaGgl(const IdaGgl&) = delete;
  IdaGgl& operator=(const IdaGgl&) = delete;

 private:
  static IdaGgl& self(void* user_data) { return *static_cast<IdaGgl*>(user_data); }
  static int residual(sunrealtype t, N_Vector x, N_Vector xd, N_Vector r, void* user_data) {
    auto& me = self(user_data);
    return to_sundials_code(
        [&] {
          me.problem().index2_residual(t, view(x), view(xd), view(r));
          // The state of the latest residual is the current Newton iterate, at which the next matrix is evaluated.
          me.residual_time_ = t;
          me.residual_state_ = view(x);
        },
        me.cause());
  }
  static int quadrature(sunrealtype t, N_Vector x, N_Vector /*xd*/, N_Vector zd, void* user_data) {
    auto& me = self(user_data);
    return to_sundials_code([&] { me.problem().quadrature_rhs(t, view(x).head(me.n_y()), view(zd)); }, me.cause());
  }
  static int newton_system(sunrealtype /*t*/, sunrealtype /*c*/, N_Vector /*x*/, N_Vector /*xd*/, N_Vector /*r*/,
                           SUNMatrix /*A*/, void* user_data, N_Vector, N_Vector, N_Vector) {
    // The matrix is factored in the first solve, when the state is known.
    self(user_data).factored_ = false;
    return 0;
  }
  void solve_newton(Problem::MutableRef b);
  static int weights(N_Vector x, N_Vector w, void* user_data);

  void create() override;
  void reinitialize() override;
  int advance(double t_out, double& t) override {
    return IDASolve(ida_, t_out, &t, state(), derivative_.get(), IDA_ONE_STEP);
  }
  void make_consistent() override;
  void finish_step(double t, Eigen::VectorXd& y) override { problem().project(t, y); }
  [[nodiscard]] double first_step() const;
  void add_statistics(IntegratorStatistics& statistics) const override {
    statistics.rhs_evaluations += 2;  // for the consistent initial state
    statistics.jacobian_evaluations = n_factorizations_;
  }

  OwnedVector derivative_;
  void* ida_ = nullptr;
  Eigen::VectorXd residual_state_;  ///< at the last residual
  double residual_time_ = 0.0;
  bool factored_ = false;
  double factored_time_ = 0.0;
  double factored_c_ = 0.0;
  std::int64_t n_factorizations_ = 0;
};

/// IDA keeps a Newton matrix over many steps, but the constraint directions rotate with the bodies and their errors
/// affect the multipliers: on a spinning body, matrices of earlier steps caused more rejected steps than they saved
/// factorisations. Every step therefore has a new matrix.
void IdaGgl::solve_newton(Problem::MutableRef b) {
  double c = 0.0;
  check_setup(IDAGetCurrentCj(ida_, &c), "IDAGetCurrentCj");
  if (!factored_ || residual_time_ != factored_time_ || c != factored_c_) {
    problem().factor_index2(residual_time_, residual_state_, c);
    factored_ = true;
    factored_time_ = residual_time_;
    factored_c_ = c;
    ++n_factorizations_;
  }
  problem().solve_index2(b);
}

/// An entry that passes through zero has the rounding errors of the largest entry, because joints and rotations couple
/// them. With an atol below this level, Newton's iteration cannot converge there.
constexpr double rounding_errors = 100.0 * std::numeric_limits<double>::epsilon();

/// Positions, velocities and internal states with separate rounding levels; zero weights exclude the multipliers from
/// both tests.
int IdaGgl::weights(N_Vector x, N_Vector w, void* user_data) {
  auto& me = self(user_data);
  view(w).setZero();
  const int n = me.problem().n_positions();
  for (const auto& [first, size] : {std::pair{0, n}, {n, n}, {2 * n, me.n_y() - 2 * n}}) {
    if (size == 0) continue;
    const auto part = view(x).segment(first, size).array().abs();
    const double atol = std::max(me.spec().atol, rounding_errors * part.maxCoeff());
    view(w).segment(first, size) = (me.spec().rtol * part + atol).inverse().matrix();
  }
  return view(w).allFinite() ? 0 : -1;
}

void IdaGgl::create() {
  ida_ = IDACreate(context());
  if (ida_ == nullptr) throw Error(ErrorCode::internal, "IDACreate failed");
  check_setup(IDAInit(ida_, residual, t(), state(), derivative_.get()), "IDAInit");
  check_setup(IDASetUserData(ida_, this), "IDASetUserData");
  check_setup(IDAWFtolerances(ida_, weights), "IDAWFtolerances");
  check_setup(IDASetLinearSolver(ida_, solver(), matrix()), "IDASetLinearSolver");
  check_setup(IDASetJacFn(ida_, newton_system), "IDASetJacFn");
  // The scaling corrects for a matrix of another step size; here every step has a new matrix.
  check_setup(IDASetLinearSolutionScaling(ida_, SUNFALSE), "IDASetLinearSolutionScaling");
  if (problem().n_quadratures() > 0) {
    check_setup(IDAQuadInit(ida_, quadrature, quadrature_state()), "IDAQuadInit");
    check_setup(IDAQuadSStolerances(ida_, spec().rtol, quadrature_atol(spec())), "IDAQuadSStolerances");
    check_setup(IDASetQuadErrCon(ida_, SUNTRUE), "IDASetQuadErrCon");
  }
  check_setup(IDASetInitStep(ida_, first_step()), "IDASetInitStep");
  configure(ida_);
}

void IdaGgl::make_consistent() {
  const int m = problem().n_multipliers();
  auto x = view(state());
  auto xd = view(derivative_.get());
  const Eigen::VectorXd y = x.head(n_y());
  // For consistent positions and velocities mu = 0; q' and v' follow from the index-1 form, with lambda.
  x.tail(2 * m).setZero();
  xd.setZero();
  problem().rhs(t(), y, xd.head(n_y()));
  problem().multipliers(t(), y, x.segment(n_y(), m));
  factored_ = false;
}

/// [s], 0 = IDA's default: half the step at which the derivatives change the state by its tolerance. From rest and with
/// a small atol this is far below the time in which a position changes by a rounding error; the rounding errors of the
/// positions, divided by such a step, then exceed the tolerance of the velocities, and the iteration does not converge.
double IdaGgl::first_step() const {
  const auto x = view(state());
  const auto yd = view(derivative_.get()).head(n_y());
  // The norm and the default of IDASolve(), with its factors of 1/1000 and 1/2.
  const Eigen::ArrayXd tolerance = spec().rtol * x.head(n_y()).array().abs() + spec().atol;
  const double norm = std::sqrt((yd.array() / tolerance).square().sum() / static_cast<double>(x.size()));
  const double own = std::min(1e-3 * first_step_horizon, 0.5 / norm);
  const int n = problem().n_positions();
  // Times in which velocity, or acceleration from rest, changes a position by one rounding error. A body at rest
  // without acceleration gives infinity, and IDA uses its default.
  const double rounding = std::numeric_limits<double>::epsilon() * x.head(n).lpNorm<Eigen::Infinity>();
  const double shortest = std::min(rounding / yd.head(n).lpNorm<Eigen::Infinity>(),
                                   std::sqrt(rounding / yd.segment(n, n).lpNorm<Eigen::Infinity>()));
  return std::isfinite(shortest) && shortest > own ? shortest : 0.0;
}

void IdaGgl::reinitialize() {
  check_setup(IDAReInit(ida_, t(), state(), derivative_.get()), "IDAReInit");
  check_setup(IDASetInitStep(ida_, first_step()), "IDASetInitStep");
  if (problem().n_quadratures() > 0) check_setup(IDAQuadReInit(ida_, quadrature_state()), "IDAQuadReInit");
}

}  // namespace

IntegratorEntry ida_ggl() {
  IntegratorEntry entry = integrator_entry<IdaGgl>(
      "ida_ggl", "BDF of order 1 to 5 on the stabilised index-2 form of Gear, Gupta and Leimkuhler",
      {order_key("maximum order", {1, 2, 3, 4, 5}, default_order)});
  entry.solves_multipliers = true;
  return entry;
}

}  // namespace heelstrike::mbs
