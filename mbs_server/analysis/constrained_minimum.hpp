/// Smooth minimisation with bounds and equality constraints by sequential quadratic programming: NLopt's SLSQP
/// [kraft1988], dense, with exact gradients.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <string>

namespace heelstrike::mbs {

struct MinimumProblem {
  using Vector = Eigen::VectorXd;
  using ConstVector = Eigen::Ref<const Eigen::VectorXd>;
  Vector lower, upper;    ///< bounds of the unknowns, may be infinite
  int n_constraints = 0;  ///< equalities
  /// Value at x; fills `gradient` unless it is empty. May throw.
  std::function<double(const ConstVector& x, Eigen::Ref<Vector> gradient)> objective;
  /// Residuals at x; fills `jacobian`, constraints x unknowns, unless it is empty. May throw.
  std::function<void(const ConstVector& x, Eigen::Ref<Vector> residuals, Eigen::Ref<Eigen::MatrixXd> jacobian)>
      constraints;
  double relative_step = 1e-10;   ///< ends when a step changes every unknown by less, relative to its size
  int max_evaluations = 200;      ///< of the objective
  double residual_bound = 1e-10;  ///< of a constraint at a minimum
};

struct MinimumResult {
  bool converged = false;
  double value = 0.0;
  int n_evaluations = 0;
  std::string reason;  ///< why it ended
};

/// Improves `x`, which may violate the constraints but not the bounds.
/// @throws the first exception of a function of the problem
[[nodiscard]] MinimumResult minimize(const MinimumProblem& problem, Eigen::Ref<Eigen::VectorXd> x);

}  // namespace heelstrike::mbs
