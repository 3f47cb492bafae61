#include "fem_server/contact_solver/solver/active_set_guess.hpp"

#include <algorithm>

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

}  // namespace heelstrike::fem
