/// Solves F(x) = 0 by KINSOL: Newton's method with exact systems and a line search on the scaled norm of F
/// ([hindmarsh2005] in docs/references.bib).
#pragma once

#include <Eigen/Core>
#include <functional>
#include <string>

namespace heelstrike::mbs {

/// Functions for KINSOL. They may throw RecoverableError, on which a shorter step is tried.
struct BalanceEquations {
  using ConstRef = Eigen::Ref<const Eigen::VectorXd>;
  using MutableRef = Eigen::Ref<Eigen::VectorXd>;
  std::function<void(const ConstRef& x, MutableRef F)> residual;
  std::function<void(const ConstRef& x)> factor;  ///< of dF/dx
  std::function<void(MutableRef b)> solve;        ///< in place, with the last factors
};

struct BalanceSettings {
  Eigen::VectorXd F_scale;       ///< weights of the entries of F; the norm is the largest weighted entry
  Eigen::VectorXd x_scale;       ///< weights of the entries of x
  double tolerance = 1e-10;      ///< [-] of the norm of F
  double max_step_length = 1.0;  ///< [-] Euclidean norm of the weighted step
  int max_iterations = 100;
};

struct BalanceResult {
  bool converged = false;
  double norm = 0.0;  ///< [-] largest weighted entry of F
  int iterations = 0;
  int evaluations = 0;  ///< of F
  std::string reason;   ///< return flag of KINSOL, and the last rejection by the model
};

/// @param x  initial guess; the solution, or the best iterate
/// @throws unrecoverable errors of `equations`
[[nodiscard]] BalanceResult solve_balance(const BalanceEquations& equations, const BalanceSettings& settings,
                                          Eigen::VectorXd& x);

}  // namespace heelstrike::mbs
