// Contact without a change of sign of the gap: bodies in contact at the start of the run, grazing bodies, or contacts
// at the instant of another contact.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>

#include "common/contact/contact.hpp"
#include "mbs_server/coupling/contact_states.hpp"
#include "mbs_server/simulation/run_diagnostics.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Every integrator; fixed steps of 0.1 ms are far below the periods of these contacts.
class InitialContact : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static RecordedRun completed(const std::string& model, double end_time, double step = 1e-4) {
    const std::string name = GetParam();
    const bool fixed = name == "rk4" || name == "ab4am4";
    const std::string text = fmt::format(
        "heelstrike: 1\n{}\nanalysis: {{end_time: {}, integrator: {{name: {}{}}}}}\n"
        "output: {{interval: {}}}\n",
        model, end_time, name, fixed ? fmt::format(", step: {}", step) : ", rtol: 1.0e-9", 0.01 * end_time);
    auto run = run_local(scenario_from(text));
    EXPECT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
    return run;
  }
};

INSTANTIATE_TEST_SUITE_P(Integrators, InitialContact,
                         ::testing::Values("cvode_index1", "ida_ggl", "arkode_erk", "arkode_dirk", "rk4", "ab4am4"));

constexpr const char* ball_and_ground = R"(
gravity: [0, 0, -10]
bodies:
  ball: {{mass: 1, inertia: [0.004, 0.004, 0.004], position: [{}, 0, {}]}}
contact:
  touch:
    main: {{body: ball, surface: {{sphere: {{radius: 0.1}}}}}}
    partner: {{body: ground, surface: {{{}}}}}
    backend: hertz
    parameters: {{stiffness: 1.0e6, exponent: 1.5}}
)";

/// A ball released at zero gap moves down until K d^2.5 / 2.5 = m g d, and back to its initial height.
double sinking(double weight) {
  return std::pow(2.5 * weight / 1.0e6, 1.0 / 1.5);
}

/// Depth of an episode to a thousandth, the accuracy of parabolas and cubics through steps of a fortieth of a period.
void expect_sinks(const RecordedRun& run, double depth) {
  ASSERT_FALSE(run.summary.contacts.empty());
  EXPECT_EQ(run.summary.contacts.front().onset, 0.0);
  for (const auto& contact : run.summary.contacts) EXPECT_LT(contact.max_indentation, 1.001 * depth);
  EXPECT_NEAR(run.summary.contacts.front().max_indentation / depth, 1.0, 1e-3);
  EXPECT_NEAR(run.summary.energy.balance_error, 0.0, 1e-4 * 10.0 * depth);
}

/// Without contact there is no centre of pressure, not even that of a future contact.
TEST_P(InitialContact, NoContactHasNoCentreOfPressure) {
  const auto run = completed(fmt::format(ball_and_ground, 0.3, 0.101, "plane: {normal: [0, 0, 1]}"), 0.05);
  const auto x = run.column("touch.copx_m");
  const auto force = run.column("touch.fz_N");
  EXPECT_TRUE(std::isnan(x.front()));
  int touching = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (force[i] > 0.0) {
      EXPECT_NEAR(x[i], 0.3, 1e-9);
      ++touching;
    }
  }
  EXPECT_GT(touching, 3);
}

/// A ball that sticks by friction without damping oscillates on the friction spring, and every oscillation is resolved:
/// the run reports it. With damping it reports nothing.
TEST(Vibration, UndampedStickOscillationIsReported) {
  for (const double damping : {0.0, 300.0}) {
    const auto run = run_local(scenario_from(fmt::format(R"(heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  ball: {{mass: 2.0, inertia: [8.0e-3, 8.0e-3, 8.0e-3], position: [0, 0, 0.09998038], velocity: [0.002, 0, 0]}}
contact:
  touch:
    main: {{body: ball, surface: {{sphere: {{radius: 0.1}}}}}}
    partner: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: hooke
    parameters: {{stiffness: 1.0e6, friction: 0.9, stick_stiffness: 1.0e6, stick_damping: {}}}
analysis: {{end_time: 0.3, integrator: {{name: cvode_index1, rtol: 1.0e-6}}}}
output: {{interval: 0.01, steps: none}}
)",
                                                         damping)));
    ASSERT_EQ(run.summary.status, "completed");
    EXPECT_LE(run.summary.integrator.restarts, run.summary.integrator.steps / 1000)
        << "a commit does not restart the integrator, only every thousandth step does";
    const bool is_reported = std::ranges::any_of(
        run.log, [](const std::string& line) { return line.find("'touch' vibrates in contact, at 21") != line.npos; });
    // The contact point moves by x - R phi: k (1 / m + R^2 / J) = (2 pi 211 Hz)^2.
    EXPECT_EQ(is_reported, damping == 0.0) << (run.log.empty() ? "" : run.log.back());
  }
}

/// Contacts that vibrate for a tenth of a second, with 40 steps per period, and then rest for ten seconds.
/// @param opens  the force also vanishes in each period, so that its contact ends and begins
std::optional<std::string> vibration_in_bursts(double frequency, bool opens, const ParameterMap& parameters) {
  mbs::VibrationDetector detector(1);
  const double h = 1.0 / (40.0 * frequency);
  Response response;
  const auto accept = [&](double t, double step, double force) {
    response.F_A.force = Vector3(0.0, 0.0, force);
    if (force > 0.0) {
      detector.accept(0, t, step, response);
    } else {
      detector.forget(0);
    }
  };
  double t = 0.0;
  for (int burst = 0; burst < 10; ++burst) {
    for (const double end = t + 0.1; t < end; t += h) {
      accept(t + h, h, (opens ? 0.0 : 20.0) + 10.0 * std::sin(2.0 * M_PI * frequency * (t + h)));
    }
    for (const double end = t + 10.0; t < end; t += 0.5) accept(t + 0.5, 0.5, 20.0);
  }
  const PairDescription pair{.name = "touch", .backend = "hertz", .parameters = parameters, .digest = {}};
  return detector.describe(std::span(&pair, 1), 1e-9);
}

TEST(Vibration, FrequencyIsThatOfTheBurstsAndNotOfTheRest) {
  for (const bool opens : {false, true}) {
    const auto text = vibration_in_bursts(148.0, opens, {});
    ASSERT_TRUE(text.has_value()) << opens;
    EXPECT_THAT(*text, AllOf(HasSubstr("at 148 Hz"), HasSubstr(opens ? "with 20 steps" : "with 40 steps")));
  }
}

TEST(Vibration, AdviceDependsOnWhatIsSet) {
  const auto advice = [](const ParameterMap& parameters) {
    return vibration_in_bursts(148.0, false, parameters).value_or("");
  };
  EXPECT_THAT(advice({}), AllOf(HasSubstr("'hertz' has none"), HasSubstr("analysis.integrator.atol (now 1e-09)")));
  EXPECT_THAT(advice({{"restitution", 1.0}, {"stick_damping", 30.0}}),
              AllOf(HasSubstr("add contact damping (restitution below 1)"), Not(HasSubstr("stick_damping"))));
  EXPECT_THAT(advice({{"restitution", 0.5}, {"stick_damping", 30.0}}),
              AllOf(HasSubstr("increase the contact damping (now restitution 0.5, stick_damping 30)"),
                    Not(HasSubstr("add contact damping"))));
}

TEST_P(InitialContact, BallAtRestOnTheGround) {
  const auto run = completed(fmt::format(ball_and_ground, 0, 0.1, "plane: {normal: [0, 0, 1]}"), 0.1);
  expect_sinks(run, sinking(10.0));
}

TEST_P(InitialContact, BallAtRestOnAnIncline) {
  // The distance of the centre from the plane is 0.1 up to rounding, so that the gap may have either sign.
  const auto run = completed(fmt::format(ball_and_ground, 0.06, 0.08, "plane: {normal: [0.6, 0, 0.8]}"), 0.05);
  expect_sinks(run, sinking(8.0));
}

TEST_P(InitialContact, BallInABowl) {
  const auto run = completed(fmt::format(ball_and_ground, 0, -0.4, "sphere: {radius: 0.5, concave: true}"), 0.1);
  expect_sinks(run, sinking(10.0));
}

/// Balls of 0.1 m along x, each the partner of the one before.
std::string balls_along(const std::string& axis, int n, const std::string& gravity, const std::string& velocity) {
  std::string text = "gravity: " + gravity + "\nbodies:\n";
  for (int i = 0; i < n; ++i) {
    const double at = 0.05 + 0.1 * i;
    text += fmt::format("  b{}: {{mass: 1, inertia: [0.001, 0.001, 0.001], position: {}{}}}\n", i,
                        axis == "x" ? fmt::format("[{}, 0, 0]", at) : fmt::format("[0, 0, {}]", at),
                        i == 0 ? velocity : std::string());
  }
  text += "contact:\n";
  for (int i = 0; i + 1 < n; ++i) {
    text += fmt::format(R"(  c{}:
    main: {{body: b{}, surface: {{sphere: {{radius: 0.05}}}}}}
    partner: {{body: b{}, surface: {{sphere: {{radius: 0.05}}}}}}
    backend: hertz
    parameters: {{stiffness: 1.0e8, exponent: 1.5}}
)",
                        i, i, i + 1);
  }
  return text;
}

TEST_P(InitialContact, ImpactOnARowOfFiveBalls) {
  const auto run = completed(balls_along("x", 5, "[0, 0, 0]", ", velocity: [1, 0, 0]"), 0.006, 1e-6);
  // In Newton's cradle with Hertz' law and balls in contact, the last one leaves with 0.98878 of the velocity: the five
  // published digits (any integration of x'' = d_{i-1}^1.5 - d_i^1.5 gives them).
  EXPECT_NEAR(run.column("b4.vx_m_s").back(), 0.98878, 1e-5);
  double momentum = 0.0;
  for (int i = 0; i < 5; ++i) momentum += run.column(fmt::format("b{}.vx_m_s", i)).back();
  EXPECT_NEAR(momentum, 1.0, 1e-9);
  // No pair stores more than the total energy: K d^2.5 / 2.5 <= m v^2 / 2.
  for (const auto& contact : run.summary.contacts) {
    EXPECT_LT(contact.max_indentation, std::pow(1.25 / 1.0e8, 0.4));
  }
}

TEST_P(InitialContact, StackAtRest) {
  std::string text = balls_along("z", 3, "[0, 0, -10]", "");
  text += R"(  ground:
    main: {body: b0, surface: {sphere: {radius: 0.05}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: hertz
    parameters: {stiffness: 1.0e8, exponent: 1.5}
)";
  const auto run = completed(text, 0.01, 2e-6);
  // The total energy is that of the fall of the stack: twice the static depth of a linear spring for the whole stack is
  // far more than the indentation of a Hertz contact.
  EXPECT_NEAR(run.summary.energy.balance_error, 0.0, 1e-6);
  for (const char* ball : {"b0", "b1", "b2"}) {
    for (const double v : run.column(std::string(ball) + ".vz_m_s")) EXPECT_LT(std::abs(v), 0.05);
  }
  EXPECT_LT(run.summary.integrator.restarts, 200);
}

/// A cradle of pendulums: the balls at rest are in contact and remain at rest until the wave arrives; rounding changes
/// the sign of their gaps.
TEST_P(InitialContact, HangingCradle) {
  std::string text = balls_along("x", 5, "[0, 0, -10]", ", velocity: [1, 0, 0]");
  text += "joints:\n";
  for (int i = 0; i < 5; ++i) {
    text += fmt::format("  j{}: {{type: revolute, bodies: [ground, b{}], point: [{}, 0, 1], axis: [0, 1, 0]}}\n", i, i,
                        0.05 + 0.1 * i);
  }
  text.replace(text.find("velocity: [1, 0, 0]"), 19, "velocity: [1, 0, 0], angular_velocity: [0, -1, 0]");
  const auto run = completed(text, 0.006, 1e-6);
  // The wave takes a millisecond, in which gravity has no effect on vertical pendulums; moments of inertia make all
  // masses 1.001 kg.
  EXPECT_NEAR(run.column("b4.vx_m_s").back(), 0.98878, 1e-3);
  EXPECT_LT(run.summary.integrator.restarts, 200);
}

/// A ball that passes another and overlaps it by 1e-7 m, within a single step of free flight.
TEST_P(InitialContact, GrazingContactIsDetected) {
  const auto run = completed(R"(
gravity: [0, 0, 0]
bodies:
  post: {mass: 1, inertia: [0.001, 0.001, 0.001]}
  flyer: {mass: 1, inertia: [0.001, 0.001, 0.001], position: [-1, 0, 0.0999999], velocity: [1, 0, 0]}
contact:
  graze:
    main: {body: post, surface: {sphere: {radius: 0.05}}}
    partner: {body: flyer, surface: {sphere: {radius: 0.05}}}
    backend: hertz
    parameters: {stiffness: 1.0e8, exponent: 1.5}
)",
                             2.0);
  ASSERT_EQ(run.summary.contacts.size(), 1U);
  // Contact begins where x^2 = 0.1^2 - 0.0999999^2.
  EXPECT_NEAR(run.summary.contacts[0].onset, 1.0 - std::sqrt(0.01 - 0.0999999 * 0.0999999), 1e-7);
  EXPECT_NEAR(run.summary.contacts[0].max_indentation, 1e-7, 3e-8);
  EXPECT_TRUE(run.summary.contacts[0].end.has_value());
}

/// Two pairs with simultaneous onset.
TEST_P(InitialContact, TwoSimultaneousContacts) {
  const auto run = completed(R"(
gravity: [0, 0, 0]
bodies:
  left: {mass: 1, inertia: [0.001, 0.001, 0.001], position: [-0.5, 0, 0]}
  right: {mass: 1, inertia: [0.001, 0.001, 0.001], position: [0.5, 0, 0]}
  middle: {mass: 2, inertia: [0.001, 0.001, 0.001], position: [0, 0, -1], velocity: [0, 0, 1]}
contact:
  a: &pair
    main: {body: middle, surface: {sphere: {radius: 0.5}}}
    partner: {body: left, surface: {sphere: {radius: 0.3}}}
    backend: hertz
    parameters: {stiffness: 1.0e8, exponent: 1.5}
  b:
    <<: *pair
    partner: {body: right, surface: {sphere: {radius: 0.3}}}
)",
                             1.0);
  ASSERT_EQ(run.summary.contacts.size(), 2U);
  EXPECT_NEAR(run.summary.contacts[0].onset, run.summary.contacts[1].onset, 1e-12);
  // Mirror images remain symmetric: the onset of one pair does not hide that of the other.
  EXPECT_NEAR(run.column("left.vx_m_s").back(), -run.column("right.vx_m_s").back(), 1e-9);
  EXPECT_NEAR(run.column("middle.vx_m_s").back(), 0.0, 1e-9);
}

/// Bodies in contact that separate immediately, and one that is lifted off later.
TEST_P(InitialContact, ImmediateSeparationIsNotPrevented) {
  const auto run = completed(balls_along("x", 2, "[0, 0, 0]", ", velocity: [-1, 0, 0]"), 0.1);
  EXPECT_TRUE(run.summary.contacts.empty());
  EXPECT_NEAR(run.column("b0.x_m").back(), -0.05, 1e-9);
  EXPECT_NEAR(run.column("b1.x_m").back(), 0.15, 1e-9);
}

TEST(GapBetweenStates, FindsContactBetweenTwoStates) {
  // gap = s^3 - 1.5 s^2 + 0.56 s + c on s = t / 2: falls from 0.333 to 0.667.
  const auto at = [](double t, double c) {
    const double s = 0.5 * t;
    return mbs::GapPoint{
        .t = t, .gap = s * (0.56 + s * (-1.5 + s)) + c, .gap_rate = 0.5 * (0.56 + s * (-3.0 + 3.0 * s))};
  };
  const auto low = mbs::lowest_between(at(0.0, 0.01), at(2.0, 0.01));
  ASSERT_TRUE(low.has_value());
  const double s = 0.5 + std::sqrt(0.25 - 0.56 / 3.0);  // roots of 3 s^2 - 3 s + 0.56
  EXPECT_NEAR(low->t, 2.0 * s, 1e-12);
  EXPECT_NEAR(low->gap, at(2.0 * s, 0.01).gap, 1e-12);
  const auto high = mbs::highest_between(at(0.0, 0.01), at(2.0, 0.01));
  ASSERT_TRUE(high.has_value());
  EXPECT_NEAR(high->t, 2.0 * (1.0 - s), 1e-12);
  // No extremum where both rates and the mean rate have the same sign.
  EXPECT_FALSE(mbs::lowest_between({.t = 0, .gap = 1, .gap_rate = -1}, {.t = 1, .gap = 0, .gap_rate = -1}).has_value());
  // A minimum before a second one: rates of equal sign at both ends hide a dip.
  const auto dip = mbs::lowest_between({.t = 0, .gap = 0.1, .gap_rate = 1}, {.t = 1, .gap = 0.1, .gap_rate = 1});
  ASSERT_TRUE(dip.has_value());
  EXPECT_LT(dip->gap, 0.1);
  // gap = s^2 (s - 0.8): at rest initially, with a sign determined by rounding.
  for (const double rate : {0.0, 1e-18, -1e-18}) {
    const auto below = mbs::lowest_between({.t = 0, .gap = 0, .gap_rate = rate}, {.t = 1, .gap = 0.2, .gap_rate = 1.4});
    ASSERT_TRUE(below.has_value()) << rate;
    EXPECT_NEAR(below->t, 1.6 / 3.0, 1e-14);
  }
}

// A named pair without contact reveals nothing about the bodies unless the run reports it.
TEST(NoContact, IsReportedWithTheSmallestGap) {
  const auto log_of = [](double height) {
    const std::string text =
        "heelstrike: 1\n" + fmt::format(ball_and_ground, 0.0, height, "plane: {normal: [0, 0, 1]}") +
        "analysis: {end_time: 0.1, integrator: {name: rk4, step: 1e-3}}\noutput: {interval: 0.01}\n";
    const RecordedRun run = run_local(scenario_from(text));
    EXPECT_EQ(run.summary.status, "completed");
    return run.log;
  };
  // 0.9 m above the ground, and g t^2 / 2 = 50 mm lower at the end.
  EXPECT_THAT(log_of(1.0), Contains(AllOf(HasSubstr("note"), HasSubstr("contact.touch: the bodies never touched"),
                                          HasSubstr("0.85 m at t = 0.1 s"), HasSubstr("length_scale"))));
  EXPECT_THAT(log_of(0.101), Not(Contains(HasSubstr("never touched"))));
}

}  // namespace
}  // namespace heelstrike::test
