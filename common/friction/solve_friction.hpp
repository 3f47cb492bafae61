/// Solver of local frictional contact problems with positive semidefinite Delassus matrix, including redundant contacts
/// of rigid bodies.
///
/// Gauss-Seidel over the contacts, each solved exactly [jean1999], provides an estimate; a semismooth Newton method on
/// the projection equations of Alart and Curnier [alart1991] then converges fast. If W is singular, its matrix may be
/// singular, too. Newton therefore solves proximal problems, W + alpha I with q - alpha r_k, whose solutions converge
/// to one of the problem. Both alternate, with an increasing number of sweeps, until the error measure of FCLIB is
/// below the tolerance.
#pragma once

#include "common/friction/local_problem.hpp"

namespace heelstrike::friction {

struct FrictionOptions {
  double tolerance = 1e-8;  ///< [-] of compute_natural_map_error
  /// [-] Error at which the search ends if proximal steps do not reduce it further: points of which no motion of the
  /// bodies closes or stops all leave an error, and the reactions that would remove it exceed all others.
  double accepted_error = 0.0;
  int max_sweeps = 100'000;  ///< of Gauss-Seidel over all contacts
  int max_newton_steps = 1000;
};

struct FrictionSolution {
  Eigen::VectorXd r;  ///< reactions
  Eigen::VectorXd u;  ///< W r + q
  bool converged = false;
  double error = 0.0;  ///< compute_natural_map_error of r: the smallest found
  int sweeps = 0;
  int newton_steps = 0;
};

/// @param problem  accepted by check_problem()
/// @param guess    first iterate; empty = zero
[[nodiscard]] FrictionSolution solve_friction(const LocalProblem& problem, const FrictionOptions& options = {},
                                              const Eigen::VectorXd& guess = {});

}  // namespace heelstrike::friction
