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
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "benchmarks/clocks.hpp"
#include "benchmarks/friction_problems/siconos_text.hpp"

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

/// [s] beyond which further repetitions are not needed.
constexpr double long_enough = 0.1;

/// @return [s] processor time of the calling thread
double run(FrictionContactProblem& problem, const SiconosSolver& solver, double tolerance, Eigen::VectorXd& r) {
  Eigen::VectorXd u = Eigen::VectorXd::Zero(r.size());
  SolverOptions* options = solver_options_create(solver.id);
  options->dparam[SICONOS_DPARAM_TOL] = tolerance;
  options->iparam[SICONOS_IPARAM_MAX_ITER] = solver.max_iterations;
  const double begin = thread_seconds();
  if (problem.dimension == 3) {
    (void)fc3d_driver(&problem, r.data(), u.data(), options);
  } else {
    (void)fc2d_driver(&problem, r.data(), u.data(), options);
  }
  const double seconds = thread_seconds() - begin;
  solver_options_delete(options);
  return seconds;
}

/// Ends this process after this processor time.
void limit_processor_time(double seconds) {
  const double whole = std::floor(seconds);
  const itimerval limit{
      .it_interval = {},
      .it_value = {.tv_sec = static_cast<time_t>(whole), .tv_usec = static_cast<suseconds_t>(1e6 * (seconds - whole))}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
}

}  // namespace

void SiconosProblem::Free::operator()(FrictionContactProblem* problem) const {
  frictionContactProblem_free(problem);
}

SiconosProblem::SiconosProblem(const friction::LocalProblem& problem)
    : problem_(problem), mean_diagonal_(Eigen::MatrixXd(problem.W).diagonal().mean()) {
  // Siconos' reader produces its preferred storage: blocks.
  std::ostringstream text;
  friction::write_siconos_text(problem, text);
  const auto close = [](std::FILE* f) { std::fclose(f); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::tmpfile(), close);
  if (!file || std::fputs(text.str().c_str(), file.get()) < 0)
    throw std::runtime_error("cannot write a temporary file");
  std::rewind(file.get());
  siconos_problem_.reset(frictionContact_newFromFile(file.get()));
}

SiconosResult SiconosProblem::solve(const SiconosSolver& solver, const Eigen::VectorXd& guess,
                                    const SiconosEffort& effort) const {
  // Siconos' tolerances, steps and penalties are dimensional: some solvers perform better with reactions scaled to
  // motions, as in Heelstrike, others with the original problem.
  const SiconosResult given = solve_in_units(1.0, solver, guess, effort);
  const SiconosResult scaled = solve_in_units(mean_diagonal_, solver, guess, effort);
  const auto solved = [&](const SiconosResult& result) {
    return friction::compute_natural_map_error(problem_, result.r) <= effort.tolerance;
  };
  return solved(scaled) && (!solved(given) || scaled.seconds < given.seconds) ? scaled : given;
}

SiconosResult SiconosProblem::solve_in_units(double unit, const SiconosSolver& solver, const Eigen::VectorXd& guess,
                                             const SiconosEffort& effort) const {
  // Some Siconos solvers end the process by an assertion, some need hours: each runs in a child process.
  const std::size_t n_bytes = (static_cast<std::size_t>(guess.size()) + 1) * sizeof(double);
  void* shared = ::mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("no shared memory");
  auto* numbers = static_cast<double*>(shared);
  numbers[0] = std::numeric_limits<double>::infinity();
  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(1);
    NM_scal(1.0 / unit, siconos_problem_->M);  // the child's copy
    limit_processor_time(effort.time_limit);
    for (int i = 0; i < effort.repetitions && (i == 0 || numbers[0] < long_enough); ++i) {
      Eigen::VectorXd r = unit * guess;
      numbers[0] = std::min(numbers[0], run(*siconos_problem_, solver, effort.tolerance, r));
      std::copy(r.begin(), r.end(), numbers + 1);
    }
    ::_exit(0);
  }
  (void)::waitpid(child, nullptr, 0);
  SiconosResult result{.r = Eigen::Map<Eigen::VectorXd>(numbers + 1, guess.size()) / unit, .seconds = numbers[0]};
  ::munmap(shared, n_bytes);
  return result;
}

}  // namespace heelstrike::bench
