// Unilateral joints, which separate where their force would change its sign and have an impact where their gap closes,
// with every integrator that finds events, compared with closed forms.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "common/errors/error.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "mbs_server/simulation/simulation.hpp"
#include "tests/validation/mbs/completed_run.hpp"

namespace heelstrike::test {
namespace {

/// A stone on a platform that shakes with an acceleration of up to 2 g.
constexpr double amplitude = 0.02;
const double frequency = std::sqrt(2.0 * g / amplitude);
constexpr double restitution = 0.5;

double platform(double t) {
  return amplitude * std::sin(frequency * t);
}
double platform_speed(double t) {
  return amplitude * frequency * std::cos(frequency * t);
}

std::string shaken(const std::string& more = {}) {
  return fmt::format(R"yaml(
heelstrike: 1
gravity: [0, 0, -{}]
bodies:
  platform: {{mass: 2, inertia: [0.1, 0.1, 0.1]}}
  stone: {{mass: 0.5, inertia: [0.1, 0.1, 0.1], velocity: [0, 0, {}]}}
joints:
  guide: {{type: prismatic, bodies: [ground, platform], point: [0, 0, 0], axis: [0, 0, 1]}}
  shaft: {{type: prismatic, bodies: [ground, stone], point: [0, 0, 0], axis: [0, 0, 1]}}
  seat: {{type: point_on_plane, bodies: [platform, stone], point: [0, 0, 0], axis: [0, 0, 1], unilateral: true, restitution: {}{}}}
drivers:
  shake: {{joint: guide, displacement: {{expression: "{} * sin({} * t)"}}}}
analysis: {{end_time: 0.36}}
output: {{interval: 0.001}}
)yaml",
                     g, amplitude * frequency, restitution, more, amplitude, frequency);
}

/// A flight that begins at `t` with the stone's velocity `v`.
struct Flight {
  double t, v;
  [[nodiscard]] double height(double at) const { return platform(t) + v * (at - t) - 0.5 * g * (at - t) * (at - t); }
  [[nodiscard]] double speed(double at) const { return v - g * (at - t); }
  [[nodiscard]] double landing() const {
    double from = t + 1e-4;
    double to = from;
    while (height(to) > platform(to)) to += 1e-4;
    for (int i = 0; i < 100; ++i) {
      const double middle = 0.5 * (from + to);
      (height(middle) > platform(middle) ? from : to) = middle;
    }
    return to;
  }
};

class UnilateralJoint : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static std::vector<std::string> choice() {
    const std::string name = GetParam();
    const bool fixed = name == "rk4" || name == "ab4am4";
    return {fmt::format("analysis.integrator={{name: {}, {}}}", name, fixed ? "step: 1e-4" : "rtol: 1e-10")};
  }
};
INSTANTIATE_TEST_SUITE_P(Integrators, UnilateralJoint,
                         testing::Values("cvode_index1", "ida_ggl", "arkode_erk", "arkode_dirk", "rk4", "ab4am4"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(UnilateralJoint, StoneLeavesAShakenPlatformAndIsThrownAgain) {
  const auto run = completed(scenario_from(shaken(), choice()));
  // It separates where the platform falls with g, sin(w t) = 1/2.
  const double leaves = std::numbers::pi / 6.0 / frequency;
  const Flight first{.t = leaves, .v = platform_speed(leaves)};
  const double lands = first.landing();
  const double rebound = platform_speed(lands) + restitution * (platform_speed(lands) - first.speed(lands));
  const Flight second{.t = lands, .v = rebound};
  const double lands_again = second.landing();
  ASSERT_LT(lands_again, 0.36);
  const auto t = run.column("time_s"), z = run.column("stone.z_m"), v = run.column("stone.vz_m_s");
  const auto gap = run.column("seat.gap_m"), force = run.column("seat.force_N");
  // BDF formulas have errors of several hundred times their tolerance of 1e-10; velocities by the frequency, 31/s,
  // more.
  constexpr double accuracy = 1e-7;
  int on = 0, off = 0;
  for (std::size_t i = 0; i < t.size() && t[i] < lands_again - 1e-6; ++i) {
    if (std::abs(t[i] - leaves) < 1e-6 || std::abs(t[i] - lands) < 1e-6) continue;
    const bool flies = t[i] > leaves;
    const Flight& flight = t[i] < lands ? first : second;
    EXPECT_NEAR(z[i], flies ? flight.height(t[i]) : platform(t[i]), accuracy) << t[i];
    EXPECT_NEAR(v[i], flies ? flight.speed(t[i]) : platform_speed(t[i]), frequency * accuracy) << t[i];
    if (flies) {
      EXPECT_EQ(force[i], 0.0) << t[i];
      EXPECT_NEAR(gap[i], flight.height(t[i]) - platform(t[i]), accuracy) << t[i];
    } else {
      EXPECT_NEAR(gap[i], 0.0, accuracy) << t[i];
      const double a = -frequency * frequency * platform(t[i]);
      EXPECT_NEAR(force[i], 0.5 * (g + a), frequency * frequency * accuracy) << t[i];
    }
    ++(flies ? off : on);
  }
  EXPECT_GT(on, 10);
  EXPECT_GT(off, 50);
  const auto kinetic = run.column("energy.kinetic_J"), potential = run.column("energy.potential_J");
  const auto dissipated = run.column("energy.dissipated_J"), external = run.column("energy.external_work_J");
  for (std::size_t i = 0; i < t.size(); ++i) {
    EXPECT_NEAR(kinetic[i] + potential[i] + dissipated[i] - external[i], kinetic[0] + potential[0], 1e-5) << t[i];
  }
  EXPECT_GT(dissipated.back(), 1e-3) << "its impacts dissipate energy";
}

// It slides down without friction and separates from the sphere where cos = 2/3 of its initial height.
TEST_P(UnilateralJoint, BallLeavesTheSphereItSlidesDown) {
  constexpr double radius = 0.5, start_speed = 0.4;
  auto overrides = choice();
  overrides.push_back("output.steps=all");
  const auto run = completed(scenario_from(fmt::format(R"yaml(
heelstrike: 1
gravity: [0, 0, -{}]
bodies:
  ball: {{mass: 0.5, inertia: [0.1, 0.1, 0.1], position: [0, 0, {}], velocity: [{}, 0, 0]}}
joints:
  sphere: {{type: distance, bodies: [ground, ball], points: [[0, 0, 0], [0, 0, 0]], unilateral: true}}
analysis: {{end_time: 0.7}}
output: {{interval: 0.01}}
)yaml",
                                                       g, radius, start_speed),
                                           overrides));
  const auto force = run.column("sphere.force_N"), z = run.column("ball.z_m"), gap = run.column("sphere.gap_m");
  // The event has a row, in which the force is zero to the accuracy of its time.
  const auto event = std::ranges::find_if(force, [](double f) { return f < 1e-6; });
  ASSERT_NE(event, force.end());
  const auto last = static_cast<std::size_t>(event - force.begin());
  const double cosine = (2.0 + start_speed * start_speed / (g * radius)) / 3.0;
  fmt::print("leaves at {:.9f} m, closed form {:.9f} m\n", z[last], radius * cosine);
  EXPECT_NEAR(z[last], radius * cosine, 2e-7);
  for (std::size_t i = 0; i < last; ++i) EXPECT_GT(force[i], 0.0);
  EXPECT_TRUE(std::all_of(event + 1, force.end(), [](double f) { return f == 0.0; })) << "it does not return";
  EXPECT_GT(gap.back(), 0.1);
}

// Infinitely many bounces end after sqrt(2 h / g) (1 + e) / (1 - e); those slower than restitution_threshold are
// omitted.
TEST_P(UnilateralJoint, BouncingStoneComesToRest) {
  const auto run = completed(scenario_from(R"yaml(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  stone: {mass: 0.5, inertia: [0.1, 0.1, 0.1], position: [0, 0, 0.02], velocity: [0.3, 0, 0]}
joints:
  floor: {type: point_on_plane, bodies: [ground, stone], points: [[0, 0, 0], [0, 0, 0]], axes: [[0, 0, 1], [0, 0, 1]], unilateral: true, restitution: 0.5}
analysis: {end_time: 0.25}
output: {interval: 0.001}
)yaml",
                                           choice()));
  const auto t = run.column("time_s"), z = run.column("stone.z_m"), force = run.column("floor.force_N");
  const double rests = std::sqrt(2.0 * 0.02 / g) * 3.0;
  for (std::size_t i = 0; i < t.size(); ++i) {
    // A gap counts as closed at ten tolerances.
    EXPECT_GE(z[i], -2.1e-9) << t[i];
    if (t[i] > rests) {
      EXPECT_NEAR(force[i], 0.5 * g, 1e-9) << t[i];
    }
    // Omitted duration of the bounces below 1 mm/s: 2 v / g (1 + e + ...) = 4e-4 s.
    if (t[i] < rests - 5e-4) {
      EXPECT_EQ(force[i], 0.0) << t[i];
    }
  }
  EXPECT_NEAR(run.column("stone.x_m").back(), 0.3 * 0.25, 1e-8);
}

TEST_P(UnilateralJoint, ResumesFromACheckpointWithTheSameBits) {
  auto overrides = choice();
  overrides.push_back("output.checkpoint_interval=0.06");
  const Scenario scenario = scenario_from(shaken(), overrides);
  const auto whole = completed(scenario);
  ASSERT_GE(whole.checkpoints.size(), 4U);
  for (std::size_t k = 0; k < whole.checkpoints.size(); ++k) {
    const auto rest = run_local(scenario, whole.checkpoints[k]);
    const std::vector<std::vector<double>> expected(
        whole.rows.begin() + static_cast<std::ptrdiff_t>(whole.rows_before[k]), whole.rows.end());
    EXPECT_EQ(rest.rows, expected) << k;
    EXPECT_EQ(rest.summary.integrator.restarts, whole.summary.integrator.restarts) << k;
    EXPECT_EQ(rest.summary.integrator.steps, whole.summary.integrator.steps) << k;
  }
}

constexpr const char* resting_stone = R"yaml(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  stone: {mass: 0.5, inertia: [0.1, 0.1, 0.1]}
joints:
  floor: {type: point_on_plane, bodies: [ground, stone], points: [[0, 0, 0], [0, 0, 0]], axes: [[0, 0, 1], [0, 0, 1]], unilateral: true}
analysis: {end_time: 0.2}
output: {interval: 0.01}
)yaml";

// A force that jumps to twice the weight lifts it immediately; saved and restored in between, bounces included.
TEST(UnilateralJoints, SteppedInputLiftsAStone) {
  mbs::RunInput input{
      .scenario = scenario_from(resting_stone), .assets = {}, .run_id = {}, .scenario_digest = {}, .resume_from = {}};
  mbs::Simulation simulation(input);
  simulation.initialise(fem::open_local_contact);
  ASSERT_TRUE(simulation.advance_to(0.02));
  EXPECT_NEAR(simulation.output("floor.force_N"), 0.5 * g, 1e-12);
  simulation.set_input("stone.fz_N", 2.0 * 0.5 * g);
  const Checkpoint lifted = simulation.save();
  EXPECT_EQ(simulation.output("floor.force_N"), 0.0);
  ASSERT_TRUE(simulation.advance_to(0.06));
  EXPECT_NEAR(simulation.output("stone.z_m"), 0.5 * g * 0.04 * 0.04, 1e-9);
  simulation.set_input("stone.fz_N", 0.0);
  ASSERT_TRUE(simulation.advance_to(0.2));
  EXPECT_NEAR(simulation.output("floor.force_N"), 0.5 * g, 1e-12) << "it has fallen down again";
  simulation.restore(lifted);
  ASSERT_TRUE(simulation.advance_to(0.06));
  EXPECT_NEAR(simulation.output("stone.z_m"), 0.5 * g * 0.04 * 0.04, 1e-9);
}

std::string rejection_of(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  try {
    const auto run = run_local(scenario_from(yaml, overrides));
    return run.summary.error ? run.summary.error->what() : "no error";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(UnilateralJoints, ReportErrors) {
  using testing::HasSubstr;
  const std::string sunk = rejection_of(resting_stone, {"joints.floor.points=[[0, 0, 0], [0, 0, -0.002]]"});
  EXPECT_THAT(sunk, HasSubstr("violated at the start"));
  EXPECT_THAT(sunk, HasSubstr("-0.002 m"));
  EXPECT_THAT(rejection_of(resting_stone, {"analysis.integrator={name: moreau}"}), HasSubstr("back-end rigid"));
  EXPECT_THAT(rejection_of(resting_stone, {"analysis.type=static"}), HasSubstr("joints.floor.unilateral"));
  EXPECT_THAT(rejection_of(resting_stone, {"joints.floor.restitution=1.5"}), HasSubstr("joints.floor.restitution"));
  EXPECT_THAT(rejection_of(resting_stone, {"joints.floor.unilateral=false", "joints.floor.restitution=0.5"}),
              HasSubstr("unilateral: true"));
  // Four legs: which of them carry load is undetermined for rigid bodies.
  std::string table = R"yaml(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  table: {mass: 4, inertia: [1, 1, 1]}
joints:
)yaml";
  for (const auto& [name, x, y] : {std::tuple{"a", 1, 1}, {"b", 1, -1}, {"c", -1, 1}, {"d", -1, -1}}) {
    table += fmt::format(
        "  {}: {{type: point_on_plane, bodies: [ground, table], point: [{}, {}, 0], axis: [0, 0, 1], "
        "unilateral: true}}\n",
        name, x, y);
  }
  EXPECT_THAT(rejection_of(table + "analysis: {end_time: 0.1}\noutput: {interval: 0.01}\n"),
              HasSubstr("unilateral joints: expected forces determined by the motion"));
}

}  // namespace
}  // namespace heelstrike::test
