// Static analysis against equilibria in closed form.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using ::testing::HasSubstr;

std::string at_rest(const std::string& model, const std::string& analysis = "end_time: 1") {
  return "heelstrike: 1\ngravity: [0, 0, -10]\n" + model + "analysis: {type: static, " + analysis +
         "}\noutput: {interval: 0.25}\n";
}

RecordedRun completed(const std::string& text) {
  auto run = run_local(scenario_from(text));
  EXPECT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
  return run;
}

TEST(Static, SpringEquilibriumBalancesTheWeight) {
  const auto run = completed(at_rest(R"(
bodies:
  bob: {mass: 2, inertia: [0.01, 0.01, 0.01], position: [0.1, 0.2, -1]}
forces:
  coil: {type: spring_damper, bodies: [ground, bob], points: [[0, 0, 0], [0, 0, 0]], stiffness: 100, length: 1, damping: 3}
)"));
  ASSERT_EQ(run.rows.size(), 1U);
  // m g / k = 0.2 m; the spring pulls the bob below its hook. A residual of 1e-10 of 20 N is 2e-11 m, sideways with the
  // stiffness m g / l.
  EXPECT_NEAR(run.column("bob.z_m")[0], -1.2, 1e-9);
  EXPECT_NEAR(run.column("bob.x_m")[0], 0.0, 1e-8);
  EXPECT_NEAR(run.column("bob.y_m")[0], 0.0, 1e-8);
  EXPECT_EQ(run.summary.integrator.steps, 1);
}

// Fields lie on equilibria: one set for each row at or after a time of the grid of fields.
TEST(Static, FieldsAreWrittenWithTheirRows) {
  const auto run = completed(R"(heelstrike: 1
gravity: [0, 0, -10]
bodies:
  ball: {mass: 1, inertia: [0.004, 0.004, 0.004], position: [0, 0, 0.0999]}
loads:
  push: {body: ball, fz: {expression: "-5 * t"}}
contact:
  ball-ground:
    main: {body: ball, surface: {sphere: {radius: 0.1}}, material: {youngs_modulus: 1e6, poissons_ratio: 0.3}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: elastic_foundation
    parameters: {thickness: 0.01}
analysis: {type: static, end_time: 1}
output: {interval: 0.25, fields: {interval: 0.5}}
)");
  std::vector<double> times;
  for (const auto& frame : run.fields) {
    if (times.empty() || times.back() != frame.time) times.push_back(frame.time);
  }
  EXPECT_THAT(times, testing::ElementsAre(0.0, 0.5, 1.0));
}

TEST(Static, BallOnTheGroundFollowsHertz) {
  for (const double z : {0.0999, 0.15, 1.1}) {
    const auto run = completed(at_rest(R"(
bodies:
  ball: {mass: 1, inertia: [0.004, 0.004, 0.004], position: [0.3, -0.2, )" +
                                       std::to_string(z) + R"(]}
contact:
  ball-ground:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: hertz
    parameters: {stiffness: 1.0e8, exponent: 1.5}
)"));
    const double depth = std::pow(10.0 / 1.0e8, 1.0 / 1.5);
    // Rounding of positions times the stiffness 1.5 K sqrt(depth) is 1e-11 of the weight.
    EXPECT_NEAR(run.column("ball-ground.indentation_m")[0] / depth, 1.0, 1e-9) << "from z = " << z;
    EXPECT_NEAR(run.column("ball-ground.fz_N")[0], 10.0, 1e-7);
    // Without lateral support: there it stays.
    EXPECT_NEAR(run.column("ball.x_m")[0], 0.3, 1e-9);
    EXPECT_NEAR(run.column("ball.y_m")[0], -0.2, 1e-9);
    EXPECT_EQ(run.summary.contact_commits, 2) << "the start, and the equilibrium";
    ASSERT_EQ(run.summary.contacts.size(), 1U);
  }
}

/// @param direction  of the springs' forces
/// @param more       of the section `analysis`
/// @param shape      of both surfaces
std::string knee_under_load(double y, double load, const std::string& direction, const std::string& more = "",
                            const std::string& shape = "") {
  return fmt::format(R"(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  femur: {{mass: 1, inertia: [0.01, 0.01, 0.01], position: [0, {}, 0], orientation: [0.9659258262890683, 0, 0, 0.25881904510252074]}}
joints:
  slide: {{type: prismatic, bodies: [ground, femur], point: [0, 0, 0], axis: [0, 1, 0]}}
loads:
  weight: {{body: femur, force: [0, {}, 0], point: [0, 0, 0]}}
contact:
  knee:
    main: {{body: ground, surface: {{knee: {{part: tibia{}}}}}, material: {{youngs_modulus: 4.0e6, poissons_ratio: 0.45, density: 1100}}}}
    partner: {{body: femur, surface: {{knee: {{part: femur{}}}}}, material: {{youngs_modulus: 4.0e6, poissons_ratio: 0.45, density: 1100}}}}
    backend: elastic_foundation
    parameters: {{thickness: 0.0025, partner_thickness: 0.002, strain: large, direction: {}}}
analysis: {{type: static, end_time: 1{}}}
output: {{interval: 1}}
)",
                     y, -load, shape, shape, direction, more);
}

// Open surfaces, which a long load step may cross undetected. Forces along the normals of the tibia, since those of
// `energy` jump from facet to facet and may have no equilibrium: the solution does not depend on the start of the
// femur.
TEST(Static, KneeConvergesFromAnyHeight) {
  for (const double load : {200.0, 1000.0}) {
    std::vector<double> heights;
    for (const double y : {0.0001, 0.002, 0.01, 0.03}) {
      const auto run = completed(knee_under_load(y, load, "normal"));
      heights.push_back(run.column("femur.y_m")[0]);
      // Accepted between facets, with a warning.
      EXPECT_NEAR(run.column("knee.fy_N")[0], -load, 1e-5 * load) << "from " << y << " m";
    }
    // At 1e5 N/m and more the allowed residual is a hundredth of this.
    for (const double height : heights) EXPECT_NEAR(height, heights[0], 1e-6 * load / 1e2);
  }
}

// Forces that jump from one coarse facet to the next have no equilibrium to ten digits; the scenario sets the
// tolerance.
TEST(Static, ResidualToleranceIsASettingOfTheScenario) {
  int exact = 0;
  const std::string coarse = ", edge: 0.012";
  for (const double load : {200.0, 300.0, 500.0}) {
    const auto strict =
        run_local(scenario_from(knee_under_load(0.002, load, "energy", ", max_residual: 1.0e-10", coarse)));
    if (strict.summary.status == "completed") {
      ++exact;
    } else {
      ASSERT_TRUE(strict.summary.error);
      EXPECT_THAT(strict.summary.error->what(), HasSubstr("raise analysis.max_residual"));
    }
    const auto lenient = completed(knee_under_load(0.002, load, "energy", ", max_residual: 0.01", coarse));
    EXPECT_NEAR(lenient.column("knee.fy_N").at(0), -load, 0.01 * load);
  }
  EXPECT_LT(exact, 3) << "no force jumped, so that nothing was tested";
}

/// A parallelogram of cranks and coupler of 1 m and 1 kg, supported by a horizontal spring at the coupler: with the
/// angle a of the cranks from the vertical, 2 m g sin a / 1 (two cranks at half height and the coupler) = k (d - sin a)
/// cos a.
TEST(Static, FourBarWithASpringFollowsTheClosedForm) {
  const auto run = completed(at_rest(R"(
bodies:
  left: {mass: 1, inertia: [0.083, 0.083, 0.001], position: [0, 0, 0.5]}
  right: {mass: 1, inertia: [0.083, 0.083, 0.001], position: [1, 0, 0.5]}
  coupler: {mass: 1, inertia: [0.001, 0.083, 0.083], position: [0.5, 0, 1]}
joints:
  a: {type: revolute, bodies: [ground, left], point: [0, 0, 0], axis: [0, 1, 0]}
  b: {type: spherical, bodies: [left, coupler], point: [0, 0, 1], reactions: true}
  c: {type: revolute, bodies: [coupler, right], point: [1, 0, 1], axis: [0, 1, 0]}
  d: {type: revolute, bodies: [ground, right], point: [1, 0, 0], axis: [0, 1, 0]}
forces:
  coil: {type: torsional_spring, joint: a, stiffness: 30, neutral: 0.5}
)"));
  // Potential m g (0.5 + 0.5 + 1) cos a + 15 (a - 0.5)^2: 20 sin a = 30 (a - 0.5).
  double angle = 1.0;
  for (int i = 0; i < 50; ++i) angle -= (20 * std::sin(angle) - 30 * (angle - 0.5)) / (20 * std::cos(angle) - 30);
  EXPECT_NEAR(run.column("coupler.x_m")[0], 0.5 + std::sin(angle), 1e-8);
  EXPECT_NEAR(run.column("coupler.z_m")[0], std::cos(angle), 1e-8);
  EXPECT_NEAR(run.column("coupler.qy")[0], 0.0, 1e-9) << "the coupler remains level";
  EXPECT_LT(run.summary.max_position_violation, 1e-12);
}

TEST(Static, WorkOfADriverIsTheSpringEnergy) {
  const auto run = completed(at_rest(R"(
bodies:
  slider: {mass: 1, inertia: [0.01, 0.01, 0.01]}
  bob: {mass: 3, inertia: [0.01, 0.01, 0.01], position: [0, 0, -1]}
joints:
  rail: {type: prismatic, bodies: [ground, slider], point: [0, 0, 0], axis: [0, 0, 1]}
drivers:
  lift: {joint: rail, displacement: {expression: "0.2*t"}}
forces:
  coil: {type: spring_damper, bodies: [slider, bob], points: [[0, 0, 0], [0, 0, 0]], stiffness: 300, length: 1}
)"));
  ASSERT_EQ(run.rows.size(), 5U);
  const auto t = run.column("time_s");
  const auto z = run.column("bob.z_m");
  for (std::size_t i = 0; i < t.size(); ++i) EXPECT_NEAR(z[i], 0.2 * t[i] - 1.1, 1e-9) << t[i];
  // The driver carries both weights over 0.2 m.
  EXPECT_NEAR(run.column("driver_lift.slider.fz_N")[2], 40.0, 1e-7);
  EXPECT_NEAR(run.summary.energy.external_work, 8.0, 1e-7);
  // Between two equilibria energy may vanish without a dissipation, e.g. where a solution snaps through.
  EXPECT_TRUE(std::isnan(run.summary.energy.balance_error)) << "a static solution has no energy balance";
}

TEST(Static, DriverPressesABallFollowingHertz) {
  const auto run = completed(at_rest(R"(
bodies:
  press: {mass: 1, inertia: [0.01, 0.01, 0.01], position: [0, 0, 0.2]}
  ball: {mass: 1, inertia: [0.004, 0.004, 0.004], position: [0, 0, 0.1]}
joints:
  guide: {type: prismatic, bodies: [ground, press], point: [0, 0, 0.2], axis: [0, 0, 1]}
  rail: {type: prismatic, bodies: [ground, ball], point: [0, 0, 0.1], axis: [0, 0, 1]}
drivers:
  push: {joint: guide, displacement: {polynomial: [0, -0.001]}}
contact:
  top:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: press, surface: {plane: {normal: [0, 0, -1]}}}
    backend: hertz
    parameters: {stiffness: 1.0e8, exponent: 1.5}
  bottom:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: hertz
    parameters: {stiffness: 1.0e8, exponent: 1.5}
)"));
  ASSERT_EQ(run.rows.size(), 5U);
  for (std::size_t i = 1; i < run.rows.size(); ++i) {
    const double top = run.column("top.indentation_m")[i];
    const double bottom = run.column("bottom.indentation_m")[i];
    EXPECT_NEAR(top + bottom, 0.001 * run.column("time_s")[i], 1e-12);
    // The lower contact carries the ball's weight too.
    EXPECT_NEAR(1e8 * (std::pow(bottom, 1.5) - std::pow(top, 1.5)), 10.0, 1e-6);
  }
  EXPECT_EQ(run.summary.contact_commits, 6) << "the start, and five equilibria";
  EXPECT_EQ(run.summary.contacts.size(), 2U);
}

// From one row to the next the press goes down by twice the thickness of the layer, which would be compressed
// completely; in quarters of the load step the ball moves.
TEST(Static, LargeLoadStepIsBisected) {
  const auto run = completed(R"(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  press: {mass: 1, inertia: [0.01, 0.01, 0.01], position: [0, 0, 0.2001]}
  ball: {mass: 1, inertia: [0.004, 0.004, 0.004], position: [0, 0, 0.1]}
joints:
  guide: {type: prismatic, bodies: [ground, press], point: [0, 0, 0.2], axis: [0, 0, 1]}
  rail: {type: prismatic, bodies: [ground, ball], point: [0, 0, 0.1], axis: [0, 0, 1]}
drivers:
  push: {joint: guide, displacement: {polynomial: [0, -0.02]}}
forces:
  coil: {type: spring_damper, bodies: [ground, ball], points: [[0, 0, -1], [0, 0, 0]], stiffness: 1000, length: 1.1}
contact:
  top:
    main: {body: ball, surface: {sphere: {radius: 0.1}}, material: {youngs_modulus: 1e6, poissons_ratio: 0.3}}
    partner: {body: press, surface: {plane: {normal: [0, 0, -1]}}}
    backend: elastic_foundation
    parameters: {thickness: 0.005}
analysis: {type: static, end_time: 1}
output: {interval: 0.5}
)");
  ASSERT_EQ(run.rows.size(), 3U);
  EXPECT_GT(run.summary.integrator.steps, 3);
  EXPECT_THAT(run.log, testing::Contains(HasSubstr("no equilibrium found at t = 0.5 s from that at 0 s")));
  for (std::size_t i = 1; i < run.rows.size(); ++i) {
    const double pressed = 1000.0 * (0.1 - run.column("ball.z_m")[i]);
    EXPECT_GT(pressed, 5.0 * static_cast<double>(i));
    EXPECT_NEAR(std::abs(run.column("top.fz_N")[i]), pressed, 1e-7 * pressed);
  }
}

// Predicted from three equilibria h = 0.025 s apart, the next one has an error of h^3 / 6 of the load's third
// derivative, about 1e-5 of the load at its tenfold first steps: Newton's method doubles the digits from there to 1e-10
// in two steps with three evaluations. A start from the last equilibrium, h of the load away, needs four or more.
TEST(Static, EquilibriumIsPredictedFromThePrecedingOnes) {
  const std::string model = R"(
bodies:
  ball: {mass: 1, inertia: [0.004, 0.004, 0.004], position: [0, 0, 0.0999]}
loads:
  push: {body: ball, fz: {expression: "LOAD"}}
contact:
  ball-ground:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: hertz
    parameters: {stiffness: 1.0e8, exponent: 1.5}
analysis: {type: static, end_time: 1}
output: {interval: 0.025}
)";
  const auto at_penetration = [&](const std::string& load) {
    std::string text = "heelstrike: 1\ngravity: [0, 0, -10]\n" + model;
    text.replace(text.find("LOAD"), 4, load);
    return completed(text);
  };
  const auto smooth = at_penetration("-500 * sin(t)");
  ASSERT_EQ(smooth.rows.size(), 41U);
  // 20 for the first three.
  EXPECT_LE(smooth.summary.contact_evaluations, 3 * 38 + 20);
  // A wrong prediction only costs time: here every second load is a thousandth of the others.
  const auto jumping = at_penetration("-250.25 + 249.75 * cos(t * 40 * pi)");
  ASSERT_EQ(jumping.rows.size(), 41U);
  for (const auto* run : {&smooth, &jumping}) {
    for (std::size_t i = 0; i < run->rows.size(); ++i) {
      const double t = run->column("time_s")[i];
      const double push =
          run == &smooth ? 500.0 * std::sin(t) : 250.25 - 249.75 * std::cos(t * 40.0 * std::numbers::pi);
      EXPECT_NEAR(1e8 * std::pow(run->column("ball-ground.indentation_m")[i], 1.5), 10.0 + push, 1e-7 * (10.0 + push))
          << "at " << t << " s";
    }
  }
}

TEST(Static, VibratingBodyIsRejected) {
  const auto with_modes = [](int modes) {
    return run_local(scenario_from(at_rest(fmt::format(R"(
bodies:
  block: {{mass: 1, inertia: [1.0e-4, 1.0e-4, 1.0e-4], position: [0, 0, 0.0099]}}
joints:
  slide: {{type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [0, 0, 1]}}
contact:
  block-ground:
    main: {{body: block, surface: {{block: {{lengths: [0.02, 0.02, 0.02]}}}}, material: {{youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: 1000}}}}
    partner: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: fem_modal
    parameters: {{element_size: 0.01, clamped_box: [-1, -1, 0.0099, 1, 1, 1], contact_direction: [0, 0, -1], modes: {}}}
)",
                                                       modes))));
  };
  const auto vibrates = with_modes(3);
  ASSERT_TRUE(vibrates.summary.error.has_value());
  EXPECT_EQ(vibrates.summary.error->field(), "contact.block-ground.backend");
  EXPECT_THAT(vibrates.summary.error->what(), HasSubstr("vibrates in time"));
  EXPECT_EQ(with_modes(0).summary.status, "completed") << "without modes it is at rest";
}

// Modes of a clamped body assume a fixed support: where the body moves, its mass would count twice.
TEST(Forward, VibratingBodyWithAMovingClampIsRejected) {
  const auto hits = [](const std::string& support) {
    return run_local(scenario_from(fmt::format(R"(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  block: {{mass: 0.008, inertia: [1.0e-6, 1.0e-6, 1.0e-6], position: [0, 0, 0.0100001], velocity: [0, 0, -0.1]}}
contact:
  block-ground:
    main: {{body: block, surface: {{block: {{lengths: [0.02, 0.02, 0.02]}}}}, material: {{youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: 1000}}}}
    partner: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: fem_modal
    parameters: {{element_size: 0.01, {}, contact_direction: [0, 0, -1], modes: 3}}
analysis: {{end_time: 1.0e-4}}
output: {{interval: 1.0e-4}}
)",
                                               support)));
  };
  const auto clamped = hits("clamped_box: [-1, -1, 0.0099, 1, 1, 1]");
  ASSERT_TRUE(clamped.summary.error.has_value());
  EXPECT_EQ(clamped.summary.error->field(), "contact.block-ground.parameters.support");
  EXPECT_THAT(clamped.summary.error->what(), HasSubstr("count twice"));
  EXPECT_EQ(hits("support: inertia_relief").summary.status, "completed");
}

TEST(Static, SystemWithoutEquilibriumIsReported) {
  const auto falls = run_local(scenario_from(at_rest(R"(
bodies:
  held: {mass: 1, inertia: [0.01, 0.01, 0.01]}
  stone: {mass: 4, inertia: [0.01, 0.01, 0.01], position: [1, 0, 0]}
joints:
  hook: {type: spherical, bodies: [ground, held], point: [0, 0, 0.3]}
)")));
  EXPECT_EQ(falls.summary.status, "failed");
  ASSERT_TRUE(falls.summary.error.has_value());
  EXPECT_EQ(falls.summary.error->code(), ErrorCode::solver_failed);
  EXPECT_THAT(falls.summary.error->what(), HasSubstr("static: no equilibrium found at t = 0 s"));
  EXPECT_THAT(falls.summary.error->what(), HasSubstr("40 N and"));
  EXPECT_THAT(falls.summary.error->what(), HasSubstr("on body 'stone'"));
}

TEST(Static, InsufficientContactIsReportedWithItsForce) {
  // A wind of 30 N sideways on a ball without friction: it slides for ever.
  const auto slides = run_local(scenario_from(at_rest(R"(
bodies:
  ball: {mass: 1, inertia: [0.004, 0.004, 0.004], position: [0, 0, 0.1]}
loads:
  wind: {body: ball, force: [30, 0, 0]}
contact:
  ball-ground:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: hertz
    parameters: {stiffness: 1.0e6, exponent: 1.5}
)")));
  ASSERT_TRUE(slides.summary.error.has_value());
  EXPECT_THAT(slides.summary.error->what(), HasSubstr("30 N and"));
  EXPECT_THAT(slides.summary.error->what(), HasSubstr("contact 'ball-ground' exerts 10 N"));
}

}  // namespace
}  // namespace heelstrike::test
