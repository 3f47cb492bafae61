/// Siconos' solvers of frictional contact problems, behind plain types: its headers are C and stay in one source.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <span>
#include <string>

#include "common/friction/local_problem.hpp"

struct FrictionContactProblem;

namespace heelstrike::bench {

struct SiconosSolver {
  int id;  ///< Siconos' number of it
  const char* name;
  int max_iterations;
};

/// Those for problems in the plane or in space.
[[nodiscard]] std::span<const SiconosSolver> siconos_solvers(int dimension);

struct SiconosResult {
  Eigen::VectorXd r;
  double seconds = 0.0;  ///< of the solver alone, best of the repetitions
};

struct SiconosEffort {
  double tolerance = 1e-8;   ///< asked of the solver; what came of it is measured by compute_natural_map_error
  int repetitions = 1;       ///< fewer where one takes long
  double time_limit = 20.0;  ///< [s] of processor time for all repetitions, in either units
};

/// One problem in Siconos' storage.
class SiconosProblem {
 public:
  /// @param problem  outlives this
  explicit SiconosProblem(const friction::LocalProblem& problem);

  /// The quicker one that solves, of the problem as it is given and with W in units of the mean of its diagonal.
  [[nodiscard]] SiconosResult solve(const SiconosSolver& solver, const Eigen::VectorXd& guess,
                                    const SiconosEffort& effort) const;

 private:
  struct Free {
    void operator()(FrictionContactProblem* problem) const;
  };
  /// @param unit  of motions by unit reactions: what W is divided by, and reactions multiplied
  [[nodiscard]] SiconosResult solve_in_units(double unit, const SiconosSolver& solver, const Eigen::VectorXd& guess,
                                             const SiconosEffort& effort) const;
  const friction::LocalProblem& problem_;
  double mean_diagonal_;
  std::unique_ptr<FrictionContactProblem, Free> siconos_problem_;
};

}  // namespace heelstrike::bench
