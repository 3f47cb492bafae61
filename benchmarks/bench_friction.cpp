// Frictional contact problems from files: Heelstrike's solver compared with those of Siconos in one program.
//
//     bench_friction FILE... [--repetitions N]
//     bench_friction --foot N [--every K] [--repetitions N] [--limit SECONDS]
//
// Prints a line per problem and the performance profile: the fraction of the problems solved to 1e-8 of FCLIB's error
// within a multiple of the time of the fastest successful solver. For consecutive problems of a run (files of
// `heelstrike friction-problem export`) also the warm solution, started from that of the previous file.
//
// --foot: N steps of the scanned foot (HEELSTRIKE_DATA; HEELSTRIKE_BENCH_H is the element size in mm, default 6), as
// written by `friction-problem export`, cold and warm, and also with the solver of fem_condensed. All warm starts use
// the reactions of the previous step, node by node. --every K runs only every K-th step. Once one of Siconos' solvers
// has solved a step, the others are stopped after twice its time and 200 times that of the fastest: later results would
// only affect the last column.
//
// Times are processor times of one thread: run files with OPENBLAS_NUM_THREADS=1.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "benchmarks/clocks.hpp"
#ifdef HEELSTRIKE_HAVE_CONDENSED
#include "benchmarks/foot_steps.hpp"
#endif
#include "benchmarks/friction_problems/fclib_file.hpp"
#include "benchmarks/friction_problems/siconos_text.hpp"
#include "benchmarks/siconos_friction.hpp"
#include "common/friction/solve_friction.hpp"

namespace {

using heelstrike::friction::LocalProblem;
constexpr double tolerance = 1e-8;
constexpr double never = std::numeric_limits<double>::infinity();
/// Maximum multiple of the fastest time in the tables.
constexpr double max_multiple = 100.0;
/// Margin over the relevant time before a solver is stopped, because caches and clocks are shared.
[[maybe_unused]] constexpr double timing_margin = 2.0;

LocalProblem read(const std::string& file) {
  if (file.ends_with(".hdf5")) return heelstrike::friction::read_fclib(file);
  std::ifstream in(file);
  return heelstrike::friction::read_siconos_text(in, file);
}

/// Seconds per solver and problem; infinite on failure.
using Times = std::map<std::string, std::vector<double>>;

void print_profile(const Times& times, std::size_t n_problems) {
  std::vector<double> best(n_problems, never);
  for (const auto& [name, seconds] : times) {
    for (std::size_t i = 0; i < n_problems; ++i) best[i] = std::min(best[i], seconds[i]);
  }
  fmt::print("\nfraction of {} problems solved within a multiple of the fastest\n{:>12}", n_problems, "solver");
  constexpr std::array multiples = {1.0, 1.5, 2.0, 4.0, 10.0, max_multiple, never};
  for (const double multiple : multiples) fmt::print("{:>8}", multiple);
  fmt::print("\n");
  for (const auto& [name, seconds] : times) {
    fmt::print("{:>12}", name);
    for (const double multiple : multiples) {
      std::size_t n = 0;
      for (std::size_t i = 0; i < n_problems; ++i) n += seconds[i] < never && seconds[i] <= multiple * best[i] ? 1 : 0;
      fmt::print("{:>8.2f}", static_cast<double>(n) / static_cast<double>(n_problems));
    }
    fmt::print("\n");
  }
}

using Effort = heelstrike::bench::SiconosEffort;

void compare(const std::vector<std::string>& files, bool warm, const Effort& effort) {
  Times times;
  Eigen::VectorXd last;
  fmt::print("{}\n{:>40} {:>5}  {:>10} and others [ms]; - where not solved to {}\n", warm ? "\nwarm" : "cold",
             "problem", "n", "ours", tolerance);
  double largest_difference = 0.0;
  for (std::size_t k = 0; k < files.size(); ++k) {
    const LocalProblem problem = read(files[k]);
    const Eigen::VectorXd zero = Eigen::VectorXd::Zero(problem.q.size());
    const Eigen::VectorXd guess = warm && last.size() == zero.size() ? last : zero;
    const auto keep = [&](const std::string& name, double seconds, const Eigen::VectorXd& r) {
      const bool solved = heelstrike::friction::compute_natural_map_error(problem, r) <= tolerance;
      auto& list = times[name];
      list.resize(files.size(), never);
      list[k] = solved ? seconds : never;
      fmt::print(" {} {}", name, solved ? fmt::format("{:.3f}", 1e3 * seconds) : "-");
    };
    double own = never;
    heelstrike::friction::FrictionSolution solution;
    for (int i = 0; i < effort.repetitions; ++i) {
      const double begin = heelstrike::bench::thread_seconds();
      solution = heelstrike::friction::solve_friction(problem, {.tolerance = tolerance}, guess);
      own = std::min(own, heelstrike::bench::thread_seconds() - begin);
    }
    fmt::print("{:>40} {:>5} ", files[k].substr(files[k].find_last_of('/') + 1), problem.n_contacts());
    keep("ours", own, solution.r);
    const heelstrike::bench::SiconosProblem theirs(problem);
    for (const auto& solver : heelstrike::bench::siconos_solvers(problem.dimension)) {
      const auto result = theirs.solve(solver, guess, effort);
      keep(solver.name, result.seconds, result.r);
      if (heelstrike::friction::compute_natural_map_error(problem, result.r) <= tolerance) {
        largest_difference = std::max(largest_difference, (result.r - solution.r).norm() / solution.r.norm());
      }
    }
    fmt::print("\n");
    last = solution.r;
  }
  print_profile(times, files.size());
  fmt::print(
      "maximum difference of reactions from those of another successful solver: {:.1e} (problems with a singular W "
      "have many solutions)\n",
      largest_difference);
}

#ifdef HEELSTRIKE_HAVE_CONDENSED
double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

/// Times, ratios of the fastest successful Siconos solver to fem_condensed, and differences of reactions.
struct FootComparison {
  Times times;
  std::vector<double> ratios;
  std::vector<double> keeping;  ///< [s]
  double largest_difference = 0.0;
  double min_speed_ratio = never;
};

void compare_step(const heelstrike::bench::FootStep& step, const heelstrike::bench::SiconosProblem& theirs,
                  std::size_t k, bool warm, const Effort& effort, FootComparison& comparison) {
  using heelstrike::friction::compute_natural_map_error;
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(step.problem.q.size());
  const Eigen::VectorXd& guess = warm ? step.before : zero;
  const auto own =
      heelstrike::bench::solve_with_condensed(step.problem, warm ? &step.before : nullptr, effort.repetitions);
  comparison.keeping.push_back(own.keeping);
  const auto keep = [&](const std::string& name, double seconds, const Eigen::VectorXd& r) {
    const double error = compute_natural_map_error(step.problem, r);
    const bool solved = error <= tolerance;
    if (solved) comparison.times.at(name)[k] = seconds;
    fmt::print(" {} {}", name, solved ? fmt::format("{:.3f}", 1e3 * seconds) : fmt::format("- ({:.0e})", error));
    return solved;
  };
  fmt::print("{} {:>5} {} ", step.name, step.problem.n_contacts(), warm ? "warm" : "cold");
  (void)keep("condensed", own.seconds, own.r);
  double general = never;
  heelstrike::friction::FrictionSolution solution;
  for (int i = 0; i < effort.repetitions; ++i) {
    const double begin = heelstrike::bench::thread_seconds();
    solution = heelstrike::friction::solve_friction(step.problem, {.tolerance = tolerance}, guess);
    general = std::min(general, heelstrike::bench::thread_seconds() - begin);
  }
  (void)keep("general", general, solution.r);
  double best = never;
  for (const auto& solver : heelstrike::bench::siconos_solvers(3)) {
    Effort allowed = effort;
    if (best < never) {
      const double counts = std::max(best, max_multiple * std::min(own.seconds, general));
      allowed.time_limit = std::min(effort.time_limit, timing_margin * counts);
    }
    const auto result = theirs.solve(solver, guess, allowed);
    if (!keep(solver.name, result.seconds, result.r)) continue;
    best = std::min(best, result.seconds);
    comparison.largest_difference = std::max(comparison.largest_difference, (result.r - own.r).norm() / own.r.norm());
  }
  fmt::print("\n");
  if (best == never) return;
  comparison.ratios.push_back(best / own.seconds);
  comparison.min_speed_ratio = std::min(comparison.min_speed_ratio, best / own.seconds);
}

int compare_foot(int n, int every, const Effort& effort) {
  const char* size = std::getenv("HEELSTRIKE_BENCH_H");
  const auto steps = heelstrike::bench::foot_steps(n, every, 1e-3 * (size != nullptr ? std::atof(size) : 6.0));
  if (steps.empty()) {
    fmt::print("no foot scan: set HEELSTRIKE_DATA to the folder that contains foot/foot_left.stl\n");
    return 0;
  }
  std::array<FootComparison, 2> comparisons;  // cold, warm
  for (FootComparison& comparison : comparisons) {
    for (const char* name : {"condensed", "general"}) comparison.times[name].assign(steps.size(), never);
    for (const auto& solver : heelstrike::bench::siconos_solvers(3)) {
      comparison.times[solver.name].assign(steps.size(), never);
    }
  }
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const heelstrike::bench::SiconosProblem theirs(steps[k].problem);
    for (const bool warm : {false, true}) {
      compare_step(steps[k], theirs, k, warm, effort, comparisons[warm ? 1 : 0]);
    }
  }
  for (const bool warm : {false, true}) {
    const FootComparison& comparison = comparisons[warm ? 1 : 0];
    fmt::print("\n{}", warm ? "warm" : "cold");
    print_profile(comparison.times, steps.size());
    if (comparison.ratios.empty()) continue;
    fmt::print(
        "fastest of Siconos / condensed: median {:.1f}, minimum {:.1f}, in {} of {} steps solved by one of them; "
        "maximum difference of reactions {:.1e}; cached data of a commit take {:.2f} ms (median)\n",
        median(comparison.ratios), comparison.min_speed_ratio, comparison.ratios.size(), steps.size(),
        comparison.largest_difference, 1e3 * median(comparison.keeping));
  }
  return 0;
}
#endif

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::vector<std::string> files;
  Effort effort{.tolerance = tolerance, .repetitions = 3, .time_limit = 20.0};
  bool warm = false;
  [[maybe_unused]] int n_foot = 0;
  [[maybe_unused]] int every = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--repetitions" && i + 1 < argc) {
      effort.repetitions = std::max(1, std::atoi(argv[++i]));
    } else if (argument == "--limit" && i + 1 < argc) {
      effort.time_limit = std::atof(argv[++i]);
#ifdef HEELSTRIKE_HAVE_CONDENSED
    } else if (argument == "--foot" && i + 1 < argc) {
      n_foot = std::max(1, std::atoi(argv[++i]));
    } else if (argument == "--every" && i + 1 < argc) {
      every = std::max(1, std::atoi(argv[++i]));
#endif
    } else if (argument == "--warm") {
      warm = true;
    } else {
      files.push_back(argument);
    }
  }
#ifdef HEELSTRIKE_HAVE_CONDENSED
  if (n_foot > 0) return compare_foot(n_foot, every, effort);
#endif
  if (files.empty()) {
    fmt::print(stderr,
               "usage: bench_friction FILE... | --foot N [--every K] [--warm] [--repetitions N] [--limit SECONDS]\n");
    return 2;
  }
  compare(files, false, effort);
  if (warm) compare(files, true, effort);
  return 0;
}
