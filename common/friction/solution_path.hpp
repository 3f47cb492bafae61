/// Solution of a frictional contact problem with positive definite Delassus matrix by path following.
///
/// Such a problem has a solution for every q and mu >= 0 (docs/theory/friction_problems.md). Reactions r_0 in the cones
/// solve the problem of q_0 = u_0 - W r_0 with u_0 = 0 where they act and any opening motion elsewhere. The solutions
/// of
///
///     q(s) = q_0 + s (q - q_0)
///
/// form curves. The curve through s = 0 is followed to s = 1, also where s decreases along it: beyond a limit point,
/// where solvers that only increase s, and Newton's method from the preceding solution, fail.
#pragma once

#include <Eigen/Core>

#include "common/friction/local_problem.hpp"

namespace heelstrike::friction {

struct PathSolution {
  Eigen::VectorXd r;     ///< reactions at the end of the path
  bool reached = false;  ///< they solve the problem, up to rounding
  int factorisations = 0;
  int limit_points = 0;  ///< passed: changes of the sign of ds
};

/// @param problem  accepted by check_problem(), W positive definite
/// @param start  reactions; the path starts at their projection on the cones. From zero, where the solution is unique,
///               the path ends at s = 1; from others it may be closed
/// @param max_operations  floating-point operations of factorisations: 2/3 m^3 for m equations of closed contacts; a
///                        change of state of a contact takes about three
[[nodiscard]] PathSolution follow_solution_path(const LocalProblem& problem, const Eigen::VectorXd& start,
                                                double max_operations = 1e11);

}  // namespace heelstrike::friction
