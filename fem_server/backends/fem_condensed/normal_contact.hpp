/// Frictionless contact of a linear body: the linear complementarity problem
///
///     lambda >= 0,   gamma = g + A lambda >= 0,   lambda . gamma = 0,      A = N^T C N
///
/// by block principal pivoting [judice1994], which is the primal-dual active set method [hintermueller2002] with
/// Murty's single pivots as a safeguard: it ends after finitely many steps because A is positive definite.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

/// Nodes that may touch, ascending, with gap [m] and normal of the undeformed body at each.
struct NearNodes {
  std::vector<std::uint32_t> nodes;  ///< candidate numbers
  std::vector<double> gaps;
  std::vector<Vector3> normals;
};

struct NormalContact {
  std::vector<std::uint32_t> active;  ///< positions in NearNodes, ascending
  Eigen::VectorXd lambda;             ///< [N] per active node, > 0
  Eigen::MatrixXd factor;             ///< Cholesky factor (lower triangle) of A on the active nodes
  int iterations = 0;
  double residual = 0.0;  ///< [-] largest violation of gamma >= 0, relative to the largest penetration
};

/// @param warm  positions in `near` of the first guess of the active set, ascending; may be empty
/// @throws RecoverableError when the iteration limit is reached
[[nodiscard]] NormalContact solve_normal_contact(const SurfaceCompliance& compliance, const NearNodes& near,
                                                 std::span<const std::uint32_t> warm);

}  // namespace heelstrike::fem
