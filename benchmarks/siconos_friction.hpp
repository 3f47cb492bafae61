/// Siconos' solvers of frictional contact problems behind plain types: its C headers are included in one source only.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <span>
#include <string>

#include "common/friction/local_problem.hpp"

struct FrictionContactProblem;

namespace heelstrike::bench {

struct SiconosSolver {
  int id;  ///< Siconos' solver number
  const char* name;
  int max_iterations;
};

/// Solvers for problems in the plane or in space.
[[nodiscard]] std::span<const SiconosSolver> siconos_solvers(int dimension);

struct SiconosResult {
  Eigen::VectorXd r;
  double seconds = 0.0;  ///< of the solver, minimum of the repetitions
};

struct SiconosEffort {
  double tolerance = 1e-8;   ///< requested from the solver; the result is measured by compute_natural_map_error
  int repetitions = 1;       ///< fewer for long solutions
  double time_limit = 20.0;  ///< [s] processor time of all repetitions, for each unit
};

/// One problem in Siconos' storage.
class SiconosProblem {
 public:
  /// @param problem  outlives this
  explicit SiconosProblem(const friction::LocalProblem& problem);

  /// The faster successful solution of the original problem and of that with W in units of its mean diagonal.
  [[nodiscard]] SiconosResult solve(const SiconosSolver& solver, const Eigen::VectorXd& guess,
                                    const SiconosEffort& effort) const;

 private:
  struct Free {
    void operator()(FrictionContactProblem* problem) const;
  };
  /// @param unit  of W: W is divided by it, and reactions multiplied
  [[nodiscard]] SiconosResult solve_in_units(double unit, const SiconosSolver& solver, const Eigen::VectorXd& guess,
                                             const SiconosEffort& effort) const;
  const friction::LocalProblem& problem_;
  double mean_diagonal_;
  std::unique_ptr<FrictionContactProblem, Free> siconos_problem_;
};

}  // namespace heelstrike::bench
