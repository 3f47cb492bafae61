/// Frictional contact problems of a dragged foot, and the solver of `fem_condensed` on them.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "common/friction/local_problem.hpp"

namespace heelstrike::bench {

struct FootStep {
  std::string name;
  friction::LocalProblem problem;
  Eigen::VectorXd before;  ///< [N] reactions at the end of the previous step, in the axes of this one
};

/// n committed steps of the descending scanned foot, tilted and dragged; empty without the scan.
/// @param every  1 = all of them, k = every k-th
/// @param h  [m] element size
[[nodiscard]] std::vector<FootStep> foot_steps(int n, int every, double h);

struct CondensedTimes {
  Eigen::VectorXd r;
  double seconds = 0.0;  ///< [s] processor time of the solver, minimum of the repetitions
  double keeping = 0.0;  ///< [s] for the cached data of a committed state; zero when cold
};

/// @param before  reactions of the warm start; null = cold
[[nodiscard]] CondensedTimes solve_with_condensed(const friction::LocalProblem& problem, const Eigen::VectorXd* before,
                                                  int repetitions);

}  // namespace heelstrike::bench
