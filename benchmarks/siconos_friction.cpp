#include "benchmarks/siconos_friction.hpp"

#include <siconos/numerics/FrictionContactProblem.h>
#include <siconos/numerics/Friction_cst.h>
#include <siconos/numerics/NonSmoothDrivers.h>
#include <siconos/numerics/NumericsMatrix.h>
#include <siconos/numerics/SolverOptions.h>
#include <siconos/numerics/fc2d_Solvers.h>
#include <siconos/numerics/fc3d_Solvers.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "common/friction/siconos_text.hpp"

namespace heelstrike::bench {

std::span<const SiconosSolver> siconos_solvers(int dimension) {
  static constexpr std::array<SiconosSolver, 5> in_space = {{{SICONOS_FRICTION_3D_NSGS, "NSGS", 20'000},
                                                             {SICONOS_FRICTION_3D_NSN_AC, "NSN_AC", 1'000},
                                                             {SICONOS_FRICTION_3D_NSN_FB, "NSN_FB", 1'000},
                                                             {SICONOS_FRICTION_3D_PROX, "PROX", 1'000},
                                                             {SICONOS_FRICTION_3D_ADMM, "ADMM", 20'000}}};
  static constexpr std::array<SiconosSolver, 3> in_plane = {{{SICONOS_FRICTION_2D_NSGS, "NSGS", 20'000},
                                                             {SICONOS_FRICTION_2D_CPG, "CPG", 1'000},
                                                             {SICONOS_FRICTION_2D_LEMKE, "LEMKE", 1'000}}};
  if (dimension == 2) return in_plane;
  return in_space;
}

namespace {

/// @return seconds
double run(FrictionContactProblem& problem, const SiconosSolver& solver, double tolerance, Eigen::VectorXd& r) {
  Eigen::VectorXd u = Eigen::VectorXd::Zero(r.size());
  SolverOptions* options = solver_options_create(solver.id);
  options->dparam[SICONOS_DPARAM_TOL] = tolerance;
  options->iparam[SICONOS_IPARAM_MAX_ITER] = solver.most_iterations;
  const auto begin = std::chrono::steady_clock::now();
  if (problem.dimension == 3) {
    (void)fc3d_driver(&problem, r.data(), u.data(), options);
  } else {
    (void)fc2d_driver(&problem, r.data(), u.data(), options);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  solver_options_delete(options);
  return seconds.count();
}

/// @param unit  of motions by unit reactions: what W is divided by, and reactions multiplied
SiconosResult solve_in_units(const friction::LocalProblem& problem, double unit, const SiconosSolver& solver,
                             double tolerance, const Eigen::VectorXd& guess, int repetitions, double time_limit) {
  friction::LocalProblem scaled = problem;
  scaled.W /= unit;
  // Its own reader makes what it likes best: blocks.
  std::ostringstream text;
  friction::write_siconos_text(scaled, text);
  const auto close = [](std::FILE* f) { std::fclose(f); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::tmpfile(), close);
  if (!file || std::fputs(text.str().c_str(), file.get()) < 0)
    throw std::runtime_error("cannot write a temporary file");
  std::rewind(file.get());
  const auto free = [](FrictionContactProblem* p) { frictionContactProblem_free(p); };
  const std::unique_ptr<FrictionContactProblem, decltype(free)> theirs(frictionContact_newFromFile(file.get()), free);
  // Some of its solvers end the process by an assertion, some need hours: each runs in a child of its own.
  const std::size_t n_bytes = (static_cast<std::size_t>(guess.size()) + 1) * sizeof(double);
  void* shared = ::mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("no shared memory");
  auto* numbers = static_cast<double*>(shared);
  numbers[0] = std::numeric_limits<double>::infinity();
  const pid_t child = ::fork();
  if (child == 0) {
    const double whole = std::floor(time_limit);
    const itimerval limit{.it_interval = {},
                          .it_value = {.tv_sec = static_cast<time_t>(whole),
                                       .tv_usec = static_cast<suseconds_t>(1e6 * (time_limit - whole))}};
    ::setitimer(ITIMER_REAL, &limit, nullptr);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(1);
    for (int i = 0; i < repetitions; ++i) {
      Eigen::VectorXd r = unit * guess;
      numbers[0] = std::min(numbers[0], run(*theirs, solver, tolerance, r));
      std::copy(r.begin(), r.end(), numbers + 1);
    }
    ::_exit(0);
  }
  (void)::waitpid(child, nullptr, 0);
  SiconosResult result{.r = Eigen::Map<Eigen::VectorXd>(numbers + 1, guess.size()) / unit, .seconds = numbers[0]};
  ::munmap(shared, n_bytes);
  return result;
}

}  // namespace

SiconosResult solve_with_siconos(const friction::LocalProblem& problem, const SiconosSolver& solver, double tolerance,
                                 const Eigen::VectorXd& guess, int repetitions, double time_limit) {
  // Its tolerances, steps and penalties are plain numbers: reactions that compare with motions, as our solvers take
  // them, suit some of the solvers, and the problem as it stands suits others.
  const auto solve = [&](double unit) {
    return solve_in_units(problem, unit, solver, tolerance, guess, repetitions, time_limit);
  };
  const auto solved = [&](const SiconosResult& result) {
    return friction::natural_map_error(problem, result.r) <= tolerance;
  };
  const SiconosResult given = solve(1.0);
  const SiconosResult scaled = solve(problem.W.diagonal().mean());
  return solved(scaled) && (!solved(given) || scaled.seconds < given.seconds) ? scaled : given;
}

}  // namespace heelstrike::bench
