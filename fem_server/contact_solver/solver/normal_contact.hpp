/// Frictionless contact of a linear body: the linear complementarity problem
///
///     lambda >= 0,   gamma = g + A lambda >= 0,   lambda . gamma = 0,      A = N^T C N
///
/// by block principal pivoting [judice1994], which is the primal-dual active set method [hintermueller2002] with
/// Murty's single pivots as a safeguard: it ends after finitely many steps because A is positive definite. It runs on a
/// working set of nodes that grows until no near node outside penetrates.
///
/// The result is that of one factorisation on the final active set: its bits do not depend on the way there.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <vector>

#include "fem_server/contact_solver/detection/active_candidates.hpp"
#include "fem_server/contact_solver/contact_wrench.hpp"
#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

struct NormalContact {
  std::vector<std::uint32_t> working;  ///< positions in `near`, ascending
  std::vector<std::uint32_t> active;   ///< of these, ascending
  Eigen::VectorXd lambda;              ///< [N] per active node, > 0
  /// Cholesky factor (lower triangle) of A on the active nodes; of A - d gamma / d lambda with a penalty. Empty when no
  /// turning was given: it is for derivatives.
  Eigen::MatrixXd factor;
  Eigen::VectorXd u;            ///< [m] displacements of the active nodes, three rows each
  Eigen::MatrixXd turned;       ///< [m] those by the turning of their forces, six columns; empty when not asked for
  NodeMotion outside;           ///< of near nodes outside the working set, as far as they were looked at
  double penalty_energy = 0.0;  ///< [J]
  int iterations = 0;
  double residual = 0.0;  ///< [-] largest violation of gamma >= 0, relative to the largest penetration
};

/// d n / d X of a near node.
using NormalRotation = std::function<Matrix36(std::uint32_t)>;

struct NormalTask {
  const SurfaceCompliance* compliance = nullptr;
  const ActiveCandidates* near = nullptr;
  NormalRotation turning{};  ///< asked for active nodes; empty = `turned` is not wanted
};

struct NormalOutcome {
  NormalContact contact;
  std::exception_ptr error;  ///< null when `contact` is valid
};

/// Contacts that do not depend on one another, best of poses that follow one another: their blocks of the compliance
/// are read together. The same numbers as one by one, bit for bit.
[[nodiscard]] std::vector<NormalOutcome> solve_normal_contacts(std::span<const NormalTask> tasks);

/// @throws RecoverableError when the iteration limit is reached
[[nodiscard]] NormalContact solve_normal_contact(const NormalTask& task);

/// Where other solvers start from.
struct NormalEstimate {
  std::vector<std::uint32_t> positions;  ///< in `near`: those with a force, and open ones with a small gap; ascending
  Eigen::VectorXd lambda;                ///< [N] of these, >= 0, to about a percent
};

/// The same problem on the first working set, by conjugate gradients alone.
/// @param working_set_gap  largest gap of open nodes that belong to the estimate, over the largest penetration
[[nodiscard]] NormalEstimate estimate_normal_contact(const SurfaceCompliance& compliance, const ActiveCandidates& near,
                                                     double working_set_gap);

}  // namespace heelstrike::fem
