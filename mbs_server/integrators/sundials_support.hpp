/// Conversion between exceptions and SUNDIALS' return codes, owners for its C objects, and all that differs between
/// SUNDIALS 6 and 7: contexts and error handlers. All other names that the integrators use are those of both versions.
#pragma once

#include <nvector/nvector_serial.h>
#include <sundials/sundials_context.h>
#include <sundials/sundials_linearsolver.h>
#include <sundials/sundials_matrix.h>

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "common/errors/error.hpp"
#include "mbs_server/integrators/problem.hpp"
#include "scenario/scenario.hpp"

// SUNDIALS 7.1 deprecates the functions ARKStep* in favour of ARKode*, which earlier versions do not have.
#if SUNDIALS_VERSION_MAJOR >= 7
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace heelstrike::mbs {

/// Runs `body` for a C solver: 0 = done, +1 = retry with a smaller step, -1 = stop. No exception propagates into C.
/// `cause` stores the latest failure until the owner clears it after an accepted step.
template <std::invocable Body>
[[nodiscard]] int to_sundials_code(Body&& body, std::exception_ptr& cause) noexcept {
  try {
    std::forward<Body>(body)();
    return 0;
  } catch (const RecoverableError&) {
    cause = std::current_exception();
    return +1;
  } catch (...) {
    cause = std::current_exception();
    return -1;
  }
}

/// Rethrows `cause` unless it is recoverable; otherwise throws Error{solver_failed} with the solver, its message, the
/// time, and the last error of the model.
[[noreturn]] void throw_solver_failure(const std::exception_ptr& cause, const std::string& solver,
                                       const std::string& what, double t);

/// Detects stalling at a time that cannot be passed: every step succeeds, each smaller than the last, until steps no
/// longer advance the time. The solvers do not detect this.
class StallGuard {
 public:
  void reset() { *this = {}; }
  /// Checks an accepted step of size `h` [s] that ended at `t` [s].
  /// @param cause  last rejection within the step; may be empty
  /// @throws Error{solver_failed} after 20 consecutive steps that do not advance the time
  void check(double h, double t, const std::exception_ptr& cause, const std::string& solver);

 private:
  int n_tiny_ = 0;
  std::exception_ptr last_cause_;
};

/// "CV_CONV_FAILURE, code -4" from a SUNDIALS code and its malloc'ed name, which is freed.
[[nodiscard]] std::string describe_code(int code, char* name);

enum class SundialsSolver { arkode, cvode, ida, kinsol };
/// Suppresses the output of a new solver to stderr, which would only repeat the exceptions.
void silence_messages(SundialsSolver solver, void* memory);

/// [J] absolute tolerance per step of work and dissipation: relative to 1 J, so that a zero initial value is
/// admissible. Without error control the work of a motion with large steps would have errors of percents.
[[nodiscard]] inline double quadrature_atol(const IntegratorSpec& spec) {
  return spec.rtol;
}

/// In one-step mode the output time only affects the estimate of the first step; a fixed distance [s] makes the results
/// independent of the length of the run.
inline constexpr double first_step_horizon = 1.0;

/// @throws Error{internal} when a set-up call of SUNDIALS failed
void check_setup(int code, const char* call);

struct ContextDeleter {
  void operator()(SUNContext context) const { SUNContext_Free(&context); }
};
using Context = std::unique_ptr<std::remove_pointer_t<SUNContext>, ContextDeleter>;
[[nodiscard]] Context make_context();

struct VectorDeleter {
  void operator()(N_Vector v) const { N_VDestroy(v); }
};
using OwnedVector = std::unique_ptr<std::remove_pointer_t<N_Vector>, VectorDeleter>;

/// View of an N_Vector's data.
[[nodiscard]] inline Eigen::Map<Eigen::VectorXd> view(N_Vector v) {
  return {N_VGetArrayPointer(v), static_cast<Eigen::Index>(N_VGetLength_Serial(v))};
}

struct MatrixDeleter {
  void operator()(SUNMatrix A) const { SUNMatDestroy(A); }
};
using OwnedMatrix = std::unique_ptr<std::remove_pointer_t<SUNMatrix>, MatrixDeleter>;
struct LinearSolverDeleter {
  void operator()(SUNLinearSolver S) const { SUNLinSolFree(S); }
};
using OwnedLinearSolver = std::unique_ptr<std::remove_pointer_t<SUNLinearSolver>, LinearSolverDeleter>;

/// Newton systems with factors stored in the problem, as SUNDIALS objects: an empty placeholder matrix and a direct
/// solver that calls `solve`.
struct NewtonSolverContext {
  std::function<void(Eigen::Ref<Eigen::VectorXd>)> solve;  ///< in place
  std::exception_ptr* cause = nullptr;
};
[[nodiscard]] OwnedMatrix make_newton_matrix(SUNContext context);
/// @param newton_context  outlives the solver
[[nodiscard]] OwnedLinearSolver make_newton_solver(NewtonSolverContext& newton_context, SUNContext context);

}  // namespace heelstrike::mbs
