// Rounding of rigid contact is not shown as a result.
#include <gtest/gtest.h>

#include "common/results/resolution.hpp"

namespace heelstrike {
namespace {

TEST(Resolution, OfEnergiesIsRelativeToTheLargest) {
  const EnergyBalance shown =
      to_resolution({.initial = 12.3, .final = 12.3, .dissipated = -7.4e-31, .balance_error = 1e-13});
  EXPECT_EQ(shown.dissipated, 0.0);
  EXPECT_EQ(shown.balance_error, 0.0);
  EXPECT_EQ(shown.initial, 12.3);
  EXPECT_EQ(to_resolution({.initial = 1e-20, .final = 9e-21, .dissipated = 1e-21}).dissipated, 1e-21) << "small bodies";
}

TEST(Resolution, OfForcesIsRelativeToTheImpacts) {
  RunSummary run;
  run.simulated_time = 1.0;
  run.integrator.steps = 1000;
  run.contacts = {{.pair = "hit", .max_force = 1.8e-9, .max_indentation = 2e-16, .max_impulse = 0.07},
                  {.pair = "rest", .max_force = 0.4, .max_impulse = 0.0},
                  {.pair = "soft", .max_force = 1e-9, .max_indentation = 1e-9}};
  EXPECT_DOUBLE_EQ(impact_force_scale(run), 70.0);
  EXPECT_EQ(displayed_force(run.contacts[0], run), 0.0);
  EXPECT_EQ(displayed_force(run.contacts[1], run), 0.4) << "a body at rest";
  EXPECT_EQ(displayed_force(run.contacts[2], run), 1e-9) << "a compliant contact";
  EXPECT_FALSE(displayed_indentation(run.contacts[0]));
  EXPECT_EQ(displayed_indentation(run.contacts[2]), 1e-9);
}

}  // namespace
}  // namespace heelstrike
