#include "mbs_server/integrators/sundials_support.hpp"

#include <fmt/format.h>

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
      // Smaller steps did not help either: say what the model said last.
      reason = fmt::format(" Last reason given by the model: {}", e.what());
    }
  }
  throw Error(ErrorCode::solver_failed,
              fmt::format("{} gave up at t = {} s ({}): the step size or the iteration could not be made to "
                          "converge. Look at what happens in the model at that time, or loosen rtol.{}",
                          solver, t, what, reason));
}

void StallGuard::check(double h, double t, const std::exception_ptr& cause, const std::string& solver) {
  constexpr int max_tiny = 20;
  if (cause) last_cause_ = cause;
  // A hundred roundings of the time: such a step changes neither t nor y beyond their last digits.
  const bool tiny = std::abs(h) <= 100.0 * std::numeric_limits<double>::epsilon() * std::abs(t);
  n_tiny_ = tiny ? n_tiny_ + 1 : 0;
  if (!tiny) last_cause_ = nullptr;
  if (n_tiny_ < max_tiny) return;
  throw_solver_failure(last_cause_, solver, fmt::format("{} steps in a row that do not move the time", n_tiny_), t);
}

std::string describe_code(int code, char* name) {
  std::string text = fmt::format("{}, code {}", name, code);
  free(name);  // NOLINT(cppcoreguidelines-no-malloc): SUNDIALS hands over a malloc'ed string
  return text;
}

void check_setup(int code, const char* call) {
  if (code != 0) throw Error(ErrorCode::internal, fmt::format("{} failed with code {}", call, code));
}

Context make_context() {
  SUNContext context = nullptr;
  check_setup(SUNContext_Create(nullptr, &context), "SUNContext_Create");
  return Context(context);
}

namespace {

NewtonSolverContext& reconstruction_of(SUNLinearSolver S) {
  return *static_cast<NewtonSolverContext*>(S->content);
}

int solve(SUNLinearSolver S, SUNMatrix /*A*/, N_Vector x, N_Vector b, realtype /*tol*/) {
  auto& bridge = reconstruction_of(S);
  return guarded(
      [&] {
        // The tolerance is for iterative solvers; this one is exact.
        view(x) = view(b);
        bridge.solve(view(x));
      },
      *bridge.cause);
}

}  // namespace

OwnedMatrix make_newton_matrix(SUNContext context) {
  SUNMatrix A = SUNMatNewEmpty(context);
  // The least that SUNDIALS asks of a matrix: the entries live in the problem, in the form that it factors.
  A->ops->getid = [](SUNMatrix) { return SUNMATRIX_CUSTOM; };
  A->ops->zero = [](SUNMatrix) { return 0; };
  A->ops->destroy = [](SUNMatrix M) { SUNMatFreeEmpty(M); };
  return OwnedMatrix(A);
}

OwnedLinearSolver make_newton_solver(NewtonSolverContext& bridge, SUNContext context) {
  SUNLinearSolver S = SUNLinSolNewEmpty(context);
  S->content = &bridge;
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
