// Requirements on every integrator of the registry.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/errors/error.hpp"
#include "tests/unit/integrators/particle.hpp"

namespace heelstrike::test {
namespace {

using mbs::Integrator;
using mbs::StepResult;

constexpr double pi = std::numbers::pi;

class EveryIntegrator : public testing::TestWithParam<mbs::IntegratorEntry> {
 protected:
  [[nodiscard]] std::unique_ptr<Integrator> make(mbs::Problem& problem, double rtol = 1e-9, double step = 1e-3) const {
    return GetParam().make(spec_of(GetParam(), rtol, step), problem);
  }
  /// Makes the integrator and starts it at t = 0.
  [[nodiscard]] std::unique_ptr<Integrator> start(const KnownMotion& motion, const std::vector<int>& directions = {},
                                                  double rtol = 1e-9, double step = 1e-3) const {
    auto integrator = make(*motion.particle, rtol, step);
    integrator->restart(0.0, motion.exact(0.0), VectorXd::Zero(1), std::nullopt, directions);
    return integrator;
  }
};

/// @returns all stops at roots up to t_end
std::vector<StepResult> run_to(Integrator& integrator, double t_end) {
  std::vector<StepResult> stops;
  for (StepResult step; step.t < t_end;) {
    step = integrator.step(t_end);
    if (!step.roots.empty()) stops.push_back(step);
  }
  return stops;
}

double error(const VectorXd& a, const VectorXd& b) {
  return (a - b).lpNorm<Eigen::Infinity>();
}

// Tolerances here: a thousand local tolerances (1e-9), since errors accumulate over hundreds of steps; RK4 and AB4/AM4
// with h omega = 3e-3 are far below.
constexpr double motion_tolerance = 1e-6;

TEST_P(EveryIntegrator, FreeFlightIsAParabola) {
  const KnownMotion motion = free_flight();
  const auto integrator = start(motion);
  run_to(*integrator, 1.0);
  EXPECT_LT(error(integrator->y(), motion.exact(1.0)), motion_tolerance);
  EXPECT_NEAR(integrator->quadratures()[0], 1.0, motion_tolerance);
}

TEST_P(EveryIntegrator, OscillatorOnACircleKeepsTimeAndConstraint) {
  const KnownMotion motion = oscillator_on_circle();
  const auto integrator = start(motion);
  run_to(*integrator, 5.0);
  const VectorXd& y = integrator->y();
  EXPECT_LT(error(y, motion.exact(5.0)), 10.0 * motion_tolerance);
  EXPECT_NEAR(integrator->quadratures()[0], y[0] - motion.exact(0.0)[0], motion_tolerance);
  const double constraint = GetParam().fixed_step ? 1e-9 : 1e-14;
  EXPECT_NEAR(y.head<2>().norm(), 1.0, constraint);
  EXPECT_NEAR(y.head<2>().dot(y.tail<2>()), 0.0, 10.0 * constraint);
}

TEST_P(EveryIntegrator, PendulumReturnsAfterItsPeriod) {
  // x down: released at rest at 2 rad, the period is 4 K(sin(1 rad)) / sqrt(g).
  KnownMotion motion;
  motion.particle = std::make_unique<Particle>();
  motion.particle->on_circle = true;
  motion.particle->force = [](const Vector2d&) { return Vector2d(9.81, 0.0); };
  const double period = 4.0 * std::comp_ellint_1(std::sin(1.0)) / std::sqrt(9.81);
  const VectorXd released = Eigen::Vector4d(std::cos(2.0), std::sin(2.0), 0.0, 0.0);
  motion.exact = [&](double) { return released; };
  const auto integrator = start(motion);
  run_to(*integrator, period);
  EXPECT_LT(error(integrator->y(), released), 10.0 * motion_tolerance);
}

TEST_P(EveryIntegrator, RootsAreFoundInTheirDirectionAndOrder) {
  const KnownMotion motion = oscillator_on_circle();
  // phi falls through 0 at omega t = pi / 2 and rises at 3 pi / 2; the second root follows the first within a step.
  motion.particle->watched = {[](double, const VectorXd& y) { return y[1]; },
                              [](double, const VectorXd& y) { return y[1] + 1e-5; }};
  const auto integrator = start(motion, {-1, 0});
  const auto stops = run_to(*integrator, 2.0 * pi / oscillator_omega);
  ASSERT_EQ(stops.size(), 3U);
  const double quarter = 0.5 * pi / oscillator_omega;
  const double shift = std::asin(1e-5) / (0.8 * oscillator_omega);
  EXPECT_EQ(stops[0].roots, std::vector<int>{0});
  EXPECT_NEAR(stops[0].t, quarter, motion_tolerance);
  EXPECT_EQ(stops[1].roots, std::vector<int>{1});
  EXPECT_NEAR(stops[1].t - stops[0].t, shift, 1e-8);
  EXPECT_EQ(stops[2].roots, std::vector<int>{1});
  EXPECT_NEAR(stops[2].t, 3.0 * quarter - shift, motion_tolerance);
}

TEST_P(EveryIntegrator, StateAtARootIsThatOfTheRoot) {
  const KnownMotion motion = oscillator_on_circle();
  motion.particle->watched = {[](double, const VectorXd& y) { return y[1]; }};
  const auto integrator = start(motion);
  StepResult step;
  while (step.roots.empty()) step = integrator->step(10.0);
  // Just behind the root, so that a restart does not find it again.
  EXPECT_LE(integrator->y()[1], 0.0);
  EXPECT_NEAR(integrator->y()[1], 0.0, 1e-12);
  EXPECT_LT(error(integrator->y(), motion.exact(step.t)), motion_tolerance);
  integrator->restart(step.t, integrator->y(), integrator->quadratures(), std::nullopt, std::vector<int>{0});
  const double first = step.t;
  do step = integrator->step(10.0);
  while (step.roots.empty());
  EXPECT_NEAR(step.t - first, pi / oscillator_omega, motion_tolerance);
}

// The rate of a gap between two bodies at rest: a body comes to rest against another, and remains.
TEST_P(EveryIntegrator, FunctionsThatRemainAtZeroHaveOneRoot) {
  const KnownMotion motion = oscillator_on_circle();
  motion.particle->watched = {[](double, const VectorXd& y) { return std::max(0.0, y[1]); },
                              [](double, const VectorXd&) { return 0.0; },
                              [](double t, const VectorXd& y) { return t > 0.2 ? 0.0 : -1.0 - y[1]; }};
  const auto integrator = start(motion, {-1, 0, +1});
  const auto stops = run_to(*integrator, 0.9 * pi / oscillator_omega);
  ASSERT_EQ(stops.size(), 2U);
  EXPECT_EQ(stops[0].roots, std::vector<int>{2});
  EXPECT_NEAR(stops[0].t, 0.2, 1e-11);  // 100 rounding errors of t and of the step, as SUNDIALS brackets roots
  EXPECT_EQ(stops[1].roots, std::vector<int>{0});
  EXPECT_NEAR(stops[1].t, 0.5 * pi / oscillator_omega, motion_tolerance);
}

// A root at the end of a step: dense output before it is requested until the next step, which begins there.
TEST_P(EveryIntegrator, RootAtTheEndOfAStepEndsTheStep) {
  const KnownMotion motion = oscillator_on_circle();
  motion.particle->watched = {[](double t, const VectorXd&) { return t < 0.1 ? 1.0 : 0.0; }};
  const auto integrator = start(motion);
  double before = 0.0;
  StepResult step;
  VectorXd y(4), z(1);
  for (double t = 0.0; t < 0.2; t = step.t) {
    step = integrator->step(t < 0.1 ? 0.1 : 0.2);
    if (step.inside) continue;
    integrator->interpolate(0.5 * (before + step.t), y, z);
    EXPECT_LT(error(y, motion.exact(0.5 * (before + step.t))), motion_tolerance)
        << "from " << before << " to " << step.t;
    before = step.t;
  }
}

TEST_P(EveryIntegrator, DenseOutputIsAsAccurateAsTheSteps) {
  const KnownMotion motion = oscillator_on_circle();
  const auto integrator = start(motion, {}, 1e-9, 2e-3);
  VectorXd y(4);
  VectorXd z(1);
  double worst = 0.0;
  double worst_quadrature = 0.0;
  for (double t = 0.0; t < 2.0;) {
    const StepResult step = integrator->step(2.0);
    for (const double s : {0.1, 0.37, 0.5, 0.81, 1.0}) {
      const double inside = t + s * (step.t - t);
      integrator->interpolate(inside, y, z);
      worst = std::max(worst, error(y, motion.exact(inside)));
      worst_quadrature = std::max(worst_quadrature, std::abs(z[0] - (motion.exact(inside) - motion.exact(0.0))[0]));
    }
    t = step.t;
  }
  fmt::print("{:14} dense output: state {:.1e}, quadrature {:.1e}\n", GetParam().name, worst, worst_quadrature);
  EXPECT_LT(worst, 5.0 * motion_tolerance);
  EXPECT_LT(worst_quadrature, 20.0 * motion_tolerance);
}

TEST_P(EveryIntegrator, RestartDiscardsTheHistory) {
  const KnownMotion motion = oscillator_on_circle();
  const auto used = start(motion);
  run_to(*used, 0.7);
  const VectorXd y = motion.exact(0.3);
  const VectorXd z = VectorXd::Constant(1, 0.25);
  const auto fresh = make(*motion.particle);
  for (Integrator* integrator : {used.get(), fresh.get()}) {
    integrator->restart(0.3, y, z, 0.05, {});
    run_to(*integrator, 1.3);
  }
  EXPECT_EQ(used->y(), fresh->y()) << "used " << used->y().transpose() << ", fresh " << fresh->y().transpose();
  EXPECT_EQ(used->quadratures(), fresh->quadratures());
}

TEST_P(EveryIntegrator, StepBoundIsObserved) {
  const KnownMotion motion = oscillator_on_circle();
  const auto integrator = start(motion, {}, 1e-4, 0.05);
  integrator->restart(0.0, motion.exact(0.0), VectorXd::Zero(1), 1e-3, {});
  for (int i = 0; i < 20; ++i) EXPECT_LE(integrator->step(10.0).step_size, 1e-3 * (1.0 + 1e-12));
  integrator->set_max_step(std::nullopt);
  double largest = 0.0;
  for (int i = 0; i < 40; ++i) largest = std::max(largest, integrator->step(10.0).step_size);
  EXPECT_GT(largest, 2e-3);
}

TEST_P(EveryIntegrator, RecoverableErrorLeadsToASmallerStep) {
  const KnownMotion motion = oscillator_on_circle();
  double reached = 0.0;
  motion.particle->before_evaluation = [&](double t) {
    if (t > reached + 0.004) throw RecoverableError("stepped too far");
  };
  const auto integrator = start(motion, {}, 1e-4, 0.01);
  while (reached < 0.5) {
    const StepResult step = integrator->step(0.5);
    EXPECT_LE(step.step_size, 0.0041);
    reached = step.t;
  }
  EXPECT_GT(integrator->statistics().rejected_steps, 0);
  // Tolerance 1e-4 per step.
  EXPECT_LT(error(integrator->y(), motion.exact(0.5)), 1e-2);
}

TEST_P(EveryIntegrator, UnrecoverableErrorIsRethrown) {
  const KnownMotion motion = oscillator_on_circle();
  motion.particle->before_evaluation = [](double t) {
    if (t > 0.5) throw Error(ErrorCode::unavailable, "partner is gone", "peer");
  };
  const auto integrator = start(motion);
  try {
    run_to(*integrator, 1.0);
    FAIL() << "nothing thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unavailable);
    EXPECT_EQ(e.field(), "peer");
    EXPECT_STREQ(e.what(), "partner is gone");
  }
}

TEST_P(EveryIntegrator, FailureReportsMethodTimeAndReason) {
  const KnownMotion motion = oscillator_on_circle();
  motion.particle->before_evaluation = [](double t) {
    if (t > 0.5) throw RecoverableError("the wall is too close");
  };
  const auto integrator = start(motion);
  try {
    run_to(*integrator, 1.0);
    FAIL() << "nothing thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::solver_failed) << e.what();
    EXPECT_THAT(e.what(), testing::HasSubstr(GetParam().name + " failed at t = 0."));
    EXPECT_THAT(e.what(), testing::HasSubstr("the wall is too close"));
  }
  // Up to a step before the time itself: some methods fail before they reach it with ever smaller steps.
  EXPECT_NEAR(integrator->attempted_time(), 0.5, 1e-3);
}

TEST_P(EveryIntegrator, RootThatCannotBeEvaluatedRequestsARestart) {
  const KnownMotion motion = oscillator_on_circle();
  motion.particle->watched = {[](double t, const VectorXd&) {
    if (t > 0.5) throw RecoverableError("too deep");
    return 1.0;
  }};
  const auto integrator = start(motion);
  EXPECT_THROW(run_to(*integrator, 1.0), RecoverableError);
  EXPECT_GT(integrator->attempted_time(), 0.5);
  EXPECT_LT(integrator->attempted_time(), 0.7);
}

TEST_P(EveryIntegrator, CountsItsWork) {
  const KnownMotion motion = free_flight();
  const auto integrator = start(motion);
  int steps = 0;
  for (double t = 0.0; t < 0.1; ++steps) t = integrator->step(0.1).t;
  integrator->restart(0.0, motion.exact(0.0), VectorXd::Zero(1), std::nullopt, {});
  for (double t = 0.0; t < 0.1; ++steps) t = integrator->step(0.1).t;
  const IntegratorStatistics statistics = integrator->statistics();
  EXPECT_EQ(statistics.name, GetParam().name);
  EXPECT_EQ(statistics.steps, steps);
  EXPECT_EQ(statistics.restarts, 1);
  EXPECT_GE(statistics.rhs_evaluations, steps);
}

/// A method that finds impacts itself locates no roots, and is of order 2: tests/validation/mbs/rigid_contact_test.cpp.
std::vector<mbs::IntegratorEntry> that_locate_roots() {
  std::vector<mbs::IntegratorEntry> entries;
  std::ranges::copy_if(mbs::integrator_registry(), std::back_inserter(entries),
                       [](const mbs::IntegratorEntry& entry) { return !entry.solves_impacts; });
  return entries;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryIntegrator, testing::ValuesIn(that_locate_roots()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace heelstrike::test
