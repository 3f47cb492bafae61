// Kinematic and inverse analysis of a driven arm, compared with the forward run that has its torque as a load.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "tests/support/forwarding_contact.hpp"
#include "tests/support/local_run.hpp"
#include "tests/support/vtu_array.hpp"

namespace heelstrike::test {
namespace {

using ::testing::HasSubstr;

// A load of 0.6 N m on an arm with 0.3 kg m^2 about a fixed axis through its centre: angle = t^2, exactly.
constexpr double torque = 0.6;  // N m

std::string arm(const std::string& motion, const std::string& type) {
  return R"(heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  arm:
    mass: 2.0
    inertia: [0.2, 0.3, 0.25]
    position: [0, 0, 1]
joints:
  hinge: {type: revolute, bodies: [ground, arm], point: [0, 0, 1], axis: [0, 1, 0]}
)" + motion +
         "analysis: {type: " + type + ", end_time: 1.0, integrator: {rtol: 1.0e-11, atol: 1.0e-12}}\n" +
         "output: {interval: 0.05}\n";
}

std::string loaded() {
  return fmt::format("loads:\n  motor: {{body: arm, torque: [0, {}, 0]}}\n", torque);
}
std::string driven() {
  return "drivers:\n  motor: {joint: hinge, angle: {polynomial: [0, 0, 1]}}\n";
}

// The sine of an angle is zero at a rotation by pi too: that pose must not pass as the requested one.
TEST(Drivers, RotationOfPiIsRejected) {
  const auto rotated = [&](const std::string& function) {
    return run_local(
        scenario_from(arm("drivers:\n  motor: {joint: hinge, angle: {polynomial: " + function + "}}\n", "kinematic")));
  };
  for (const char* angle : {"[3.14159265]", "[2.5]", "[-1.6]"}) {
    const auto run = rotated(angle);
    ASSERT_EQ(run.summary.status, "failed") << angle;
    EXPECT_THAT(run.summary.error->what(), HasSubstr("half a turn away")) << angle;
    EXPECT_THAT(run.summary.error->what(), HasSubstr("motor")) << angle;
  }
  const auto run = rotated("[1.5, 20]");
  ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
  // 21.5 rad about y, as a rotation.
  EXPECT_NEAR(std::abs(run.column("arm.qw").back()), std::abs(std::cos(0.5 * 21.5)), 1e-9);
  // The orientation of a body likewise.
  const auto body = run_local(scenario_from(R"(heelstrike: 1
gravity: [0, 0, 0]
bodies:
  arm: {mass: 1, inertia: [1, 1, 1]}
drivers:
  turn: {body: arm, x: {polynomial: [0]}, y: {polynomial: [0]}, z: {polynomial: [0]}, rx: {polynomial: [0]},
         ry: {polynomial: [2.5]}, rz: {polynomial: [0]}}
analysis: {type: kinematic, end_time: 1}
output: {interval: 0.5}
)"));
  ASSERT_EQ(body.summary.status, "failed");
  EXPECT_THAT(body.summary.error->what(), HasSubstr("half a turn away"));
}

// At 100 km from the origin positions are rounded to 1e-11 m: the pendulum moves as near the origin.
TEST(Drivers, MotionFarFromTheOriginContinues) {
  const auto swing = [](double x) {
    const auto run = run_local(scenario_from(fmt::format(R"(heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  bob: {{mass: 1, inertia: [0.1, 0.1, 0.1], position: [{}, 0, 0]}}
joints:
  hinge: {{type: revolute, bodies: [ground, bob], point: [{}, 0, 0], axis: [0, 1, 0]}}
analysis: {{end_time: 1, integrator: {{rtol: 1.0e-8}}}}
output: {{interval: 0.1}}
)",
                                                         x + 1.0, x)));
    EXPECT_EQ(run.summary.status, "completed") << run.summary.error->what();
    return run.column("bob.z_m").back();
  };
  // Velocities are differences of positions over steps of some 1e-3 s: 1e-11 m / 1e-3 s.
  EXPECT_NEAR(swing(1e5), swing(0.0), 1e-6);
}

TEST(Inverse, ReturnsTheLoadsOfTheForwardRun) {
  const auto forward = run_local(scenario_from(arm(loaded(), "forward")));
  ASSERT_EQ(forward.summary.status, "completed") << forward.summary.error->what();
  const auto inverse = run_local(scenario_from(arm(driven(), "inverse")));
  ASSERT_EQ(inverse.summary.status, "completed") << inverse.summary.error->what();
  // The prescribed motion is the forward run's, to its accuracy.
  for (const char* name : {"arm.qw", "arm.qy", "arm.wy_rad_s"}) {
    ASSERT_EQ(forward.rows.size(), inverse.rows.size());
    for (std::size_t i = 0; i < forward.rows.size(); ++i) {
      EXPECT_NEAR(forward.column(name)[i], inverse.column(name)[i], 1e-8) << name << " row " << i;
    }
  }
  for (const auto& column : inverse.columns) {
    if (column.name.find("hinge.arm") == 0 || column.name.find("motor") == 0) fmt::print("{} ", column.name);
  }
  fmt::print("\n");
  std::string motor;
  for (const auto& column : inverse.columns) {
    if (column.name.find("motor") != std::string::npos && column.name.ends_with(".ty_Nm")) motor = column.name;
  }
  for (const double value : inverse.column(motor)) EXPECT_NEAR(value, torque, 1e-8);
  for (const double value : inverse.column("hinge.arm.fz_N")) EXPECT_NEAR(value, 2.0 * 9.81, 1e-8);
  for (const double value : inverse.column("hinge.arm.fx_N")) EXPECT_NEAR(value, 0.0, 1e-8);
}

TEST(Kinematic, RowsFollowTheDriverAndTheEnergyBalanceCloses) {
  const auto run = run_local(scenario_from(arm(driven(), "kinematic")));
  ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
  ASSERT_EQ(run.rows.size(), 21U);
  const auto t = run.column("time_s");
  const auto w = run.column("arm.wy_rad_s");
  for (std::size_t i = 0; i < t.size(); ++i) EXPECT_NEAR(w[i], 2.0 * t[i], 1e-10);
  // Power 2 t torque is linear in time: the trapezoidal rule is exact.
  EXPECT_NEAR(run.summary.energy.external_work, torque * 1.0, 1e-9);
  EXPECT_NEAR(run.summary.energy.balance_error, 0.0, 1e-9);
  EXPECT_LT(run.summary.max_position_violation, 1e-12);
}

TEST(Kinematic, FreeMotionIsRejectedWithTheNumberOfFreedoms) {
  const auto run = run_local(scenario_from(arm(loaded(), "kinematic")));
  ASSERT_TRUE(run.summary.error.has_value());
  EXPECT_THAT(run.summary.error->what(), HasSubstr("found 1 degrees of freedom remaining"));
}

/// A ball of 0.1 m driven into the ground by A = 1 mm and out again, z = 0.1 m - A sin(pi t).
RecordedRun press_ball(const std::vector<std::string>& settings) {
  std::string text = read_text(HEELSTRIKE_SOURCE_DIR "/examples/bouncing_ball.yaml");
  text.insert(
      text.find("contact:"),
      "drivers:\n  lead: {body: ball, x: {polynomial: [0]}, y: {polynomial: [0]}, z: {expression: \"0.1 - 0.001 "
      "* sin(pi * t)\"}, rx: {polynomial: [0]}, ry: {polynomial: [0]}, rz: {polynomial: [0]}}\n");
  std::vector<std::string> all{"analysis.type=kinematic", "analysis.end_time=1.1", "bodies.ball.position=[0, 0, 0.1]"};
  all.insert(all.end(), settings.begin(), settings.end());
  return run_local(scenario_from(text, all));
}

TEST(Kinematic, ContactOfAPrescribedMotionIsEvaluatedAndCommittedPerFrame) {
  const auto run = press_ball({"output.interval=0.01", "contact.restitution=1"});
  ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
  ASSERT_EQ(run.summary.contacts.size(), 1U);
  EXPECT_NEAR(run.summary.contacts[0].max_indentation, 1e-3, 1e-9);
  // Hertz: 1.4e8 d^1.5.
  EXPECT_NEAR(run.summary.contacts[0].max_force, 1.4e8 * std::pow(1e-3, 1.5), 1e-3);
  EXPECT_GE(run.summary.contact_commits, static_cast<std::int64_t>(run.rows.size()));
}

// The dashpot D of Kelvin and Voigt dissipates D A^2 pi^2 / 2 between t = 0 and 1, its force remaining positive: the
// spring K d pushes at most K A, and at the end of the contact the force is cut at d = D / K |d'|.
TEST(Kinematic, DissipationOfContactDoesNotDependOnTheOutputInterval) {
  constexpr double A = 1e-3, K = 1e6, D = 100.0;
  // The force K A sin(s) + D A pi cos(s) is cut from s_c on, where tan(s_c) = -D pi / K. Until then the dashpot
  // dissipates D A^2 pi (s_c / 2 + sin(2 s_c) / 4), then the spring loses its energy K A^2 sin^2(s_c) / 2.
  const double s_c = std::numbers::pi - std::atan(D * std::numbers::pi / K);
  const double exact = D * A * A * std::numbers::pi * (0.5 * s_c + 0.25 * std::sin(2.0 * s_c)) +
                       0.5 * K * A * A * std::sin(s_c) * std::sin(s_c);
  for (const double interval : {0.01, 0.07, 0.3}) {
    const auto run = press_ball({"contact.backend=kelvin_voigt",
                                 fmt::format("contact.parameters={{stiffness: {}, damping: {}}}", K, D),
                                 fmt::format("output.interval={}", interval)});
    ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
    // 1e-5 of the largest power, D A^2 pi^2, over 1.1 s.
    EXPECT_NEAR(run.summary.energy.dissipated, exact, 1.1e-5 * D * A * A * std::numbers::pi * std::numbers::pi)
        << interval;
  }
}

// The ball touches for |t - 0.547 s| < T only, between the rows at 0.5 and 0.6 s: with x = (t - 0.547 s) / T its depth
// is A (1 - x^2), and the force is cut from x_c on, where K T (1 - x^2) = 2 D x.
TEST(Kinematic, DissipationOfContactBetweenTwoRows) {
  constexpr double A = 1e-4, T = 0.03, K = 1e6, D = 100.0;
  constexpr double b = D / (K * T);
  const double x_c = std::sqrt(1.0 + b * b) - b;
  const double exact =
      4.0 / 3.0 * D * A * A / T * (x_c * x_c * x_c + 1.0) + 0.5 * K * std::pow(A * (1.0 - x_c * x_c), 2);
  for (const double interval : {0.01, 0.1}) {
    const auto run = press_ball({"contact.backend=kelvin_voigt",
                                 fmt::format("contact.parameters={{stiffness: {}, damping: {}}}", K, D),
                                 fmt::format("drivers.lead.z.expression=0.1 + {} * (((t - 0.547) / {})^2 - 1)", A, T),
                                 fmt::format("output.interval={}", interval)});
    ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
    // 1e-5 of the largest power, 4 D (A / T)^2, over two rows; the energy of a spring of K / 1e4 where its force is
    // cut.
    EXPECT_NEAR(run.summary.energy.dissipated, exact, 1e-5 * 4.0 * D * A * A / T / T * 0.2 + 1e-4 * exact) << interval;
  }
}

// The approach velocity of this law is that of the onset, not that of the first row in contact.
TEST(Kinematic, DissipationOfAnApproachVelocityDoesNotDependOnTheOutputInterval) {
  const auto dissipated = [](const char* interval) {
    const auto run = press_ball({"contact.backend=hunt_crossley", interval});
    EXPECT_EQ(run.summary.status, "completed");
    return run.summary.energy.dissipated;
  };
  const double fine = dissipated("output.interval=0.002");
  EXPECT_NEAR(dissipated("output.interval=0.23"), fine, 3e-3 * fine);
}

/// Counts single commits.
class CountingContact : public ForwardingContact {
 public:
  struct Counts {
    int commits = 0;
    int batches = 0;
    int motions = 0;
    std::vector<std::string> pictures{};
  };
  CountingContact(std::unique_ptr<Contact> real, Counts& counts)
      : ForwardingContact(std::move(real)), counts_(counts) {}
  void commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) override {
    ++counts_.commits;
    ForwardingContact::commit(step, states, responses);
  }
  [[nodiscard]] std::string fields(std::size_t pair, const PairState& state, const FieldRequest& request) override {
    return counts_.pictures.emplace_back(ForwardingContact::fields(pair, state, request));
  }

 protected:
  Counts& counts() { return counts_; }

 private:
  Counts& counts_;
};

/// The same, with all batch calls of the real contact.
class CountingBatches final : public CountingContact {
 public:
  using CountingContact::CountingContact;
  [[nodiscard]] std::vector<BatchEntry> evaluate_batch(std::size_t pair, std::span<const PairState> states,
                                                       bool tangents, std::stop_token stop) override {
    ++counts().batches;
    return inner().evaluate_batch(pair, states, tangents, stop);
  }
  [[nodiscard]] MotionResponses commit_motion(std::int64_t first_step, std::span<const std::vector<PairState>> states,
                                              std::stop_token stop) override {
    ++counts().motions;
    return inner().commit_motion(first_step, states, stop);
  }
  [[nodiscard]] bool history_independent() const override { return inner().history_independent(); }
};

// A rubber block rocks on a plane; at its deepest, two frames are beyond the maximum penetration.
std::vector<std::string> rocking(const std::string& type, const std::string& friction) {
  return {"analysis.type=" + type,
          "analysis.end_time=0.8",
          "output.interval=0.01",
          "output.fields={interval: 0.2}",
          "contact.element_size=0.005",
          "contact.friction=" + friction,
          "contact.max_penetration=0.0002",
          "drivers.drag.z={expression: \"0.0101 - 0.2e-3 * sin(5 * pi * t)\"}",
          "drivers.drag.rx={expression: \"0.011 * sin(3 * pi * t)\"}"};
}

/// @param hide  the batch calls of the contact
RecordedRun rocked(const std::vector<std::string>& settings, bool hide, CountingContact::Counts& counts) {
  const std::string text = read_text(HEELSTRIKE_SOURCE_DIR "/examples/block_friction.yaml");
  return run_with(scenario_from(text, settings),
                  [&](auto pairs, auto assets, const auto& context) -> std::unique_ptr<Contact> {
                    auto real = fem::open_local_contact(pairs, assets, context);
                    if (hide) return std::make_unique<CountingContact>(std::move(real), counts);
                    return std::make_unique<CountingBatches>(std::move(real), counts);
                  });
}

std::vector<std::string> warnings(const RecordedRun& run) {
  std::vector<std::string> found;
  std::ranges::copy_if(run.log, std::back_inserter(found),
                       [](const auto& line) { return line.starts_with("warning"); });
  return found;
}

/// Both runs have the same rows, warnings and sums. @param accuracy  relative to each number or to 1
void expect_same_run(const RecordedRun& together, const RecordedRun& plain, double accuracy) {
  ASSERT_EQ(together.rows.size(), plain.rows.size());
  EXPECT_LT(together.rows.size(), 81U) << "some frames must be rejected";
  EXPECT_EQ(warnings(plain).size() + plain.rows.size(), 81U);
  EXPECT_GT(together.rows.size(), 50U) << "most frames must be solved";
  for (std::size_t r = 0; r < plain.rows.size(); ++r) {
    for (std::size_t c = 0; c < plain.rows[r].size(); ++c) {
      // Out of contact there is no centre of pressure.
      if (std::isnan(together.rows[r][c]) && std::isnan(plain.rows[r][c])) continue;
      EXPECT_NEAR(together.rows[r][c], plain.rows[r][c], accuracy * std::max(1.0, std::abs(plain.rows[r][c])))
          << fmt::format("row {} {}", r, plain.columns[c].name);
    }
  }
  EXPECT_EQ(warnings(together), warnings(plain));
  EXPECT_EQ(together.episodes.size(), plain.episodes.size());
  EXPECT_EQ(together.summary.integrator.rejected_steps, plain.summary.integrator.rejected_steps);
  EXPECT_NEAR(together.summary.energy.final, plain.summary.energy.final, accuracy);
}

// Requirement: without history many frames are evaluated in one batch, with identical results.
TEST(Kinematic, FramesWithoutHistoryAreEvaluatedInBatchesWithEqualResponses) {
  for (const std::string type : {"kinematic", "inverse"}) {
    CountingContact::Counts ahead, one_by_one;
    const RecordedRun batched = rocked(rocking(type, "0"), false, ahead);
    const RecordedRun plain = rocked(rocking(type, "0"), true, one_by_one);
    ASSERT_EQ(batched.summary.status, "incomplete");
    ASSERT_EQ(plain.summary.status, "incomplete");
    EXPECT_EQ(ahead.commits, 0) << type;
    EXPECT_EQ(ahead.batches, 1) << type << ": 81 frames at once";
    EXPECT_EQ(one_by_one.batches, 0) << type;
    // A solution that starts from the preceding frame sums in another order: a few units in the last place.
    expect_same_run(batched, plain, 1e-12);
  }
}

/// @param accuracy  relative to the largest value of each field
void expect_same_pictures(const std::vector<std::string>& a, const std::vector<std::string>& b, double accuracy) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    // Of a frame without a solution only the partner is written.
    if (a[i].find("displacement") == std::string::npos) {
      EXPECT_EQ(a[i], b[i]);
      continue;
    }
    for (const char* name : {"displacement", "contact_pressure", "traction"}) {
      const std::vector<double> x = test::array_of(a[i], name);
      const std::vector<double> y = test::array_of(b[i], name);
      ASSERT_EQ(x.size(), y.size());
      double largest = 0.0, difference = 0.0;
      for (std::size_t k = 0; k < x.size(); ++k) {
        largest = std::max(largest, std::abs(x[k]));
        difference = std::max(difference, std::abs(x[k] - y[k]));
      }
      EXPECT_LE(difference, accuracy * largest) << name << " of picture " << i;
    }
  }
}

// Requirement: with history the frames are committed in one call per pair, with identical results: rows, rejected
// frames, and fields, which are written with the history of their frame.
TEST(Kinematic, FramesWithHistoryAreCommittedTogetherWithEqualResponses) {
  for (const std::string type : {"kinematic", "inverse"}) {
    CountingContact::Counts ahead, one_by_one;
    const RecordedRun together = rocked(rocking(type, "0.3"), false, ahead);
    const RecordedRun plain = rocked(rocking(type, "0.3"), true, one_by_one);
    ASSERT_EQ(together.summary.status, "incomplete");
    ASSERT_EQ(plain.summary.status, "incomplete");
    EXPECT_EQ(ahead.commits, 0) << type;
    EXPECT_EQ(ahead.batches, 0) << type;
    EXPECT_LT(ahead.motions, one_by_one.commits) << type;
    EXPECT_EQ(one_by_one.motions, 0) << type;
    EXPECT_GE(one_by_one.commits, static_cast<int>(plain.rows.size()));
    // Two solutions from different starting points differ by the tolerance of the friction solver, 1e-10 of the depth.
    expect_same_run(together, plain, 1e-9);
    EXPECT_EQ(together.summary.contact_commits, plain.summary.contact_commits) << type;
    EXPECT_GE(ahead.pictures.size(), 5U);
    expect_same_pictures(ahead.pictures, one_by_one.pictures, 1e-9);
  }
}

// Requirement: frames without a solution are reported and counted, and the sums are those of the solved ones. Here all
// frames after the first ones are too deep, the last one too.
TEST(Kinematic, FramesWithoutASolutionMakeTheRunIncomplete) {
  for (const std::string type : {"kinematic", "inverse"}) {
    for (const std::string friction : {"0", "0.3"}) {
      for (const bool hide : {false, true}) {
        CountingContact::Counts counts;
        std::vector<std::string> settings = rocking(type, friction);
        settings.insert(settings.end(), {"analysis.end_time=0.2", "drivers.drag.z={expression: \"0.0101 - 2e-3 * t\"}",
                                         "drivers.drag.rx={polynomial: [0]}"});
        const RecordedRun run = rocked(settings, hide, counts);
        const std::string label = fmt::format("{} {} {}", type, friction, hide ? "one by one" : "at once");
        EXPECT_EQ(run.summary.status, "incomplete") << label;
        ASSERT_TRUE(run.summary.error.has_value()) << label;
        EXPECT_THAT(run.summary.error->what(),
                    HasSubstr(fmt::format("{} of 21 frames have no solution", 21 - run.rows.size())))
            << label;
        EXPECT_THAT(run.summary.error->what(), HasSubstr("max_penetration")) << label;
        EXPECT_EQ(warnings(run).size(), 21 - run.rows.size()) << label << ": nothing else is wrong";
        ASSERT_GT(run.rows.size(), 5U) << label;
        ASSERT_LT(run.rows.size(), 20U) << label;
        EXPECT_EQ(run.summary.simulated_time, run.rows.back()[0]) << label;
        // With single commits, the last frame is solved again after a rejected one: to the tolerance of the friction
        // solver, 1e-10 of the depth.
        EXPECT_NEAR(run.summary.energy.final,
                    run.column("energy.kinetic_J").back() + run.column("energy.potential_J").back(), 1e-9)
            << label;
        EXPECT_TRUE(std::isfinite(run.summary.energy.balance_error)) << label;
      }
    }
  }
}

// Requirement: a run without any solution has failed, reports the reason, and has no energy.
TEST(Kinematic, NoFrameWithASolutionIsAFailureWithItsReason) {
  CountingContact::Counts counts;
  std::vector<std::string> settings = rocking("kinematic", "0");
  settings.insert(settings.end(), {"analysis.end_time=0.05", "drivers.drag.z={polynomial: [0.009]}"});
  const RecordedRun run = rocked(settings, false, counts);
  EXPECT_EQ(run.summary.status, "failed");
  ASSERT_TRUE(run.summary.error.has_value());
  EXPECT_THAT(run.summary.error->what(), HasSubstr("none of 6 frames has a solution; the first, at t = 0 s"));
  EXPECT_THAT(run.summary.error->what(), HasSubstr("max_penetration"));
  EXPECT_TRUE(std::isnan(run.summary.energy.initial));
  // Assembly also warns that the driver moves the body far from its given pose.
  const auto rejected = warnings(run);
  EXPECT_EQ(std::ranges::count_if(rejected,
                                  [](const auto& text) { return text.find("max_penetration") != std::string::npos; }),
            6);
}

/// Accepts the first 30 rows, until 0.29 s, and fails at the next one.
class BreakingContact final : public ForwardingContact {
 public:
  using ForwardingContact::ForwardingContact;
  [[nodiscard]] MotionResponses commit_motion(std::int64_t first_step, std::span<const std::vector<PairState>> states,
                                              std::stop_token stop) override {
    std::vector<std::vector<PairState>> taken(states.begin(), states.end());
    const auto left = static_cast<std::size_t>(
        std::ranges::count_if(taken.front(), [](const PairState& state) { return state.t < 0.295; }));
    const bool breaks = taken.front().size() > left;
    for (auto& own : taken) own.resize(left);
    MotionResponses answers = inner().commit_motion(first_step, taken, stop);
    if (breaks && !answers.error) answers.error = std::make_shared<const Error>(ErrorCode::internal, "a defect");
    return answers;
  }
};

// Requirement: frames before the one that ends the run are written.
TEST(Kinematic, InternalErrorEndsTheRunAfterThePrecedingFrames) {
  const std::string text = read_text(HEELSTRIKE_SOURCE_DIR "/examples/block_friction.yaml");
  std::vector<std::string> settings = rocking("kinematic", "0.3");
  settings.push_back("contact.max_penetration=0.002");  // no frame is rejected
  const RecordedRun run = run_with(scenario_from(text, settings), [](auto pairs, auto assets, const auto& context) {
    return std::make_unique<BreakingContact>(fem::open_local_contact(pairs, assets, context));
  });
  EXPECT_EQ(run.summary.status, "failed");
  ASSERT_TRUE(run.summary.error.has_value());
  EXPECT_THAT(run.summary.error->what(), HasSubstr("a defect"));
  EXPECT_EQ(run.rows.size(), 30U);
}

// A coordinate that hardly rotates its body is known to 1e-10 only, as the knee of a public model in full extension:
// the projection ended with an error though no correction was left.
TEST(Kinematic, CoordinatesThatAmplifyRoundingAreProjected) {
  const auto run = run_local(scenario_from(R"(heelstrike: 1
gravity: [0, 0, 0]
bodies: {a: {mass: 1, inertia: [1, 1, 1]}, b: {mass: 1, inertia: [1, 1, 1]}}
joints:
  j:
    type: custom
    bodies: [ground, a]
    coordinates: {u: {}}
    rotations: [{axis: [1, 0, 0], of: {u: {polynomial: [0.3, 1.0e-6]}}}, {axis: [0, 1, 0]}, {axis: [0, 0, 1]}]
  k:
    type: custom
    bodies: [a, b]
    coordinates: {v: {}}
    translations: [{axis: [1, 0, 0], of: {v: {polynomial: [0, 1]}}}, {axis: [0, 1, 0]}, {axis: [0, 0, 1]}]
  c: {type: coupler, coordinate: v, of: {u: {polynomial: [0, 1]}}}
drivers: {d: {coordinates: {u: {follows: {expression: "t"}}}}}
analysis: {type: kinematic, end_time: 0.1}
output: {interval: 0.02}
)"));
  ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
  EXPECT_NEAR(run.column("b.x_m").back(), 0.1, 1e-9);
}

/// A ball of 0.1 m that a driver presses 0.4 mm into the ground during 0.1 s, while it moves along it at 50 mm/s.
RecordedRun press_along(const std::string& backend, const std::string& parameters, double speed, double interval) {
  return run_local(scenario_from(fmt::format(R"yaml(heelstrike: 1
gravity: [0, 0, -9.81]
bodies: {{b: {{mass: 1, inertia: [0.004, 0.004, 0.004], position: [0, 0, 0.1]}}}}
contact:
  c:
    main: {{body: b, surface: {{sphere: {{radius: 0.1}}}}}}
    partner: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: {}
    parameters: {{{}}}
drivers:
  d:
    body: b
    x: {{expression: "{} * t"}}
    y: {{polynomial: [0]}}
    z: {{expression: "0.1 - 0.0004 * sin(10 * pi * t)"}}
    rx: {{polynomial: [0]}}
    ry: {{polynomial: [0]}}
    rz: {{polynomial: [0]}}
analysis: {{type: kinematic, end_time: 0.1}}
output: {{interval: {}}}
)yaml",
                                             backend, parameters, speed, interval)));
}

// The history of a contact was committed at the rows only, so that the work of the drivers depended on their interval:
// from none to all of it.
TEST(Kinematic, WorkOfContactWithAHistoryDoesNotDependOnTheOutputInterval) {
  constexpr double A = 4e-4, T = 0.1, v = 0.05, mu = 0.4, pi = std::numbers::pi;
  // Averages of |sin|^1.5 and |sin| over half a period.
  const double mean_3_2 = std::tgamma(1.25) / (std::sqrt(pi) * std::tgamma(1.75));
  const double dashpot = 500.0 * A * A * pi * pi / (2.0 * T);
  struct Case {
    std::string backend, parameters;
    double speed, work;
  };
  const std::vector<Case> cases{
      {"hertz", "stiffness: 1.0e+8, friction: 0.4", v, mu * v * T * 1e8 * std::pow(A, 1.5) * mean_3_2},
      {"kelvin_voigt", "stiffness: 1.0e+6, damping: 500, friction: 0.4", v, mu * v * T * 1e6 * A * 2.0 / pi + dashpot},
      // With 10,000 rows.
      {"hunt_crossley", "stiffness: 1.0e+8, restitution: 0.5", 0.0, 0.119865}};
  for (const Case& c : cases) {
    for (const double interval : {0.05, 0.025, 0.01, 0.001}) {
      const auto run = press_along(c.backend, c.parameters, c.speed, interval);
      ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
      EXPECT_NEAR(run.summary.energy.dissipated, c.work, 3e-3 * c.work) << c.backend << " " << interval;
      EXPECT_NEAR(run.summary.energy.external_work, c.work, 3e-3 * c.work) << c.backend << " " << interval;
      EXPECT_TRUE(warnings(run).empty()) << warnings(run).front();
    }
  }
}

// The row at the deepest point has the approach velocity of the onset, which is between the rows.
TEST(Kinematic, RowsOfContactWithAHistoryDoNotDependOnTheOutputInterval) {
  const std::string law = "backend: hunt_crossley\n    parameters: {stiffness: 1.0e+8, restitution: 0.5}";
  const auto forces = [&](double interval) {
    auto run = press_along("hunt_crossley", "stiffness: 1.0e+8, restitution: 0.5", 0.0, interval);
    return run.column("c.fz_N");
  };
  const auto coarse = forces(0.02), fine = forces(0.0005);
  for (std::size_t i = 1; i + 1 < coarse.size(); ++i) EXPECT_NEAR(coarse[i], fine[40 * i], 2e-3 * fine[40 * i]) << i;
}

}  // namespace
}  // namespace heelstrike::test
