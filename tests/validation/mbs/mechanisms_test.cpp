// The mechanisms among the examples: energy, constraints, and known properties of their motion.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

std::string mechanism(const std::string& name) {
  return read_text(HEELSTRIKE_SOURCE_DIR "/examples/" + name + ".yaml");
}

struct Drift {
  double energy = 0.0;  ///< largest, relative to the peak kinetic energy
  double position = 0.0;
  double velocity = 0.0;
};

Drift drift_of(const RecordedRun& run, const std::string& name) {
  const auto kinetic = run.column("energy.kinetic_J");
  const auto potential = run.column("energy.potential_J");
  const auto dissipated = run.column("energy.dissipated_J");
  const auto external = run.column("energy.external_work_J");
  double largest = 0.0;
  Drift drift{
      .energy = 0.0, .position = run.summary.max_position_violation, .velocity = run.summary.max_velocity_violation};
  for (std::size_t i = 0; i < kinetic.size(); ++i) {
    largest = std::max(largest, kinetic[i]);
    drift.energy = std::max(
        drift.energy, std::abs(kinetic[i] + potential[i] + dissipated[i] - external[i] - kinetic[0] - potential[0]));
  }
  drift.energy /= largest;
  fmt::print("{:18} {:>6} steps  energy {:8.1e}  position {:8.1e}  velocity {:8.1e}\n", name,
             run.summary.integrator.steps, drift.energy, drift.position, drift.velocity);
  return drift;
}

TEST(Mechanisms, EnergyAndConstraintsAreConserved) {
  for (const std::string name : {"simple_pendulum", "double_pendulum", "four_bar_n", "bricard", "governor"}) {
    const auto run = run_local(scenario_from(mechanism(name)));
    ASSERT_EQ(run.summary.status, "completed") << name << ": " << run.summary.error->what();
    const Drift drift = drift_of(run, name);
    // The governor's couplers dissipate: its balance includes the error of an integral over stiff decay.
    EXPECT_LT(drift.energy, name == "governor" ? 2e-5 : 1e-7) << name;
    EXPECT_LT(drift.position, 1e-10) << name;
    EXPECT_LT(drift.velocity, 1e-8) << name;
  }
}

TEST(Mechanisms, PendulumHasItsPeriodAndReaction) {
  const auto run = run_local(scenario_from(mechanism("simple_pendulum")));
  ASSERT_EQ(run.summary.status, "completed");
  const auto t = run.column("time_s");
  const auto x = run.column("bob.x_m");
  const auto y = run.column("bob.y_m");
  // Quarter period K(1/sqrt 2) sqrt(L/g) of a swing of 90 degrees, L = (m l^2 + I) / (m l) = 1.01 m.
  const double quarter = 1.8540746773013719 * std::sqrt(1.01 / 9.81);
  const auto force = run.column("pin.fy_N");
  for (std::size_t i = 0; i < t.size(); ++i) {
    // Closed forms by elliptic functions are avoided: energy gives the velocity, its balance the force along the rod.
    const double speed2 = -2.0 * 9.81 * y[i] / 1.01;
    const double along = speed2 - 9.81 * y[i];         // on the rod, towards the pin, per kg
    const double across = 9.81 * -x[i] * 0.01 / 1.01;  // m g_t - m a_t, from a_t = g_t / 1.01
    const double fy = -y[i] * along + -x[i] * across;
    EXPECT_NEAR(force[i], fy, 1e-6) << t[i];
  }
  // The lowest point, where x crosses zero, between two rows: x is straight enough there for 1e-6 s.
  for (std::size_t i = 1; i < t.size(); ++i) {
    if (x[i] < 0.0) continue;
    const double crossing = t[i - 1] - x[i - 1] * (t[i] - t[i - 1]) / (x[i] - x[i - 1]);
    fmt::print("quarter period {:.9f} s, exact {:.9f} s\n", crossing, quarter);
    EXPECT_NEAR(crossing, quarter, 1e-6);
    break;
  }
}

TEST(Mechanisms, BricardHasOneRedundantEquation) {
  const auto run = run_local(scenario_from(mechanism("bricard"), {"analysis.end_time=0.01"}));
  std::string all;
  for (const auto& line : run.log) all += line + "\n";
  EXPECT_NE(all.find("1 of 60 constraint equations are redundant"), std::string::npos) << all;
}

std::string failure_of(const RecordedRun& run) {
  return run.summary.error ? run.summary.error->what() : "no error";
}

TEST(Mechanisms, ContradictionIsReportedWithItsJoints) {
  std::string yaml = mechanism("double_pendulum");
  // A rod of another length between points that the two hinges already keep 2 m or less apart.
  yaml.replace(yaml.find("analysis:"), 0,
               "  strut: {type: distance, bodies: [ground, lower], points: [[0, 0, 0], [0.5, 0, 0]], length: 3}\n");
  const auto run = run_local(scenario_from(yaml));
  EXPECT_EQ(run.summary.status, "failed");
  EXPECT_NE(failure_of(run).find("strut"), std::string::npos) << failure_of(run);
  EXPECT_NE(failure_of(run).find("positions remain violated"), std::string::npos) << failure_of(run);
}

TEST(Mechanisms, AssemblyCorrectsARoughGuessAndReportsIt) {
  const auto run = run_local(scenario_from(
      mechanism("double_pendulum"),
      {"analysis.end_time=0.01",
       "joints.elbow={type: revolute, bodies: [upper, lower], points: [[0.5, 0, 0], [-0.6, 0, 0]], axes: [[0, 0, 1], "
       "[0, 0, 1]]}"}));
  ASSERT_EQ(run.summary.status, "completed") << failure_of(run);
  std::string all;
  for (const auto& line : run.log) all += line + "\n";
  EXPECT_NE(all.find("assembly moved lower by"), std::string::npos) << all;
}

TEST(Mechanisms, DriverMovesItsJointAndDoesTheWork) {
  std::string yaml = mechanism("double_pendulum");
  yaml.replace(yaml.find("analysis:"), 0, "drivers:\n  motor: {joint: shoulder, angle: {expression: \"sin(2*t)\"}}\n");
  const auto run = run_local(scenario_from(yaml, {"analysis.end_time=3"}));
  ASSERT_EQ(run.summary.status, "completed") << failure_of(run);
  const auto t = run.column("time_s");
  const auto x = run.column("upper.x_m");
  double worst = 0.0;
  for (std::size_t i = 0; i < t.size(); ++i) {
    worst = std::max(worst, std::abs(x[i] - 0.5 * std::cos(std::sin(2.0 * t[i]))));
  }
  const Drift drift = drift_of(run, "driven pendulum");
  EXPECT_LT(worst, 1e-10);
  EXPECT_LT(drift.energy, 1e-6);
}

}  // namespace
}  // namespace heelstrike::test
