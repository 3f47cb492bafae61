/// Solves F(x) = 0 by KINSOL: Newton's method with exact systems and a line search on the scaled norm of F
/// ([hindmarsh2005] in docs/references.bib).
#pragma once

#include <Eigen/Core>
#include <functional>
#include <string>

namespace heelstrike::mbs {

/// What KINSOL asks. Functions may throw RecoverableError: a shorter step is tried then.
struct BalanceEquations {
  using ConstRef = Eigen::Ref<const Eigen::VectorXd>;
  using MutableRef = Eigen::Ref<Eigen::VectorXd>;
  std::function<void(const ConstRef& x, MutableRef F)> residual;
  std::function<void(const ConstRef& x)> factor;  ///< of dF/dx
  std::function<void(MutableRef b)> solve;        ///< with the last factors, in place
};

struct BalanceSettings {
  Eigen::VectorXd F_scale;    ///< weights that make the entries of F comparable; the largest weighted one is the norm
  Eigen::VectorXd x_scale;    ///< weights that make the entries of x comparable
  double tolerance = 1e-10;   ///< [-] of the norm of F
  double max_step_length = 1.0;  ///< [-] Euclidean norm of the weighted step
  int max_iterations = 100;
};

struct BalanceResult {
  bool converged = false;
  double norm = 0.0;  ///< [-] largest weighted entry of F
  int iterations = 0;
  int evaluations = 0;  ///< of F
  std::string reason;   ///< what KINSOL said, and the last refusal of the model
};

/// @param x  start; the solution, or the best that was reached
/// @throws what `equations` throw unrecoverably
[[nodiscard]] BalanceResult solve_balance(const BalanceEquations& equations, const BalanceSettings& settings,
                                          Eigen::VectorXd& x);

}  // namespace heelstrike::mbs
