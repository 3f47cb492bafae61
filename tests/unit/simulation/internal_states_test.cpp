// Internal states of force elements: integrated by every integrator and analysis.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>

#include <bit>
#include <cmath>
#include <cstdint>

#include "common/errors/error.hpp"
#include "mbs_server/simulation/simulation.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using testing::HasSubstr;

// Two masses of 2 kg on a relaxing spring in x, 2 N along it: one equation of the third and one of the second order.
constexpr double mass = 2.0, k = 50.0, k1 = 120.0, tau1 = 0.1, k2 = 30.0, tau2 = 1.5, speed = 0.4;

std::string oscillator(const std::string& analysis) {
  return fmt::format(R"(
heelstrike: 1
gravity: [0, 0, 0]
bodies:
  block: {{mass: {}, inertia: [1, 1, 1], position: [1, 0, 0], velocity: [{}, 0, 0]}}
forces:
  strap: {{type: viscoelastic_spring, bodies: [block, ground], point: [1, 0, 0], second_point: [0, 0, 0], stiffness: {},
          branch_stiffnesses: [{}, {}], relaxation_times: [{}, {}]}}
analysis: {}
output: {{interval: 0.05}}
)",
                     mass, speed, k, k1, k2, tau1, tau2, analysis);
}

/// x, dx/dt and the elongations of the two dampers, by the eigenvalues of the linear equations.
Eigen::Vector4d exact_oscillation(double t) {
  Eigen::Matrix4d A;
  A << 0, 1, 0, 0,                                     //
      -(k + k1 + k2) / mass, 0, k1 / mass, k2 / mass,  //
      1 / tau1, 0, -1 / tau1, 0,                       //
      1 / tau2, 0, 0, -1 / tau2;
  const Eigen::EigenSolver<Eigen::Matrix4d> modes(A);
  const Eigen::Matrix4cd V = modes.eigenvectors();
  const Eigen::Vector4cd start = V.partialPivLu().solve(Eigen::Vector4cd(0.0, speed, 0.0, 0.0));
  const Eigen::Vector4cd grown = ((modes.eigenvalues().array() * t).exp() * start.array()).matrix();
  return (V * grown).real();
}

class InternalStatesWith : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static bool fixed_steps() {
    return GetParam() == std::string("rk4") || GetParam() == std::string("ab4am4");
  }
  [[nodiscard]] static Scenario scenario() {
    return scenario_from(oscillator(fmt::format("{{end_time: 1, integrator: {{name: {}, {}}}}}", GetParam(),
                                                fixed_steps() ? "step: 1e-3" : "rtol: 1e-9, atol: 1e-11")));
  }
};

TEST_P(InternalStatesWith, CarriesTheStatesOfAForce) {
  const RecordedRun run = run_local(scenario());
  ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
  const auto t = run.column("time_s");
  const auto x = run.column("block.x_m");
  const auto force = run.column("strap.force_N");
  // Multistep methods have errors up to 200 rtol of the motion (docs/theory/integrators.md), of 0.05 m here, where
  // absolute tolerances of 1e-11 count as 1e-9 / 5; fixed steps of h = 1e-3 s h^4 of the fifth derivatives, (10 / s)^5
  // * 0.05 m.
  const double tolerance = fixed_steps() ? 1e-12 * 1e5 * 0.05 : 200.0 * 1e-9;
  for (std::size_t i = 0; i < t.size(); ++i) {
    const Eigen::Vector4d exact = exact_oscillation(t[i]);
    EXPECT_NEAR(x[i], 1.0 + exact[0], tolerance) << t[i];
    const double expected = k * exact[0] + k1 * (exact[0] - exact[2]) + k2 * (exact[0] - exact[3]);
    EXPECT_NEAR(force[i], expected, 2.0 * (k + k1 + k2) * tolerance) << t[i];
  }
  // The energy dissipated by the dampers is reported: the balance closes. Of 0.16 J, relative to the same tolerances.
  EXPECT_NEAR(run.summary.energy.balance_error, 0.0, 4.0 * (k + k1 + k2) * 0.05 * tolerance);
  EXPECT_GT(run.summary.energy.dissipated, 0.01);
}

TEST_P(InternalStatesWith, ResumesWithTheSameBits) {
  const Scenario input = scenario();
  const mbs::RunInput run{
      .scenario = input, .assets = {}, .run_id = "test", .scenario_digest = "test", .resume_from = {}};
  mbs::Simulation simulation(run);
  simulation.initialise({});
  ASSERT_TRUE(simulation.advance_to(0.37));
  const Checkpoint saved = simulation.save();
  ASSERT_TRUE(simulation.advance_to(0.8));
  const std::vector<double> expected(simulation.output_values().begin(), simulation.output_values().end());
  simulation.restore(saved);
  ASSERT_TRUE(simulation.advance_to(0.8));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(expected[i]), std::bit_cast<std::uint64_t>(simulation.output_values()[i]))
        << simulation.outputs()[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Integrators, InternalStatesWith,
                         testing::Values("cvode_index1", "ida_ggl", "arkode_erk", "arkode_dirk", "rk4", "ab4am4"),
                         [](const auto& info) { return std::string(info.param); });

TEST(InternalStates, ReachSteadyStateInTheStaticAnalysis) {
  // The block hangs on its strap; at rest the arms carry no load, for any preceding motion.
  const RecordedRun run = run_local(scenario_from(oscillator("{type: static, end_time: 1}"),
                                                  {"gravity=[9.81, 0, 0]", "bodies.block.velocity=[0, 0, 0]"}));
  ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
  const double elongation = mass * 9.81 / k;
  // Equilibrium to 1e-10 of the force.
  EXPECT_NEAR(run.column("block.x_m").back(), 1.0 + elongation, 1e-9 * elongation);
  EXPECT_NEAR(run.column("strap.force_N").back(), mass * 9.81, 1e-9 * mass * 9.81);
  EXPECT_NEAR(run.column("energy.potential_J").back(),
              0.5 * k * elongation * elongation - mass * 9.81 * (1.0 + elongation), 1e-8);
}

TEST(InternalStates, WithoutEquilibriumAreReported) {
  // A spring without static stiffness cannot support the block.
  const RecordedRun run =
      run_local(scenario_from(oscillator("{type: static, end_time: 1}"),
                              {"gravity=[9.81, 0, 0]", "forces.strap.stiffness=0", "bodies.block.velocity=[0, 0, 0]"}));
  EXPECT_EQ(run.summary.status, "failed");
  ASSERT_TRUE(run.summary.error);
  EXPECT_THAT(run.summary.error->what(), HasSubstr("block"));
}

TEST(InternalStates, FollowPrescribedMotion) {
  // Pulled at constant speed v: s1 = v (t - tau (1 - exp(-t / tau))).
  const auto scenario = [](double interval) {
    return scenario_from(oscillator("{type: inverse, end_time: 1}") + R"(
joints:
  rail: {type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [1, 0, 0]}
drivers:
  pull: {joint: rail, displacement: {polynomial: [0, 0.4]}}
)",
                         {fmt::format("output.interval={}", interval)});
  };
  const auto viscous = [](double t, double tau) { return speed * tau * (1.0 - std::exp(-t / tau)); };
  const double exact = k * speed + k1 * viscous(1.0, tau1) + k2 * viscous(1.0, tau2);
  double errors[2];
  const double intervals[2] = {0.02, 0.01};
  for (int i = 0; i < 2; ++i) {
    const RecordedRun run = run_local(scenario(intervals[i]));
    ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
    errors[i] = std::abs(run.column("strap.force_N").back() - exact);
  }
  // The trapezoidal rule: h^2 / 12 of the third derivatives, v / tau^2 of the arm that relaxes in ten frames, is 2e-4
  // m/s^2 * 0.1 s at first and e^-10 of it at the end; the slow arm leaves h^2 / 12 v / tau2^2 * t.
  EXPECT_LT(errors[0], (k1 + k2) * 0.02 * 0.02 / 12.0 * speed / (tau2 * tau2) * 1.0 * 2.0);
  EXPECT_NEAR(errors[0] / errors[1], 4.0, 0.2);
}

TEST(InternalStates, OfInconsistentListsAreRejected) {
  for (const char* change : {"forces.strap.relaxation_times=[0.1]", "forces.strap.branch_stiffnesses=[]"}) {
    try {
      (void)scenario_from(oscillator("{end_time: 1}"), {change});
      ADD_FAILURE() << change;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_input);
      EXPECT_THAT(e.what(), HasSubstr("forces.strap"));
    }
  }
}

}  // namespace
}  // namespace heelstrike::test
