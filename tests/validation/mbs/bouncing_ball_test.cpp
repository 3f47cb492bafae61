// The bouncing ball of Flores et al. (2011) through the whole multibody side with the contact partner in this process.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/bouncing_ball_table.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

std::string bouncing_ball() {
  return read_text(HEELSTRIKE_SOURCE_DIR "/examples/bouncing_ball.yaml");
}

double deviation(double value, double reference) {
  return std::abs(value / reference - 1.0);
}

TEST(BouncingBall, FirstContactFollowsTheReferenceTable) {
  fmt::print("{:20} {:>4} {:>12} {:>12} {:>12} {:>12} {:>9} {:>6} {:>6}\n", "law", "c_r", "d_max mm", "F_max N",
             "contact ms", "v_sep m/s", "worst", "steps", "evals");
  for (const auto& reference : bouncing_ball_table) {
    const auto scenario = scenario_from(
        bouncing_ball(), {fmt::format("contact.restitution={}", reference.restitution), "analysis.end_time=0.5"},
        reference.backend);
    const auto run = run_local(scenario);
    ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
    ASSERT_EQ(run.summary.contacts.size(), 1U);
    const auto& contact = run.summary.contacts[0];
    const double duration_ms = 1e3 * (*contact.end - contact.onset);
    const double worst =
        std::max({deviation(1e3 * contact.max_indentation, reference.max_depth_mm),
                  deviation(contact.max_force, reference.max_force_N), deviation(duration_ms, reference.contact_ms),
                  deviation(*contact.separation_velocity, reference.separation_m_s)});
    fmt::print("{:20} {:4.1f} {:12.6f} {:12.2f} {:12.6f} {:12.6f} {:9.1e} {:6} {:6}\n", reference.backend,
               reference.restitution, 1e3 * contact.max_indentation, contact.max_force, duration_ms,
               *contact.separation_velocity, worst, run.summary.integrator.steps, run.summary.contact_evaluations);
    EXPECT_LT(worst, 1e-4) << reference.backend << " " << reference.restitution;
    // sqrt(2 h / g) and sqrt(2 g h) of free fall.
    EXPECT_NEAR(contact.onset, std::sqrt(2.0 * 0.9 / 9.81), 1e-8);
    EXPECT_NEAR(contact.approach_velocity, std::sqrt(2.0 * 9.81 * 0.9), 1e-7);
  }
}

TEST(BouncingBall, ElasticBallKeepsItsEnergyOverManyBounces) {
  const auto run = run_local(scenario_from(bouncing_ball(), {"contact.restitution=1", "analysis.end_time=5"}));
  ASSERT_EQ(run.summary.status, "completed");
  ASSERT_GE(run.summary.contacts.size(), 2U);
  const auto kinetic = run.column("energy.kinetic_J");
  const auto potential = run.column("energy.potential_J");
  double worst = 0.0;
  for (std::size_t i = 0; i < kinetic.size(); ++i) {
    worst = std::max(worst, deviation(kinetic[i] + potential[i], run.summary.energy.initial));
  }
  fmt::print("bounces {}, largest relative energy error {:.2e}, steps {}, evaluations {}\n",
             run.summary.contacts.size(), worst, run.summary.integrator.steps, run.summary.contact_evaluations);
  EXPECT_LT(worst, 1e-6);
}

TEST(BouncingBall, EnergyBalanceCloses) {
  const auto run = run_local(scenario_from(bouncing_ball(), {"contact.restitution=0.5"}));
  ASSERT_EQ(run.summary.status, "completed");
  const auto& energy = run.summary.energy;
  fmt::print("initial {} final {} dissipated {} balance error {:.2e}\n", energy.initial, energy.final,
             energy.dissipated, energy.balance_error);
  EXPECT_GT(energy.dissipated, 6.0);
  EXPECT_LT(std::abs(energy.balance_error), 1e-6 * energy.initial);
}

}  // namespace
}  // namespace heelstrike::test
