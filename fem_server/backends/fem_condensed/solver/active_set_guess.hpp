/// Estimate of the solution of
///
///     lambda >= 0,   g + A lambda >= 0,   lambda . (g + A lambda) = 0
///
/// by conjugate gradients with projection [polonsky1999]: a product with A per step instead of a factorisation.
#pragma once

#include <Eigen/Core>

namespace heelstrike::fem {

/// @param A    symmetric positive definite, lower triangle
/// @param gap  g [m]
/// @return lambda [N], >= 0, to about a percent; who is active is nearly right, never exact by contract
[[nodiscard]] Eigen::VectorXd estimate_forces(const Eigen::MatrixXd& A, const Eigen::VectorXd& gap);

}  // namespace heelstrike::fem
