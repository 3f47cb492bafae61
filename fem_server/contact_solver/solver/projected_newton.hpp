/// Solution of
///
///     lambda >= 0,   g + A lambda >= 0,   lambda . (g + A lambda) = 0
///
/// by the projected Newton method [bertsekas1982]: every step decreases 1/2 lambda . A lambda + g . lambda, so there
/// are no cycles. For contacts in which block principal pivoting no longer makes progress.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace heelstrike::fem {

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
