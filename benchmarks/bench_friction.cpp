// Frictional contact problems: the solver of this project beside those of Siconos, in one program, on files.
//
//     bench_friction FILE... [--repetitions N]
//
// Prints a line per problem and the performance profile: the share of the problems that a solver solved to 1e-8 of
// FCLIB's error within a multiple of the time of the fastest that did. With problems that follow each other in a run
// (files of `heelstrike friction-problem export`) also the warm solution, started from that of the file before.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "benchmarks/siconos_friction.hpp"
#include "common/friction/fclib/fclib_file.hpp"
#include "common/friction/siconos_text.hpp"
#include "common/friction/solve_friction.hpp"

namespace {

using heelstrike::friction::LocalProblem;
constexpr double tolerance = 1e-8;
constexpr double never = std::numeric_limits<double>::infinity();

LocalProblem read(const std::string& file) {
  if (file.ends_with(".hdf5")) return heelstrike::friction::read_fclib(file);
  std::ifstream in(file);
  return heelstrike::friction::read_siconos_text(in, file);
}

/// Seconds per solver and problem; infinite where it did not solve.
using Times = std::map<std::string, std::vector<double>>;

void print_profile(const Times& times, std::size_t n_problems) {
  std::vector<double> best(n_problems, never);
  for (const auto& [name, seconds] : times) {
    for (std::size_t i = 0; i < n_problems; ++i) best[i] = std::min(best[i], seconds[i]);
  }
  fmt::print("\nshare of {} problems solved within a multiple of the fastest\n{:>12}", n_problems, "solver");
  constexpr std::array multiples = {1.0, 1.5, 2.0, 4.0, 10.0, 100.0, never};
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

void compare(const std::vector<std::string>& files, bool warm, int repetitions) {
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
      const bool solved = heelstrike::friction::natural_map_error(problem, r) <= tolerance;
      auto& list = times[name];
      list.resize(files.size(), never);
      list[k] = solved ? seconds : never;
      fmt::print(" {} {}", name, solved ? fmt::format("{:.3f}", 1e3 * seconds) : "-");
    };
    double own = never;
    heelstrike::friction::FrictionSolution solution;
    for (int i = 0; i < repetitions; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      solution = heelstrike::friction::solve_friction(problem, {.tolerance = tolerance}, guess);
      own = std::min(own, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    fmt::print("{:>40} {:>5} ", files[k].substr(files[k].find_last_of('/') + 1), problem.n_contacts());
    keep("ours", own, solution.r);
    for (const auto& solver : heelstrike::bench::siconos_solvers(problem.dimension)) {
      const auto result = heelstrike::bench::solve_with_siconos(problem, solver, tolerance, guess, repetitions);
      keep(solver.name, result.seconds, result.r);
      if (heelstrike::friction::natural_map_error(problem, result.r) <= tolerance) {
        largest_difference = std::max(largest_difference, (result.r - solution.r).norm() / solution.r.norm());
      }
    }
    fmt::print("\n");
    last = solution.r;
  }
  print_profile(times, files.size());
  fmt::print(
      "largest difference of reactions from those of another solver that solved: {:.1e} (problems with a singular W "
      "have many solutions)\n",
      largest_difference);
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::vector<std::string> files;
  int repetitions = 3;
  bool warm = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--repetitions" && i + 1 < argc) {
      repetitions = std::max(1, std::atoi(argv[++i]));
    } else if (argument == "--warm") {
      warm = true;
    } else {
      files.push_back(argument);
    }
  }
  if (files.empty()) {
    fmt::print(stderr, "usage: bench_friction FILE... [--warm] [--repetitions N]\n");
    return 2;
  }
  compare(files, false, repetitions);
  if (warm) compare(files, true, repetitions);
  return 0;
}
