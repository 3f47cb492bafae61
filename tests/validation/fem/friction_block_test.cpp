// A block pressed on a plane and dragged: stick, slip at mu N, reversal; work of friction; divided steps.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/unit/fem/test_contact.hpp"

namespace heelstrike::fem {
namespace {

constexpr double friction = 0.3;
constexpr double indentation = 5e-4;  // [m]

PairState tangentially_displaced(double x) {
  PairState state;
  state.X_AB.p = Vector3(x, 0.0, indentation);
  return state;
}

std::unique_ptr<CondensedContact> make_dragged_block() {
  return test::make_block({.poissons_ratio = 0.0, .options = {.friction = friction, .max_penetration = 0.02}},
                          std::make_shared<test::Plane>());
}

TEST(FrictionBlock, SticksThenSlidesAndReverses) {
  const auto block = make_dragged_block();
  auto history = block->commit(*block->initial_history(), tangentially_displaced(0.0)).history;
  double x = 0.0;
  double dissipated = 0.0;
  double work = 0.0;
  double force_before = 0.0;
  std::printf("%10s %10s %10s %12s\n", "x [mm]", "Fx [N]", "Fx/Fz", "dissip. [mJ]");
  for (const double target : {1e-3, -1e-3, 1e-3}) {
    const double start = x;
    for (int i = 1; i <= 40; ++i) {
      const double next = start + (target - start) * i / 40.0;
      const Committed c = block->commit(*history, tangentially_displaced(next));
      history = c.history;
      const Response& r = c.response;
      dissipated += r.dissipated_increment;
      work += 0.5 * (force_before + r.F_A.force.x()) * (next - x);
      force_before = r.F_A.force.x();
      x = next;
      EXPECT_LE(r.F_A.force.head<2>().norm(), friction * r.F_A.force.z() * (1.0 + 1e-9));
      if (i % 10 == 0)
        std::printf("%10.4f %10.4f %10.6f %12.6f\n", 1e3 * x, r.F_A.force.x(), r.F_A.force.x() / r.F_A.force.z(),
                    1e3 * dissipated);
      if (i == 40) {
        const double sign = target > start ? 1.0 : -1.0;
        EXPECT_NEAR(r.F_A.force.x(), sign * friction * r.F_A.force.z(), 1e-9 * r.F_A.force.z())
            << "fully sliding at " << x;
      }
    }
  }
  // Work of the drag = dissipated + stored in shear; 120 steps by the trapezoidal rule, kinked at stick-slip.
  const double stored = block->evaluate(*history, tangentially_displaced(x)).stored_energy -
                        block
                            ->evaluate(*block->commit(*block->initial_history(), tangentially_displaced(0.0)).history,
                                       tangentially_displaced(0.0))
                            .stored_energy;
  std::printf("work %.6e J, dissipated %.6e J, stored %.6e J\n", work, dissipated, stored);
  EXPECT_NEAR(work, dissipated + stored, 0.01 * work);
}

TEST(FrictionBlock, ResultDoesNotDependOnTheStepDivision) {
  const auto block = make_dragged_block();
  const auto start = block->commit(*block->initial_history(), tangentially_displaced(0.0)).history;
  for (const double target : {2e-5, 4e-4}) {
    const Response once = block->evaluate(*start, tangentially_displaced(target));
    const auto half = block->commit(*start, tangentially_displaced(0.5 * target)).history;
    const Response twice = block->evaluate(*half, tangentially_displaced(target));
    std::printf("to %.2f mm: Fx %.9f N in one step, %.9f N in two\n", 1e3 * target, once.F_A.force.x(),
                twice.F_A.force.x());
    EXPECT_NEAR(once.F_A.force.x(), twice.F_A.force.x(), 1e-3 * once.F_A.force.z());
  }
}

TEST(FrictionBlock, WorkOfFrictionEqualsTheDissipation) {
  // Two closed cycles: the stored energy is recovered, so that all the work of the drag is dissipated. The error of the
  // trapezoidal rule is of second order in the step; both step widths are shown.
  const auto block = make_dragged_block();
  std::printf("%8s %14s %14s %12s\n", "steps", "work [mJ]", "dissip. [mJ]", "error");
  double before = 0.0;
  for (const int n_steps : {40, 160}) {
    auto history = block->commit(*block->initial_history(), tangentially_displaced(0.0)).history;
    double x = 0.0;
    double force = 0.0;
    double work = 0.0;
    double dissipated = 0.0;
    const auto drag = [&](double target, bool count) {
      const double start = x;
      for (int i = 1; i <= n_steps; ++i) {
        const double next = start + (target - start) * i / n_steps;
        const Committed c = block->commit(*history, tangentially_displaced(next));
        history = c.history;
        if (count) work += 0.5 * (force + c.response.F_A.force.x()) * (next - x);
        if (count) dissipated += c.response.dissipated_increment;
        force = c.response.F_A.force.x();
        x = next;
      }
    };
    drag(1e-3, false);
    drag(-1e-3, true);
    drag(1e-3, true);
    const double error = std::abs(work / dissipated - 1.0);
    std::printf("%8d %14.8f %14.8f %12.2e\n", n_steps, 1e3 * work, 1e3 * dissipated, error);
    if (before > 0.0) {
      EXPECT_LT(error, 0.5 * before);
      EXPECT_LT(error, 2e-3);
    }
    before = error;
  }
}

TEST(FrictionBlock, RepeatedCommitsDoNotCreep) {
  const auto block = make_dragged_block();
  auto history = block->commit(*block->initial_history(), tangentially_displaced(0.0)).history;
  history = block->commit(*history, tangentially_displaced(2e-4)).history;
  const Response first = block->evaluate(*history, tangentially_displaced(2e-4));
  for (int i = 0; i < 200; ++i) history = block->commit(*history, tangentially_displaced(2e-4)).history;
  const Response last = block->evaluate(*history, tangentially_displaced(2e-4));
  EXPECT_NEAR(first.F_A.force.x(), last.F_A.force.x(), 1e-9 * first.F_A.force.z());
  // The slip is solved to 1e-10 of the depth (5e-4 m), under forces of several tens of newtons.
  EXPECT_NEAR(last.dissipated_increment, 0.0, 1e-12);
}

}  // namespace
}  // namespace heelstrike::fem
