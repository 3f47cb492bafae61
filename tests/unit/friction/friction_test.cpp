// Problems of frictional contact: every contact state, redundant contacts, published problems.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "benchmarks/friction_problems/fclib_file.hpp"
#include "benchmarks/friction_problems/siconos_text.hpp"
#include "common/friction/local_problem.hpp"
#include "common/friction/solution_path.hpp"
#include "common/friction/solve_friction.hpp"

namespace heelstrike::friction {
namespace {

/// Contacts of `n_bodies` free rigid bodies with random points and normals: W = J M^-1 J^T, singular with more than six
/// rows per body.
LocalProblem random_rigid_contacts(int n_contacts, int n_bodies, double mu, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const auto vector = [&] { return Eigen::Vector3d(normal(random), normal(random), normal(random)); };
  Eigen::MatrixXd J = Eigen::MatrixXd::Zero(3 * n_contacts, 6 * n_bodies);
  for (int i = 0; i < n_contacts; ++i) {
    const Eigen::Vector3d n = (vector() + 3.0 * Eigen::Vector3d::UnitZ()).normalized();
    const Eigen::Vector3d t = n.unitOrthogonal(), s = n.cross(t);
    for (const int body : std::set{i % n_bodies, (i + 1) % n_bodies}) {
      const double sign = body == i % n_bodies ? 1.0 : -1.0;
      const Eigen::Vector3d arm = vector();
      int row = 3 * i;
      for (const Eigen::Vector3d& axis : {n, t, s}) {
        J.block<1, 3>(row, 6 * body) = sign * axis.transpose();
        J.block<1, 3>(row++, 6 * body + 3) = sign * arm.cross(axis).transpose();
      }
    }
  }
  // Motions of falling bodies: rigid motions keep the problem feasible.
  Eigen::VectorXd fall(6 * n_bodies);
  for (int b = 0; b < n_bodies; ++b)
    fall.segment<6>(6 * b) << vector() - 3.0 * Eigen::Vector3d::UnitZ(), 0.3 * vector();
  LocalProblem problem;
  problem.W = Eigen::MatrixXd(J * J.transpose()).sparseView();
  problem.q = J * fall;
  problem.mu = Eigen::VectorXd::Constant(n_contacts, mu);
  return problem;
}

TEST(SingleContact, SolvesEveryContactState) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  int open = 0, sticking = 0, sliding = 0;
  for (int k = 0; k < 20'000; ++k) {
    Eigen::Matrix3d A;
    for (double& a : A.reshaped()) a = normal(random);
    LocalProblem problem;
    const Eigen::Matrix3d W = A * A.transpose() + 0.01 * Eigen::Matrix3d::Identity();
    const Eigen::Vector3d q(normal(random), normal(random), normal(random));
    const double mu = std::abs(normal(random));
    problem.W = Eigen::MatrixXd(W).sparseView();
    problem.q = q;
    problem.mu = Eigen::VectorXd::Constant(1, mu);
    Eigen::Vector3d r(normal(random), normal(random), normal(random));  // any estimate will do
    ASSERT_TRUE(SingleContact(W, mu).solve(q, r)) << k;
    // A hundredth of the tolerance for many contacts together; where the compliance in the direction of the friction
    // nearly vanishes, rounding leaves up to 1e-12.
    ASSERT_LE(compute_natural_map_error(problem, r), 1e-10) << k << " r " << r.transpose();
    const double tangential = r.tail<2>().norm();
    (r[0] == 0.0 ? open : tangential < mu * r[0] * (1.0 - 1e-12) ? sticking : sliding) += 1;
  }
  std::printf("%d open, %d sticking, %d sliding\n", open, sticking, sliding);
  EXPECT_GT(std::min({open, sticking, sliding}), 1000);
}

/// Coupled normal and tangential compliance with large friction: at limit points Newton's method and sweeps fail, but a
/// positive definite problem has a solution, and the path reaches it.
TEST(SolutionPath, ReachesTheSolutionBeyondLimitPoints) {
  constexpr int n = 6;
  int unsolved = 0, limit_points = 0;
  for (unsigned k = 0; k < 300; ++k) {
    std::mt19937 random(k);
    std::normal_distribution<double> normal;
    Eigen::MatrixXd A(3 * n, 3 * n + 2);
    for (double& a : A.reshaped()) a = normal(random);
    LocalProblem problem;
    const Eigen::MatrixXd W = A * A.transpose() / (3.0 * n) + 0.01 * Eigen::MatrixXd::Identity(3 * n, 3 * n);
    problem.W = W.sparseView();
    problem.q.resize(3 * n);
    for (double& q : problem.q) q = normal(random);
    for (int i = 0; i < n; ++i) problem.q[3 * i] -= 1.0;
    problem.mu = Eigen::VectorXd::Constant(n, k % 2 == 0 ? 3.0 : 30.0);
    if (!solve_friction(problem, {.max_sweeps = 2000, .max_newton_steps = 200}).converged) ++unsolved;
    const PathSolution path = follow_solution_path(problem, Eigen::VectorXd::Zero(3 * n));
    EXPECT_TRUE(path.reached) << k;
    // Reactions of up to 100 times q round by more than q does.
    EXPECT_LE(compute_natural_map_error(problem, path.r), 1e-10) << k;
    limit_points += path.limit_points;
  }
  std::printf("%d of 300 unsolved without path, %d limit points passed\n", unsolved, limit_points);
  EXPECT_GT(limit_points, 300);
}

TEST(SolutionPath, InThePlane) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (int k = 0; k < 300; ++k) {
    constexpr int n = 5;
    Eigen::MatrixXd A(2 * n, 2 * n + 2);
    for (double& a : A.reshaped()) a = normal(random);
    LocalProblem problem{.dimension = 2, .W = {}, .q = {}, .mu = Eigen::VectorXd::Constant(n, 10.0)};
    problem.W = Eigen::MatrixXd(A * A.transpose()).sparseView();
    problem.q.resize(2 * n);
    for (double& q : problem.q) q = normal(random);
    const PathSolution path = follow_solution_path(problem, Eigen::VectorXd::Zero(2 * n));
    EXPECT_TRUE(path.reached) << k;
    EXPECT_LE(compute_natural_map_error(problem, path.r), 1e-8) << k;
  }
}

TEST(SolveFriction, RedundantContactsOfRigidBodies) {
  std::printf("%9s %7s %5s %9s %7s %7s\n", "contacts", "bodies", "mu", "error", "sweeps", "Newton");
  for (const auto& [contacts, bodies] : {std::pair{4, 1}, std::pair{12, 1}, std::pair{40, 3}, std::pair{90, 10}}) {
    for (const double mu : {0.0, 0.3, 0.8}) {
      for (unsigned seed = 1; seed <= 5; ++seed) {
        const LocalProblem problem = random_rigid_contacts(contacts, bodies, mu, seed);
        const FrictionSolution solution = solve_friction(problem);
        if (seed == 1) {
          std::printf("%9d %7d %5.1f %9.1e %7d %7d\n", contacts, bodies, mu, solution.error, solution.sweeps,
                      solution.newton_steps);
        }
        EXPECT_TRUE(solution.converged) << contacts << " contacts, mu " << mu << ", seed " << seed;
        EXPECT_LE(compute_natural_map_error(problem, solution.r), 1e-8);
        // No reaction is tensile and none leaves its cone, for any tolerance.
        for (int i = 0; i < contacts; ++i) {
          const Eigen::Vector3d r = solution.r.segment<3>(3 * i);
          EXPECT_GE(r[0], 0.0);
          EXPECT_LE(r.tail<2>().norm(), mu * r[0] + 1e-8 * problem.q.norm());
        }
      }
    }
  }
}

TEST(SolveFriction, UsesTheInitialGuess) {
  const LocalProblem problem = random_rigid_contacts(40, 3, 0.3, 2);
  const FrictionSolution cold = solve_friction(problem);
  const FrictionSolution warm = solve_friction(problem, {}, cold.r);
  EXPECT_TRUE(warm.converged);
  EXPECT_EQ(warm.sweeps + warm.newton_steps, 0);
  EXPECT_EQ(warm.r, cold.r);
}

TEST(SolveFriction, ReportsInfeasibleProblems) {
  // Separation is impossible: all reactions press in both directions.
  LocalProblem problem;
  problem.W.resize(6, 6);
  problem.mu = Eigen::VectorXd::Zero(2);
  problem.q = Eigen::VectorXd::Zero(6);
  Eigen::MatrixXd W = Eigen::MatrixXd::Zero(6, 6);
  W(0, 0) = W(3, 3) = 1.0;
  W(0, 3) = W(3, 0) = -1.0;
  problem.q[0] = problem.q[3] = -1.0;
  problem.W = W.sparseView();
  const FrictionSolution solution = solve_friction(problem, {.max_sweeps = 2000, .max_newton_steps = 100});
  EXPECT_FALSE(solution.converged);
  EXPECT_GT(solution.error, 1e-3);
  EXPECT_TRUE(solution.r.allFinite());
}

TEST(SolveFriction, SolvesPublishedProblems) {
  const char* data = std::getenv("HEELSTRIKE_DATA");
  const std::filesystem::path folder = std::filesystem::path(data == nullptr ? "" : data) / "friction_problems";
  if (data == nullptr || !std::filesystem::exists(folder)) {
    GTEST_SKIP() << "HEELSTRIKE_DATA names no folder with friction_problems: problems of others are not part of the "
                    "project";
  }
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".txt") files.insert(entry.path());
  }
  std::printf("%-46s %8s %9s %7s %7s\n", "problem", "contacts", "error", "sweeps", "Newton");
  for (const auto& file : files) {
    std::ifstream in(file);
    const LocalProblem problem =
        file.extension() == ".hdf5" ? read_fclib(file) : read_siconos_text(in, file.filename().string());
    const FrictionSolution solution = solve_friction(problem);
    std::printf("%-46s %8d %9.1e %7d %7d\n", file.filename().c_str(), static_cast<int>(problem.n_contacts()),
                solution.error, solution.sweeps, solution.newton_steps);
    EXPECT_LE(compute_natural_map_error(problem, solution.r), 1e-8) << file;
  }
  EXPECT_GE(files.size(), 16U);
}

}  // namespace
}  // namespace heelstrike::friction
