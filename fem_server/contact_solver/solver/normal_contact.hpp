/// Frictionless contact of a linear body: the linear complementarity problem
///
///     lambda >= 0,   gamma = g + A lambda >= 0,   lambda . gamma = 0,      A = N^T C N
///
/// by block principal pivoting [judice1994], which is the primal-dual active set method [hintermueller2002] with
/// Murty's single pivots as a safeguard: it terminates after finitely many steps because A is positive definite. The
/// working set of nodes grows until no near node outside it penetrates.
///
/// The result is that of one factorisation on the final active set: its bits do not depend on the iteration history.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <vector>

#include "fem_server/contact_solver/contact_wrench.hpp"
#include "fem_server/contact_solver/detection/active_candidates.hpp"
#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

struct NormalContact {
  std::vector<std::uint32_t> working;  ///< positions in `near`, ascending
  std::vector<std::uint32_t> active;   ///< of these, ascending
  Eigen::VectorXd lambda;              ///< [N] per active node, > 0
  /// Cholesky factor (lower triangle) of A on the active nodes; of A - d gamma / d lambda with a penalty. Empty without
  /// `rotation`: it serves for derivatives.
  Eigen::MatrixXd factor;
  Eigen::VectorXd u;            ///< [m] displacements of the active nodes, three rows each
  Eigen::MatrixXd rotated;      ///< [m] those due to the rotation of their forces, six columns; empty unless requested
  NodeMotion outside;           ///< of near nodes outside the working set that were checked
  double penalty_energy = 0.0;  ///< [J]
  int iterations = 0;
  double residual = 0.0;  ///< [-] maximum violation of gamma >= 0, relative to the maximum penetration
};

/// d n / d X of a near node.
using NormalRotation = std::function<Matrix36(std::uint32_t)>;

struct NormalTask {
  const SurfaceCompliance* compliance = nullptr;
  const ActiveCandidates* near = nullptr;
  NormalRotation rotation{};  ///< called for active nodes; empty = `rotated` is not requested
};

struct NormalOutcome {
  NormalContact contact;
  std::exception_ptr error;  ///< null when `contact` is valid
};

/// Independent contacts, best at consecutive poses: their blocks of the compliance are read together. Same numbers as
/// one by one, bit for bit.
[[nodiscard]] std::vector<NormalOutcome> solve_normal_contacts(std::span<const NormalTask> tasks);

/// @throws RecoverableError when the iteration limit is reached
[[nodiscard]] NormalContact solve_normal_contact(const NormalTask& task);

/// Initial estimate for other solvers.
struct NormalEstimate {
  std::vector<std::uint32_t> positions;  ///< in `near`: those with a force, and open ones with a small gap; ascending
  Eigen::VectorXd lambda;                ///< [N] of these, >= 0, to about a per cent
};

/// The same problem on the initial working set, by conjugate gradients alone.
/// @param working_set_gap  maximum gap of open nodes in the estimate, over the maximum penetration
[[nodiscard]] NormalEstimate estimate_normal_contact(const SurfaceCompliance& compliance, const ActiveCandidates& near,
                                                     double working_set_gap);

/// d lambda / d X = A^-1 (G - N^T d u / d X at fixed lambda), then d u / d X, or only its effect on the wrench.
/// @param nodes       the active ones
/// @param contact     with its factor
/// @param rotated      d u / d X at fixed lambda
/// @param compliance  of the nodes; null = the nodes' d u / d X are not requested
/// @param numbers     of the nodes within it
[[nodiscard]] NodeDerivatives frictionless_derivatives(const std::vector<ContactNodeState>& nodes,
                                                       const NormalContact& contact, const Eigen::MatrixXd& rotated,
                                                       const Vector3& p_AB, const SurfaceCompliance* compliance,
                                                       std::span<const std::uint32_t> numbers);

}  // namespace heelstrike::fem
