// Measured order of every integrator on the oscillator on a circle, whose motion is known in closed form.
#include <fmt/format.h>
#include <gtest/gtest.h>

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
      // The leading term does not stand alone at these steps: a quarter of an order is left to the next one.
      if (previous > 0.0) {
        EXPECT_NEAR(order, 4.0, 0.25) << entry.name << " " << step;
      }
      previous = m.error;
    }
  }
}

TEST(Convergence, VariableStepMethodsFollowTheirTolerance) {
  for (const auto& entry : mbs::integrator_registry()) {
    if (entry.fixed_step) continue;
    double first = 0.0;
    Measured last;
    for (const double rtol : {1e-4, 1e-6, 1e-8, 1e-10}) {
      last = measure(entry, spec_of(entry, rtol));
      fmt::print("{:14} rtol {:7.0e}  error {:9.2e}  steps {:6}  error / rtol {:8.1f}\n", entry.name, rtol, last.error,
                 last.steps, last.error / rtol);
      EXPECT_LT(last.error, 3e3 * rtol) << entry.name;
      if (first == 0.0) first = last.error;
    }
    // Six decades of tolerance must show in the error; a method that controls the error per step, not per unit time,
    // loses about one.
    EXPECT_LT(last.error, 1e-4 * first) << entry.name;
  }
}

TEST(Convergence, RungeKuttaMethodsHaveTheOrderAskedFor) {
  // With error control out of the way (large tolerance, bounded step) the error falls with the order of the method.
  for (const auto& [name, orders] :
       {std::pair{"arkode_erk", std::vector{2, 3, 4, 5, 6, 8}}, std::pair{"arkode_dirk", std::vector{3, 4, 5}}}) {
    const auto registry = mbs::integrator_registry();
    const auto entry = std::ranges::find(registry, std::string(name), &mbs::IntegratorEntry::name);
    for (const int order : orders) {
      double errors[2] = {};
      const double coarse = order > 5 ? 0.1 : 0.04;
      for (const int refinement : {0, 1}) {
        IntegratorSpec spec = spec_of(*entry, 1e-2);
        // Newton's iteration stops at a tenth of the tolerance: the implicit methods need a small one, so that it is
        // the tolerance, not the bound, that their steps follow.
        spec.atol = spec.rtol;
        spec.order = order;
        spec.max_step = coarse / (1 << refinement);
        errors[refinement] = measure(*entry, spec).error;
      }
      const double measured = std::log2(errors[0] / errors[1]);
      fmt::print("{:14} order {}  error {:9.2e} -> {:9.2e}  measured {:5.2f}\n", name, order, errors[0], errors[1],
                 measured);
      EXPECT_GT(measured, order - 0.6) << name;
    }
  }
}

}  // namespace
}  // namespace heelstrike::test
