// Muscle optimisation against closed-form redundancy problems, and its derivatives against differences.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "fem_server/sessions/local_contact.hpp"
#include "mbs_server/analysis/muscle_optimization.hpp"
#include "mbs_server/simulation/coupled_model.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using ::testing::HasSubstr;

std::string muscle_text(const std::string& name, double force, double fiber, const std::string& from,
                        const std::string& to, const std::string& body = "arm", double tendon = 0.2) {
  return fmt::format(
      "  {}: {{type: muscle, max_isometric_force: {}, optimal_fiber_length: {}, tendon_slack_length: {}, "
      "path: [{{body: ground, point: {}}}, {{body: {}, point: {}}}]}}\n",
      name, force, fiber, tendon, from, body, to);
}

/// An arm of 2 kg on a hinge along z at the origin, its centre of mass at 0.3 m, held by muscles.
std::string held_arm(const std::string& muscles, const std::string& analysis,
                     const std::string& angle = "polynomial: [0]") {
  return "heelstrike: 1\ngravity: [0, -10, 0]\n"
         "bodies:\n  arm: {mass: 2, center_of_mass: [0.3, 0, 0], inertia: [0.01, 0.02, 0.02]}\n"
         "joints:\n  elbow:\n    type: custom\n    bodies: [ground, arm]\n    coordinates: {flexion: {}}\n"
         "    rotations: [{axis: [0, 0, 1], of: {flexion: {polynomial: [0, 1]}}}, {axis: [1, 0, 0]}, {axis: [0, 1, "
         "0]}]\n"
         "drivers:\n  motion: {coordinates: {flexion: {follows: {" +
         angle + "}}}}\nforces:\n" + muscles +
         "analysis: {type: muscle_optimization, end_time: 0.1, primary: [flexion], " + analysis +
         "}\noutput: {interval: 0.1}\n";
}

RecordedRun completed_frames(const std::string& text) {
  auto run = run_local(scenario_from(text));
  EXPECT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
  return run;
}

/// Lever arm about the origin of a line from P to Q on the arm.
double lever_arm(const Vector3& p_P, const Vector3& p_Q) {
  return p_Q.cross((p_P - p_Q).normalized()).z();
}

// min sum V_i a_i^2 subject to sum a_i F_i r_i = M has a_i proportional to F_i r_i / V_i, with V_i = F_i l_i to r_i /
// l_i.
TEST(MuscleOptimization, TwoMusclesOverAHingeShareTheLoadByLeverAndFibreLength) {
  const auto run = completed_frames(held_arm(muscle_text("near", 800, 0.1, "[0, 0.3, 0]", "[0.04, 0, 0]") +
                                                 muscle_text("far", 500, 0.15, "[0.02, 0.3, 0]", "[0.08, 0, 0]"),
                                             "muscle_force: isometric, reserve: 0"));
  const double r_1 = lever_arm({0, 0.3, 0}, {0.04, 0, 0});
  const double r_2 = lever_arm({0.02, 0.3, 0}, {0.08, 0, 0});
  const double M = 2.0 * 10.0 * 0.3;
  const double share_1 = r_1 / 0.1;
  const double share_2 = r_2 / 0.15;
  const double lambda = M / (800 * r_1 * share_1 + 500 * r_2 * share_2);
  for (const std::size_t row : {0U, 1U}) {
    EXPECT_NEAR(run.column("near.activation")[row], lambda * share_1, 1e-7);
    EXPECT_NEAR(run.column("far.activation")[row], lambda * share_2, 1e-7);
    EXPECT_NEAR(run.column("flexion.muscles_Nm")[row], M, 1e-6);
    EXPECT_LT(std::abs(run.column("optimization.acceleration_error")[row]), 1e-6);
    EXPECT_LT(run.column("optimization.stationarity")[row], 1e-6);
  }
}

// With a reserve r: a_i = mu F_i r_i / (2 w_i), r = mu r_0^2 / (2 w_r), and their sum is the load.
TEST(MuscleOptimization, AReserveTakesItsShare) {
  const auto run =
      completed_frames(held_arm(muscle_text("only", 800, 0.1, "[0, 0.3, 0]", "[0.04, 0, 0]"),
                                "muscle_force: isometric, muscle_weight: unit, reserve_weight: 3, reserve: 5"));
  const double Fr = 800 * lever_arm({0, 0.3, 0}, {0.04, 0, 0});
  const double mu = 6.0 / (Fr * Fr / 2.0 + 25.0 / 6.0);
  EXPECT_NEAR(run.column("only.activation")[0], mu * Fr / 2.0, 1e-7);
  EXPECT_NEAR(run.column("flexion.reserve_Nm")[0], mu * 25.0 / 6.0, 1e-6);
}

// The load of the inertia grows (falls) by c t: the muscle follows as fast as its excitation 1 (0.01) lets it, by the
// closed solutions of da/dt = (1 - a) / (tau_a (0.5 + 1.5 a)) and da/dt = (u - a) (0.5 + 1.5 a) / tau_d.
TEST(MuscleOptimization, ActivationsFollowTheirDynamics) {
  constexpr double interval = 0.01, tau_a = 0.01, tau_d = 0.04, u = 0.01;
  const auto activations = [&](double c, bool dynamics) {
    const std::string text = held_arm(muscle_text("only", 800, 0.1, "[0, 0.3, 0]", "[0.04, 0, 0]"),
                                      fmt::format("muscle_force: isometric, activation_dynamics: {}", dynamics),
                                      fmt::format("polynomial: [0, 0, 0, {}]", c / 6.0));
    auto run = run_local(scenario_from(text, {"analysis.end_time=0.02", fmt::format("output.interval={}", interval)}));
    EXPECT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
    return run.column("only.activation");
  };
  // 0.2 kg m^2 times c t exceeds the largest moment of the muscle, 800 N at 0.04 m.
  constexpr double c = 32.0 / 0.2 / interval;
  const auto free = activations(c, false);
  EXPECT_NEAR(free[1], 1.0, 1e-6);
  const auto risen = activations(c, true);
  const auto rise = [](double a) { return -2.0 * std::log(1.0 - a) - 1.5 * a; };
  EXPECT_LT(risen[1], 0.9);
  for (const std::size_t row : {1U, 2U}) EXPECT_NEAR(rise(risen[row]) - rise(risen[row - 1]), interval / tau_a, 1e-6);
  EXPECT_NEAR(activations(-c, false)[1], u, 1e-6);
  const auto fallen = activations(-c, true);
  const auto ratio = [](double a) { return (a - u) / (0.5 + 1.5 * a); };
  EXPECT_GT(fallen[1], 2.0 * u);
  for (const std::size_t row : {1U, 2U}) {
    EXPECT_NEAR(std::log(ratio(fallen[row]) / ratio(fallen[row - 1])), -(0.5 + 1.5 * u) * interval / tau_d, 1e-5);
  }
}

// An exponent p shares by the power 1 / (p - 1).
TEST(MuscleOptimization, ALargerExponentSharesMoreEvenly) {
  const auto run =
      completed_frames(held_arm(muscle_text("near", 800, 0.1, "[0, 0.3, 0]", "[0.04, 0, 0]") +
                                    muscle_text("far", 500, 0.1, "[0.02, 0.3, 0]", "[0.08, 0, 0]"),
                                "muscle_force: isometric, muscle_weight: unit, activation_exponent: 3, reserve: 0"));
  const double near = std::sqrt(800 * lever_arm({0, 0.3, 0}, {0.04, 0, 0}));
  const double far = std::sqrt(500 * lever_arm({0.02, 0.3, 0}, {0.08, 0, 0}));
  EXPECT_NEAR(run.column("near.activation")[0] / run.column("far.activation")[0], near / far, 1e-5);
}

TEST(MuscleOptimization, AMuscleAtItsLimitLeavesTheRestToTheOther) {
  const auto run = completed_frames(held_arm(muscle_text("weak", 60, 0.1, "[0, 0.3, 0]", "[0.04, 0, 0]") +
                                                 muscle_text("strong", 800, 0.3, "[0, 0.3, 0]", "[0.02, 0, 0]") +
                                                 muscle_text("against", 500, 0.1, "[0, -0.3, 0]", "[0.04, 0, 0]"),
                                             "muscle_force: isometric, reserve: 0"));
  const double r_w = lever_arm({0, 0.3, 0}, {0.04, 0, 0});
  const double r_s = lever_arm({0, 0.3, 0}, {0.02, 0, 0});
  EXPECT_NEAR(run.column("weak.activation")[0], 1.0, 1e-9);
  EXPECT_NEAR(run.column("against.activation")[0], 0.01, 1e-9);  // the lower limit
  EXPECT_NEAR(run.column("strong.activation")[0], (6.0 + 0.01 * 500 * r_w - 60 * r_w) / (800 * r_s), 1e-7);
}

// M qdd with qdd = 4: the inertia about the hinge is 2 * 0.09 + 0.02.
TEST(MuscleOptimization, TheLoadIncludesInertia) {
  const auto run = completed_frames(held_arm(muscle_text("near", 800, 0.1, "[0, 0.3, 0]", "[0.04, 0, 0]"),
                                             "muscle_force: isometric, reserve: 0", "polynomial: [0, 0, 2]"));
  EXPECT_NEAR(run.column("flexion.muscles_Nm")[0], 6.0 + 0.2 * 4.0, 1e-6);
}

TEST(MuscleOptimization, TheHillModelUsesLengthAndVelocityOfTheFibres) {
  const auto run = completed_frames(
      held_arm(muscle_text("near", 800, 0.1, "[0, 0.3, 0]", "[0.04, 0, 0]"), "reserve: 0", "polynomial: [0, 0.5]"));
  EXPECT_NEAR(run.column("near.force_N")[0] * lever_arm({0, 0.3, 0}, {0.04, 0, 0}), 6.0, 1e-6);
  EXPECT_GT(run.column("near.activation")[0] - 6.0 / (800 * lever_arm({0, 0.3, 0}, {0.04, 0, 0})), 1e-3);
}

/// A block that moves in the plane: y is held against a load by a muscle that also pulls along x against a spring.
std::string pulled_block(const std::string& analysis, double damping = 30.0) {
  return "heelstrike: 1\ngravity: [0, 0, 0]\nbodies:\n  block: {mass: 2, inertia: [0.01, 0.01, 0.01]}\n"
         "joints:\n  slide:\n    type: custom\n    bodies: [ground, block]\n    coordinates: {x: {}, y: {}}\n"
         "    translations: [{axis: [1, 0, 0], of: {x: {polynomial: [0, 1]}}}, {axis: [0, 1, 0], of: {y: {polynomial: "
         "[0, "
         "1]}}}, {axis: [0, 0, 1]}]\n"
         "loads:\n  weight: {body: block, force: [0, -40, 0]}\n"
         "drivers:\n  motion: {coordinates: {y: {follows: {polynomial: [0]}}}}\nforces:\n" +
         muscle_text("pull", 500, 0.1, "[-0.3, 0.4, 0]", "[0, 0, 0]", "block", 0.4) +
         fmt::format("  spring: {{type: coordinate_spring, coordinate: x, stiffness: 1000, damping: {}}}\n", damping) +
         "analysis: {type: muscle_optimization, end_time: 0.1, primary: [y], " + analysis +
         "}\noutput: {interval: 0.1}\n";
}

// T 0.4 / l = L and k x = -T (0.3 + x) / l give x = -0.3 L / (0.4 k + L).
TEST(MuscleOptimization, ASecondaryCoordinateIsInEquilibrium) {
  const auto run = completed_frames(pulled_block("secondary: [x], muscle_force: isometric, reserve: 0", 0.0));
  const double x = -0.3 * 40.0 / (0.4 * 1000.0 + 40.0);
  const double l = std::hypot(0.3 + x, 0.4);
  for (const std::size_t row : {0U, 1U}) {
    EXPECT_NEAR(run.column("x.value_m")[row], x, 1e-8);
    EXPECT_NEAR(run.column("block.x_m")[row], x, 1e-8);
    EXPECT_NEAR(run.column("pull.force_N")[row], 40.0 * l / 0.4, 1e-6);
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

// Also if a spring has the name of its coordinate, as in models of OpenSim.
TEST(MuscleOptimization, EveryCoordinateHasOneColumn) {
  std::string text = pulled_block("secondary: [x], muscle_force: isometric, reserve: 0", 0.0);
  text = replaced(text, "  spring: {", "  x: {");
  text = replaced(text, "coordinates: {x: {}, y: {}}", "coordinates: {x: {}, y: {}, z: {}}");
  text = replaced(text, "{axis: [0, 0, 1]}", "{axis: [0, 0, 1], of: {z: {polynomial: [0, 1]}}}");
  text = replaced(text, "polynomial: [0]}}}}", "polynomial: [0]}}, z: {follows: {polynomial: [0.02]}}}}");
  const auto run = completed_frames(text);
  EXPECT_NEAR(run.column("z.value_m")[1], 0.02, 1e-12) << "recorded, neither primary nor secondary";
  std::set<std::string> names;
  for (const Column& column : run.columns) EXPECT_TRUE(names.insert(column.name).second) << column.name;
}

// Backward Euler: k x + c (x - x_before) / h = -L (0.3 + x) / 0.4. Before the first frame, the muscle pulls with 0.02
// of its maximum force: k x = -T (0.3 + x) / l.
TEST(MuscleOptimization, DampersActOnTheChangeSinceTheLastFrame) {
  const double c = 30.0;
  const auto run = completed_frames(pulled_block("secondary: [x], muscle_force: isometric, reserve: 0", c));
  double x = 0.0;
  for (int i = 0; i < 100; ++i) x = -10.0 * (0.3 + x) / std::hypot(0.3 + x, 0.4) / 1000.0;
  for (const std::size_t row : {0U, 1U}) {
    x = (c * x / 0.1 - 40.0 * 0.3 / 0.4) / (1000.0 + c / 0.1 + 40.0 / 0.4);
    EXPECT_NEAR(run.column("x.value_m")[row], x, 1e-8);
  }
}

TEST(MuscleOptimization, ReportsWhatAFrameWithoutSolutionLacks) {
  const auto run = run_local(scenario_from(
      held_arm(muscle_text("weak", 60, 0.1, "[0, 0.3, 0]", "[0.04, 0, 0]"), "muscle_force: isometric, reserve: 0")));
  EXPECT_EQ(run.summary.status, "failed");
  ASSERT_TRUE(run.summary.error);
  EXPECT_THAT(run.summary.error->what(), HasSubstr("coordinate 'flexion' lacks 3.6"));
  EXPECT_THAT(run.summary.error->what(), HasSubstr("weak with 2.3"));
  EXPECT_THAT(run.summary.error->what(), HasSubstr("activation 1.000"));
}

TEST(MuscleOptimization, WarnsOfReservesThatAreNotSmall) {
  const std::string weak = muscle_text("weak", 60, 0.1, "[0, 0.3, 0]", "[0.04, 0, 0]");
  const auto run = completed_frames(held_arm(weak, "muscle_force: isometric"));
  EXPECT_THAT(run.log, testing::Contains(HasSubstr("the reserve of coordinate 'flexion' reaches 3.6")));
  const std::string strong = muscle_text("near", 800, 0.1, "[0, 0.3, 0]", "[0.04, 0, 0]");
  const auto good = completed_frames(held_arm(strong, "muscle_force: isometric"));
  EXPECT_THAT(good.log, testing::Not(testing::Contains(HasSubstr("reserve"))));
}

/// The block on the height of the muscle's origin, where a muscle of no length has no force.
std::string level_block(const std::string& recorded_x) {
  std::string text = pulled_block("secondary: [x], muscle_force: isometric, start_time: 0.05");
  const std::string driver = "{y: {follows: {polynomial: [0]}}}";
  return text.replace(text.find(driver), driver.size(),
                      "{y: {follows: {polynomial: [0.4]}}, x: {follows: {" + recorded_x + "}}}");
}

// k x = -T with 0.02 of the maximum force.
TEST(MuscleOptimization, TheFirstEquilibriumMayFollowFromAnEarlierTime) {
  const auto run = completed_frames(level_block("expression: '-0.3 * step(t, 0, 0.05)'"));
  EXPECT_THAT(run.log, testing::Not(testing::Contains(HasSubstr("no equilibrium"))));
  EXPECT_LT(std::abs(run.column("x.value_m")[0]), 0.02);
}

TEST(MuscleOptimization, TheSearchForAFirstEquilibriumEnds) {
  const auto run = run_local(scenario_from(level_block("polynomial: [-0.3]")));
  EXPECT_EQ(run.summary.status, "failed");
  EXPECT_THAT(run.log, testing::Contains(HasSubstr("no equilibrium")));
}

// The equilibrium is 27 mm away: within 14 trust regions of 2 mm.
TEST(MuscleOptimization, ASecondaryCoordinateMovesThroughTrustRegions) {
  const auto pulled_within = [](const char* radius) {
    return pulled_block(
        fmt::format("secondary: [x], muscle_force: isometric, trust_radius: {}, settling_activation: 0", radius), 0.0);
  };
  const auto wide = completed_frames(pulled_within("0.1"));
  const auto narrow = completed_frames(pulled_within("0.002"));
  EXPECT_NEAR(narrow.column("optimization.objective").front(), wide.column("optimization.objective").front(), 1e-9);
  const auto run = run_local(scenario_from(pulled_within("1e-6")));
  ASSERT_TRUE(run.summary.error);
  EXPECT_THAT(run.summary.error->what(), HasSubstr("the secondary coordinate 'x' still moves after 20 trust regions"));
}

// A tolerance that no computation in double precision reaches.
TEST(MuscleOptimization, ReportsAFrameThatIsNoMinimum) {
  const std::string muscles = muscle_text("near", 800, 0.1, "[0, 0.3, 0]", "[0.04, 0, 0]") +
                              muscle_text("far", 500, 0.15, "[0.02, 0.3, 0]", "[0.08, 0, 0]");
  const auto run = run_local(
      scenario_from(held_arm(muscles, "muscle_force: isometric, activation_exponent: 3, optimality_tolerance: 1e-12")));
  ASSERT_TRUE(run.summary.error);
  EXPECT_THAT(run.summary.error->what(), HasSubstr("no minimum found"));
}

// From the second frame on the arm accelerates downwards faster than a muscle could follow.
TEST(MuscleOptimization, AFrameWithoutSolutionIsNotReplaced) {
  const auto run =
      run_local(scenario_from(held_arm(muscle_text("near", 800, 0.1, "[0, 0.3, 0]", "[0.04, 0, 0]"),
                                       "muscle_force: isometric, reserve: 0", "expression: '-100 * t^3'")));
  EXPECT_EQ(run.summary.status, "incomplete");
  ASSERT_EQ(run.rows.size(), 1U);
  EXPECT_THAT(run.summary.error->what(), HasSubstr("1 of 2 frames have no solution"));
}

TEST(MuscleOptimization, ResumesFromAnyCheckpointWithEveryBit) {
  Scenario scenario =
      scenario_from(pulled_block("secondary: [x]"),
                    {"analysis.end_time=0.5", "drivers.motion.coordinates.y.follows.polynomial=[0, 0.1, 0.2]"});
  scenario.output.checkpoint_period = 1.0;
  double now = 0.0;
  const RecordedRun whole = run_input({.scenario = scenario,
                                       .assets = {},
                                       .run_id = "test",
                                       .scenario_digest = "test",
                                       .resume_from = {},
                                       .clock = [&now] { return now += 2.0; }},  // due at every restart point
                                      fem::open_local_contact);
  ASSERT_EQ(whole.summary.status, "completed") << (whole.summary.error ? whole.summary.error->what() : "");
  ASSERT_GE(whole.checkpoints.size(), 4U);
  for (const Checkpoint& checkpoint : whole.checkpoints) {
    const RecordedRun resumed = run_local(scenario, checkpoint);
    ASSERT_EQ(resumed.summary.status, "completed") << (resumed.summary.error ? resumed.summary.error->what() : "");
    ASSERT_FALSE(resumed.rows.empty());
    const std::size_t skipped = whole.rows.size() - resumed.rows.size();
    for (std::size_t r = 0; r < resumed.rows.size(); ++r) {
      const std::vector<double>& row = resumed.rows[r];
      ASSERT_EQ(std::memcmp(row.data(), whole.rows[skipped + r].data(), row.size() * sizeof(double)), 0)
          << "resumed at " << checkpoint.time << " s, row at " << row[0] << " s";
    }
  }
}

TEST(MuscleOptimization, RejectsWrongCoordinates) {
  const auto error_of = [](const std::string& text) {
    try {
      (void)run_local(scenario_from(text));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string flexor = muscle_text("near", 800, 0.1, "[0, 0.3, 0]", "[0.04, 0, 0]");
  EXPECT_THAT(error_of(held_arm(flexor, "secondary: [flexion]")), HasSubstr("'flexion' twice"));
  EXPECT_THAT(error_of(held_arm(flexor, "secondary: [flexon]")), HasSubstr("did you mean 'flexion'?"));
  EXPECT_THAT(error_of(held_arm(flexor, "weights: {neer: 2}")), HasSubstr("did you mean 'near'?"));
  EXPECT_THAT(error_of(held_arm(flexor, "reserves: {flexion: -1}")), HasSubstr("expected a number >= 0"));
  EXPECT_THAT(error_of(pulled_block("secondary: [y]")), HasSubstr("'y' twice"));
}

TEST(MuscleOptimization, NamesACoordinateInNoList) {
  const auto run = run_local(scenario_from(pulled_block("reserve: 0")));
  ASSERT_TRUE(run.summary.error);
  EXPECT_THAT(run.summary.error->what(), HasSubstr("coordinates in neither: x"));
}

/// A thigh that moves and a shank with two secondary coordinates, one with a damper, muscles over both joints and a
/// foundation in contact: every term of the derivatives.
const char* const moving_leg = R"yaml(heelstrike: 1
gravity: [0, -10, 0]
bodies:
  thigh: {mass: 3, center_of_mass: [0, -0.2, 0], inertia: [0.05, 0.01, 0.05]}
  shank: {mass: 2, center_of_mass: [0, -0.2, 0], inertia: [0.03, 0.01, 0.03], position: [0, -0.4, 0]}
joints:
  hip:
    type: custom
    bodies: [ground, thigh]
    coordinates: {flexion: {}, adduction: {}, rotation: {}}
    rotations:
      - {axis: [0, 0, 1], of: {flexion: {polynomial: [0, 1]}}}
      - {axis: [1, 0, 0], of: {adduction: {polynomial: [0, 1]}}}
      - {axis: [0, 1, 0], of: {rotation: {polynomial: [0, 1]}}}
  knee:
    type: custom
    bodies: [thigh, shank]
    points: [[0, -0.4, 0], [0, 0, 0]]
    coordinates: {bend: {}, varus: {}, glide: {}}
    rotations:
      - {axis: [0, 0, 1], of: {bend: {polynomial: [0, -1]}}}
      - {axis: [1, 0, 0], of: {varus: {polynomial: [0, 1]}}}
      - {axis: [0, 1, 0]}
    translations:
      - {axis: [1, 0, 0], of: {glide: {polynomial: [0, 1]}, bend: {polynomial: [0.01, 0.02]}}}
      - {axis: [0, 1, 0]}
      - {axis: [0, 0, 1]}
drivers:
  hip:
    coordinates:
      flexion: {follows: {expression: "0.3 * sin(3 * t)"}}
      adduction: {follows: {expression: "0.1 * t"}}
      rotation: {follows: {expression: "0.2 * t^2"}}
  knee: {coordinates: {bend: {follows: {expression: "0.4 + t"}}}}
forces:
  ligament:
    type: bushing
    bodies: [thigh, shank]
    point: [0.01, -0.4, 0]
    stiffness_matrix: [40, 50, 60, 9000, 8000, 7000]
    damping_matrix: [1, 2, 3, 40, 50, 60]
  quads:
    type: muscle
    max_isometric_force: 900
    optimal_fiber_length: 0.12
    tendon_slack_length: 0.25
    path: [{body: ground, point: [0.05, 0.05, 0.01]}, {body: thigh, point: [0.06, -0.35, 0.01]}, {body: shank, point: [0.05, -0.08, 0]}]
  hams:
    type: muscle
    max_isometric_force: 700
    optimal_fiber_length: 0.1
    tendon_slack_length: 0.3
    path: [{body: ground, point: [-0.05, 0.03, -0.02]}, {body: shank, point: [-0.04, -0.07, -0.02]}]
contact:
  ball-plate:
    main: {body: thigh, surface: {block: {lengths: [0.2, 0.05, 0.2], center: [0, -0.45, 0]}}, material: {youngs_modulus: 2e6, poissons_ratio: 0.3}}
    partner: {body: shank, surface: {sphere: {radius: 0.05, center: [0.02, -0.123, 0.01]}}}
    backend: elastic_foundation
    parameters: {thickness: 0.02}
analysis: {type: muscle_optimization, end_time: 0.2, primary: [flexion, bend], secondary: [varus, glide], FORCE}
output: {interval: 0.1}
)yaml";

// Central differences: their error is below the bound by a factor of ten for steps half and twice as large.
TEST(MuscleOptimization, DerivativesAgreeWithDifferences) {
  for (const bool isometric : {true, false}) {
    std::string text = moving_leg;
    text.replace(text.find("FORCE"), 5, isometric ? "muscle_force: isometric" : "muscle_force: hill");
    const Scenario scenario = scenario_from(text);
    mbs::PreparedModel prepared = mbs::prepare_muscle_model(scenario);
    mbs::CoupledModel model(scenario, prepared.model, std::stop_token{});
    model.assemble([](std::string_view, const std::string&) {});
    model.open(fem::open_local_contact, {}, {.run_id = {}, .on_progress = {}, .stop = {}});
    for (std::size_t i = 0; i < model.contact_states().n_pairs(); ++i) model.contact_states().set_closed(i, true);
    mbs::MuscleProblem problem(model.system(), model.contact_force(), prepared.coordinates,
                               mbs::find_muscles(scenario, model.system()),
                               {.isometric = isometric, .contact_energy_weight = 1.0});
    const Eigen::Vector2d past(0.0, 0.0);
    const Eigen::Vector2d a(0.3, 0.4);
    const Eigen::Vector2d s(0.03, 0.004);
    problem.begin(0.15, past, 0.02, model.start().q, model.start().qd);
    const mbs::MuscleProblem::Loads at = problem.evaluate(a, s, true);
    ASSERT_GT(at.energy, 1e-4) << "the surfaces must be in contact";
    for (int j = 0; j < 2; ++j) {
      const Eigen::Vector2d a_step = 1e-4 * Eigen::Vector2d::Unit(j);
      const mbs::MuscleProblem::Loads more = problem.evaluate(a + a_step, s, false);
      const mbs::MuscleProblem::Loads less = problem.evaluate(a - a_step, s, false);
      EXPECT_LT((at.by_a.col(j) - (more.R - less.R) / 2e-4).norm(), 1e-7 * at.by_a.norm()) << "activation " << j;
      const Eigen::Vector2d s_step = 1e-7 * Eigen::Vector2d::Unit(j);
      const mbs::MuscleProblem::Loads right = problem.evaluate(a, s + s_step, false);
      const mbs::MuscleProblem::Loads left = problem.evaluate(a, s - s_step, false);
      EXPECT_LT((at.by_s.col(j) - (right.R - left.R) / 2e-7).norm(), 1e-5 * at.by_s.col(j).norm())
          << "coordinate " << j;
      EXPECT_NEAR(at.energy_s[j], (right.energy - left.energy) / 2e-7, 1e-5 * at.energy_s.norm());
    }
  }
}

}  // namespace
}  // namespace heelstrike::test
