#include "mbs_server/integrators/kinsol_balance.hpp"

#include <fmt/format.h>
#include <kinsol/kinsol.h>
#include <kinsol/kinsol_ls.h>

#include "mbs_server/integrators/sundials_support.hpp"

namespace heelstrike::mbs {
namespace {

struct KinsolDeleter {
  void operator()(void* kinsol) const { KINFree(&kinsol); }
};

/// User data of the KINSOL callbacks.
struct Callbacks {
  const BalanceEquations& equations;
  std::exception_ptr cause;

  static int residual(N_Vector x, N_Vector F, void* user_data) {
    auto& me = *static_cast<Callbacks*>(user_data);
    return to_sundials_code([&] { me.equations.residual(view(x), view(F)); }, me.cause);
  }
  static int newton_system(N_Vector x, N_Vector /*F*/, SUNMatrix /*A*/, void* user_data, N_Vector, N_Vector) {
    auto& me = *static_cast<Callbacks*>(user_data);
    return to_sundials_code([&] { me.equations.factor(view(x)); }, me.cause);
  }
};

/// Rethrows unrecoverable errors and returns the text of recoverable ones.
std::string describe_rejection(const std::exception_ptr& cause) {
  if (!cause) return {};
  try {
    std::rethrow_exception(cause);
  } catch (const RecoverableError& e) {
    return fmt::format("; last rejection by the model: {}", e.what());
  }
}

void configure(void* kinsol, const BalanceSettings& settings) {
  silence_messages(SundialsSolver::kinsol, kinsol);
  check_setup(KINSetFuncNormTol(kinsol, settings.tolerance), "KINSetFuncNormTol");
  // Below rounding: a short step does not indicate convergence, because stiff contact limits the step length.
  check_setup(KINSetScaledStepTol(kinsol, 1e-15), "KINSetScaledStepTol");
  check_setup(KINSetMaxNewtonStep(kinsol, settings.max_step_length), "KINSetMaxNewtonStep");
  check_setup(KINSetNumMaxIters(kinsol, settings.max_iterations), "KINSetNumMaxIters");
  // A new matrix in every iteration: contact stiffens by orders of magnitude within one step.
  check_setup(KINSetMaxSetupCalls(kinsol, 1), "KINSetMaxSetupCalls");
}

}  // namespace

BalanceResult solve_balance(const BalanceEquations& equations, const BalanceSettings& settings, Eigen::VectorXd& x) {
  Callbacks callbacks{.equations = equations, .cause = nullptr};
  NewtonSolverContext newton_context{.solve = equations.solve, .cause = &callbacks.cause};
  const Context context = make_context();
  const OwnedVector state(N_VNew_Serial(static_cast<sunindextype>(x.size()), context.get()));
  const OwnedVector x_scale(N_VClone(state.get()));
  const OwnedVector F_scale(N_VClone(state.get()));
  const OwnedMatrix matrix = make_newton_matrix(context.get());
  const OwnedLinearSolver solver = make_newton_solver(newton_context, context.get());
  view(state.get()) = x;
  view(x_scale.get()) = settings.x_scale;
  view(F_scale.get()) = settings.F_scale;
  const std::unique_ptr<void, KinsolDeleter> kinsol(KINCreate(context.get()));
  if (!kinsol) throw Error(ErrorCode::internal, "KINCreate failed");
  check_setup(KINInit(kinsol.get(), Callbacks::residual, state.get()), "KINInit");
  check_setup(KINSetUserData(kinsol.get(), &callbacks), "KINSetUserData");
  check_setup(KINSetLinearSolver(kinsol.get(), solver.get(), matrix.get()), "KINSetLinearSolver");
  check_setup(KINSetJacFn(kinsol.get(), Callbacks::newton_system), "KINSetJacFn");
  configure(kinsol.get(), settings);

  const int code = KINSol(kinsol.get(), state.get(), KIN_LINESEARCH, x_scale.get(), F_scale.get());
  BalanceResult result;
  long iterations = 0;
  long evaluations = 0;
  (void)KINGetNumNonlinSolvIters(kinsol.get(), &iterations);
  (void)KINGetNumFuncEvals(kinsol.get(), &evaluations);
  result.iterations = static_cast<int>(iterations);
  result.evaluations = static_cast<int>(evaluations);
  result.converged = code == KIN_SUCCESS || code == KIN_INITIAL_GUESS_OK;
  result.reason = describe_code(code, KINGetReturnFlagName(code)) + describe_rejection(callbacks.cause);
  x = view(state.get());
  Eigen::VectorXd F(x.size());
  equations.residual(x, F);
  result.norm = F.cwiseProduct(settings.F_scale).lpNorm<Eigen::Infinity>();
  // KINSOL's line search may fail at a point that satisfies the tolerance: the residual decides.
  result.converged = result.converged || result.norm <= settings.tolerance;
  return result;
}

}  // namespace heelstrike::mbs
