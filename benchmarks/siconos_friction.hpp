/// Siconos' solvers of frictional contact problems, behind plain types: its headers are C and stay in one source.
#pragma once

#include <Eigen/Core>
#include <span>
#include <string>

#include "common/friction/local_problem.hpp"

namespace heelstrike::bench {

struct SiconosSolver {
  int id;  ///< Siconos' number of it
  const char* name;
  int most_iterations;
};

/// Those for problems in the plane or in space.
[[nodiscard]] std::span<const SiconosSolver> siconos_solvers(int dimension);

struct SiconosResult {
  Eigen::VectorXd r;
  double seconds = 0.0;  ///< of the solver alone, best of the repetitions
};

/// The quicker one that solves, of the problem as it is given and with W in units of the mean of its diagonal.
/// @param tolerance  asked of the solver; what came of it is measured by natural_map_error
/// @param time_limit  [s] for all repetitions, in either units
[[nodiscard]] SiconosResult solve_with_siconos(const friction::LocalProblem& problem, const SiconosSolver& solver,
                                               double tolerance, const Eigen::VectorXd& guess, int repetitions,
                                               double time_limit = 20.0);

}  // namespace heelstrike::bench
