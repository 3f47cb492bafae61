#include "common/friction/local_problem.hpp"

#include <fmt/format.h>

#include <cmath>

#include "common/errors/error.hpp"

namespace heelstrike::friction {
void check_problem(const LocalProblem& problem, const std::string& where) {
  if (problem.dimension != 2 && problem.dimension != 3) {
    throw input_error("dimension",
                      fmt::format("{}: expected contacts of dimension 2 or 3, found {}", where, problem.dimension));
  }
  const Eigen::Index size = problem.dimension * problem.n_contacts();
  if (problem.n_contacts() == 0) throw input_error("mu", where + ": expected at least one contact, found none");
  if (problem.W.rows() != size || problem.W.cols() != size) {
    throw input_error(
        "W", fmt::format("{}: expected W with {} rows and columns for {} contacts of dimension {}, found {} x {}",
                         where, size, problem.n_contacts(), problem.dimension, problem.W.rows(), problem.W.cols()));
  }
  if (problem.q.size() != size) {
    throw input_error("q", fmt::format("{}: expected {} numbers in q, found {}", where, size, problem.q.size()));
  }
  if (!problem.q.allFinite() || !problem.W.coeffs().allFinite()) {
    throw input_error("W", where + ": expected finite numbers in W and q, found one that is not");
  }
  for (Eigen::Index i = 0; i < problem.n_contacts(); ++i) {
    if (!(problem.mu[i] >= 0.0) || !std::isfinite(problem.mu[i])) {
      throw input_error("mu", fmt::format("{}: expected coefficients of friction >= 0, found {} at contact {}", where,
                                          problem.mu[i], i));
    }
    const double own = problem.W.coeff(problem.dimension * i, problem.dimension * i);
    if (!(own > 0.0)) {
      throw input_error("W", fmt::format("{}: expected a positive normal entry of W at each contact, found {} at "
                                         "contact {}: no motion is possible there",
                                         where, own, i));
    }
  }
}

double compute_natural_map_error(const LocalProblem& problem, const Eigen::VectorXd& r) {
  const int d = problem.dimension;
  Eigen::VectorXd y = problem.W * r + problem.q;
  for (Eigen::Index i = 0; i < problem.n_contacts(); ++i) {
    auto own = y.segment(d * i, d);
    own[0] += problem.mu[i] * own.tail(d - 1).norm();
    own = r.segment(d * i, d) - own;
    project_on_cone(own, problem.mu[i]);
  }
  const double scale = problem.q.norm();
  return (r - y).norm() / (scale > 0.0 ? scale : 1.0);
}

}  // namespace heelstrike::friction
