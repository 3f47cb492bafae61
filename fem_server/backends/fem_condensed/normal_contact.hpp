/// Frictionless contact of a linear body: the linear complementarity problem
///
///     lambda >= 0,   gamma = g + A lambda >= 0,   lambda . gamma = 0,      A = N^T C N
///
/// by block principal pivoting [judice1994], which is the primal-dual active set method [hintermueller2002] with
/// Murty's single pivots as a safeguard: it ends after finitely many steps because A is positive definite. It runs on a
/// working set of nodes that grows until no near node outside penetrates.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "fem_server/backends/fem_condensed/gathered_block.hpp"
#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

struct NormalContact {
  GatheredBlock block;                ///< of the working set
  std::vector<std::uint32_t> active;  ///< indices into block.positions(), ascending
  Eigen::VectorXd lambda;             ///< [N] per active node, > 0
  /// Cholesky factor (lower triangle) of A on the active nodes; of A - d gamma / d lambda with a penalty
  Eigen::MatrixXd factor;
  Eigen::VectorXd u;            ///< [m] displacements of the block's nodes
  double penalty_energy = 0.0;  ///< [J]
  int iterations = 0;
  double residual = 0.0;  ///< [-] largest violation of gamma >= 0, relative to the largest penetration
};

/// First guess of the working set: nodes with a committed force, and those that would penetrate if the displacement
/// were the committed one; without any committed force all that penetrate undeformed.
[[nodiscard]] std::vector<std::uint32_t> first_working_set(const NearNodes& near);

/// @throws RecoverableError when the iteration limit is reached
[[nodiscard]] NormalContact solve_normal_contact(const SurfaceCompliance& compliance, const NearNodes& near);

}  // namespace heelstrike::fem
