/// Estimate of the solution of
///
///     lambda >= 0,   g + A lambda >= 0,   lambda . (g + A lambda) = 0
///
/// by conjugate gradients with projection [polonsky1999]: a product with A per step instead of a factorisation.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace heelstrike::fem {

/// Products are in single precision: the estimate needs an accuracy of a per cent, and half the memory is read. With
/// products in double, a cold evaluation of the foot takes 1.17 to 1.23 times as long without friction (bench_fem).
/// @param A    symmetric positive definite, lower triangle
/// @param gap  g [m]
/// @return lambda [N], >= 0, to about a per cent; the active set is nearly right, without guarantee
[[nodiscard]] Eigen::VectorXd estimate_forces(const Eigen::MatrixXd& A, const Eigen::VectorXd& gap);

namespace plain {
/// The same with products in double.
[[nodiscard]] Eigen::VectorXd estimate_forces(const Eigen::MatrixXd& A, const Eigen::VectorXd& gap);
}  // namespace plain

/// Solution of
///
///     lambda >= 0,   g + A lambda >= 0,   lambda . (g + A lambda) = 0
///
/// by the projected Newton method [bertsekas1982]: every step decreases 1/2 lambda . A lambda + g . lambda, so there
/// are no cycles. For contacts in which block principal pivoting no longer makes progress.
struct ProjectedNewton {
  std::vector<std::uint32_t> active;  ///< unknowns with a force, ascending
  int iterations = 0;
  bool converged = false;
};

/// @param A      symmetric positive definite, lower triangle
/// @param gap    g [m]
/// @param start  [N] initial iterate; negative entries count as zero
/// @param limit  maximum number of iterations
[[nodiscard]] ProjectedNewton descend(const Eigen::MatrixXd& A, const Eigen::VectorXd& gap,
                                      const Eigen::VectorXd& start, int limit);

}  // namespace heelstrike::fem
