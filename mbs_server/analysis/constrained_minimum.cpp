#include "mbs_server/analysis/constrained_minimum.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nlopt.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <vector>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {
namespace {

/// NLopt, loaded at its first use: programs that load this one's library (hosts of FMUs, MATLAB, Python) may have
/// another version of it, whose symbols must not be mixed with these.
struct Nlopt {
  decltype(&nlopt_create) create;
  decltype(&nlopt_destroy) destroy;
  decltype(&nlopt_force_stop) force_stop;
  decltype(&nlopt_set_lower_bounds) set_lower_bounds;
  decltype(&nlopt_set_upper_bounds) set_upper_bounds;
  decltype(&nlopt_set_min_objective) set_min_objective;
  decltype(&nlopt_add_equality_mconstraint) add_equality_mconstraint;
  decltype(&nlopt_set_xtol_rel) set_xtol_rel;
  decltype(&nlopt_set_maxeval) set_maxeval;
  decltype(&nlopt_optimize) optimize;
  decltype(&nlopt_get_numevals) get_numevals;
};

template <typename Function>
void find_symbol(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function != nullptr) return;
  throw Error(ErrorCode::file,
              fmt::format("{}: expected the function {}, found none; install NLopt (Debian: libnlopt0)",
                          HEELSTRIKE_NLOPT, name));
}

Nlopt load_nlopt() {
  void* library = ::dlopen(HEELSTRIKE_NLOPT, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    throw Error(ErrorCode::file, fmt::format("muscle optimisation: expected the library {}, found: {}; install NLopt "
                                             "(Debian: libnlopt0)",
                                             HEELSTRIKE_NLOPT, reason == nullptr ? "no reason given" : reason));
  }
  Nlopt nlopt{};
  find_symbol(library, "nlopt_create", nlopt.create);
  find_symbol(library, "nlopt_destroy", nlopt.destroy);
  find_symbol(library, "nlopt_force_stop", nlopt.force_stop);
  find_symbol(library, "nlopt_set_lower_bounds", nlopt.set_lower_bounds);
  find_symbol(library, "nlopt_set_upper_bounds", nlopt.set_upper_bounds);
  find_symbol(library, "nlopt_set_min_objective", nlopt.set_min_objective);
  find_symbol(library, "nlopt_add_equality_mconstraint", nlopt.add_equality_mconstraint);
  find_symbol(library, "nlopt_set_xtol_rel", nlopt.set_xtol_rel);
  find_symbol(library, "nlopt_set_maxeval", nlopt.set_maxeval);
  find_symbol(library, "nlopt_optimize", nlopt.optimize);
  find_symbol(library, "nlopt_get_numevals", nlopt.get_numevals);
  return nlopt;
}

const Nlopt& nlopt_library() {
  static const Nlopt nlopt = load_nlopt();
  return nlopt;
}

/// Functions of the problem as NLopt calls them: exceptions must not pass through C code.
struct Calls {
  const MinimumProblem& problem;
  nlopt_opt solver = nullptr;
  std::exception_ptr error{};

  template <typename Work>
  void attempt(Work work) {
    try {
      work();
    } catch (...) {
      if (!error) error = std::current_exception();
      nlopt_library().force_stop(solver);
    }
  }
};

double call_objective(unsigned n, const double* x, double* gradient, void* data) {
  auto& calls = *static_cast<Calls*>(data);
  double value = std::numeric_limits<double>::infinity();
  const auto size = static_cast<Eigen::Index>(n);
  calls.attempt([&] {
    Eigen::Map<Eigen::VectorXd> g(gradient, gradient == nullptr ? 0 : size);
    value = calls.problem.objective(Eigen::Map<const Eigen::VectorXd>(x, size), g);
  });
  return value;
}

void call_constraints(unsigned m, double* residuals, unsigned n, const double* x, double* gradient, void* data) {
  auto& calls = *static_cast<Calls*>(data);
  const auto rows = static_cast<Eigen::Index>(m);
  const auto size = static_cast<Eigen::Index>(n);
  calls.attempt([&] {
    Eigen::MatrixXd jacobian(gradient == nullptr ? 0 : rows, gradient == nullptr ? 0 : size);
    calls.problem.constraints(Eigen::Map<const Eigen::VectorXd>(x, size), Eigen::Map<Eigen::VectorXd>(residuals, rows),
                              jacobian);
    // NLopt stores one row after the other.
    if (gradient != nullptr) Eigen::Map<Eigen::MatrixXd>(gradient, size, rows) = jacobian.transpose();
  });
}

std::string reason_of(nlopt_result result) {
  switch (result) {
    case NLOPT_MAXEVAL_REACHED:
      return "the limit of evaluations was reached";
    case NLOPT_ROUNDOFF_LIMITED:
      return "progress was limited by rounding errors";
    case NLOPT_FAILURE:
      return "the quadratic subproblem has no solution";
    case NLOPT_XTOL_REACHED:
      return "the steps became small";
    default:
      return fmt::format("result {} of NLopt", static_cast<int>(result));
  }
}

}  // namespace

MinimumResult minimize(const MinimumProblem& problem, Eigen::Ref<Eigen::VectorXd> x) {
  const auto n = static_cast<unsigned>(x.size());
  const Nlopt& nlopt = nlopt_library();
  const std::unique_ptr<nlopt_opt_s, void (*)(nlopt_opt)> solver(nlopt.create(NLOPT_LD_SLSQP, n), nlopt.destroy);
  Calls calls{.problem = problem, .solver = solver.get()};
  nlopt.set_lower_bounds(solver.get(), problem.lower.data());
  nlopt.set_upper_bounds(solver.get(), problem.upper.data());
  nlopt.set_min_objective(solver.get(), call_objective, &calls);
  const std::vector<double> tolerances(static_cast<std::size_t>(problem.n_constraints), problem.residual_bound);
  if (problem.n_constraints > 0) {
    nlopt.add_equality_mconstraint(solver.get(), static_cast<unsigned>(problem.n_constraints), call_constraints, &calls,
                                   tolerances.data());
  }
  nlopt.set_xtol_rel(solver.get(), problem.relative_step);
  nlopt.set_maxeval(solver.get(), problem.max_evaluations);
  Eigen::VectorXd best = x.cwiseMax(problem.lower).cwiseMin(problem.upper);
  MinimumResult result;
  const nlopt_result outcome = nlopt.optimize(solver.get(), best.data(), &result.value);
  if (calls.error) std::rethrow_exception(calls.error);
  result.n_evaluations = nlopt.get_numevals(solver.get());
  result.converged = outcome > 0 && outcome != NLOPT_MAXEVAL_REACHED;
  result.reason = reason_of(outcome);
  x = best;
  return result;
}

}  // namespace heelstrike::mbs
