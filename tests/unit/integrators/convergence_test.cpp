// Measured order of every integrator on the oscillator on a circle, whose motion is known in closed form.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/integrators/particle.hpp"

namespace heelstrike::test {
namespace {

constexpr double t_end = 4.0;

struct Measured {
  double error = 0.0;
  std::int64_t steps = 0;
};

Measured measure(const mbs::IntegratorEntry& entry, const IntegratorSpec& spec) {
  const KnownMotion motion = oscillator_on_circle();
  const auto integrator = entry.make(spec, *motion.particle);
  integrator->restart(0.0, motion.exact(0.0), VectorXd::Zero(1), std::nullopt, {});
  double worst = 0.0;
  for (double t = 0.0; t < t_end;) {
    t = integrator->step(t_end).t;
    worst = std::max(worst, (integrator->y() - motion.exact(t)).lpNorm<Eigen::Infinity>());
  }
  return {.error = worst, .steps = integrator->statistics().steps};
}

TEST(Convergence, FixedStepMethodsAreOfOrderFour) {
  for (const auto& entry : mbs::integrator_registry()) {
    if (!entry.fixed_step) continue;
    double previous = 0.0;
    for (const double step : {0.02, 0.01, 0.005, 0.0025}) {
      const Measured m = measure(entry, spec_of(entry, 0.0, step));
      const double order = previous > 0.0 ? std::log2(previous / m.error) : 0.0;
      fmt::print("{:14} step {:8.4f} s  error {:9.2e}  order {:5.2f}\n", entry.name, step, m.error, order);
      // The leading term is not isolated at these steps: the tolerance for the next one is a quarter of an order.
      if (previous > 0.0) {
        EXPECT_NEAR(order, 4.0, 0.25) << entry.name << " " << step;
      }
      previous = m.error;
    }
  }
}

TEST(Convergence, VariableStepMethodsFollowTheirTolerance) {
  for (const auto& entry : mbs::integrator_registry()) {
    if (entry.fixed_step || entry.solves_impacts) continue;
    Measured previous;
    for (const double rtol : {1e-4, 1e-6, 1e-8, 1e-10}) {
      const Measured m = measure(entry, spec_of(entry, rtol));
      const double order = previous.steps == 0
                               ? 0.0
                               : std::log(previous.error / m.error) /
                                     std::log(static_cast<double>(m.steps) / static_cast<double>(previous.steps));
      fmt::print("{:14} rtol {:7.0e}  error {:9.2e}  steps {:6}  error / rtol {:6.1f}  order {:5.2f}\n", entry.name,
                 rtol, m.error, m.steps, m.error / rtol, order);
      EXPECT_LT(m.error, 1e3 * rtol) << entry.name;
      // All work with order 5 at small tolerances; start-up and step changes reduce it slightly.
      if (rtol < 1e-9) {
        EXPECT_GT(order, 4.0) << entry.name;
      }
      previous = m;
    }
  }
}

TEST(Convergence, ExplicitMethodsHaveTheRequestedOrder) {
  // Error control disabled (large tolerance, bounded step): the error decreases with the order of the method.
  const auto registry = mbs::integrator_registry();
  const auto entry = std::ranges::find(registry, std::string("arkode_erk"), &mbs::IntegratorEntry::name);
  for (const int order : {2, 3, 4, 5, 6, 8}) {
    double errors[2] = {};
    for (const int refinement : {0, 1}) {
      IntegratorSpec spec = spec_of(*entry, 1e-2);
      spec.atol = 1e-2;
      spec.order = order;
      spec.max_step = (order > 5 ? 0.1 : 0.04) / (1 << refinement);
      errors[refinement] = measure(*entry, spec).error;
    }
    const double measured = std::log2(errors[0] / errors[1]);
    fmt::print("arkode_erk     order {}  error {:9.2e} -> {:9.2e}  measured {:5.2f}\n", order, errors[0], errors[1],
               measured);
    EXPECT_NEAR(measured, order, 0.3);
  }
}

TEST(Convergence, RowsBetweenStepsHaveTheOrderOfTheMethod) {
  const auto registry = mbs::integrator_registry();
  const auto entry = std::ranges::find(registry, std::string("arkode_erk"), &mbs::IntegratorEntry::name);
  for (const int order : {5, 6, 8}) {
    double errors[2] = {};
    for (const int refinement : {0, 1}) {
      IntegratorSpec spec = spec_of(*entry, 1e-2);
      spec.atol = 1e-2;
      spec.order = order;
      spec.max_step = (order > 5 ? 0.16 : 0.08) / (1 << refinement);
      const KnownMotion motion = oscillator_on_circle();
      const auto integrator = entry->make(spec, *motion.particle);
      integrator->restart(0.0, motion.exact(0.0), VectorXd::Zero(1), std::nullopt, {});
      VectorXd y(4), z(1);
      for (double t = 0.0; t < t_end;) {
        const auto step = integrator->step(t_end);
        for (const double part : {0.2, 0.5, 0.7}) {
          const double inside = t + part * (step.t - t);
          integrator->interpolate(inside, y, z);
          errors[refinement] = std::max(errors[refinement], (y - motion.exact(inside)).lpNorm<Eigen::Infinity>());
        }
        t = step.t;
      }
    }
    const double measured = std::log2(errors[0] / errors[1]);
    fmt::print("arkode_erk     order {}  between steps {:9.2e} -> {:9.2e}  measured {:5.2f}\n", order, errors[0],
               errors[1], measured);
    // A shorter first step and the next term of the error: a tolerance of half an order.
    EXPECT_GT(measured, order - 0.5);
  }
}

TEST(Convergence, FixedStepsEstimateTheirError) {
  // The increments of steps minus the quadrature of the next order: the neglected term is of order h^6 of h^5, a tenth
  // at these steps. The sum of the steps' errors is that of the end where errors neither grow nor decay, here up to the
  // factor by which the phase mixes them.
  for (const auto& entry : mbs::integrator_registry()) {
    if (!entry.fixed_step) continue;
    for (const double step : {0.02, 0.01}) {
      const KnownMotion motion = oscillator_on_circle();
      const auto integrator = entry.make(spec_of(entry, 0.0, step), *motion.particle);
      integrator->restart(0.0, motion.exact(0.0), VectorXd::Zero(1), std::nullopt, {});
      double estimated = 0.0;
      double worst = 0.0;
      for (double t = 0.0; t < t_end;) {
        const auto result = integrator->step(t_end);
        estimated += result.error;
        t = result.t;
        worst = std::max(worst, (integrator->y() - motion.exact(t)).lpNorm<Eigen::Infinity>());
      }
      fmt::print("{:14} step {:6.3f}: estimated {:.1e}, true {:.1e}\n", entry.name, step, estimated, worst);
      EXPECT_GT(estimated, 0.1 * worst) << entry.name;
      EXPECT_LT(estimated, 30.0 * worst) << entry.name;
    }
  }
}

}  // namespace
}  // namespace heelstrike::test
