// Impacts of rigid bodies at several points: closed forms, energy, redundant points.
#include "common/friction/impact.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <random>

#include "common/friction/solve_friction.hpp"

namespace heelstrike::friction {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

/// Rows of the velocities of a point of a free body of unit mass and inertia, at `arm` from its centre.
MatrixXd rows_of(const Vector3d& normal, const Vector3d& arm) {
  const Vector3d t = normal.unitOrthogonal(), s = normal.cross(t);
  MatrixXd J(3, 6);
  int row = 0;
  for (const Vector3d& axis : {normal, t, s}) J.row(row++) << axis.transpose(), arm.cross(axis).transpose();
  return J;
}

ImpactProblem problem_of(const MatrixXd& J, double mu, double restitution, ImpactLaw law) {
  const auto n = J.rows() / 3;
  return {.W = J * J.transpose(),
          .mu = VectorXd::Constant(n, mu),
          .restitution = VectorXd::Constant(n, restitution),
          .law = std::vector<ImpactLaw>(static_cast<std::size_t>(n), law)};
}

TEST(Impact, PointMassReboundsWithItsRestitution) {
  for (const ImpactLaw law : {ImpactLaw::newton, ImpactLaw::poisson}) {
    const MatrixXd J = rows_of(Vector3d::UnitZ(), Vector3d::Zero());
    const auto solution = solve_impact(problem_of(J, 0.0, 0.79, law), Vector3d(-2.0, 0.5, 0.0));
    EXPECT_NEAR(solution.u[0], 1.58, 1e-15);
    EXPECT_NEAR(solution.P[0], 3.58, 1e-14);
    EXPECT_NEAR(solution.energy, 0.5 * (1.58 * 1.58 - 4.0), 1e-14);
  }
}

TEST(Impact, FrictionStopsSlipOrActsAtItsLimit) {
  const MatrixXd J = rows_of(Vector3d::UnitZ(), Vector3d::Zero());
  const auto sticks = solve_impact(problem_of(J, 0.5, 0.0, ImpactLaw::newton), Vector3d(-2.0, 0.6, 0.0));
  EXPECT_NEAR(sticks.u.norm(), 0.0, 1e-12);
  const auto slides = solve_impact(problem_of(J, 0.25, 0.0, ImpactLaw::newton), Vector3d(-2.0, 0.6, 0.0));
  EXPECT_NEAR(slides.u[1], 0.1, 1e-12);  // 0.6 less 0.25 times the normal impulse of 2
}

// Three supports of a bar for which two suffice [piazza2001]: forces that are not unique, of which the minimum is
// selected, and the unique motion.
TEST(Impact, RedundantPointsHaveMinimalForces) {
  MatrixXd J(3, 2);
  J << 1.0, -0.5, 1.0, 0.0, 1.0, 0.5;
  const MatrixXd A = J * Eigen::Vector2d(1.0 / 2.0, 12.0 / 2.0).asDiagonal() * J.transpose();
  VectorXd f;
  ASSERT_TRUE(solve_normal(A, VectorXd::Constant(3, -9.81), f));
  // The regularisation of 1e-8 times the ratio of the eigenvalues of A (below ten) bounds their difference.
  EXPECT_LT((f - VectorXd::Constant(3, 6.54)).norm(), 1e-6);
  EXPECT_LT((A * f - VectorXd::Constant(3, 9.81)).norm(), 1e-12);
}

/// Rows of a body on a plane: of mass m and inertia I about each axis, with `points` below its centre.
MatrixXd rows_on_plane(double m, double I, const std::vector<Vector3d>& points) {
  MatrixXd J(3 * static_cast<Eigen::Index>(points.size()), 6);
  for (std::size_t i = 0; i < points.size(); ++i) {
    J.middleRows<3>(3 * static_cast<Eigen::Index>(i)) = rows_of(Vector3d::UnitZ(), points[i]);
  }
  J.leftCols<3>() /= std::sqrt(m);
  J.rightCols<3>() /= std::sqrt(I);
  return J;
}
std::vector<double> normal_parts(const VectorXd& P) {
  std::vector<double> parts;
  for (Eigen::Index i = 0; i < P.size(); i += 3) parts.push_back(P[i]);
  return parts;
}

// The same bar, and a table on four legs, with friction: without a lateral load, so that the minimal reactions have no
// tangential parts.
TEST(Impact, RedundantPointsWithFrictionHaveMinimalForces) {
  const auto check_rest = [](double m, double I, const std::vector<Vector3d>& points) {
    const auto problem = problem_of(rows_on_plane(m, I, points), 0.3, 0.0, ImpactLaw::newton);
    VectorXd free = VectorXd::Zero(problem.W.rows());
    for (Eigen::Index i = 0; i < free.size(); i += 3) free[i] = -9.81;
    const auto solution = solve_contact(problem, find_range(problem.W), free, VectorXd::Zero(problem.mu.size()));
    EXPECT_TRUE(solution.converged);
    EXPECT_LT(solution.u.norm(), 1e-10);  // W and forces of 10 by the 1e-12 tolerance of the motion
    VectorXd expected = VectorXd::Zero(free.size());
    for (Eigen::Index i = 0; i < free.size(); i += 3) {
      expected[i] = m * 9.81 / static_cast<double>(points.size());
    }
    EXPECT_LT((solution.P - expected).norm(), 1e-9 * expected.norm()) << solution.P.transpose();
  };
  check_rest(2.0, 1.0 / 6.0, {{-0.5, 0.0, 0.0}, {0.0, 0.0, 0.0}, {0.5, 0.0, 0.0}});
  check_rest(8.0, 1.0, {{0.4, 0.3, -0.7}, {-0.4, 0.3, -0.7}, {-0.4, -0.3, -0.7}, {0.4, -0.3, -0.7}});
}

// Gaps of four coplanar corners that contradict each other by rounding: reactions that satisfied them exactly would be
// those of three corners. The shares remain equal, and the points approach by no more than rounding.
TEST(Impact, ContradictionsByRoundingDoNotChangeTheShares) {
  const double h = 1e-3, m = 8.0;
  auto problem =
      problem_of(rows_on_plane(m, 1.0, {{0.4, 0.3, -0.7}, {-0.4, 0.3, -0.7}, {-0.4, -0.3, -0.7}, {0.4, -0.3, -0.7}}),
                 0.3, 0.0, ImpactLaw::newton);
  problem.velocity_rounding = 1e-8;
  VectorXd free = VectorXd::Zero(12);
  for (Eigen::Index i = 0; i < 12; i += 3) free[i] = -9.81 * h;
  for (const double twist : {1e-12, 1e-10, 1e-9, 4e-9}) {
    const VectorXd floor = twist * Eigen::Vector4d(-1.0, 0.0, -1.0, 0.0);
    const auto solution = solve_contact(problem, find_range(problem.W), free, floor);
    EXPECT_TRUE(solution.converged) << twist;
    for (Eigen::Index i = 0; i < 12; i += 3) {
      EXPECT_GT(solution.u[i], -problem.velocity_rounding) << twist;
      EXPECT_NEAR(solution.P[i], 0.25 * m * 9.81 * h, 1e-4 * m * 9.81 * h) << twist;
    }
  }
}

// The basis of the range is orthonormal, of the rank of W, and spans W, also where the points are many and nearly
// coincide.
TEST(Impact, RangeOfRedundantPointsHasTheRankOfTheirMotion) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> any(-1.0, 1.0);
  for (int k = 0; k < 100; ++k) {
    std::vector<Vector3d> points;
    for (int i = 0; i < 8; ++i) points.emplace_back(any(engine), any(engine), any(engine));
    for (int i = 0; i < 8; ++i) points.emplace_back(points[static_cast<std::size_t>(i)] + Vector3d(1e-6, 0.0, 0.0));
    const MatrixXd J = rows_on_plane(1.0 + any(engine) * any(engine), 0.01, points);
    const MatrixXd W = J * J.transpose();
    const MatrixXd V = find_range(W);
    ASSERT_EQ(V.cols(), 6);
    EXPECT_LT((V.transpose() * V - MatrixXd::Identity(6, 6)).norm(), 1e-13);
    EXPECT_LT((W - V * (V.transpose() * W)).norm(), 1e-13 * W.norm());
  }
}

// A ball in a groove of 90 degrees, with velocities of its points that are not those of a rigid motion, as in a step of
// a rotating body: impulses between both walls, which the friction cones contain from a coefficient of 1 on, remain
// those of the weight.
TEST(Impact, BallInAGrooveIsNotWedgedByErrorsOfAStep) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> any(-1.0, 1.0);
  const double radius = 0.1, slope = 0.2, h = 1e-3, half = 0.25 * std::numbers::pi;
  MatrixXd J(6, 6);
  for (const int i : {0, 1}) {
    const Vector3d n((i == 0 ? 1.0 : -1.0) * std::cos(half), 0.0, std::sin(half));
    J.middleRows<3>(3 * i) = rows_of(n, -radius * n);
  }
  J.rightCols<3>() /= std::sqrt(0.4 * radius * radius);
  for (const double mu : {0.9, 1.0, 1.1, 1.5}) {
    auto problem = problem_of(J, mu, 0.0, ImpactLaw::newton);
    problem.is_free = true;
    for (int k = 0; k < 200; ++k) {
      VectorXd v = VectorXd::Zero(6);
      v[1] = h * 9.81 * std::sin(slope);
      v[2] = -h * 9.81 * std::cos(slope);
      VectorXd u = J * v;
      const double error = std::pow(10.0, -12.0 + 8.0 * std::abs(any(engine)));
      u[2] += error;
      u[5] += any(engine) * error;
      const MatrixXd V = find_range(problem.W);
      const auto solution = solve_contact(problem, V, rigid_velocities(problem, V, u), VectorXd::Zero(2));
      EXPECT_TRUE(solution.converged) << mu << " " << error;
      EXPECT_LT(solution.P.norm(), h * 9.81) << mu << " " << error;
      EXPECT_GT(std::min(solution.u[0], solution.u[3]), -1e-12) << mu << " " << error;
    }
  }
}

// A table that slides along x: the front legs carry more by the moment of friction, both the same.
TEST(Impact, RedundantSlidingPointsHaveMinimalForces) {
  const double m = 8.0, mu = 0.3, height = 0.7, half = 0.4;
  const std::vector<Vector3d> points = {
      {half, 0.3, -height}, {-half, 0.3, -height}, {-half, -0.3, -height}, {half, -0.3, -height}};
  const MatrixXd plain = rows_on_plane(m, 1.0, points);
  const auto problem = problem_of(plain, mu, 0.0, ImpactLaw::newton);
  // One step of 1 ms of gravity and a velocity of 1 m/s along x.
  VectorXd v = VectorXd::Zero(6);
  v[0] = std::sqrt(m) * 1.0;
  v[2] = -std::sqrt(m) * 9.81e-3;
  const auto solution = solve_contact(problem, find_range(problem.W), plain * v, VectorXd::Zero(4));
  EXPECT_TRUE(solution.converged);
  const double weight = m * 9.81e-3, moment = mu * weight * height;
  const double more = moment / (4.0 * half);
  const auto normal = normal_parts(solution.P);
  EXPECT_NEAR(normal[0], weight / 4.0 + more, 1e-9 * weight);
  EXPECT_NEAR(normal[1], weight / 4.0 - more, 1e-9 * weight);
  EXPECT_NEAR(normal[2], weight / 4.0 - more, 1e-9 * weight);
  EXPECT_NEAR(normal[3], weight / 4.0 + more, 1e-9 * weight);
  for (Eigen::Index i = 0; i < 12; i += 3) {
    EXPECT_NEAR(solution.P.segment<2>(i + 1).norm(), mu * solution.P[i], 1e-9 * weight);
    EXPECT_NEAR(solution.u.segment<2>(i + 1).norm(), 1.0 - mu * 9.81e-3, 1e-9);
  }
}

/// A body that falls on others below it, with 1 to 8 points; some of them separate.
struct RandomImpact {
  MatrixXd J;
  VectorXd v;
  ImpactProblem problem;
};
RandomImpact random_impact(int k, ImpactLaw law, double largest_mu, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto vector = [&] { return Vector3d(normal(random), normal(random), normal(random)); };
  const int n = 1 + k % 8;
  RandomImpact impact;
  impact.J.resize(3 * n, 6);
  for (int i = 0; i < n; ++i) {
    impact.J.middleRows<3>(3 * i) = rows_of((0.3 * vector() + Vector3d::UnitZ()).normalized(), vector());
  }
  impact.v = VectorXd::NullaryExpr(6, [&] { return normal(random); });
  impact.problem = problem_of(impact.J, 0.0, k % 5 == 0 ? 1.0 : uniform(random), law);
  for (double& mu : impact.problem.mu) mu = largest_mu * uniform(random);
  return impact;
}

// The minimal reactions cause the same motion as the solver's, solve the same problem, and nothing between the two is
// smaller: bodies that strike a plane with 1 to 8 points, stick, slide and separate.
TEST(Impact, MinimalReactionsDoNotChangeTheMotion) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  int solved = 0, smaller = 0;
  for (int k = 0; k < 1000; ++k) {
    std::vector<Vector3d> points;
    for (int i = 0; i <= k % 8; ++i) points.emplace_back(normal(random), normal(random), -uniform(random));
    const MatrixXd J = rows_on_plane(1.0, 1.0, points);
    VectorXd v = VectorXd::NullaryExpr(6, [&] { return 0.3 * normal(random); });
    v[2] -= 1.0;
    auto problem = problem_of(J, 0.0, 0.0, ImpactLaw::newton);
    for (double& mu : problem.mu) mu = uniform(random);
    const VectorXd q = J * v;
    const LocalProblem local{.dimension = 3, .W = problem.W.sparseView(), .q = q, .mu = problem.mu};
    const auto found = solve_friction(local, {.tolerance = 1e-12, .max_sweeps = 200, .max_newton_steps = 60});
    if (!found.converged || found.r.isZero(0.0)) continue;
    const VectorXd r = find_min_norm_reactions(problem.W, problem.mu, found.u, found.r, 1e-9 * q.norm());
    ++solved;
    smaller += r.norm() < (1.0 - 1e-6) * found.r.norm() ? 1 : 0;
    EXPECT_LE(r.norm(), found.r.norm()) << k;
    // Tolerances of the rank, 1e-12, and of the minimum.
    EXPECT_LT((problem.W * (r - found.r)).norm(), 1e-11 * problem.W.norm() * found.r.norm()) << k;
    EXPECT_LT(compute_natural_map_error(local, r), 1e-8) << k;
    // The minimum of a convex problem: no admissible direction is a descent direction.
    EXPECT_GE(r.dot(found.r - r), -1e-9 * found.r.squaredNorm()) << k;
  }
  printf("%d solved, %d made smaller\n", solved, smaller);
  EXPECT_GT(smaller, solved / 4);
}

// A hundred thousand impacts: none creates energy beyond rounding, and no bodies still approach afterwards.
TEST(Impact, NeverCreatesEnergy) {
  std::mt19937 random(7);
  double most = 0.0, fastest = 0.0;
  int capped = 0, unsolved = 0, waves = 0;
  const auto strike = [&](int count, ImpactLaw law, double largest_mu) {
    for (int k = 0; k < count; ++k) {
      const RandomImpact impact = random_impact(k, law, largest_mu, random);
      const VectorXd before = impact.J * impact.v;
      const ImpactSolution solution = solve_impact(impact.problem, before);
      const VectorXd v = impact.v + impact.J.transpose() * solution.P;
      most = std::max(most, v.squaredNorm() / impact.v.squaredNorm() - 1.0);
      const VectorXd u = impact.J * v;
      for (Eigen::Index i = 0; i < u.size(); i += 3) fastest = std::max(fastest, -u[i] / impact.v.norm());
      if (solution.fraction < 1.0) ++capped;
      if (!solution.converged) ++unsolved;
    }
  };
  // Sequential impacts as in time stepping: each approaching contact alone, then those set in motion by it.
  const auto hand_on = [&](int count, double largest_mu) {
    for (int k = 0; k < count; ++k) {
      const RandomImpact impact = random_impact(k, ImpactLaw::sequential, largest_mu, random);
      VectorXd v = impact.v;
      for (int wave = 0; wave < 1000; ++wave) {
        const VectorXd u = impact.J * v;
        std::vector<Eigen::Index> rows;
        std::vector<Eigen::Index> points;
        for (Eigen::Index i = 0; i < u.size() / 3; ++i) {
          // Lower approach velocities are inelastic: below a thousandth of the velocity, as 1 mm/s of 1 m/s.
          if (u[3 * i] >= -1e-3 * impact.v.norm()) continue;
          points.push_back(i);
          rows.insert(rows.end(), {3 * i, 3 * i + 1, 3 * i + 2});
        }
        if (points.empty()) break;
        const ImpactProblem problem{.W = impact.problem.W(rows, rows),
                                    .mu = impact.problem.mu(points),
                                    .restitution = impact.problem.restitution(points),
                                    .law = std::vector(points.size(), ImpactLaw::sequential)};
        v += impact.J(rows, Eigen::all).transpose() * solve_impact(problem, VectorXd(u(rows))).P;
        ++waves;
      }
      most = std::max(most, v.squaredNorm() / impact.v.squaredNorm() - 1.0);
    }
  };
  strike(50'000, ImpactLaw::newton, 1.0);
  strike(50'000, ImpactLaw::poisson, 1.0);
  strike(5'000, ImpactLaw::newton, 0.0);
  strike(5'000, ImpactLaw::poisson, 0.0);
  const char* more = std::getenv("HEELSTRIKE_IMPACTS_IN_TURN");
  hand_on(more == nullptr ? 20'000 : std::atoi(more), 1.0);
  printf(
      "largest gain %.2g of the kinetic energy, fastest approach left %.2g, %d with less rebound, %d unsolved, %d in "
      "turn\n",
      most, fastest, capped, unsolved, waves);
  EXPECT_LT(most, 1e-12);
  EXPECT_LT(fastest, 1e-8);
}

// Painleve's rod: it slides with so much friction that no finite force prevents penetration; impulses do.
TEST(Impact, PainlevesRodIsStoppedByAnImpulse) {
  const double angle = 1.1, half = 0.5, mu = 3.0;
  // Mass 1, inertia 1/12 of a rod of length 1: in units in which the inertia is 1.
  const Vector3d arm(-half * std::cos(angle), 0.0, -half * std::sin(angle));
  MatrixXd J = rows_of(Vector3d::UnitZ(), arm);
  J.rightCols<3>() *= std::sqrt(12.0);
  const auto problem = problem_of(J, mu, 0.5, ImpactLaw::newton);
  VectorXd v = VectorXd::Zero(6);
  v[0] = 3.0;
  v[2] = -1e-6;
  for (const double sense : {1.0, -1.0}) {
    v[0] *= sense;
    const auto solution = solve_impact(problem, J * v);
    EXPECT_TRUE(solution.P.allFinite());
    EXPECT_LE(solution.energy, 0.0);
    EXPECT_GE(solution.u[0], -1e-12);
    EXPECT_LT(solution.P.norm(), 10.0);
  }
}

}  // namespace
}  // namespace heelstrike::friction
