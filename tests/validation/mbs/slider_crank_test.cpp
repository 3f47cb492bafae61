// Machado's slider-crank (2012, section 4.5) against an independent two-coordinate integration of the same model.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

struct Reference {
  const char* law;
  double max_indentation_mm, max_force_kN, contact_us;
  double second_onset, second_indentation_mm, second_force_kN;
};

// RK4 with 1 us in free flight and 1 ns in contact; all digits given are converged.
constexpr double first_onset = 0.042431;
constexpr double first_approach = 27.1226;
constexpr Reference table[] = {
    {"hertz", 0.5686, 128.822, 61.71, 0.066335, 0.2744, 43.191},
    {"hunt_crossley", 0.5134, 117.361, 63.76, 0.068809, 0.2547, 41.005},
    {"lankarani_nikravesh", 0.5204, 118.053, 63.43, 0.068460, 0.2599, 41.663},
    {"flores", 0.4918, 116.370, 64.96, 0.069945, 0.2374, 39.032},
};

double relative(double value, double reference) {
  return std::abs(value / reference - 1.0);
}

TEST(SliderCrank, BothImpactsMeetTheReferenceTable) {
  const std::string yaml = read_text(HEELSTRIKE_SOURCE_DIR "/examples/slider_crank.yaml");
  fmt::print("{:20} {:>9} {:>9} {:>8} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8} {:>9} {:>6}\n", "law", "onset s", "d_max mm",
             "F_max kN", "time us", "onset2 s", "d2 mm", "F2 kN", "worst", "|Phi|", "dE rel", "steps");
  for (const auto& reference : table) {
    const auto run = run_local(scenario_from(yaml, {}, reference.law));
    ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
    ASSERT_EQ(run.summary.contacts.size(), 2U) << reference.law;
    const auto& first = run.summary.contacts[0];
    const auto& second = run.summary.contacts[1];
    const double contact_us = 1e6 * (*first.end - first.onset);
    const double worst =
        std::max({relative(first.onset, first_onset), relative(first.approach_speed, first_approach),
                  relative(1e3 * first.max_indentation, reference.max_indentation_mm),
                  relative(1e-3 * first.max_force, reference.max_force_kN), relative(contact_us, reference.contact_us),
                  relative(second.onset, reference.second_onset),
                  relative(1e3 * second.max_indentation, reference.second_indentation_mm),
                  relative(1e-3 * second.max_force, reference.second_force_kN)});
    const double drift = std::abs(run.summary.energy.balance_error) / run.summary.energy.initial;
    fmt::print("{:20} {:9.6f} {:9.4f} {:8.3f} {:9.2f} {:9.6f} {:9.4f} {:8.3f} {:8.1e} {:8.1e} {:9.1e} {:6}\n",
               reference.law, first.onset, 1e3 * first.max_indentation, 1e-3 * first.max_force, contact_us,
               second.onset, 1e3 * second.max_indentation, 1e-3 * second.max_force, worst,
               run.summary.max_position_violation, drift, run.summary.integrator.steps);
    EXPECT_LT(worst, 1e-3) << reference.law;
    EXPECT_LT(run.summary.max_position_violation, 1e-10);
    // Velocities reach 150 rad/s; what the projection leaves is rounding of this size.
    EXPECT_LT(run.summary.max_velocity_violation, 1e-8);
    EXPECT_LT(drift, 1e-5) << reference.law;
  }
}

TEST(SliderCrank, RedundantEquationsAreNamed) {
  const auto run = run_local(
      scenario_from(read_text(HEELSTRIKE_SOURCE_DIR "/examples/slider_crank.yaml"), {"analysis.end_time=0.001"}));
  std::string all;
  for (const auto& line : run.log) all += line + "\n";
  EXPECT_NE(all.find("3 of 49 constraint equations are redundant"), std::string::npos) << all;
  EXPECT_NE(all.find("cylinder"), std::string::npos) << all;
}

}  // namespace
}  // namespace heelstrike::test
