#include "mbs_server/analysis/constrained_minimum.hpp"

#include <nlopt.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <vector>

namespace heelstrike::mbs {
namespace {

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
      nlopt_force_stop(solver);
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
    default:
      return nlopt_result_to_string(result);
  }
}

}  // namespace

MinimumResult minimize(const MinimumProblem& problem, Eigen::Ref<Eigen::VectorXd> x) {
  const auto n = static_cast<unsigned>(x.size());
  const std::unique_ptr<nlopt_opt_s, void (*)(nlopt_opt)> solver(nlopt_create(NLOPT_LD_SLSQP, n), nlopt_destroy);
  Calls calls{.problem = problem, .solver = solver.get()};
  nlopt_set_lower_bounds(solver.get(), problem.lower.data());
  nlopt_set_upper_bounds(solver.get(), problem.upper.data());
  nlopt_set_min_objective(solver.get(), call_objective, &calls);
  const std::vector<double> tolerances(static_cast<std::size_t>(problem.n_constraints), problem.residual_bound);
  if (problem.n_constraints > 0) {
    nlopt_add_equality_mconstraint(solver.get(), static_cast<unsigned>(problem.n_constraints), call_constraints, &calls,
                                   tolerances.data());
  }
  nlopt_set_xtol_rel(solver.get(), problem.relative_step);
  nlopt_set_maxeval(solver.get(), problem.max_evaluations);
  Eigen::VectorXd best = x.cwiseMax(problem.lower).cwiseMin(problem.upper);
  MinimumResult result;
  const nlopt_result outcome = nlopt_optimize(solver.get(), best.data(), &result.value);
  if (calls.error) std::rethrow_exception(calls.error);
  result.n_evaluations = nlopt_get_numevals(solver.get());
  result.converged = outcome > 0 && outcome != NLOPT_MAXEVAL_REACHED;
  result.reason = reason_of(outcome);
  x = best;
  return result;
}

}  // namespace heelstrike::mbs
