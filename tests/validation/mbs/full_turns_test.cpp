// Coordinates of joints and angles of springs beyond half a turn, compared with closed forms.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "fem_server/sessions/local_contact.hpp"
#include "mbs_server/simulation/simulation.hpp"
#include "tests/validation/mbs/completed_run.hpp"

namespace heelstrike::test {
namespace {

constexpr double pi = std::numbers::pi;

/// A body b that rotates about z by a coordinate u and is lifted by `pitch` [m/rad].
std::string screw(double inertia, double mass, double speed, double pitch) {
  return fmt::format(R"(
heelstrike: 1
gravity: [0, 0, {gravity}]
bodies:
  b: {{mass: {mass}, inertia: [{inertia}, {inertia}, {inertia}], velocity: [0, 0, {lift}],
      angular_velocity: [0, 0, {speed}]}}
joints:
  j:
    type: custom
    bodies: [ground, b]
    coordinates: {{u: {{}}}}
    rotations: [{{axis: [0, 0, 1], of: {{u: {{polynomial: [0, 1]}}}}}}, {{axis: [1, 0, 0]}}, {{axis: [0, 1, 0]}}]
    translations: [{{axis: [1, 0, 0]}}, {{axis: [0, 1, 0]}}, {{axis: [0, 0, 1], of: {{u: {{polynomial: [0, {pitch}]}}}}}}]
)",
                     fmt::arg("gravity", pitch > 0.0 ? -g : 0.0), fmt::arg("mass", mass), fmt::arg("inertia", inertia),
                     fmt::arg("speed", speed), fmt::arg("lift", pitch * speed), fmt::arg("pitch", pitch));
}

// A nut on a screw runs down through eight turns: (I + m p^2) u'' = -m g p.
TEST(FullTurns, ScrewRunsDownThroughManyTurns) {
  constexpr double p = 0.01, acceleration = -2.0 * g * p / (3e-4 + 2.0 * p * p);
  // Moreau's method of order 2 rotates by up to 0.04 in a step.
  for (const auto& [integrator, accuracy] : {std::pair{"{name: arkode_erk, rtol: 1.0e-9}", 1e-5},
                                             {"{name: arkode_dirk, rtol: 1.0e-9}", 1e-5},
                                             {"{name: cvode_index1, rtol: 1.0e-9}", 1e-4},
                                             {"{name: ida_ggl, rtol: 1.0e-9}", 1e-4},
                                             {"{name: rk4, step: 2.0e-4}", 1e-5},
                                             {"{name: moreau, step: 2.0e-4}", 1e-2}}) {
    const auto run = completed(scenario_from(
        screw(3e-4, 2.0, 0.0, p) + fmt::format("analysis: {{end_time: 0.5, integrator: {}}}\n", integrator) +
        "forces: {none: {type: coordinate_spring, coordinate: u, stiffness: 0}}\noutput: {interval: 0.01}\n"));
    const auto t = run.column("time_s"), z = run.column("b.z_m"), u = run.column("none.value_rad");
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double expected = 0.5 * acceleration * t[i] * t[i];
      EXPECT_NEAR(u[i], expected, accuracy) << integrator << " at " << t[i];
      EXPECT_NEAR(z[i], p * expected, p * accuracy) << integrator << " at " << t[i];
    }
    EXPECT_LT(u.back(), -7.8 * 2.0 * pi);
    EXPECT_LT(std::abs(run.summary.energy.balance_error), accuracy) << integrator;
  }
}

// A resumed run has the bits of the uninterrupted one: the turns belong to the state.
TEST(FullTurns, ScrewResumesWithTheSameBits) {
  const Scenario scenario = scenario_from(
      screw(3e-4, 2.0, 0.0, 0.01) +
      "analysis: {end_time: 0.5, integrator: {name: cvode_index1}}\noutput: {interval: 0.05, checkpoint_interval: "
      "0.12}\n");
  const auto whole = completed(scenario);
  ASSERT_EQ(whole.checkpoints.size(), 4U);
  for (std::size_t k = 0; k < whole.checkpoints.size(); ++k) {
    const auto rest = run_local(scenario, whole.checkpoints[k]);
    ASSERT_EQ(rest.summary.status, "completed");
    ASSERT_EQ(rest.rows.size(), whole.rows.size() - whole.rows_before[k]);
    for (std::size_t i = 0; i < rest.rows.size(); ++i) {
      EXPECT_EQ(rest.rows[i], whole.rows[whole.rows_before[k] + i]) << k << ", row " << i;
    }
  }
}

// An earlier state returns with its turns, also after some more of them.
TEST(FullTurns, RestoredStateHasItsTurns) {
  const mbs::RunInput input{
      .scenario = scenario_from(screw(3e-4, 2.0, 0.0, 0.01) + "analysis: {end_time: 0.5}\noutput: {interval: 0.1}\n"),
      .assets = {},
      .run_id = "test",
      .scenario_digest = "test",
      .resume_from = {}};
  mbs::Simulation simulation(input);
  simulation.initialise(fem::open_local_contact);
  ASSERT_TRUE(simulation.advance_to(0.2));
  const Checkpoint early = simulation.save();
  const double z = simulation.output("b.z_m");
  EXPECT_NEAR(z, -0.5 * 2.0 * g * 1e-4 / 5e-4 * 0.04, 1e-6);
  ASSERT_TRUE(simulation.advance_to(0.4));
  const double later = simulation.output("b.z_m");
  simulation.restore(early);
  EXPECT_EQ(simulation.output("b.z_m"), z);
  ASSERT_TRUE(simulation.advance_to(0.4));
  EXPECT_EQ(simulation.output("b.z_m"), later);
}

// Prescribed motion, also in frames that are turns apart, and the static analysis.
TEST(FullTurns, DriversTurnAScrewByAnyAngle) {
  for (const char* analysis : {"kinematic", "inverse", "static"}) {
    for (const double interval : {0.05, 0.5}) {
      if (interval > 0.1 && std::string(analysis) == "static") continue;  // its load steps have no rates
      const auto run = completed(scenario_from(
          screw(1e-3, 2.0, 7.0, 0.01) + "drivers: {d: {coordinates: {u: {follows: {polynomial: [0, 7]}}}}}\n" +
          fmt::format("analysis: {{type: {}, end_time: 5}}\noutput: {{interval: {}}}\n", analysis, interval)));
      const auto t = run.column("time_s"), z = run.column("b.z_m");
      ASSERT_EQ(t.size(), std::lround(5.0 / interval) + 1U);
      for (std::size_t i = 0; i < t.size(); ++i) EXPECT_NEAR(z[i], 0.07 * t[i], 1e-9) << analysis << " at " << t[i];
    }
  }
}

// A stop at 6 rad and one at -1 rad: the body rotates between them without loss.
TEST(FullTurns, CoordinateLimitActsBeyondHalfATurn) {
  const auto run = completed(scenario_from(
      screw(0.1, 2.0, 3.0, 0.0) +
      "forces: {l: {type: coordinate_limit, coordinate: u, lower: -1, upper: 6, lower_stiffness: 100, "
      "upper_stiffness: 100, width: 0.01}}\n"
      "analysis: {end_time: 4, integrator: {name: arkode_erk, rtol: 1.0e-9}}\noutput: {interval: 0.1}\n"));
  const auto t = run.column("time_s"), w = run.column("b.wz_rad_s"), u = run.column("l.value_rad");
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (t[i] < 1.95) {
      EXPECT_NEAR(u[i], 3.0 * t[i], 1e-7) << t[i];
    }
    // It is in contact for about half a period of 2 pi sqrt(0.1 / 100) s.
    if (t[i] > 2.15) {
      EXPECT_NEAR(w[i], -3.0, 1e-6) << t[i];
    }
  }
  EXPECT_LT(std::abs(run.summary.energy.balance_error), 1e-7);
}

// I u'' = -k u with an amplitude of 10 rad, by the spring of a coordinate and by that of a joint.
TEST(FullTurns, SpringsAreContinuousOverManyTurns) {
  const std::string analysis =
      "analysis: {end_time: 6, integrator: {name: arkode_dirk, rtol: 1.0e-10, atol: 1.0e-12}}\noutput: {interval: "
      "0.1}\n";
  const std::string hinge = R"(
heelstrike: 1
gravity: [0, 0, 0]
bodies: {b: {mass: 1, inertia: [0.1, 0.1, 0.1], angular_velocity: [0, 0, 10]}}
joints: {j: {type: revolute, bodies: [ground, b], point: [0, 0, 0], axis: [0, 0, 1]}}
forces: {s: {type: torsional_spring, joint: j, stiffness: 0.1}}
)";
  for (const std::string& model :
       {screw(0.1, 1.0, 10.0, 0.0) + "forces: {s: {type: coordinate_spring, coordinate: u, stiffness: 0.1}}\n",
        hinge}) {
    const auto run = completed(scenario_from(model + analysis));
    const auto t = run.column("time_s"), w = run.column("b.wz_rad_s"), torque = run.column("s.torque_Nm");
    for (std::size_t i = 0; i < t.size(); ++i) {
      EXPECT_NEAR(w[i], 10.0 * std::cos(t[i]), 1e-6) << t[i];
      EXPECT_NEAR(torque[i], -std::sin(t[i]), 1e-6) << t[i];
    }
    EXPECT_LT(std::abs(run.summary.energy.balance_error), 1e-7);
  }
}

// A spring that has been wound up by some turns.
TEST(FullTurns, NeutralAngleCountsTurns) {
  const std::string coil = R"(
heelstrike: 1
gravity: [0, 0, 0]
bodies: {b: {mass: 1, inertia: [0.1, 0.1, 0.1]}}
joints: {j: {type: revolute, bodies: [ground, b], point: [0, 0, 0], axis: [0, 0, 1]}}
forces: {s: {type: torsional_spring, joint: j, stiffness: 2, neutral: 20}}
)";
  const auto run = completed(scenario_from(coil + "analysis: {end_time: 1}\noutput: {interval: 0.1}\n"));
  EXPECT_EQ(run.column("s.torque_Nm").front(), 40.0);
  const auto t = run.column("time_s"), angle = run.column("s.angle_rad");
  for (std::size_t i = 0; i < t.size(); ++i) {
    EXPECT_NEAR(angle[i], 20.0 * (1.0 - std::cos(std::sqrt(20.0) * t[i])), 1e-4) << t[i];
  }
  const auto unwound =
      completed(scenario_from(coil + "analysis: {type: static, end_time: 1}\noutput: {interval: 1}\n"));
  EXPECT_NEAR(unwound.column("s.angle_rad").back(), 20.0, 1e-9);
}

// Two wheels of which one turns a third as far as the other, as a mimic of continuous joints in URDF.
TEST(FullTurns, CoupledCoordinatesKeepTheirRatio) {
  const auto run = completed(scenario_from(R"(
heelstrike: 1
gravity: [0, 0, 0]
bodies:
  a: {mass: 1, inertia: [0.01, 0.01, 0.01], angular_velocity: [0, 0, 3]}
  b: {mass: 1, inertia: [0.05, 0.05, 0.05], position: [1, 0, 0], angular_velocity: [0, 0, -1]}
joints:
  ja:
    type: custom
    bodies: [ground, a]
    coordinates: {ja: {}}
    rotations: [{axis: [0, 0, 1], of: {ja: {polynomial: [0, 1]}}}, {axis: [1, 0, 0]}, {axis: [0, 1, 0]}]
  jb:
    type: custom
    bodies: [ground, b]
    points: [[1, 0, 0], [0, 0, 0]]
    coordinates: {jb: {}}
    rotations: [{axis: [0, 0, 1], of: {jb: {polynomial: [0, 1]}}}, {axis: [1, 0, 0]}, {axis: [0, 1, 0]}]
  mimic: {type: coupler, coordinate: jb, of: {ja: {polynomial: [0, -0.3333333333333333]}}}
analysis: {end_time: 8}
output: {interval: 0.1}
)"));
  const auto a = run.column("a.wz_rad_s"), b = run.column("b.wz_rad_s");
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], 3.0, 1e-5);
    EXPECT_NEAR(b[i], -1.0, 1e-5);
  }
}

// The three angles of a free attitude are continuous, also where the second one exceeds a quarter turn, beyond which
// the same attitude has other angles closer to the initial ones.
TEST(FullTurns, AnglesOfAnAttitudeAreContinuous) {
  const auto run = completed(scenario_from(R"(
heelstrike: 1
gravity: [0, 0, 0]
bodies: {b: {mass: 1, inertia: [0.1, 0.1, 0.1], angular_velocity: [0, 2, 0]}}
joints:
  j:
    type: custom
    bodies: [ground, b]
    coordinates: {x: {}, y: {}, z: {initial: 0.3}}
    rotations:
    - {axis: [1, 0, 0], of: {x: {polynomial: [0, 1]}}}
    - {axis: [0, 1, 0], of: {y: {polynomial: [0, 1]}}}
    - {axis: [0, 0, 1], constant: -0.3, of: {z: {polynomial: [0, 1]}}}
forces:
  x: {type: coordinate_spring, coordinate: x, stiffness: 0}
  y: {type: coordinate_spring, coordinate: y, stiffness: 0}
analysis: {end_time: 5, integrator: {name: arkode_erk, rtol: 1.0e-9}}
output: {interval: 0.11}
)"));
  const auto t = run.column("time_s"), x = run.column("x.value_rad"), y = run.column("y.value_rad");
  for (std::size_t i = 0; i < t.size(); ++i) {
    EXPECT_NEAR(x[i], 0.0, 1e-6) << t[i];
    EXPECT_NEAR(y[i], 2.0 * t[i], 1e-6) << t[i];
  }
}

}  // namespace
}  // namespace heelstrike::test
