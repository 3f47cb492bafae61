// Impacts of rigid bodies at several points: closed forms, energy, redundant points.
#include "common/friction/impact.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <random>

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

TEST(Impact, APointMassReboundsWithItsRestitution) {
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

// Three supports of a bar that two could carry [piazza2001]: forces that are not unique, of which the smallest are
// taken, and the one motion.
TEST(Impact, RedundantPointsGetTheSmallestForces) {
  MatrixXd J(3, 2);
  J << 1.0, -0.5, 1.0, 0.0, 1.0, 0.5;
  const MatrixXd A = J * Eigen::Vector2d(1.0 / 2.0, 12.0 / 2.0).asDiagonal() * J.transpose();
  VectorXd f;
  ASSERT_TRUE(solve_normal(A, VectorXd::Constant(3, -9.81), f));
  // The regularisation of 1e-8 times the ratio of the eigenvalues of A (below ten) bounds what they differ by.
  EXPECT_LT((f - VectorXd::Constant(3, 6.54)).norm(), 1e-6);
  EXPECT_LT((A * f - VectorXd::Constant(3, 9.81)).norm(), 1e-12);
}

/// A body that falls on others below it, with 1 to 8 points; some of them leave.
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

// A hundred thousand impacts: none creates energy beyond rounding, none leaves bodies that approach.
TEST(Impact, NoneCreatesEnergy) {
  std::mt19937 random(7);
  double most = 0.0, fastest = 0.0;
  int capped = 0, unsolved = 0;
  const auto strike = [&](int count, ImpactLaw law, double largest_mu) {
    for (int k = 0; k < count; ++k) {
      const RandomImpact impact = random_impact(k, law, largest_mu, random);
      const VectorXd before = impact.J * impact.v;
      const ImpactSolution solution = solve_impact(impact.problem, before);
      const VectorXd v = impact.v + impact.J.transpose() * solution.P;
      most = std::max(most, v.squaredNorm() / impact.v.squaredNorm() - 1.0);
      const VectorXd u = impact.J * v;
      for (Eigen::Index i = 0; i < u.size(); i += 3) fastest = std::max(fastest, -u[i] / impact.v.norm());
      if (solution.share < 1.0) ++capped;
      if (!solution.converged) ++unsolved;
    }
  };
  strike(30'000, ImpactLaw::newton, 0.0);
  strike(30'000, ImpactLaw::poisson, 0.0);
  strike(20'000, ImpactLaw::newton, 1.0);
  strike(20'000, ImpactLaw::poisson, 1.0);
  printf("largest gain %.2g of the kinetic energy, fastest approach left %.2g, %d with less rebound, %d unsolved\n",
         most, fastest, capped, unsolved);
  EXPECT_LT(most, 1e-12);
  EXPECT_LT(fastest, 1e-8);
}

// Painleve's rod: it slides with so much friction that no force keeps it from the ground; impulses do.
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
