#include "fem_server/contact_solver/solver/active_set_guess.hpp"

#include <algorithm>
#include <cmath>

#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

namespace {

constexpr int max_estimate_steps = 80;
/// Steps without a change of the active set after which it is accepted.
constexpr int min_steady_steps = 5;
/// Error of the gap of active nodes, over the maximum penetration, below which the set is accepted.
constexpr double accepted_gap_error = 1e-2;

/// @param times_A  x -> A x
template <class Product>
Eigen::VectorXd estimate(Product times_A, const Eigen::VectorXd& gap) {
  const Eigen::Index n = gap.size();
  if (n == 0 || gap.minCoeff() >= 0.0) return Eigen::VectorXd::Zero(n);
  const double scale = -gap.minCoeff();
  Eigen::VectorXd lambda = (-gap).cwiseMax(0.0);
  Eigen::VectorXd product = times_A(lambda);
  const double curvature = lambda.dot(product);
  if (!(curvature > 0.0)) return Eigen::VectorXd::Zero(n);
  // The optimal multiple of the penetrations.
  const double factor = lambda.squaredNorm() / curvature;
  lambda *= factor;
  Eigen::VectorXd gamma = gap + factor * product;
  Eigen::VectorXd direction = Eigen::VectorXd::Zero(n);
  double before = 1.0;
  bool conjugate = false;
  int steady = 0;
  for (int step = 0; step < max_estimate_steps; ++step) {
    double square = 0.0;
    double largest = 0.0;
    for (Eigen::Index i = 0; i < n; ++i) {
      if (lambda[i] <= 0.0) continue;
      square += gamma[i] * gamma[i];
      largest = std::max(largest, std::abs(gamma[i]));
    }
    if (square == 0.0 || (steady >= min_steady_steps && largest < accepted_gap_error * scale)) break;
    // A direction is conjugate to the last one only while the active set does not grow: after a node has been added,
    // the next step is one of steepest descent [polonsky1999].
    const double keep = conjugate ? square / before : 0.0;
    before = square;
    double slope = 0.0;
    for (Eigen::Index i = 0; i < n; ++i) {
      direction[i] = lambda[i] > 0.0 ? keep * direction[i] - gamma[i] : 0.0;
      slope -= gamma[i] * direction[i];
    }
    product = times_A(direction);
    const double length = slope / direction.dot(product);
    lambda += length * direction;
    gamma += length * product;
    bool left = false;
    bool joined = false;
    for (Eigen::Index i = 0; i < n; ++i) {
      if (lambda[i] > 0.0) continue;
      left = left || lambda[i] < 0.0;
      lambda[i] = 0.0;
    }
    // Penetrating nodes are added with a force of the size of the last correction of their neighbours.
    for (Eigen::Index i = 0; i < n; ++i) {
      if (lambda[i] > 0.0 || gamma[i] >= 0.0) continue;
      lambda[i] = -length * gamma[i];
      joined = true;
    }
    conjugate = !joined;
    steady = left || joined ? 0 : steady + 1;
    // The recurrence gamma += length A direction holds for the full step, not for the projected one.
    if (!left && !joined) continue;
    product = times_A(lambda);
    gamma = gap + product;
  }
  return lambda;
}

}  // namespace

Eigen::VectorXd estimate_forces(const Eigen::MatrixXd& A, const Eigen::VectorXd& gap) {
  const Eigen::MatrixXf single = in_single_precision(A);
  return estimate(
      [&](const Eigen::VectorXd& x) -> Eigen::VectorXd {
        Eigen::VectorXf y(x.size());
        multiply_symmetric(single, x.cast<float>(), y);
        return y.cast<double>();
      },
      gap);
}

Eigen::VectorXd plain::estimate_forces(const Eigen::MatrixXd& A, const Eigen::VectorXd& gap) {
  return estimate(
      [&](const Eigen::VectorXd& x) -> Eigen::VectorXd {
        Eigen::VectorXd y(x.size());
        multiply_symmetric(A, x, y);
        return y;
      },
      gap);
}

namespace {

/// Gaps below this fraction of the maximum penetration are rounding, as in the exchange of active sets.
constexpr double rounding_gap = 1e-11;
/// Required fraction of the decrease predicted by the slope [bertsekas1982 recommends 0 to 1/2].
constexpr double sufficient = 1e-4;
/// Shorter steps change nothing in double precision.
constexpr double min_step_length = 1e-12;

/// Newton step on the free unknowns; zero elsewhere. @return false when A is not definite
bool newton_step(const Eigen::MatrixXd& A, const Eigen::VectorXd& gradient, const std::vector<std::uint32_t>& free,
                 Eigen::VectorXd& step) {
  const auto m = static_cast<Eigen::Index>(free.size());
  Eigen::MatrixXd part(m, m);
  Eigen::VectorXd rhs(m);
  for (Eigen::Index b = 0; b < m; ++b) {
    const double* column = A.col(free[static_cast<std::size_t>(b)]).data();
    for (Eigen::Index a = b; a < m; ++a) part(a, b) = column[free[static_cast<std::size_t>(a)]];
    rhs[b] = -gradient[free[static_cast<std::size_t>(b)]];
  }
  if (!cholesky_in_place(part)) return false;
  solve_lower(part, rhs);
  solve_lower_transposed(part, rhs);
  step.setZero();
  for (Eigen::Index a = 0; a < m; ++a) step[free[static_cast<std::size_t>(a)]] = rhs[a];
  return true;
}

}  // namespace

ProjectedNewton descend(const Eigen::MatrixXd& A, const Eigen::VectorXd& gap, const Eigen::VectorXd& start, int limit) {
  ProjectedNewton result;
  const double scale = std::max(0.0, -gap.minCoeff());
  Eigen::VectorXd lambda = start.cwiseMax(0.0);
  Eigen::VectorXd product(lambda.size());
  multiply_symmetric(A, lambda, product);
  Eigen::VectorXd step(lambda.size());
  while (result.iterations < limit && !result.converged) {
    ++result.iterations;
    const Eigen::VectorXd gradient = gap + product;
    std::vector<std::uint32_t> free;
    for (std::uint32_t i = 0; i < lambda.size(); ++i) {
      if (lambda[i] > 0.0 || gradient[i] < -rounding_gap * scale) free.push_back(i);
    }
    if (!newton_step(A, gradient, free, step)) break;
    // A full step without reaching a bound is the solution for these free unknowns; any remaining tension or
    // penetration is detected by the next iteration.
    bool reaches_bound = false;
    for (const std::uint32_t i : free) reaches_bound = reaches_bound || lambda[i] + step[i] < 0.0;
    double length = 1.0;
    for (; length > min_step_length; length *= 0.5) {
      const Eigen::VectorXd next = (lambda + length * step).cwiseMax(0.0);
      const Eigen::VectorXd change = next - lambda;
      Eigen::VectorXd by_change(change.size());
      multiply_symmetric(A, change, by_change);
      const double slope = gradient.dot(change);
      if (slope + 0.5 * change.dot(by_change) > sufficient * slope) continue;
      lambda = next;
      product += by_change;
      break;
    }
    const bool stuck = length <= min_step_length;
    const Eigen::VectorXd after = gap + product;
    bool settled = !reaches_bound && length == 1.0;
    for (std::uint32_t i = 0; settled && i < lambda.size(); ++i) {
      settled = lambda[i] > 0.0 || after[i] >= -rounding_gap * scale;
    }
    result.converged = settled || stuck;
  }
  for (std::uint32_t i = 0; i < lambda.size(); ++i) {
    if (lambda[i] > 0.0) result.active.push_back(i);
  }
  return result;
}

}  // namespace heelstrike::fem
