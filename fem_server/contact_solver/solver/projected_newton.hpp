/// Solution of
///
///     lambda >= 0,   g + A lambda >= 0,   lambda . (g + A lambda) = 0
///
/// by the projected Newton method [bertsekas1982]: every step lowers 1/2 lambda . A lambda + g . lambda, so that
/// nothing cycles. For contacts in which block principal pivoting gains nothing any more.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace heelstrike::fem {

struct ProjectedNewton {
  std::vector<std::uint32_t> active;  ///< who has a force, ascending
  int iterations = 0;
  bool converged = false;
};

/// @param A      symmetric positive definite, lower triangle
/// @param gap    g [m]
/// @param start  [N] where it begins; negative entries count as zero
/// @param limit  largest number of iterations
[[nodiscard]] ProjectedNewton descend(const Eigen::MatrixXd& A, const Eigen::VectorXd& gap,
                                      const Eigen::VectorXd& start, int limit);

}  // namespace heelstrike::fem
