// All integrators on the same two runs: a torque-free asymmetric body and the bouncing ball.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

/// Spins about its middle axis with a small disturbance: it tumbles repeatedly.
constexpr const char* spinning_body = R"(
heelstrike: 1
gravity: [0, 0, 0]
bodies:
  box:
    mass: 2.0
    inertia: [0.3, 0.2, 0.1]
    angular_velocity: [0.1, 5.0, 0.1]
analysis:
  end_time: 10
  integrator: {rtol: 1.0e-8, atol: 1.0e-10}
output: {interval: 0.05, steps: none}
)";

struct Method {
  std::string name;
  double step = 0.0;  ///< [s] of fixed-step methods, 0 = variable
  double rtol = 1e-8;
  double energy_limit = 1e-7;  ///< of the relative energy error
};

Scenario with_method(const std::string& yaml, const Method& method, std::vector<std::string> overrides) {
  overrides.push_back("analysis.integrator.name=" + method.name);
  if (method.step > 0.0) overrides.push_back(fmt::format("analysis.integrator.step={}", method.step));
  return scenario_from(yaml, overrides);
}

double largest_energy_error(const RecordedRun& run) {
  const auto kinetic = run.column("energy.kinetic_J");
  const auto potential = run.column("energy.potential_J");
  double worst = 0.0;
  for (std::size_t i = 0; i < kinetic.size(); ++i) {
    worst = std::max(worst, std::abs(kinetic[i] + potential[i] - run.summary.energy.initial));
  }
  return worst / run.summary.energy.initial;
}

void print_head(const char* title) {
  fmt::print("{}\n{:14} {:>8} {:>7} {:>8} {:>6} {:>10} {:>10} {:>10} {:>6}\n", title, "integrator", "steps", "reject",
             "rhs", "Jac", "energy", "|Phi|", "|Phid|", "wall");
}

void print_row(const RecordedRun& run, double energy, double reference_wall) {
  const auto& s = run.summary.integrator;
  fmt::print("{:14} {:8} {:7} {:8} {:6} {:10.1e} {:10.1e} {:10.1e} {:6.2f}\n", s.name, s.steps, s.rejected_steps,
             s.rhs_evaluations, s.jacobian_evaluations, energy, run.summary.max_position_violation,
             run.summary.max_velocity_violation, run.summary.wall_time / reference_wall);
}

TEST(Integrators, SpinningBodyKeepsItsEnergy) {
  print_head(
      "torque-free asymmetric body, 10 s, rtol 1e-8, last two 1e-10 (fixed step 1 ms); energy: largest relative error");
  double reference_wall = 0.0;
  // The BDF formulas are dissipative: at the same tolerance they lose a hundred times more than the Runge-Kutta
  // methods.
  for (const Method& method : {Method{"cvode_index1", 0.0, 1e-8, 1e-5},
                               {"ida_ggl", 0.0, 1e-8, 1e-5},
                               {"arkode_erk"},
                               {"arkode_dirk"},
                               {"rk4", 1e-3},
                               {"ab4am4", 1e-3},
                               {"cvode_index1", 0.0, 1e-10},
                               {"ida_ggl", 0.0, 1e-10}}) {
    const auto run = run_local(with_method(spinning_body, method,
                                           {fmt::format("analysis.integrator.rtol={}", method.rtol),
                                            fmt::format("analysis.integrator.atol={}", 0.01 * method.rtol)}));
    ASSERT_EQ(run.summary.status, "completed") << method.name << ": " << run.summary.error->what();
    if (reference_wall == 0.0) reference_wall = run.summary.wall_time;
    const double energy = largest_energy_error(run);
    print_row(run, energy, reference_wall);
    EXPECT_EQ(run.summary.integrator.name, method.name);
    EXPECT_LT(energy, method.energy_limit) << method.name << " at " << method.rtol;
    if (method.step > 0.0) continue;  // Baumgarte bounds violations, it does not remove them
    EXPECT_LT(run.summary.max_position_violation, 1e-10) << method.name;
    EXPECT_LT(run.summary.max_velocity_violation, 1e-8) << method.name;
  }
}

TEST(Integrators, InvalidKeysAreRejected) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"analysis.integrator.name=rk4"}, "analysis.integrator.step: missing"},
      {{"analysis.integrator.step=1e-3"}, "analysis.integrator.step"},
      {{"analysis.integrator.baumgarte_alpha=5"}, "analysis.integrator.baumgarte_alpha"},
      {{"analysis.integrator.name=cvode_index1", "analysis.integrator.order=6"}, "one of 1, 2, 3, 4, 5, found 6"},
      {{"analysis.integrator.name=arkode_dirk", "analysis.integrator.order=2"}, "one of 3, 4, 5, found 2"},
      {{"analysis.integrator.rtol=1"}, "analysis.integrator.rtol"},
      {{"analysis.integrator.atol=0"}, "analysis.integrator.atol"},
      {{"analysis.integrator.name=ida"}, "ida_ggl"},
  };
  for (const auto& [overrides, expected] : cases) {
    try {
      (void)scenario_from(spinning_body, overrides);
      ADD_FAILURE() << overrides.back() << " was accepted";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_input);
      EXPECT_NE(std::string(e.what()).find(expected), std::string::npos) << e.what();
    }
  }
}

TEST(Integrators, BouncingBallFirstContactAgrees) {
  const std::string yaml = read_text(HEELSTRIKE_SOURCE_DIR "/examples/bouncing_ball.yaml");
  print_head("bouncing ball, first contact, rtol 1e-8 (fixed step 10 us); energy: relative error of the balance");
  ContactEpisode reference;
  double reference_wall = 0.0;
  for (const Method& method :
       {Method{"cvode_index1"}, {"ida_ggl"}, {"arkode_erk"}, {"arkode_dirk"}, {"rk4", 1e-5}, {"ab4am4", 1e-5}}) {
    const auto run = run_local(
        with_method(yaml, method, {"analysis.end_time=0.45", "analysis.integrator.rtol=1e-8", "output.steps=none"}));
    ASSERT_EQ(run.summary.status, "completed") << method.name << ": " << run.summary.error->what();
    ASSERT_EQ(run.summary.contacts.size(), 1U) << method.name;
    const ContactEpisode& contact = run.summary.contacts[0];
    if (reference_wall == 0.0) {
      reference = contact;
      reference_wall = run.summary.wall_time;
    }
    print_row(run, run.summary.energy.balance_error / run.summary.energy.initial, reference_wall);
    const auto relative = [](double value, double expected) { return std::abs(value / expected - 1.0); };
    const double worst = std::max({relative(contact.onset, reference.onset), relative(*contact.end, *reference.end),
                                   relative(*contact.end - contact.onset, *reference.end - reference.onset),
                                   relative(*contact.separation_velocity, *reference.separation_velocity)});
    const double peak = relative(contact.max_force, reference.max_force);
    fmt::print(
        "    onset, end, duration, separation speed differ by {:.1e} from cvode_index1, largest force by "
        "{:.1e}\n",
        worst, peak);
    EXPECT_LT(worst, 1e-5) << method.name;
    // The peak force is the largest at an accepted step: wide steps miss the peak.
    EXPECT_LT(peak, 1e-2) << method.name;
  }
}

// A body at rest under a short load: its impulse, whatever the step of a body at rest would have been.
TEST(Integrators, ShortLoadsAreNotPassedOver) {
  // The integral of a step between two times is that of a jump in their middle.
  for (const auto& [formula, end_time, impulse] :
       {std::tuple{"100 * (step(t, 0.4, 0.45) - step(t, 0.55, 0.6))", 1.0, 15.0},
        std::tuple{"100 * (step(t, 0.4, 0.401) - step(t, 0.404, 0.405))", 1.0, 0.4},
        std::tuple{"10 * exp(-((t - 5.123) / 0.02) ^ 2)", 10.0, 0.2 * std::sqrt(std::numbers::pi)}}) {
    for (const char* name : {"cvode_index1", "arkode_erk", "arkode_dirk", "ida_ggl"}) {
      const auto run = completed(scenario_from(fmt::format(R"(
heelstrike: 1
gravity: [0, 0, 0]
bodies: {{b: {{mass: 1, inertia: [1, 1, 1]}}}}
loads: {{push: {{body: b, fx: {{expression: "{}"}}}}}}
analysis: {{end_time: {}, integrator: {{name: {}}}}}
output: {{interval: {}}}
)",
                                                           formula, end_time, name, 0.5 * end_time)));
      EXPECT_NEAR(run.column("b.vx_m_s").back() / impulse, 1.0, 1e-5) << name << " " << formula;
    }
  }
}

// The same for rows of a table, whose spline overshoots between rows of zero; the reference has short steps throughout.
TEST(Integrators, ShortLoadsOfTablesAreNotPassedOver) {
  std::string times, values;
  for (int i = 0; i <= 200; ++i) {
    times += fmt::format("{}{}", i == 0 ? "" : ", ", 0.005 * i);
    values += fmt::format("{}{}", i == 0 ? "" : ", ", i >= 86 && i < 90 ? 50 : 0);
  }
  const auto velocity = [&](const std::string& integrator) {
    return completed(scenario_from(fmt::format(R"(
heelstrike: 1
gravity: [0, 0, 0]
bodies: {{b: {{mass: 1, inertia: [1, 1, 1]}}}}
loads: {{push: {{body: b, fx: {{table: {{times: [{}], values: [{}]}}}}}}}}
analysis: {{end_time: 1, integrator: {{{}}}}}
output: {{interval: 0.5}}
)",
                                               times, values, integrator)))
        .column("b.vx_m_s")
        .back();
  };
  const double expected = velocity("name: arkode_erk, max_step: 0.001");
  EXPECT_NEAR(expected, 1.0, 1e-3);
  // Lobes of the spline below a hundredth of its range are left to the error control.
  for (const char* name : {"cvode_index1", "arkode_erk", "arkode_dirk", "ida_ggl"}) {
    EXPECT_NEAR(velocity(fmt::format("name: {}", name)) / expected, 1.0, 1e-3) << name;
  }
}

// A pendulum whose pivot reverses within no time: the limit of smooth reversals, 0.5 sqrt((t - 0.5)^2 + e^2).
TEST(Integrators, DriversMayHaveKinks) {
  const auto spin = [](const std::string& motion, const char* name) {
    return completed(scenario_from(fmt::format(R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  a: {{mass: 1, inertia: [1, 1, 1], position: [-0.25, 0, 0]}}
  b: {{mass: 1, inertia: [0.01, 0.01, 0.01], position: [0.25, 0, 0]}}
joints:
  pivot: {{type: revolute, bodies: [a, b], point: [-0.25, 0, 0], axis: [0, 1, 0]}}
drivers:
  shake: {{body: a, x: {{expression: "{}"}}, y: {{expression: "0"}}, z: {{expression: "0"}},
           rx: {{expression: "0"}}, ry: {{expression: "0"}}, rz: {{expression: "0"}}}}
analysis: {{end_time: 1, integrator: {{name: {}}}}}
output: {{interval: 0.1}}
)",
                                               motion, name)))
        .column("b.wy_rad_s")
        .back();
  };
  constexpr double width = 1e-4;
  const double expected = spin(fmt::format("-0.5 * sqrt((t - 0.5) ^ 2 + {})", width * width), "cvode_index1");
  for (const char* name : {"cvode_index1", "arkode_erk", "arkode_dirk"}) {
    EXPECT_NEAR(spin("-0.5 * abs(t - 0.5)", name), expected, 10.0 * width) << name;
  }
}

}  // namespace
}  // namespace heelstrike::test
