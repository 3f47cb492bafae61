/// First guess of the active set of
///
///     lambda >= 0,   g + A lambda >= 0,   lambda . (g + A lambda) = 0
///
/// by conjugate gradients with projection [polonsky1999]: a product with A per step instead of a factorisation.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace heelstrike::fem {

/// @param A    symmetric positive definite, lower triangle
/// @param gap  g [m]
/// @return indices of the active nodes, ascending; near the true set, never exact by contract
[[nodiscard]] std::vector<std::uint32_t> guess_active_set(const Eigen::MatrixXd& A, const Eigen::VectorXd& gap);

}  // namespace heelstrike::fem
