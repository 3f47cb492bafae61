/// Solver of local problems of frictional contact whose Delassus matrix need only be positive semidefinite: redundant
/// contacts of rigid bodies among them.
///
/// Gauss-Seidel over the contacts, each solved exactly [jean1999], brings the iterate near; a semismooth Newton method
/// on the projection equations of Alart and Curnier [alart1991] then converges fast. Where W is singular its matrix may
/// be too: Newton solves proximal problems, W + alpha I with q - alpha r_k, whose solutions converge to one of the
/// problem. Both take turns, with more sweeps each time, until the measure of FCLIB is met.
#pragma once

#include "common/friction/local_problem.hpp"

namespace heelstrike::friction {

struct FrictionOptions {
  double tolerance = 1e-8;    ///< [-] of compute_natural_map_error
  int max_sweeps = 100'000;  ///< of Gauss-Seidel over all contacts
  int max_newton_steps = 1000;
};

struct FrictionSolution {
  Eigen::VectorXd r;  ///< reactions
  Eigen::VectorXd u;  ///< W r + q
  bool converged = false;
  double error = 0.0;  ///< compute_natural_map_error of r: the smallest that was found
  int sweeps = 0;
  int newton_steps = 0;
};

/// @param problem  as check_problem() accepts it
/// @param guess    first iterate; empty = zero
[[nodiscard]] FrictionSolution solve_friction(const LocalProblem& problem, const FrictionOptions& options = {},
                                              const Eigen::VectorXd& guess = {});

}  // namespace heelstrike::friction
