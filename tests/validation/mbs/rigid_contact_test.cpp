// Contact of rigid bodies through the whole multibody side, compared with closed forms.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "common/errors/error.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "tests/validation/mbs/completed_run.hpp"

namespace heelstrike::test {
namespace {

std::string example_of_contact(const std::string& name) {
  return read_text(HEELSTRIKE_SOURCE_DIR "/examples/" + name + ".yaml");
}

// [piazza2001], appendix 2: rebounds of 0.6241 of 2, 4 and 6 cm, and every impact at its time.
TEST(RigidContact, BallReboundsToItsHeightsAndComesToRest) {
  constexpr double e = 0.79;
  for (const double height : {0.02, 0.04, 0.06}) {
    const auto run = completed(
        scenario_from(example_of_contact("restitution_drop"),
                      {fmt::format("bodies.ball.position=[0, 0, {}]", 0.0127 + height), "output.interval=0.0005"}));
    double t = std::sqrt(2.0 * height / g);
    double speed = g * t;
    ASSERT_GE(run.episodes.size(), 10U);
    for (std::size_t i = 0; i < 10; ++i) {
      const ContactEpisode& episode = run.episodes[i];
      // A fall is exact in the method; impacts are found to 1e-11 m, at velocities above 0.05 m/s.
      EXPECT_NEAR(episode.onset, t, 1e-9) << i;
      EXPECT_NEAR(episode.approach_velocity, speed, 1e-8) << i;
      ASSERT_TRUE(episode.effective_restitution.has_value()) << i;
      EXPECT_NEAR(*episode.effective_restitution, e, 1e-8) << i;
      speed *= e;
      t += 2.0 * speed / g;
    }
    const auto z = run.column("ball.z_m");
    const auto time = run.column("time_s");
    const double first = std::sqrt(2.0 * height / g);
    const double second = first * (1.0 + 2.0 * e);
    double rebound = 0.0;
    for (std::size_t i = 0; i < z.size(); ++i) {
      if (time[i] > first && time[i] < second) rebound = std::max(rebound, z[i] - 0.0127);
    }
    // A row every half a millisecond: at most g/2 (0.25 ms)^2 below the top.
    EXPECT_NEAR(rebound, 0.6241 * height, 4e-7);
    EXPECT_LE(rebound, 0.6241 * height + 1e-9);
    // Infinitely many bounces end after (1 + e) / (1 - e) times the first fall: from there on it is at rest.
    ASSERT_LT(first * (1.0 + e) / (1.0 - e), 1.1);
    EXPECT_NEAR(z.back(), 0.0127, 1e-9);
    EXPECT_NEAR(run.column("ball.vz_m_s").back(), 0.0, 1e-12);
    EXPECT_NEAR(run.column("plate-ball.fz_N").back(), -0.067 * g, 1e-9);
    // Only impacts dissipate energy, to the last joule.
    EXPECT_LT(std::abs(run.summary.energy.balance_error), 1e-10 * 0.067 * g * height);
    EXPECT_NEAR(run.summary.energy.dissipated, 0.067 * g * height, 1e-8 * 0.067 * g * height);
  }
}

TEST(RigidContact, BarOnThreeSupportsHasMinimalForces) {
  const auto run = completed(scenario_from(example_of_contact("bar_on_three")));
  for (const char* pair : {"left", "middle", "right"}) {
    EXPECT_NEAR(run.column(std::string(pair) + ".fz_N").back(), -6.54, 1e-6) << pair;
  }
  EXPECT_NEAR(run.episodes.empty() ? 6.54 : run.episodes[0].max_force, 6.54, 1e-6);
  EXPECT_NEAR(run.column("bar.z_m").back(), 0.0, 1e-12);
  EXPECT_NEAR(run.column("bar.vz_m_s").back(), 0.0, 1e-12);
}

// The same with friction, and a table: without a lateral load, so that friction has no load.
TEST(RigidContact, RedundantPointsWithFrictionHaveMinimalForces) {
  std::vector<std::string> rough;
  for (const char* pair : {"left", "middle", "right"}) {
    rough.push_back(fmt::format("contact.{}.backend=rigid_coulomb", pair));
    rough.push_back(fmt::format("contact.{}.parameters={{friction: 0.3}}", pair));
  }
  const auto bar = completed(scenario_from(example_of_contact("bar_on_three"), rough));
  for (const char* pair : {"left", "middle", "right"}) {
    EXPECT_NEAR(bar.column(std::string(pair) + ".fz_N").back(), -6.54, 1e-8) << pair;
  }
  EXPECT_NEAR(bar.column("bar.z_m").back(), 0.0, 1e-12);
  std::string table = R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  table: {mass: 8, inertia: [1, 1, 1], position: [0, 0, 0.7]}
analysis: {end_time: 0.2}
output: {interval: 0.05}
contact:
)";
  const std::vector<std::pair<std::string, std::string>> legs = {
      {"a", "0.4, 0.3"}, {"b", "-0.4, 0.3"}, {"c", "-0.4, -0.3"}, {"d", "0.4, -0.3"}};
  for (const auto& [name, place] : legs) {
    table += fmt::format(R"(  {}:
    main: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    partner: {{body: table, surface: {{points: {{positions: [[{}, -0.7]], areas: [1.0e-4]}}}}}}
    backend: rigid_coulomb
    parameters: {{friction: 0.3}}
)",
                         name, place);
  }
  const auto run = completed(scenario_from(table));
  for (const auto& [name, place] : legs) {
    EXPECT_NEAR(run.column(name + ".fz_N").back(), -2.0 * g, 1e-8) << name;
    EXPECT_NEAR(run.column(name + ".fx_N").back(), 0.0, 1e-8) << name;
    EXPECT_NEAR(run.column(name + ".fy_N").back(), 0.0, 1e-8) << name;
  }
  EXPECT_NEAR(run.column("table.z_m").back(), 0.7, 1e-12);
}

/// A rod of 1 m and 1 kg that slides on its tip at `speed`, inclined to the ground by `angle` towards its motion.
RecordedRun painleves_rod(double angle, double speed, double restitution) {
  return completed(scenario_from(fmt::format(R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  rod:
    mass: 1
    inertia: [1.0e-6, 0.083333333333333333, 0.083333333333333333]
    position: [0, 0, {:.17g}]
    orientation: [{:.17g}, 0, {:.17g}, 0]
    velocity: [{}, 0, 0]
contact:
  tip:
    main: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    partner: {{body: rod, surface: {{points: {{positions: [[-0.5, 0, 0], [0.5, 0, 0]], areas: [1.0e-6, 1.0e-6]}}}}}}
    backend: rigid_coulomb
    parameters: {{friction: 3, restitution: {}}}
analysis: {{end_time: 0.5, integrator: {{name: moreau, step: 1.0e-4}}}}
output: {{interval: 0.001}}
)",
                                             0.5 * std::sin(angle), std::cos(0.5 * angle), std::sin(0.5 * angle), speed,
                                             restitution)));
}

// Painleve's rod through time stepping: with a friction of 3 there is no acceleration where it slides in the direction
// of its inclination (1 + 3 cos (cos - mu sin) < 0 of its angle), and two in the other one. The run continues, stays
// above the ground and loses energy.
TEST(RigidContact, PainlevesRodNeitherFailsNorDiverges) {
  for (const double speed : {3.0, -3.0}) {
    for (const double restitution : {0.0, 0.5}) {
      const auto run = painleves_rod(1.1, speed, restitution);
      const auto z = run.column("rod.z_m");
      const auto t = run.column("time_s");
      ASSERT_EQ(t.back(), 0.5);
      const double start = 0.5 * 9.0 + g * z[0];
      double largest = 0.0;
      for (std::size_t i = 0; i < t.size(); ++i) {
        const double kinetic =
            0.5 * (std::pow(run.column("rod.vx_m_s")[i], 2) + std::pow(run.column("rod.vz_m_s")[i], 2) +
                   std::pow(run.column("rod.wy_rad_s")[i], 2) / 12.0);
        largest = std::max(largest, kinetic + g * z[i]);
        EXPECT_GE(run.column("tip.gap_m")[i], -1e-9) << t[i];
      }
      // Second order in between: about 1e-4 of the step, for spins of up to 10 1/s, squared.
      EXPECT_LE(largest, start * (1.0 + 1e-5)) << speed << " " << restitution;
    }
  }
}

// An impact has an impulse and no force, however short the following step.
TEST(RigidContact, ImpactIsReportedWithItsImpulse) {
  const auto run = completed(scenario_from(example_of_contact("restitution_drop")));
  ASSERT_GE(run.episodes.size(), 2U);
  EXPECT_NEAR(run.episodes[0].max_impulse.value_or(0.0), 0.067 * 1.79 * run.episodes[0].approach_velocity, 1e-9);
  EXPECT_EQ(run.episodes[0].max_force, 0.0);
  // At the end its weight is supported, after a last approach below the restitution threshold, 1 mm/s within a step of
  // 1 ms.
  EXPECT_LE(run.episodes.back().max_force, 0.067 * (g + 1.0));
}

// Two crossed bars: no corner of one touches the other, their edges do. The upper one falls 1 cm, rebounds to e^2 of it
// and comes to rest.
TEST(RigidContact, BarAcrossAnotherReboundsAndRests) {
  constexpr double e = 0.5;
  constexpr double fall = 0.01;
  const auto run = completed(scenario_from(fmt::format(R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  bar: {{mass: 2, inertia: [0.17, 0.0033, 0.17], position: [0.2, 0, {}]}}
contact:
  across:
    main: {{body: ground, surface: {{block: {{lengths: [1, 0.1, 0.1]}}}}}}
    partner: {{body: bar, surface: {{block: {{lengths: [0.1, 1, 0.1]}}}}}}
    backend: rigid_coulomb
    parameters: {{friction: 0.3, restitution: {}}}
analysis: {{end_time: 0.6}}
output: {{interval: 0.001}}
)",
                                                       0.1 + fall, e)));
  const auto z = run.column("bar.z_m");
  const auto time = run.column("time_s");
  const double first = std::sqrt(2.0 * fall / g);
  double rebound = 0.0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (time[i] > first && time[i] < first * (1.0 + 2.0 * e)) rebound = std::max(rebound, z[i] - 0.1);
  }
  EXPECT_NEAR(rebound, e * e * fall, 2e-6);  // a row every millisecond: g/2 (0.5 ms)^2 below the top at most
  EXPECT_NEAR(z.back(), 0.1, 1e-9);
  EXPECT_NEAR(run.column("bar.x_m").back(), 0.2, 1e-9);
  EXPECT_NEAR(run.column("bar.y_m").back(), 0.0, 1e-9);
  EXPECT_NEAR(run.column("across.fz_N").back(), -2.0 * g, 1e-6);
}

/// A block on a plane inclined by `angle` about y: gravity is rotated instead.
std::string block_on_incline(double angle, double friction) {
  return fmt::format(R"(
heelstrike: 1
gravity: [{}, 0, {}]
bodies:
  block: {{mass: 3, inertia: [0.01, 0.01, 0.01], position: [0, 0, 0.05]}}
contact:
  slope:
    main: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    partner: {{body: block, surface: {{block: {{lengths: [0.3, 0.2, 0.1]}}}}}}
    backend: rigid_coulomb
    parameters: {{friction: {}}}
analysis: {{end_time: 0.5}}
output: {{interval: 0.05}}
)",
                     g * std::sin(angle), -g * std::cos(angle), friction);
}

TEST(RigidContact, BlockOnAnInclineSticksOrSlides) {
  const double angle = 0.4;
  const auto sticks = completed(scenario_from(block_on_incline(angle, 1.05 * std::tan(angle))));
  EXPECT_NEAR(sticks.column("block.x_m").back(), 0.0, 1e-9);
  EXPECT_NEAR(sticks.column("slope.fx_N").back(), 3.0 * g * std::sin(angle), 1e-6);
  const double mu = 0.5 * std::tan(angle);
  const auto slides = completed(scenario_from(block_on_incline(angle, mu)));
  const double a = g * (std::sin(angle) - mu * std::cos(angle));
  EXPECT_NEAR(slides.column("block.x_m").back(), 0.5 * a * 0.25, 1e-8);
  EXPECT_NEAR(slides.column("slope.fx_N").back(), mu * 3.0 * g * std::cos(angle), 1e-6);
  EXPECT_NEAR(slides.column("block.z_m").back(), 0.05, 1e-9);
  EXPECT_LT(std::abs(slides.summary.energy.balance_error), 1e-9);
}

// Each leg carries a quarter of a table that three could support.
TEST(RigidContact, TableRestsOnFourLegs) {
  const auto run = completed(scenario_from(R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  table: {mass: 8, inertia: [1, 1, 1], position: [0, 0, 0.7]}
contact:
  floor:
    main: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    partner:
      body: table
      surface:
        points:
          positions: [[0.4, 0.3, -0.7], [-0.4, 0.3, -0.7], [-0.4, -0.3, -0.7], [0.4, -0.3, -0.7]]
          areas: [1.0e-4, 1.0e-4, 1.0e-4, 1.0e-4]
    backend: rigid
analysis: {end_time: 0.2}
output: {interval: 0.05}
)"));
  EXPECT_NEAR(run.column("floor.fz_N").back(), -8.0 * g, 1e-9);
  EXPECT_NEAR(run.column("floor.copx_m").back(), 0.0, 1e-8);
  EXPECT_NEAR(run.column("floor.copy_m").back(), 0.0, 1e-8);
  EXPECT_NEAR(run.column("table.z_m").back(), 0.7, 1e-12);
}

// A slender block that rocks from one edge to the other keeps 1 - 3/2 sin^2(alpha) of its angular velocity
// [housner1963].
TEST(RigidContact, RockingBlockFollowsHousner) {
  const double half_width = 0.1, half_height = 0.4, tilt = 0.05, m = 2.0;
  const double alpha = std::atan(half_width / half_height);
  const double r = std::hypot(half_width, half_height);
  // Stands on its right edge, rotated by `tilt`.
  const double x = -r * std::sin(alpha - tilt) + half_width, z = r * std::cos(alpha - tilt);
  const double inertia = m / 3.0 * r * r;
  const auto run = completed(scenario_from(fmt::format(
      R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  block:
    mass: {}
    inertia: [0.2, {}, 0.2]
    position: [{:.17g}, 0, {:.17g}]
    orientation: [{:.17g}, 0, {:.17g}, 0]
contact:
  floor:
    main: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    partner: {{body: block, surface: {{block: {{lengths: [{}, 0.3, {}]}}}}}}
    backend: rigid_coulomb
    parameters: {{friction: 1}}
analysis: {{end_time: 0.4, integrator: {{name: moreau, step: 1.0e-4}}}}
output: {{interval: 1.0e-4}}
)",
      m, inertia, x, z, std::cos(0.5 * tilt), std::sin(0.5 * tilt), 2.0 * half_width, 2.0 * half_height)));
  const auto w = run.column("block.wy_rad_s");
  double fastest = 0.0, after = 0.0;
  for (std::size_t i = 1; i < w.size(); ++i) {
    if (std::abs(w[i]) >= std::abs(fastest)) {
      fastest = w[i];
      continue;
    }
    after = w[i];
    break;
  }
  // The pivot is fixed by friction alone: energy of the fall about it, 4/3 m r^2 w^2 / 2 = m g r (cos alpha's change).
  const double expected = -std::sqrt(2.0 * g * (std::cos(alpha - tilt) - std::cos(alpha)) / (4.0 / 3.0 * r));
  EXPECT_NEAR(fastest, expected, 2e-3 * std::abs(expected));
  EXPECT_NEAR(after / fastest, 1.0 - 1.5 * std::pow(std::sin(alpha), 2), 2e-3);
}

// Balls of equal mass exchange their velocities contact after contact: the last one separates with the velocity of the
// first, w = sqrt(2 m g L (1 - cos a) / (m L^2 + I)) about its string's end, and the others remain.
TEST(RigidContact, CradleTransfersMotionInstantly) {
  const auto run = completed(scenario_from(example_of_contact("newtons_cradle")));
  constexpr double length = 0.2, mass = 0.1, inertia = 1.6e-5, angle = 0.5;
  const double w = std::sqrt(2.0 * mass * g * length * (1.0 - std::cos(angle)) / (mass * length * length + inertia));
  double fastest = 0.0;
  const auto& t = run.column("time_s");
  for (std::size_t i = 0; i < t.size(); ++i) {
    // The first impact is after a quarter of a period, 0.228 s, the second after half a period more, 0.685 s.
    if (t[i] < 0.24 || t[i] > 0.66) continue;
    fastest = std::max(fastest, std::hypot(run.column("ball5.vx_m_s")[i], run.column("ball5.vz_m_s")[i]));
    for (int ball = 1; ball <= 4; ++ball) {
      // The time of the impact is found to the rounding of gaps, 1e-11 m of 0.04 m, so that the normal is inclined by
      // less than 1e-9 and has this fraction of the velocity of 1 m/s.
      EXPECT_NEAR(run.column(fmt::format("ball{}.vx_m_s", ball))[i], 0.0, 1e-8) << "ball " << ball << " at " << t[i];
    }
  }
  // A row is up to 5 ms from the lowest point: 1 - cos(w0 dt), with w0 = 7 1/s, is at most 1e-3 of the velocity.
  EXPECT_NEAR(fastest / (w * length), 1.0, 1e-2);
  EXPECT_LE(fastest / (w * length), 1.0 + 1e-5);
  // In the return motion the first ball separates with that velocity.
  EXPECT_NEAR(std::ranges::min(run.column("ball1.vx_m_s")) / -(w * length), 1.0, 1e-2);
}

// A heavy ball falls on a light one on the floor: for masses in the ratio N the light one has pi sqrt(N) / 2 impacts
// and more before both separate, all within an instant. With N = 4e6 that exceeds the limit.
std::vector<std::string> warnings_of_a_squeezed_ball(double ratio, const std::string& law, double restitution) {
  const std::string scenario = fmt::format(R"(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  light: {{mass: 0.001, inertia: [1e-7, 1e-7, 1e-7], position: [0, 0, 0.01]}}
  heavy: {{mass: {}, inertia: [1, 1, 1], position: [0, 0, 0.04], velocity: [0, 0, -1]}}
joints:
  low: {{type: prismatic, bodies: [ground, light], point: [0, 0, 0], axis: [0, 0, 1]}}
  high: {{type: prismatic, bodies: [ground, heavy], point: [0, 0, 0], axis: [0, 0, 1]}}
contact:
  floor:
    main: {{body: light, surface: {{sphere: {{radius: 0.01}}}}}}
    partner: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: rigid
    parameters: {{restitution: {}, impact_law: {}}}
  squeeze:
    main: {{body: light, surface: {{sphere: {{radius: 0.01}}}}}}
    partner: {{body: heavy, surface: {{sphere: {{radius: 0.02}}}}}}
    backend: rigid
    parameters: {{restitution: {}, impact_law: {}}}
analysis:
  end_time: 0.01
  integrator: {{name: moreau, step: 0.001}}
output:
  interval: 0.001
)",
                                           0.001 * ratio, restitution, law, restitution, law);
  const auto run = completed(scenario_from(scenario));
  // In any case no energy is created: a mass of 0.001 ratio kg at 1 m/s.
  EXPECT_LE(run.summary.energy.final, run.summary.energy.initial * (1.0 + 1e-9));
  std::vector<std::string> warnings;
  for (const std::string& line : run.log) {
    if (line.find("impact_law sequential") != std::string::npos) warnings.push_back(line);
  }
  return warnings;
}

TEST(RigidContact, EndlessImpactsAreReportedWithPlaceAndRemedy) {
  const auto reported = warnings_of_a_squeezed_ball(4e6, "sequential", 1.0);
  ASSERT_EQ(reported.size(), 1U) << "once in a run";
  EXPECT_THAT(reported[0], testing::HasSubstr("1000 sequential impacts"));
  EXPECT_THAT(reported[0], testing::HasSubstr("t = 0 s"));
  EXPECT_THAT(reported[0], testing::HasSubstr("squeeze"));
  EXPECT_THAT(reported[0], testing::HasSubstr("reduce the restitution"));
  // Shorter rows and other laws have no warning.
  EXPECT_TRUE(warnings_of_a_squeezed_ball(1e4, "sequential", 1.0).empty());
  EXPECT_TRUE(warnings_of_a_squeezed_ball(4e6, "newton", 1.0).empty());
}

// An elastic impact at three points with friction that the solver does not solve: it is reported, with its place and
// its remedy, keeps the bodies apart and creates no energy.
TEST(RigidContact, UnsolvedImpactIsReportedWithPlaceAndRemedy) {
  const std::string struck = R"yaml(
heelstrike: 1
gravity: [0, 0, 0]
bodies:
  body: {mass: 1, inertia: [1, 1, 1], velocity: [0.56, 0.14, -1.5], angular_velocity: [-0.82, -0.49, -0.36]}
contact:
  p0: {main: {body: ground, surface: {plane: {normal: [0.22, 0.26, 0.95], point: [-0.31, -0.66, 0.18]}}},
       partner: {body: body, surface: {points: {positions: [[-0.31, -0.66, 0.18]], areas: [1.0e-6]}}},
       backend: rigid_coulomb, parameters: {restitution: 1, friction: 0.35}}
  p1: {main: {body: ground, surface: {plane: {normal: [-0.2, 0.054, 0.99], point: [0.57, 0.44, -0.4]}}},
       partner: {body: body, surface: {points: {positions: [[0.57, 0.44, -0.4]], areas: [1.0e-6]}}},
       backend: rigid_coulomb, parameters: {restitution: 1, friction: 0.7}}
  p2: {main: {body: ground, surface: {plane: {normal: [-0.25, 0.22, 0.97], point: [0.76, 0.95, -0.034]}}},
       partner: {body: body, surface: {points: {positions: [[0.76, 0.95, -0.034]], areas: [1.0e-6]}}},
       backend: rigid_coulomb, parameters: {restitution: 1, friction: 0.54}}
analysis: {end_time: 0.001}
output: {interval: 0.001}
)yaml";
  const auto run = completed(scenario_from(struck));
  std::vector<std::string> reported;
  for (const std::string& line : run.log) {
    if (line.find("Coulomb's law") != std::string::npos) reported.push_back(line);
  }
  ASSERT_EQ(reported.size(), 2U) << "at its place, and at the end of the run";
  for (const std::string& line : reported) {
    EXPECT_THAT(line, testing::HasSubstr("found none 1 time(s) so far, first at t = 0 s in 'p0', 'p1', 'p2'"));
    EXPECT_THAT(line, testing::HasSubstr("Use a smaller step"));
  }
  const auto kinetic = run.column("energy.kinetic_J"), dissipated = run.column("energy.dissipated_J");
  EXPECT_LE(kinetic.back(), kinetic.front() * (1.0 + 1e-12));
  EXPECT_NEAR(kinetic.back() + dissipated.back(), kinetic.front(), 1e-12 * kinetic.front());
  for (const char* pair : {"p0", "p1", "p2"}) EXPECT_GE(run.column(std::string(pair) + ".gap_m").back(), -1e-9);
}

// Simultaneous impacts: the first ball rebounds.
TEST(RigidContact, SimultaneousImpactsKeepTheCradleTogether) {
  const auto run = completed(
      scenario_from(example_of_contact("newtons_cradle"), {"contact.impact_law=newton", "analysis.end_time=0.3"}));
  EXPECT_LT(run.column("ball1.vx_m_s").back(), -0.1);
}

// [piazza2001]: contact at any number of points, through the whole flexion. The points in contact depend on the
// triangles, their resultant force does not.
TEST(RigidContact, KneeFlexionAgreesOnCoarseAndFineTriangles) {
  const std::string yaml = example_of_contact("knee_piazza_delp");
  const auto bend = [&](double edge) {
    return completed(scenario_from(yaml, {fmt::format("contact.implant.main.surface.knee.edge={}", edge),
                                          fmt::format("contact.implant.partner.surface.knee.edge={}", edge)}));
  };
  const auto coarse = bend(0.003), fine = bend(0.002);
  const auto time = coarse.column("time_s");
  ASSERT_EQ(fine.rows.size(), coarse.rows.size());
  const auto flexion = [](const RecordedRun& run, std::size_t row) {
    return 2.0 * std::atan2(run.column("femur.qz")[row], run.column("femur.qw")[row]) * 180.0 / std::numbers::pi;
  };
  // The median of three rows: where a point strikes within a step, its impulse is reported as an impact and is missing
  // in the force of that row.
  const auto force_of = [](const RecordedRun& run, std::size_t row) {
    const auto forces = run.column("implant.fy_N");
    const std::size_t last = forces.size() - 1;
    std::array<double, 3> near{forces[std::max<std::size_t>(row, 1) - 1], forces[row], forces[std::min(row + 1, last)]};
    std::ranges::sort(near);
    return near[1];
  };
  EXPECT_GT(std::abs(flexion(fine, time.size() - 1)), 58.0);
  double worst_angle = 0.0, worst_force = 0.0, max_force = 0.0;
  for (std::size_t i = 0; i < time.size(); ++i) {
    worst_angle = std::max(worst_angle, std::abs(flexion(fine, i) - flexion(coarse, i)));
    if (time[i] < 0.1) continue;  // it is released, with impacts
    const double force = force_of(fine, i);
    worst_force = std::max(worst_force, std::abs(force - force_of(coarse, i)));
    max_force = std::max(max_force, std::abs(force));
  }
  fmt::print(
      "triangles of 3 and 2 mm: flexion differs by up to {:.3f} degrees, axial force by up to {:.1f} of {:.0f} N\n",
      worst_angle, worst_force, max_force);
  // The facets of 3 mm deviate up to their sagitta, 3^2/(8 x 20) = 0.06 mm, from the condyle of 20 mm: over the 50 mm
  // between the condyles 0.06 degrees, of flexion over the lever arm of 20 mm 0.17 degrees. Its tilt relative to the
  // plane below is up to 3/(2 x 20) = 0.075 rad, which is the fraction of the force that may rotate.
  EXPECT_LT(worst_angle, 0.23);
  EXPECT_LT(worst_force, 0.075 * max_force);
}

void expect_the_same_bits(const Scenario& scenario) {
  const auto whole = completed(scenario);
  ASSERT_FALSE(whole.checkpoints.empty());
  for (std::size_t k = 0; k < whole.checkpoints.size(); ++k) {
    const auto rest = run_local(scenario, whole.checkpoints[k]);
    const std::vector<std::vector<double>> expected(
        whole.rows.begin() + static_cast<std::ptrdiff_t>(whole.rows_before[k]), whole.rows.end());
    ASSERT_EQ(rest.rows.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      for (std::size_t j = 0; j < expected[i].size(); ++j) {
        if (std::isnan(expected[i][j])) continue;
        ASSERT_EQ(rest.rows[i][j], expected[i][j]) << whole.columns[j].name << " in row " << i;
      }
    }
    EXPECT_EQ(rest.summary.contacts.size(), whole.summary.contacts.size());
  }
}

TEST(RigidContact, ResumesFromACheckpointWithTheSameBits) {
  expect_the_same_bits(scenario_from(example_of_contact("restitution_drop"),
                                     {"output.checkpoint_interval=0.25", "analysis.end_time=0.6"}));
}

// A pulse of a load, at whose times the integrator stops, before and after the checkpoints: fixed and adaptive steps.
TEST(RigidContact, PulsesResumeFromACheckpointWithTheSameBits) {
  const std::string pulse =
      "loads={push: {body: ball, fx: {expression: '0.2 * (step(t, 0.13, 0.14) - step(t, 0.43, 0.44))'}}}";
  for (const char* example : {"restitution_drop", "bouncing_ball"}) {
    expect_the_same_bits(
        scenario_from(example_of_contact(example), {"output.checkpoint_interval=0.1", "analysis.end_time=0.6", pulse}));
  }
}

// A coin that rolls on its rim, with the force balance to the error of a step.
TEST(RigidContact, CoinRollsFromACheckpointWithTheSameBits) {
  expect_the_same_bits(scenario_from(R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  coin: {mass: 1, inertia: [0.0025, 0.005, 0.0025], position: [0, 0, 0.097012251], orientation: [0.98877107793604224, 0.14943813247359922, 0, 0], angular_velocity: [0, 20, 0]}
contact:
  floor:
    main: {body: coin, surface: {cylinder: {radius: 0.1, axis: [0, 1, 0], length: 0.01}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: rigid_coulomb
    parameters: {friction: 0.3}
analysis: {end_time: 0.4}
output: {interval: 0.01, checkpoint_interval: 0.15, accelerations: true}
)"));
}

std::string memory_error_of(const std::vector<std::string>& overrides, const std::string& backend = {}) {
  try {
    const auto run = run_local(scenario_from(example_of_contact("restitution_drop"), overrides, backend));
    return run.summary.error ? run.summary.error->what() : "no error";
  } catch (const Error& e) {
    return e.what();
  }
}

/// Cubes of 0.1 m and 1 kg by their centres, the first of them on the ground, with the given pairs of neighbours.
std::string cubes(const std::vector<Vector3>& places, const std::vector<std::pair<int, int>>& neighbours,
                  const std::vector<int>& grounded, double friction = 0.5) {
  std::string text = "heelstrike: 1\ngravity: [0, 0, -9.81]\nbodies:\n";
  for (std::size_t i = 0; i < places.size(); ++i) {
    text +=
        fmt::format("  b{}: {{mass: 1, inertia: [{:.17g}, {:.17g}, {:.17g}], position: [{:.17g}, {:.17g}, {:.17g}]}}\n",
                    i, 0.01 / 6.0, 0.01 / 6.0, 0.01 / 6.0, places[i].x(), places[i].y(), places[i].z());
  }
  text += "contact:\n";
  const char* surface = "{block: {lengths: [0.1, 0.1, 0.1]}}";
  const auto pair = [&](const std::string& name, const std::string& main, const std::string& partner) {
    text += fmt::format("  {}: {{main: {}, partner: {}, backend: rigid_coulomb, parameters: {{friction: {}}}}}\n", name,
                        main, partner, friction);
  };
  for (const int i : grounded) {
    pair(fmt::format("f{}", i), fmt::format("{{body: b{}, surface: {}}}", i, surface),
         "{body: ground, surface: {plane: {normal: [0, 0, 1]}}}");
  }
  for (const auto& [lower, upper] : neighbours) {
    pair(fmt::format("p{}{}", lower, upper), fmt::format("{{body: b{}, surface: {}}}", lower, surface),
         fmt::format("{{body: b{}, surface: {}}}", upper, surface));
  }
  return text + "analysis: {end_time: 0.3}\noutput: {interval: 0.05}\n";
}

/// No body moves or rotates by more than rounding.
void expect_rest(const RecordedRun& run, std::size_t n_bodies, double moved = 1e-10) {
  for (std::size_t i = 0; i < n_bodies; ++i) {
    for (const char* place : {"x_m", "y_m", "z_m", "qw", "qx", "qy", "qz"}) {
      const auto values = run.column(fmt::format("b{}.{}", i, place));
      for (const double value : values) EXPECT_NEAR(value, values.front(), moved) << i << " " << place;
    }
  }
}

// Equal cubes remain at rest, aligned or not, alone or as a stack, and each interface carries the weight above it.
TEST(RigidContact, EqualCubesRestOnEachOther) {
  for (const Vector3& shift :
       {Vector3(0, 0, 0), Vector3(0.005, 0.003, 0), Vector3(0.04, 0.04, 0), Vector3(1e-9, 5e-5, 0)}) {
    const auto run = completed(scenario_from(cubes({{0, 0, 0.05}, Vector3(0, 0, 0.15) + shift}, {{0, 1}}, {0})));
    expect_rest(run, 2);
    for (const double force : run.column("f0.fz_N")) EXPECT_NEAR(force, 2.0 * g, 1e-6);
    for (const double force : run.column("p01.fz_N")) EXPECT_NEAR(force, -g, 1e-6);
  }
  std::vector<Vector3> tower;
  std::vector<std::pair<int, int>> floors;
  for (int i = 0; i < 5; ++i) {
    tower.emplace_back(0.0, 0.0, 0.05 + 0.1 * i);
    if (i > 0) floors.emplace_back(i - 1, i);
  }
  const auto run = completed(scenario_from(cubes(tower, floors, {0})));
  expect_rest(run, 5);
  EXPECT_NEAR(run.column("f0.fz_N").back(), 5.0 * g, 1e-6);
  EXPECT_NEAR(run.column("p34.fz_N").back(), -g, 1e-6);
}

// A cube whose centre of gravity is beyond the edge of an equal one tips about it: I w^2 / 2 = m g (a sin + L/2 (1 -
// cos)) of its angle, with its distances a and L/2 from the edge. The contact passes between corners on faces and edges
// that cross, which is no impact: steps are not shortened. Then it slips, falls and lies on the ground.
TEST(RigidContact, CubeTipsOverTheEdgeOfAnEqualOne) {
  for (const double offset : {0.055, 0.07, 0.09}) {
    const std::string scenario = cubes({{0, 0, 0.05}, {offset, 0, 0.15}}, {{0, 1}}, {0, 1}, 0.8);
    const auto tipping = completed(scenario_from(scenario, {"analysis.end_time=0.06", "output.interval=0.005"}));
    const double a = offset - 0.05, I = 0.01 / 6.0 + a * a + 0.0025;
    const auto rate = tipping.column("b1.wy_rad_s"), w = tipping.column("b1.qw"), y = tipping.column("b1.qy");
    for (std::size_t i = 1; i < rate.size(); ++i) {
      const double angle = 2.0 * std::atan2(y[i], w[i]);
      const double expected = std::sqrt(2.0 * g * (a * std::sin(angle) + 0.05 * (1.0 - std::cos(angle))) / I);
      EXPECT_NEAR(rate[i], expected, 1e-3 * rate.back()) << offset << " " << i;
    }
    EXPECT_NEAR(tipping.column("b1.y_m").back(), 0.0, 1e-9) << offset;
    const auto run = completed(scenario_from(scenario, {"analysis.end_time=1"}));
    EXPECT_NEAR(run.column("b1.z_m").back(), 0.05, 1e-7) << offset;
    EXPECT_LT(run.summary.integrator.steps, 1100) << offset;
    EXPECT_LT(run.summary.integrator.rhs_evaluations, 4 * 1100) << offset;
    for (const std::string& line : run.log) EXPECT_EQ(line.find("Coulomb's law"), std::string::npos) << line;
  }
}

// Neighbours in contact exert no force on each other; those that overlap by decimals are moved apart, with a warning.
TEST(RigidContact, CubesStandSideBySide) {
  expect_rest(completed(scenario_from(cubes({{0, 0, 0.05}, {0, 0.1, 0.05}}, {{0, 1}}, {0, 1}))), 2);
  for (const double overlap : {0.9e-6, 1.1e-6, 1e-5, 1e-4}) {
    const auto run = completed(scenario_from(cubes({{0, 0, 0.05}, {0, 0.1 - overlap, 0.05}}, {{0, 1}}, {0, 1})));
    expect_rest(run, 2);
    EXPECT_NEAR(run.column("b1.y_m").back() - run.column("b0.y_m").back(), 0.1, 1e-9) << overlap;
    const auto reported = [](const std::string& line) {
      return line.find("'b0' and 'b1' overlap by") != std::string::npos;
    };
    EXPECT_EQ(std::ranges::any_of(run.log, reported), overlap > 1e-6) << overlap;
  }
  // Also under a third one, where the points of all faces are redundant.
  const std::vector<Vector3> bridge{
      {-0.0499995, 0.0, 0.05}, {0.0499995, 0.0, 0.05}, {0.0, -0.0004072138113252327, 0.15}};
  const auto run = completed(scenario_from(cubes(bridge, {{0, 1}, {0, 2}, {1, 2}}, {0, 1, 2}, 0.8)));
  expect_rest(run, 3);
  EXPECT_NEAR(run.column("b1.x_m").back() - run.column("b0.x_m").back(), 0.1, 1e-9);
}

// A ball rolls over a hill, a driven ball: at the start as later its centre falls with v^2 / (R + r), with the rest of
// the weight on the hill. The row of the start had the forces of flat surfaces.
TEST(RigidContact, ForcesAtTheStartIncludeCurvature) {
  const auto run = completed(scenario_from(R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  hill: {mass: 1, inertia: [0.01, 0.01, 0.01]}
  ball: {mass: 1, inertia: [0.004, 0.004, 0.004], position: [0, 0, 0.3], velocity: [0.5, 0, 0],
         angular_velocity: [0, 5, 0]}
drivers:
  d: {body: hill, x: {polynomial: [0]}, y: {polynomial: [0]}, z: {polynomial: [0]}, rx: {polynomial: [0]},
      ry: {polynomial: [0]}, rz: {polynomial: [0]}}
contact:
  c:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: hill, surface: {sphere: {radius: 0.2}}}
    backend: rigid_coulomb
    parameters: {friction: 1}
analysis: {end_time: 0.01}
output: {interval: 0.001, accelerations: true}
)"));
  const double fall = 0.5 * 0.5 / 0.3;
  // The differences over a step of 1 ms, 1.7 mrad, are of second order.
  EXPECT_NEAR(run.column("ball.az_m_s2").front(), -fall, 1e-5);
  EXPECT_NEAR(run.column("c.fz_N").front(), g - fall, 1e-5);
  EXPECT_NEAR(run.column("ball.ax_m_s2").front(), 0.0, 1e-9);
}

// A light cube under a heavy one remains at rest: its impulses are those of an ill-conditioned problem.
TEST(RigidContact, LightCubeRestsUnderAHeavyOne) {
  for (const double ratio : {100.0, 300.0, 1000.0}) {
    for (const double shift : {0.005, 0.02, 0.04}) {
      const std::string inertia = fmt::format("{:.17g}", 0.01 / 6.0 / ratio);
      const auto run = completed(scenario_from(cubes({{0, 0, 0.05}, {shift, 0, 0.15}}, {{0, 1}}, {0}),
                                               {fmt::format("bodies.b0.mass={:.17g}", 1.0 / ratio),
                                                fmt::format("bodies.b0.inertia=[{0}, {0}, {0}]", inertia)}));
      expect_rest(run, 2, 1e-9);
      EXPECT_NEAR(run.column("f0.fz_N").back(), (1.0 + 1.0 / ratio) * g, 1e-6);
      const auto unsolved = [](const std::string& line) { return line.find("Coulomb's law") != std::string::npos; };
      EXPECT_FALSE(std::ranges::any_of(run.log, unsolved)) << ratio << " " << shift;
    }
  }
}

// The advice names a body that can be moved, not the ground.
TEST(RigidContact, AdviceForAnOverlapNamesABodyThatCanBeMoved) {
  const auto run = run_local(scenario_from(cubes({{0, 0, 0.03}}, {}, {0})));
  ASSERT_TRUE(run.summary.error.has_value());
  EXPECT_THAT(run.summary.error->what(), ::testing::HasSubstr("(bodies.b0.position)"));
}

// A cube falls on the edge of another one that it overlaps by 1 mm. Where edges coincide, points appear with a gap: the
// closure is bisected from 1 ms to the time in which nothing moves by more than rounding, 28 times. Points that appear
// without an impact, at less than 1 mm/s, may overlap by a micrometre at the end of their step, which is removed.
TEST(RigidContact, ClosureOfAGapThatJumpsIsBisected) {
  const auto run =
      completed(scenario_from(cubes({{0, 0, 0.05}, {0.099, 0, 0.17}}, {{0, 1}}, {0, 1}), {"analysis.end_time=0.066"}));
  const auto& integrator = run.summary.integrator;
  EXPECT_GT(integrator.steps, 66) << "some closures end a step";
  EXPECT_LT(integrator.rhs_evaluations, 2 * (28 + 4) * integrator.steps);
  EXPECT_NEAR(run.summary.energy.balance_error, 0.0, g * 1e-6);
}

// A row of cubes as a floor: a cube that slides over its seams is decelerated by friction alone.
TEST(RigidContact, SeamsOfAFloorCauseNoImpact) {
  const auto text = cubes({{0, 0, 0.05}, {0.1, 0, 0.05}, {0.2, 0, 0.05}, {0.01, 0.013, 0.15}}, {{0, 3}, {1, 3}, {2, 3}},
                          {0, 1, 2}, 0.1);
  const auto run =
      completed(scenario_from(text, {"bodies.b3.velocity=[0.5, 0, 0]", "analysis.end_time=0.4", "bodies.b0.mass=1000",
                                     "bodies.b1.mass=1000", "bodies.b2.mass=1000"}));
  const auto t = run.column("time_s"), x = run.column("b3.x_m"), z = run.column("b3.z_m");
  for (std::size_t i = 0; i < t.size(); ++i) {
    EXPECT_NEAR(x[i], 0.01 + 0.5 * t[i] - 0.5 * 0.1 * g * t[i] * t[i], 1e-6) << t[i];
    EXPECT_NEAR(z[i], 0.15, 1e-9) << t[i];
  }
}

/// A body with its lowest point on the floor, with a velocity along x and a spin about y.
RecordedRun on_the_floor(const std::string& surface, const std::string& inertia, double friction, double speed,
                         double spin, double end_time) {
  return completed(scenario_from(fmt::format(R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  b0: {{mass: 1, inertia: {}, position: [0, 0, 0.1], velocity: [{}, 0, 0], angular_velocity: [0, {}, 0]}}
contact:
  floor:
    main: {{body: b0, surface: {}}}
    partner: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: rigid_coulomb
    parameters: {{friction: {}}}
analysis: {{end_time: {}}}
output: {{interval: 0.02, accelerations: true}}
)",
                                             inertia, speed, spin, surface, friction, end_time)));
}

constexpr const char* ball = "{sphere: {radius: 0.1}}";
constexpr const char* ball_inertia = "[0.004, 0.004, 0.004]";
constexpr const char* roller = "{cylinder: {radius: 0.1, axis: [0, 1, 0], length: 0.3}}";
constexpr const char* roller_inertia = "[0.010833333333333334, 0.005, 0.010833333333333334]";

// Pure rolling is no impact at any velocity: the normal force is the weight, nothing is dissipated, the velocity is
// constant.
TEST(RigidContact, BallsAndCylindersRollWithoutLoss) {
  for (const auto& [surface, inertia] : {std::pair{ball, ball_inertia}, std::pair{roller, roller_inertia}}) {
    for (const double speed : {0.1, 1.0, 7.0}) {
      const auto run = on_the_floor(surface, inertia, 0.3, speed, 10.0 * speed, 1.0);
      for (const double force : run.column("floor.fz_N")) EXPECT_NEAR(force, g, 1e-6) << surface << speed;
      EXPECT_NEAR(run.summary.energy.dissipated, 0.0, 1e-9 * speed * speed) << surface << speed;
      EXPECT_NEAR(run.column("b0.x_m").back(), speed, 1e-8 * speed) << surface << speed;
      EXPECT_NEAR(run.column("b0.vx_m_s").back(), speed, 1e-9 * speed) << surface << speed;
      EXPECT_NEAR(run.column("b0.z_m").back(), 0.1, 1e-10) << surface << speed;
    }
  }
}

// Released without spin, a body slips until it rolls: 5/7 of the velocity remains for a ball, 2/3 for a cylinder; a
// spin without friction is constant.
TEST(RigidContact, SlipEndsInRolling) {
  const auto speed_after = [](const char* surface, const char* inertia) {
    return on_the_floor(surface, inertia, 0.3, 1.0, 0.0, 1.0).column("b0.vx_m_s").back();
  };
  // The method is of second order: over a step it rotates by h w = 0.007.
  EXPECT_NEAR(speed_after(ball, ball_inertia), 5.0 / 7.0, 0.1 * 0.007 * 0.007);
  EXPECT_NEAR(speed_after(roller, roller_inertia), 2.0 / 3.0, 0.1 * 0.007 * 0.007);
  const auto spinning = on_the_floor(roller, roller_inertia, 0.0, 0.5, 30.0, 1.0);
  EXPECT_NEAR(spinning.column("b0.wy_rad_s").back(), 30.0, 1e-9);
  EXPECT_NEAR(spinning.column("b0.vx_m_s").back(), 0.5, 1e-12);
}

// A block set down on a belt of 1 m/s: half of the driver's work becomes its kinetic energy, half is dissipated.
TEST(RigidContact, DriversWorkOnContact) {
  const auto run = completed(scenario_from(R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  block: {mass: 1, inertia: [1, 1, 1], position: [0, 0, 0.1]}
  belt: {mass: 1, inertia: [1, 1, 1]}
drivers:
  motor: {body: belt, x: {polynomial: [0, 1]}, y: {polynomial: [0]}, z: {polynomial: [0]},
          rx: {polynomial: [0]}, ry: {polynomial: [0]}, rz: {polynomial: [0]}}
contact:
  c:
    main: {body: block, surface: {block: {lengths: [0.2, 0.2, 0.2]}}}
    partner: {body: belt, surface: {plane: {normal: [0, 0, 1]}}}
    backend: rigid_coulomb
    parameters: {friction: 0.3}
analysis: {end_time: 0.6}
output: {interval: 0.1}
)"));
  EXPECT_NEAR(run.column("block.vx_m_s").back(), 1.0, 1e-12);
  EXPECT_NEAR(run.summary.energy.external_work, 1.0, 1e-6);
  EXPECT_NEAR(run.summary.energy.dissipated, 0.5, 1e-6);
  EXPECT_NEAR(run.summary.energy.balance_error, 0.0, 1e-9);
}

// A ball rolls down a groove of 90 degrees whose walls the friction cones join (coefficient 1): the forces remain those
// of the weight, and nothing is dissipated.
TEST(RigidContact, BallRollsDownAGrooveWithoutWedging) {
  const auto run = completed(scenario_from(R"(
heelstrike: 1
gravity: [0, 1.9489, -9.6145]
bodies:
  ball: {mass: 1, inertia: [0.004, 0.004, 0.004], position: [0, 0, 0.14142135623730950]}
contact:
  left:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [0.70710678118654752, 0, 0.70710678118654752]}}}
    backend: rigid_coulomb
    parameters: {friction: 1}
  right:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [-0.70710678118654752, 0, 0.70710678118654752]}}}
    backend: rigid_coulomb
    parameters: {friction: 1}
analysis: {end_time: 0.5}
output: {interval: 0.01}
)"));
  for (const double force : run.column("left.fx_N")) EXPECT_LT(std::abs(force), 10.0);
  // The lever of the contact points about the axis of rolling is R sin(45 degrees).
  EXPECT_NEAR(run.column("ball.y_m").back(), 0.5 * 1.9489 / 1.8 * 0.25, 1e-5);
  EXPECT_NEAR(run.summary.energy.dissipated, 0.0, 2e-3);
}

/// A ball that rolls without slip between two rough planes of the ground.
/// @param gravity, normals  [m/s^2, -]; the ball moves along x
RecordedRun rolls_between(const Vector3& gravity, const Vector3& n, const Vector3& m, double speed, double step) {
  constexpr double radius = 0.03;
  // The instantaneous axis passes through both contact points.
  const Vector3 to_axis = -0.5 * radius * (n + m);
  const Vector3 p = radius * (n + m) / (1.0 + n.dot(m));
  const Vector3 w = speed / to_axis.squaredNorm() * Vector3::UnitX().cross(to_axis);
  const auto vector = [](const Vector3& v) { return fmt::format("[{:.17g}, {:.17g}, {:.17g}]", v[0], v[1], v[2]); };
  std::string text = fmt::format(R"(
heelstrike: 1
gravity: {}
bodies:
  ball: {{mass: 0.5, inertia: [1.8e-4, 1.8e-4, 1.8e-4], position: {}, velocity: [{}, 0, 0], angular_velocity: {}}}
analysis: {{end_time: 0.2, integrator: {{name: moreau, step: {}}}}}
output: {{interval: 0.02, accelerations: true}}
contact:
)",
                                 vector(gravity), vector(p), speed, vector(w), step);
  for (const auto& [name, normal] : {std::pair{"n", n}, std::pair{"m", m}}) {
    text += fmt::format(R"(  {}:
    main: {{body: ball, surface: {{sphere: {{radius: {}}}}}}}
    partner: {{body: ground, surface: {{plane: {{normal: {}}}}}}}
    backend: rigid_coulomb
    parameters: {{friction: 0.3, restitution: 0}}
)",
                        name, radius, vector(normal));
  }
  return completed(scenario_from(text));
}

// A ball that rolls in a groove or along a wall spins about the normals of its contacts. The weight is carried in every
// row, the first one included, and nothing is dissipated.
TEST(RigidContact, BallRollsBetweenTwoPlanesWithoutLoss) {
  const double c = std::numbers::sqrt2 / 2.0;
  struct Case {
    Vector3 gravity, n, m;
    double speed, step;
  };
  for (const Case& a :
       {Case{{0, 0, -g}, {0, c, c}, {0, -c, c}, 2.0, 1e-3}, Case{{0, 0, -g}, {0, c, c}, {0, -c, c}, 0.5, 1e-3},
        Case{{0, -5, -8}, {0, 1, 0}, {0, 0, 1}, 3.0, 1e-3}, Case{{0, -5, -8}, {0, 1, 0}, {0, 0, 1}, 0.3, 1e-3},
        Case{{0, -5, -8}, {0, 1, 0}, {0, 0, 1}, 3.0, 1e-4}}) {
    const auto run = rolls_between(a.gravity, a.n, a.m, a.speed, a.step);
    for (const int i : {0, 1, 2}) {
      const std::string axis(1, "xyz"[i]);
      const auto one = run.column("n.f" + axis + "_N"), other = run.column("m.f" + axis + "_N");
      for (std::size_t row = 0; row < one.size(); ++row)
        EXPECT_NEAR(one[row] + other[row], -0.5 * a.gravity[i], 2e-6) << a.speed << " " << axis << row;
      for (const double value : run.column("ball.a" + axis + "_m_s2")) EXPECT_NEAR(value, 0.0, 4e-6) << a.speed << axis;
    }
    EXPECT_NEAR(run.column("ball.x_m").back(), 0.2 * a.speed, 1e-9) << a.speed;
    EXPECT_NEAR(run.summary.energy.dissipated, 0.0, 1e-9) << a.speed;
  }
}

// Boxes dropped on a block, with some rotation, come to rest on it: the corners that rise while they tip over the
// opposite edge remain supported.
TEST(RigidContact, DroppedBoxesComeToRestOnABlock) {
  for (const double friction : {0.6, 0.9}) {
    for (int k = 0; k < 12; ++k) {
      const double angle = 0.3 + 0.05 * k, turn = 0.4 * k;
      const Vector3 axis = Vector3(std::cos(turn), std::sin(turn), 0.6).normalized() * std::sin(0.5 * angle);
      const auto run =
          completed(scenario_from(fmt::format(R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  b:
    mass: 1
    inertia: [1.241666666666667e-3, 1.508333333333333e-3, 1.083333333333333e-3]
    position: [0, 0, 0.09]
    orientation: [{:.17g}, {:.17g}, {:.17g}, {:.17g}]
contact:
  c:
    main: {{body: b, surface: {{block: {{lengths: [0.09, 0.07, 0.1]}}}}}}
    partner: {{body: ground, surface: {{block: {{lengths: [1, 1, 0.1], center: [0, 0, -0.05]}}}}}}
    backend: rigid_coulomb
    parameters: {{friction: {}, restitution: 0}}
analysis: {{end_time: 1.2}}
output: {{interval: 0.1}}
)",
                                              std::cos(0.5 * angle), axis[0], axis[1], axis[2], friction)));
      EXPECT_NEAR(run.column("c.fz_N").back(), g, 1e-6) << friction << " " << k;
      EXPECT_NEAR(run.column("c.fx_N").back(), 0.0, 1e-6) << friction << " " << k;
      for (const char* rate : {"b.vx_m_s", "b.vz_m_s", "b.wx_rad_s", "b.wy_rad_s", "b.wz_rad_s"})
        EXPECT_NEAR(run.column(rate).back(), 0.0, 1e-9) << friction << " " << k << " " << rate;
    }
  }
}

/// Bodies of 1 kg, rigid cylinders in contact with each other or with blocks of the ground; friction 0.5.
RecordedRun with_cylinders(const std::string& bodies, const std::vector<std::array<std::string, 3>>& pairs,
                           double end_time) {
  std::string text = "heelstrike: 1\ngravity: [0, 0, -9.81]\nbodies:\n" + bodies + "contact:\n";
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [body, main, partner] = pairs[i];
    text += fmt::format(
        "  c{}:\n    main: {{body: {}, surface: {}}}\n    partner: {}\n"
        "    backend: rigid_coulomb\n    parameters: {{friction: 0.5}}\n",
        i, body, main, partner);
  }
  return completed(
      scenario_from(text + fmt::format("analysis: {{end_time: {}}}\noutput: {{interval: 0.01}}\n", end_time)));
}

// A roller on two edges parallel to its axis, 0.1 m apart: it rests at sqrt(R^2 - 0.05^2), also when dropped.
TEST(RigidContact, RollerRestsOnParallelEdges) {
  const double height = std::sqrt(0.1 * 0.1 - 0.05 * 0.05);
  for (const double above : {0.0, 1e-5, 0.02}) {
    const auto run = with_cylinders(
        fmt::format("  b0: {{mass: 1, inertia: {}, position: [0, 0, {}]}}\n", roller_inertia, height + above),
        {{"b0", roller, "{body: ground, surface: {block: {lengths: [1, 1, 1], center: [-0.55, 0, -0.5]}}}"},
         {"b0", roller, "{body: ground, surface: {block: {lengths: [1, 1, 1], center: [0.55, 0, -0.5]}}}"}},
        0.2);
    EXPECT_NEAR(run.column("b0.z_m").back(), height, 1e-9) << above;
    EXPECT_NEAR(run.column("c0.fz_N").back() + run.column("c1.fz_N").back(), g, 1e-6) << above;
  }
}

// A roller against a step of height h keeps its spin about the edge: w (1 - 2 h / 3 R) for a cylinder.
TEST(RigidContact, RollerClimbsAStep) {
  for (const double h : {0.02, 0.05}) {
    const auto run = with_cylinders(
        fmt::format("  b0: {{mass: 1, inertia: {}, position: [-0.15, 0, 0.1], velocity: [1.2, 0, 0], "
                    "angular_velocity: [0, 12, 0]}}\n",
                    roller_inertia),
        {{"b0", roller, "{body: ground, surface: {plane: {normal: [0, 0, 1]}}}"},
         {"b0", roller,
          fmt::format("{{body: ground, surface: {{block: {{lengths: [1, 1, {}], center: [0.5, 0, {}]}}}}}}", h,
                      0.5 * h)}},
        0.12);
    const auto t = run.column("time_s"), spin = run.column("b0.wy_rad_s");
    const double impact = (0.15 - std::sqrt(0.01 - (0.1 - h) * (0.1 - h))) / 1.2;
    const auto after = std::ranges::find_if(t, [&](double at) { return at > impact + 1e-9; });
    ASSERT_NE(after, t.end());
    const auto i = static_cast<std::size_t>(after - t.begin());
    // Between the impact and the row, gravity decelerates it by at most g / 1.5 R.
    EXPECT_NEAR(spin[i], 12.0 * (1.0 - 2.0 * h / 0.3), g / 0.15 * (t[i] - impact) + 1e-3) << h;
    EXPECT_NEAR(run.summary.energy.balance_error, 0.0, 1e-4) << h;
  }
}

// Equal cylinders stand on each other, aligned or nearly so; equal logs lie in a pile.
TEST(RigidContact, EqualCylindersRestOnEachOther) {
  const char* upright = "{cylinder: {radius: 0.05, length: 0.1}}";
  for (const double off : {0.0, 1e-9, 1e-4, 0.04}) {
    for (const double above : {0.0, 0.01}) {
      const auto run = with_cylinders(
          fmt::format("  b0: {{mass: 1, inertia: [0.0014583, 0.0014583, 0.00125], position: [0, 0, 0.05]}}\n"
                      "  b1: {{mass: 1, inertia: [0.0014583, 0.0014583, 0.00125], position: [{}, 0, {}]}}\n",
                      off, 0.15 + above),
          {{"b0", upright, "{body: ground, surface: {plane: {normal: [0, 0, 1]}}}"},
           {"b1", upright, fmt::format("{{body: b0, surface: {}}}", upright)}},
          0.12);
      EXPECT_NEAR(run.column("b1.z_m").back(), 0.15, 1e-9) << off << " " << above;
      EXPECT_NEAR(run.column("c0.fz_N").back(), 2.0 * g, 1e-6) << off << " " << above;
    }
  }
  const double top = 0.1 + 0.1 * std::sqrt(3.0);
  const std::string body = fmt::format("{{mass: 1, inertia: {}, position: ", roller_inertia);
  const auto pile = with_cylinders(
      fmt::format("  b0: {0}[-0.1, 0, 0.1]}}\n  b1: {0}[0.1, 0, 0.1]}}\n  b2: {0}[0, 0, {1}]}}\n", body, top),
      {{"b0", roller, "{body: ground, surface: {plane: {normal: [0, 0, 1]}}}"},
       {"b1", roller, "{body: ground, surface: {plane: {normal: [0, 0, 1]}}}"},
       {"b2", roller, fmt::format("{{body: b0, surface: {}}}", roller)},
       {"b2", roller, fmt::format("{{body: b1, surface: {}}}", roller)}},
      0.2);
  EXPECT_NEAR(pile.column("b2.z_m").back(), top, 1e-9);
}

// Accelerations include rigid contact: none at rest, those of friction while sliding, gravity in flight.
TEST(RigidContact, AccelerationsIncludeImpulses) {
  const char* block = "{block: {lengths: [0.2, 0.2, 0.2]}}";
  const auto rest = on_the_floor(block, "[1, 1, 1]", 0.3, 0.0, 0.0, 0.1);
  for (const double a : rest.column("b0.az_m_s2")) EXPECT_NEAR(a, 0.0, 1e-6);
  // High inertia, so that it does not pitch.
  const auto sliding = on_the_floor(block, "[1, 1, 1]", 0.2, 2.0, 0.0, 0.2);
  const auto ax = sliding.column("b0.ax_m_s2");
  for (std::size_t i = 1; i < ax.size(); ++i) EXPECT_NEAR(ax[i], -0.2 * g, 1e-6) << i;
  for (const double alpha : sliding.column("b0.alphay_rad_s2")) EXPECT_NEAR(alpha, 0.0, 1e-6);
  auto flying =
      completed(scenario_from(cubes({{0, 0, 0.5}}, {}, {0}), {"analysis.end_time=0.2", "output.accelerations=true"}));
  for (const double a : flying.column("b0.az_m_s2")) EXPECT_NEAR(a, -g, 1e-9);
}

// A heavy box falls on two light ones, which are caught on an edge, rotated and laid flat within milliseconds, all
// without friction: the points in contact change within a step.
TEST(RigidContact, BoxBetweenOthersDoesNotPenetrate) {
  struct Box {
    double mass;
    Vector3 lengths;
    const char* start;
  };
  const std::array<Box, 3> boxes{
      Box{0.1,
          {0.1619, 0.1, 0.0492},
          "position: [0.0026, 0.0044, 0.0993], orientation: [0.7071067811865476, 0.7071067811865476, 0, 0]"},
      Box{0.1, {0.0962, 0.0422, 0.1056}, "position: [-0.0174, -0.0171, 0.2721], angular_velocity: [4.6, 0.4, 1.8]"},
      Box{5.0,
          {0.1474, 0.1819, 0.05},
          "position: [-0.0142, -0.0101, 0.4663], orientation: [0.7071067811865476, 0.7071067811865476, 0, 0]"}};
  const auto sides = [](const Box& box) {
    return fmt::format("{{block: {{lengths: [{}, {}, {}]}}}}", box.lengths.x(), box.lengths.y(), box.lengths.z());
  };
  std::string bodies = "heelstrike: 1\ngravity: [0, 0, -9.81]\nbodies:\n", pairs = "contact:\n";
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Vector3 squares = boxes[i].lengths.cwiseAbs2();
    const Vector3 inertia = boxes[i].mass / 12.0 * (Vector3::Constant(squares.sum()) - squares);
    bodies += fmt::format("  b{}: {{mass: {}, inertia: [{}, {}, {}], {}}}\n", i, boxes[i].mass, inertia.x(),
                          inertia.y(), inertia.z(), boxes[i].start);
    const auto pair = [&](const std::string& name, const std::string& partner) {
      pairs += fmt::format(
          "  {}: {{main: {{body: b{}, surface: {}}}, partner: {}, backend: rigid, parameters: {{restitution: 0.3}}}}\n",
          name, i, sides(boxes[i]), partner);
    };
    pair(fmt::format("f{}", i), "{body: ground, surface: {plane: {normal: [0, 0, 1]}}}");
    for (std::size_t k = i + 1; k < boxes.size(); ++k) {
      pair(fmt::format("p{}{}", i, k), fmt::format("{{body: b{}, surface: {}}}", k, sides(boxes[k])));
    }
  }
  const auto run = completed(scenario_from(bodies + pairs + "analysis: {end_time: 0.4}\noutput: {interval: 0.005}\n"));
  // A thousandth of the boxes, up to which their points are searched in advance.
  for (const char* pair : {"p01", "p02", "p12", "f0", "f1", "f2"}) {
    EXPECT_LT(std::ranges::max(run.column(std::string(pair) + ".indentation_m")), 1e-4) << pair;
  }
}

/// Balls on the x axis, of 20 mm radius and with equal gaps, the first of which has a velocity of 1 m/s.
RecordedRun row_of_balls(const std::vector<double>& masses, double gap, const std::string& law, double end_time) {
  std::string text = "heelstrike: 1\ngravity: [0, 0, 0]\nbodies:\n";
  for (std::size_t i = 0; i < masses.size(); ++i) {
    text += fmt::format(
        "  b{}: {{mass: {}, inertia: [1e-5, 1e-5, 1e-5], position: [{:.17g}, 0, 0], velocity: [{}, 0, 0]}}\n", i,
        masses[i], static_cast<double>(i) * (0.04 + gap), i == 0 ? 1 : 0);
  }
  text += "contact:\n";
  for (std::size_t i = 0; i + 1 < masses.size(); ++i) {
    text += fmt::format(
        "  c{0}: {{main: {{body: b{0}, surface: {{sphere: {{radius: 0.02}}}}}}, partner: {{body: b{1}, surface: "
        "{{sphere: "
        "{{radius: 0.02}}}}}}, backend: rigid, parameters: {{restitution: 1, impact_law: {2}}}}}\n",
        i, i + 1, law);
  }
  return completed(scenario_from(
      text + fmt::format("analysis: {{end_time: {}}}\noutput: {{interval: {}}}\n", end_time, 0.1 * end_time)));
}

// An impact sets a ball in motion that reaches the next one within the same step: each impact is elastic, however small
// the gap, with any law.
TEST(RigidContact, ImpactsFollowEachOtherWithinAStep) {
  for (const char* law : {"newton", "poisson", "sequential"}) {
    for (const double gap : {1e-6, 3e-5, 3e-4, 1e-3, 1e-2}) {
      const auto equal = row_of_balls({0.1, 0.1, 0.1, 0.1, 0.1}, gap, law, 0.05);
      for (int i = 0; i < 5; ++i) {
        EXPECT_NEAR(equal.column(fmt::format("b{}.vx_m_s", i)).back(), i == 4 ? 1.0 : 0.0, 1e-9) << law << gap << i;
      }
      EXPECT_LT(equal.summary.energy.dissipated, 1e-9) << law << gap;
    }
  }
}

// A small ball above a large one fall at 3 m/s: the large one rebounds and strikes the small one, with which it
// exchanges momentum: u = v + 2 m' (v' - v) / (m + m').
TEST(RigidContact, StackOfBallsRebounds) {
  for (const double gap : {1e-6, 1e-3, 1e-2}) {
    const auto run = completed(scenario_from(fmt::format(R"(
heelstrike: 1
gravity: [0, 0, 0]
bodies:
  lo: {{mass: 0.6, inertia: [0.01, 0.01, 0.01], position: [0, 0, 0.13], velocity: [0, 0, -3]}}
  hi: {{mass: 0.06, inertia: [0.001, 0.001, 0.001], position: [0, 0, {:.17g}], velocity: [0, 0, -3]}}
contact:
  c1:
    main: {{body: lo, surface: {{sphere: {{radius: 0.12}}}}}}
    partner: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: rigid
    parameters: {{restitution: 1, impact_law: sequential}}
  c2:
    main: {{body: hi, surface: {{sphere: {{radius: 0.03}}}}}}
    partner: {{body: lo, surface: {{sphere: {{radius: 0.12}}}}}}
    backend: rigid
    parameters: {{restitution: 1, impact_law: sequential}}
analysis: {{end_time: 0.02}}
output: {{interval: 0.001}}
)",
                                                         0.28 + gap)));
    EXPECT_NEAR(run.column("hi.vz_m_s").back(), -3.0 + 2.0 * 0.6 * 6.0 / 0.66, 1e-9) << gap;
    EXPECT_NEAR(run.column("lo.vz_m_s").back(), 3.0 - 2.0 * 0.06 * 6.0 / 0.66, 1e-9) << gap;
    EXPECT_LT(run.summary.energy.dissipated, 1e-9) << gap;
  }
}

// Free bodies keep their angular momentum, whatever the direction of their rotation in the body; equal principal
// moments also the angular velocity.
TEST(RigidContact, FreeBodiesKeepTheirAngularMomentum) {
  for (const Vector3& moments : {Vector3(1e-4, 1e-4, 1e-4), Vector3(3e-4, 2e-4, 1.5e-4)}) {
    const auto run = completed(scenario_from(fmt::format(R"(
heelstrike: 1
gravity: [0, 0, 0]
bodies:
  b: {{mass: 1, inertia: [{}, {}, {}], center_of_mass: [0.01, 0.02, -0.03], velocity: [1, 2, 3],
      angular_velocity: [10, -30, 50]}}
analysis: {{end_time: 5, integrator: {{name: moreau, step: 0.001}}}}
output: {{interval: 0.5}}
)",
                                                         moments.x(), moments.y(), moments.z())));
    const Vector3 L_start = moments.cwiseProduct(Vector3(10, -30, 50));
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      const auto at = [&](const char* name) { return run.column(name)[i]; };
      const Matrix3 R = Quaternion(at("b.qw"), at("b.qx"), at("b.qy"), at("b.qz")).toRotationMatrix();
      const Vector3 w(at("b.wx_rad_s"), at("b.wy_rad_s"), at("b.wz_rad_s"));
      const Vector3 L = R * moments.cwiseProduct(R.transpose() * w);
      EXPECT_LT((L - L_start).norm(), 1e-11 * L_start.norm()) << i;
      // The mean velocity of the origin is that of the centre of mass.
      const Vector3 v(at("b.vx_m_s"), at("b.vy_m_s"), at("b.vz_m_s"));
      const Vector3 p_BC_W = R * Vector3(0.01, 0.02, -0.03);
      const Vector3 v_C = Vector3(1, 2, 3) + Vector3(10, -30, 50).cross(Vector3(0.01, 0.02, -0.03));
      EXPECT_LT((v + w.cross(p_BC_W) - v_C).norm(), 1e-10) << i;
    }
    // The attitude of a body with three moments has the error of the method.
    const double accurate = moments.x() == moments.z() ? 1e-11 : 1e-4;
    EXPECT_LT(std::abs(run.summary.energy.balance_error), accurate * run.summary.energy.initial);
  }
}

// A ball that slides and rolls along x while it spins about the vertical: a point contact transmits no torque about its
// normal, so that it remains on its line and ends with 5/7 of its velocity. The deviation is of second order.
TEST(RigidContact, SpinDoesNotDivertARollingBall) {
  std::vector<double> deviations;
  for (const double step : {1e-3, 5e-4}) {
    const auto run = completed(scenario_from(fmt::format(R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  b: {{mass: 0.2, inertia: [2.0e-4, 2.0e-4, 2.0e-4], position: [0, 0, 0.05], velocity: [2, 0, 0],
      angular_velocity: [0, 0, 100]}}
contact:
  c:
    main: {{body: b, surface: {{sphere: {{radius: 0.05}}}}}}
    partner: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: rigid_coulomb
    parameters: {{friction: 0.3}}
analysis: {{end_time: 1, integrator: {{name: moreau, step: {}}}}}
output: {{interval: 0.05}}
)",
                                                         step)));
    double deviation = 0.0;
    for (const double y : run.column("b.y_m")) deviation = std::max(deviation, std::abs(y));
    deviations.push_back(deviation);
    EXPECT_NEAR(run.column("b.vx_m_s").back(), 10.0 / 7.0, 1e-4);
    EXPECT_NEAR(run.column("b.wz_rad_s").back(), 100.0, 0.02);
  }
  fmt::print("a spinning ball deviates by {:.3g} and {:.3g} m from its line of 1.5 m\n", deviations[0], deviations[1]);
  EXPECT_LT(deviations[0], 3e-4);
  EXPECT_LT(deviations[1], 0.3 * deviations[0] + 1e-9);
}

// A ball rolls on a turntable of angular velocity W in a circle, with 2/7 W.
TEST(RigidContact, BallOnATurntableMovesInACircle) {
  std::vector<double> errors;
  constexpr double W = 10.0, speed = 0.2, radius = 0.05;
  for (const double step : {1e-3, 5e-4}) {
    // At rest relative to the table below: v + w x (-R z) = W x p at p = 0.
    const auto run = completed(scenario_from(fmt::format(R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  table: {{mass: 1, inertia: [1, 1, 1], angular_velocity: [0, 0, {0}]}}
  ball: {{mass: 0.2, inertia: [2.0e-4, 2.0e-4, 2.0e-4], position: [0, 0, {1}], velocity: [{2}, 0, 0],
         angular_velocity: [0, {3}, 0]}}
joints: {{axle: {{type: revolute, bodies: [ground, table], point: [0, 0, 0], axis: [0, 0, 1]}}}}
drivers: {{motor: {{joint: axle, angle: {{polynomial: [0, {0}]}}}}}}
contact:
  c:
    main: {{body: ball, surface: {{sphere: {{radius: {1}}}}}}}
    partner: {{body: table, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: rigid_coulomb
    parameters: {{friction: 1}}
analysis: {{end_time: 2, integrator: {{name: moreau, step: {4}}}}}
output: {{interval: 0.1}}
)",
                                                         W, radius, speed, speed / radius, step)));
    const double rate = 2.0 / 7.0 * W;
    const auto t = run.column("time_s"), x = run.column("ball.x_m"), y = run.column("ball.y_m");
    double error = 0.0;
    for (std::size_t i = 0; i < t.size(); ++i) {
      error = std::max(error, std::hypot(x[i] - speed / rate * std::sin(rate * t[i]),
                                         y[i] - speed / rate * (1.0 - std::cos(rate * t[i]))));
    }
    errors.push_back(error);
  }
  fmt::print("a ball on a turntable is off its circle of {:.3g} m by {:.3g} and {:.3g} m\n", speed * 3.5 / W, errors[0],
             errors[1]);
  EXPECT_LT(errors[0], 1e-4);
  EXPECT_LT(errors[1], 0.3 * errors[0] + 1e-9);
}

/// A block of 1 kg whose corners slide with 0.5 m/s and an angular velocity, after 0.05 s.
RecordedRun spinning_block(const std::array<int, 4>& order, double spin, double height) {
  constexpr std::array<std::array<double, 2>, 4> corners{{{0.05, 0.05}, {-0.05, 0.05}, {-0.05, -0.05}, {0.05, -0.05}}};
  std::string text = fmt::format(R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  b: {{mass: 1, inertia: [0.0016666666666666667, 0.0016666666666666667, 0.0016666666666666667],
      position: [0, 0, {}], velocity: [0.5, 0, 0], angular_velocity: [0, 0, {}]}}
analysis: {{end_time: 0.05, integrator: {{name: moreau, step: 2.5e-4}}}}
output: {{interval: 0.01}}
contact:
)",
                                 height, spin);
  for (const int i : order) {
    const auto [x, y] = corners.at(static_cast<std::size_t>(i));
    text += fmt::format(R"(  c{}:
    main: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    partner: {{body: b, surface: {{points: {{positions: [[{}, {}, {}]], areas: [1.0e-4]}}}}}}
    backend: rigid_coulomb
    parameters: {{friction: 0.3}}
)",
                        i, x, y, -height);
  }
  return completed(scenario_from(text));
}

// Four corners share the weight as on equal springs, in any order and on either side: with the centre of mass in the
// plane of contact each carries a quarter. The expected velocities are those of four points with constant friction.
TEST(RigidContact, SlidingPointsShareTheirLoadIndependentlyOfTheirOrder) {
  for (const double spin : {20.0, -20.0}) {
    const auto run = spinning_block({0, 1, 2, 3}, spin, 0.0);
    EXPECT_NEAR(run.column("b.vx_m_s").back(), 0.47027800, 1e-6);
    EXPECT_NEAR(run.column("b.vy_m_s").back(), std::copysign(0.00148124, -spin), 1e-6);
    EXPECT_NEAR(run.column("b.wz_rad_s").back(), std::copysign(14.01257, spin), 1e-4);
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(run.column(fmt::format("c{}.fz_N", i)).back(), -0.25 * g, 1e-5);
  }
  const auto first = spinning_block({0, 1, 2, 3}, 20.0, 0.02), other = spinning_block({2, 0, 3, 1}, 20.0, 0.02),
             mirrored = spinning_block({0, 1, 2, 3}, -20.0, 0.02);
  for (const auto& [name, sign] : {std::pair{"b.vx_m_s", 1.0}, {"b.vy_m_s", -1.0}, {"b.wz_rad_s", -1.0}}) {
    EXPECT_NEAR(other.column(name).back(), first.column(name).back(), 1e-7) << name;
    EXPECT_NEAR(mirrored.column(name).back(), sign * first.column(name).back(), 1e-7) << name;
  }
}

/// A prism along y over a convex section in x and z, counter-clockwise about y, as an OBJ file. @param half  [m]
std::string prism_file(const std::vector<Eigen::Vector2d>& section, double half) {
  std::string text;
  for (const double y : {-half, half}) {
    for (const Eigen::Vector2d& p : section) text += fmt::format("v {:.17g} {:.17g} {:.17g}\n", p.x(), y, p.y());
  }
  const std::size_t n = section.size();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t a = i + 1, b = (i + 1) % n + 1;
    text += fmt::format("f {} {} {}\nf {} {} {}\n", a, b, b + n, a, b + n, a + n);
    if (i >= 2) text += fmt::format("f 1 {} {}\nf {} {} {}\n", a, i, n + 1, n + i, n + a);
  }
  return text;
}

/// A run with meshes by the names of their files.
RecordedRun with_meshes(const std::string& text, const std::vector<std::pair<std::string, std::string>>& files) {
  std::vector<AssetContent> assets;
  for (const auto& [name, content] : files) assets.push_back({.sha256 = name, .name = name, .content = content});
  auto run = run_with(scenario_from(text), [&](auto pairs, auto /*none*/, const auto& context) {
    return fem::open_local_contact(pairs, assets, context);
  });
  EXPECT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
  return run;
}

/// A wedge with its tip in the origin and its faces at two angles [rad] from x towards z.
std::vector<Eigen::Vector2d> wedge_section(double low, double high) {
  const auto at = [](double angle) { return Eigen::Vector2d(0.1 * std::cos(angle), 0.1 * std::sin(angle)); };
  return {Eigen::Vector2d::Zero(), at(high), at(low)};
}

// A wedge of 60 degrees falls 5 cm with its edge across another edge, of 60 or of 90 degrees: one of its faces leans
// over by more than 90 degrees to the vertical. It passed through.
TEST(RigidContact, SharpEdgesStopEachOther) {
  constexpr double degree = std::numbers::pi / 180.0, fall = 0.05;
  const std::string blade = prism_file(wedge_section(10.0 * degree, 70.0 * degree), 0.15);
  const std::string leaning = prism_file(wedge_section(-70.0 * degree, -10.0 * degree), 0.15);
  const std::string roof = prism_file(wedge_section(-135.0 * degree, -45.0 * degree), 0.15);
  for (const std::string& under : {leaning, roof}) {
    const auto run = with_meshes(fmt::format(R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  b: {{mass: 1, inertia: [0.014, 0.001, 0.014], center_of_mass: [0.044, 0, 0.037], position: [0, 0, {}]}}
contact:
  c:
    main: {{body: b, surface: {{mesh: {{asset: blade.obj}}}}}}
    partner:
      body: ground
      surface: {{mesh: {{asset: under.obj, orientation: [0.70710678118654752, 0, 0, 0.70710678118654752]}}}}
    backend: rigid_coulomb
    parameters: {{friction: 0.5}}
analysis: {{end_time: 0.13}}
output: {{interval: 0.001}}
)",
                                             fall),
                                 {{"blade.obj", blade}, {"under.obj", under}});
    ASSERT_FALSE(run.episodes.empty());
    EXPECT_NEAR(run.episodes[0].onset, std::sqrt(2.0 * fall / g), 1e-9);
    EXPECT_NEAR(run.episodes[0].approach_velocity, std::sqrt(2.0 * fall * g), 1e-8);
    for (const double gap : run.column("c.gap_m")) EXPECT_GT(gap, -1e-7);
  }
}

/// A plate with a square hole, from z = -0.02 m to 0. @param half  [m] of the hole
std::string plate_with_hole(double half) {
  std::string text;
  for (const double z : {0.0, -0.02}) {
    for (const double side : {half, 0.1}) {
      for (const auto& [x, y] : {std::pair{1.0, 1.0}, {-1.0, 1.0}, {-1.0, -1.0}, {1.0, -1.0}}) {
        text += fmt::format("v {:.17g} {:.17g} {:.17g}\n", side * x, side * y, z);
      }
    }
  }
  const auto quad = [&](int a, int b, int c, int d) {
    text += fmt::format("f {} {} {}\nf {} {} {}\n", a, b, c, a, c, d);
  };
  for (int i = 1; i <= 4; ++i) {
    const int j = i % 4 + 1;
    quad(i, i + 4, j + 4, j);
    quad(i + 8, j + 8, j + 12, i + 12);
    quad(i + 4, i + 12, j + 12, j + 4);
    quad(i, j, j + 8, i + 8);
  }
  return text;
}

/// A body of 1 kg on a mesh of the ground.
RecordedRun on_mesh(const std::string& surface, const std::string& inertia, const Vector3& gravity, const Vector3& p,
                    const std::string& mesh, const std::string& more = "") {
  return with_meshes(fmt::format(R"(
heelstrike: 1
gravity: [{:.17g}, {:.17g}, {:.17g}]
bodies:
  b: {{mass: 1, inertia: {}, position: [{:.17g}, {:.17g}, {:.17g}]{}}}
contact:
  c:
    main: {{body: ground, surface: {{mesh: {{asset: mesh.obj}}}}}}
    partner: {{body: b, surface: {}}}
    backend: rigid_coulomb
    parameters: {{friction: 0.5}}
analysis: {{end_time: 0.3}}
output: {{interval: 0.01, accelerations: true}}
)",
                                 gravity.x(), gravity.y(), gravity.z(), inertia, p.x(), p.y(), p.z(), more, surface),
                     {{"mesh.obj", mesh}});
}

const std::vector<Eigen::Vector2d> corner_section{{0.0, 0.0},   {0.3, 0.0},  {0.3, -0.1},
                                                  {-0.1, -0.1}, {-0.1, 0.3}, {0.0, 0.3}};
const std::vector<Eigen::Vector2d> groove_section{{0.0, 0.0}, {0.2, 0.2}, {0.2, -0.2}, {-0.2, -0.2}, {-0.2, 0.2}};

// Round bodies touch all walls of one mesh: in the corner of floor and wall each carries its part, a ball rolls down a
// groove, and it rests on the four edges of a hole. Only the nearest face had an effect.
TEST(RigidContact, RoundBodiesTouchSeveralWallsOfOneMesh) {
  const std::string corner = prism_file(corner_section, 0.5);
  for (const auto& [surface, inertia] : {std::pair{ball, ball_inertia}, std::pair{roller, roller_inertia}}) {
    const auto run = on_mesh(surface, inertia, {-5.0, 0.0, -8.0}, {0.1, 0.0, 0.1}, corner);
    for (const double force : run.column("c.fx_N")) EXPECT_NEAR(force, -5.0, 1e-9) << surface;
    for (const double force : run.column("c.fz_N")) EXPECT_NEAR(force, -8.0, 1e-9) << surface;
    EXPECT_NEAR(run.column("b.x_m").back(), 0.1, 1e-12) << surface;
    EXPECT_NEAR(run.column("b.z_m").back(), 0.1, 1e-12) << surface;
  }
  // The lever of the contact points about the axis of rolling is R sin(45 degrees).
  const double slope = 10.0 * std::numbers::pi / 180.0, height = 0.1 * std::numbers::sqrt2;
  const auto rolls = on_mesh(ball, ball_inertia, {0.0, g * std::sin(slope), -g * std::cos(slope)}, {0.0, -0.1, height},
                             prism_file(groove_section, 0.5));
  for (const double force : rolls.column("c.fz_N")) EXPECT_NEAR(force, -g * std::cos(slope), 1e-3);
  EXPECT_NEAR(rolls.column("b.y_m").back() + 0.1, 0.5 * g * std::sin(slope) / 1.8 * 0.09, 1e-5);
  EXPECT_NEAR(rolls.column("b.z_m").back(), height, 1e-9);
  constexpr double half = 0.07;
  for (const double above : {0.0, 1e-4}) {
    const auto rests = on_mesh(ball, ball_inertia, {0.0, 0.0, -g}, {0.0, 0.0, std::sqrt(0.01 - half * half) + above},
                               plate_with_hole(half));
    EXPECT_NEAR(rests.column("c.fz_N").back(), -g, 1e-6) << above;
    EXPECT_NEAR(rests.column("b.z_m").back(), std::sqrt(0.01 - half * half), 1e-9) << above;
    EXPECT_EQ(rests.column("c.active_points").back(), 4.0) << above;
  }
}

// A floor of such a mesh has seams: a ball and a cylinder that roll over them keep weight and velocity.
TEST(RigidContact, SeamsOfAMeshDoNotDivertRollingBodies) {
  std::vector<Eigen::Vector2d> section{{0.0, 0.0}};
  for (int i = 1; i <= 30; ++i) section.emplace_back(0.02 * i, 0.0);
  section.insert(section.end(), {{0.6, -0.1}, {-0.1, -0.1}, {-0.1, 0.3}, {0.0, 0.3}});
  const std::string mesh = prism_file(section, 0.5);
  for (const auto& [surface, inertia] : {std::pair{ball, ball_inertia}, std::pair{roller, roller_inertia}}) {
    const auto run = on_mesh(surface, inertia, {0.0, 0.0, -g}, {0.15, 0.01, 0.1}, mesh,
                             ", velocity: [1, 0, 0], angular_velocity: [0, 10, 0]");
    for (const double force : run.column("c.fz_N")) EXPECT_NEAR(force, -g, 1e-6) << surface;
    EXPECT_NEAR(run.column("b.vx_m_s").back(), 1.0, 1e-9) << surface;
    EXPECT_NEAR(run.column("b.x_m").back(), 0.45, 1e-9) << surface;
  }
}

TEST(RigidContact, ReportsErrors) {
  const auto contains = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  for (const char* value : {"1.01", "-0.1"}) {
    const std::string text = memory_error_of({fmt::format("contact.restitution={}", value)});
    contains(text, "restitution");
    contains(text, "[0, 1]");
  }
  contains(memory_error_of({"contact.friction=0.3"}), "contact.plate-ball.parameters.friction: unknown key");
  contains(memory_error_of({"contact.friction=0.3"}), "rigid_coulomb");
  contains(memory_error_of({"bodies.ball.position=[0, 0, 0.0117]"}), "0.001 m inside each other");
  contains(memory_error_of({"analysis.integrator={name: cvode_index1}"}), "moreau");
  contains(memory_error_of({"coupling.scheme=jacobi", "coupling.macro_step=0.001"}), "coupling");
}

}  // namespace
}  // namespace heelstrike::test
