// Hybrid analysis: prescribed motion whose height follows from a given vertical force.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "common/errors/error.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using ::testing::HasSubstr;

constexpr double stiffness = 1.0e6;  // [N/m^1.5]

/// A ball of radius 0.1 m is driven along x at height `z`; the required vertical force is 300 sin(pi t) N.
std::string hybrid_ball(const std::string& z, const std::string& type = "hybrid") {
  return R"~(heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  ball: {mass: 1.0, inertia: [0.004, 0.004, 0.004], position: [0, 0, 0.1]}
drivers:
  lead: {body: ball, x: {expression: "0.2 * t"}, y: {polynomial: [0]}, z: {expression: ")~" +
         z + R"~("}, rx: {polynomial: [0]}, ry: {polynomial: [0]}, rz: {polynomial: [0]}}
contact:
  ball-ground:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: hertz
    parameters: {stiffness: 1.0e6}
analysis:
  type: )~" +
         type + R"~(
  end_time: 1.0
  balance:
    ball: {bodies: [ball], force: {expression: "300 * sin(pi * t)"}}
output: {interval: 0.05}
)~";
}

TEST(Hybrid, HeightFollowsFromTheForce) {
  // Prescribed 3 mm too low, without effect: the force determines the height.
  const auto run = run_local(scenario_from(hybrid_ball("0.097")));
  ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
  const auto t = run.column("time_s"), force = run.column("ball-ground.fz_N"), z = run.column("ball.z_m"),
             x = run.column("ball.x_m"), shift = run.column("ball.shift_m");
  ASSERT_EQ(t.size(), 21U);
  for (std::size_t i = 0; i < t.size(); ++i) {
    const double target = 300.0 * std::sin(std::numbers::pi * t[i]);
    EXPECT_NEAR(x[i], 0.2 * t[i], 1e-12);
    EXPECT_NEAR(z[i], 0.097 + shift[i], 1e-12);
    if (target < 20.0) {
      EXPECT_EQ(force[i], 0.0) << t[i];
      // Lifted by a clearance of one micrometre.
      EXPECT_NEAR(z[i], 0.1, 2e-6) << t[i];
      continue;
    }
    // The search ends at 1e-6 of the force; Hertz: depth = (F / k)^(2/3).
    EXPECT_NEAR(force[i], target, 2e-6 * target) << t[i];
    EXPECT_NEAR(z[i], 0.1 - std::pow(target / stiffness, 2.0 / 3.0), 1e-8) << t[i];
  }
}

// Up to the peak the contact has stored 2/5 F d, the work of the vertical force.
TEST(Hybrid, WorkOfTheShiftIsIncluded) {
  const auto run = run_local(scenario_from(hybrid_ball("0.097"), {"analysis.end_time=0.5", "output.interval=0.005"}));
  ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
  const double stored = 0.4 * 300.0 * std::pow(300.0 / stiffness, 2.0 / 3.0);
  // At the threshold the force jumps by 20 N: half of that over its depth of 0.7 mm instead of two fifths, 1.5 mJ.
  EXPECT_NEAR(run.summary.energy.balance_error, 0.0, 5e-3 * stored);
}

TEST(Hybrid, StartsFromALargeDistance) {
  const auto run = run_local(scenario_from(hybrid_ball("0.16")));
  ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
  EXPECT_EQ(run.summary.integrator.rejected_steps, 0);
  EXPECT_NEAR(run.column("ball-ground.fz_N")[10], 300.0, 1e-3);
  EXPECT_NEAR(run.column("ball.shift_m")[0], 0.0, 0.0) << "nothing to lift in swing";
}

TEST(Hybrid, KinematicAnalysisKeepsThePrescribedPoses) {
  const auto run = run_local(scenario_from(hybrid_ball("0.099", "kinematic")));
  ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
  for (const double force : run.column("ball-ground.fz_N")) {
    EXPECT_NEAR(force, stiffness * std::pow(0.001, 1.5), 1e-6);
  }
}

TEST(Hybrid, ErrorsNameTheirRemedy) {
  const auto rejection_error = [](const std::string& text) {
    try {
      (void)run_local(scenario_from(text));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  const std::string good = hybrid_ball("0.1");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_THAT(rejection_error(with("bodies: [ball], force", "bodies: [bal], force")),
              HasSubstr("did you mean 'ball'?"));
  EXPECT_THAT(rejection_error(with("type: hybrid", "type: forward")), HasSubstr("`type: hybrid`"));
  EXPECT_THAT(rejection_error(with("{expression: \"300 * sin(pi * t)\"}", "{plate: walk.right}")),
              HasSubstr("a foot with the key `plate`"));
  EXPECT_THAT(rejection_error(with("gravity: [0, 0, -9.81]", "gravity: [0, 0, 0]")), HasSubstr("gravity"));
  std::string none = good.substr(0, good.find("  balance:")) + "output: {interval: 0.05}\n";
  EXPECT_THAT(rejection_error(none), HasSubstr("balance"));
}

}  // namespace
}  // namespace heelstrike::test
