#include "mbs_server/integrators/sundials_support.hpp"

#include <fmt/format.h>
#if SUNDIALS_VERSION_MAJOR < 7
#include <arkode/arkode_arkstep.h>
#include <cvodes/cvodes.h>
#include <idas/idas.h>
#include <kinsol/kinsol.h>
#endif

#include <cmath>
#include <cstdlib>
#include <limits>

namespace heelstrike::mbs {

void throw_solver_failure(const std::exception_ptr& cause, const std::string& solver, const std::string& what,
                          double t) {
  std::string reason;
  if (cause) {
    try {
      std::rethrow_exception(cause);
    } catch (const RecoverableError& e) {
      // Smaller steps failed too: report the last error of the model.
      reason = fmt::format(" Last error reported by the model: {}", e.what());
    }
  }
  throw Error(ErrorCode::solver_failed,
              fmt::format("{} failed at t = {} s ({}): the step size or the iteration could not be made to "
                          "converge. Inspect the model at that time, or loosen rtol.{}",
                          solver, t, what, reason));
}

void StallGuard::check(double h, double t, const std::exception_ptr& cause, const std::string& solver) {
  constexpr int max_tiny = 20;
  if (cause) last_cause_ = cause;
  // A hundred rounding errors of the time: such a step changes only the last digits of t and y.
  const bool tiny = std::abs(h) <= 100.0 * std::numeric_limits<double>::epsilon() * std::abs(t);
  n_tiny_ = tiny ? n_tiny_ + 1 : 0;
  if (!tiny) last_cause_ = nullptr;
  if (n_tiny_ < max_tiny) return;
  throw_solver_failure(last_cause_, solver, fmt::format("{} consecutive steps that do not advance the time", n_tiny_),
                       t);
}

std::string describe_code(int code, char* name) {
  std::string text = fmt::format("{}, code {}", name, code);
  free(name);  // NOLINT(cppcoreguidelines-no-malloc): SUNDIALS returns a malloc'ed string
  return text;
}

void check_setup(int code, const char* call) {
  if (code != 0) throw Error(ErrorCode::internal, fmt::format("{} failed with code {}", call, code));
}

#if SUNDIALS_VERSION_MAJOR >= 7

// Error handlers belong to the context: without one, messages are discarded.
Context make_context() {
  SUNContext context = nullptr;
  check_setup(SUNContext_Create(SUN_COMM_NULL, &context), "SUNContext_Create");
  Context owned(context);
  check_setup(SUNContext_ClearErrHandlers(context), "SUNContext_ClearErrHandlers");
  // The logger would print warnings to the standard output, between the results.
  check_setup(SUNContext_SetLogger(context, nullptr), "SUNContext_SetLogger");
  return owned;
}

void silence_messages(SundialsSolver /*solver*/, void* /*memory*/) {}

#else

Context make_context() {
  SUNContext context = nullptr;
  check_setup(SUNContext_Create(nullptr, &context), "SUNContext_Create");
  return Context(context);
}

void silence_messages(SundialsSolver solver, void* memory) {
  const auto ignore = [](int /*code*/, const char* /*module*/, const char* /*function*/, char* /*message*/,
                         void* /*data*/) {};
  switch (solver) {
    case SundialsSolver::arkode:
      return check_setup(ARKStepSetErrHandlerFn(memory, ignore, nullptr), "ARKStepSetErrHandlerFn");
    case SundialsSolver::cvode:
      return check_setup(CVodeSetErrHandlerFn(memory, ignore, nullptr), "CVodeSetErrHandlerFn");
    case SundialsSolver::ida:
      return check_setup(IDASetErrHandlerFn(memory, ignore, nullptr), "IDASetErrHandlerFn");
    case SundialsSolver::kinsol:
      return check_setup(KINSetErrHandlerFn(memory, ignore, nullptr), "KINSetErrHandlerFn");
  }
}

#endif

namespace {

NewtonSolverContext& context_of(SUNLinearSolver S) {
  return *static_cast<NewtonSolverContext*>(S->content);
}

int solve(SUNLinearSolver S, SUNMatrix /*A*/, N_Vector x, N_Vector b, sunrealtype /*tol*/) {
  auto& newton_context = context_of(S);
  return to_sundials_code(
      [&] {
        // The tolerance is for iterative solvers; this one is exact.
        view(x) = view(b);
        newton_context.solve(view(x));
      },
      *newton_context.cause);
}

}  // namespace

OwnedMatrix make_newton_matrix(SUNContext context) {
  SUNMatrix A = SUNMatNewEmpty(context);
  // The minimum that SUNDIALS requires of a matrix: the entries are stored in the problem, in factored form.
  A->ops->getid = [](SUNMatrix) { return SUNMATRIX_CUSTOM; };
  A->ops->zero = [](SUNMatrix) { return 0; };
  A->ops->destroy = [](SUNMatrix M) { SUNMatFreeEmpty(M); };
  return OwnedMatrix(A);
}

OwnedLinearSolver make_newton_solver(NewtonSolverContext& newton_context, SUNContext context) {
  SUNLinearSolver S = SUNLinSolNewEmpty(context);
  S->content = &newton_context;
  S->ops->gettype = [](SUNLinearSolver) { return SUNLINEARSOLVER_DIRECT; };
  S->ops->getid = [](SUNLinearSolver) { return SUNLINEARSOLVER_CUSTOM; };
  S->ops->initialize = [](SUNLinearSolver) { return 0; };
  S->ops->setup = [](SUNLinearSolver, SUNMatrix) { return 0; };
  S->ops->solve = solve;
  S->ops->free = [](SUNLinearSolver solver) {
    solver->content = nullptr;
    SUNLinSolFreeEmpty(solver);
    return 0;
  };
  return OwnedLinearSolver(S);
}

}  // namespace heelstrike::mbs
