// Checkpoints by wall time have no side effects, and a run resumed from any of them has the rows, the fields and the
// summary of the uninterrupted one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "common/results/summary.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

mbs::RunInput input_of(const Scenario& scenario) {
  return {.scenario = scenario, .assets = {}, .run_id = "test", .scenario_digest = "test", .resume_from = {}};
}

/// A clock with random advances at every reading: checkpoints fall on restart points given by wall time.
std::function<double()> uneven_clock(unsigned seed) {
  return [random = std::mt19937(seed), now = 0.0]() mutable {
    return now += static_cast<double>(random() % 2500) * 0.01;  // [s] on average slightly more than the period
  };
}

bool is_bitwise_equal(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

void expect_remainder(const RecordedRun& resumed, const RecordedRun& whole, std::size_t rows, std::size_t fields,
                      const std::string& where) {
  SCOPED_TRACE(where);
  ASSERT_EQ(rows + resumed.rows.size(), whole.rows.size());
  for (std::size_t r = 0; r < resumed.rows.size(); ++r) {
    ASSERT_TRUE(is_bitwise_equal(resumed.rows[r], whole.rows[rows + r])) << "row at " << resumed.rows[r][0] << " s";
  }
  ASSERT_EQ(fields + resumed.fields.size(), whole.fields.size());
  for (std::size_t f = 0; f < resumed.fields.size(); ++f) {
    EXPECT_EQ(resumed.fields[f].time, whole.fields[fields + f].time);
    EXPECT_TRUE(resumed.fields[f].vtu == whole.fields[fields + f].vtu) << f;
  }
  EXPECT_EQ(summary_json(resumed.summary), summary_json(whole.summary));
}

/// @param at_least  minimum number of checkpoints of a run for a significant test
void expect_resumable(const Scenario& scenario, std::size_t at_least) {
  const RecordedRun whole = run_local(scenario);
  ASSERT_NE(whole.summary.status, "failed") << whole.summary.error->what();
  ASSERT_TRUE(whole.checkpoints.empty()) << "a run of milliseconds";
  mbs::RunInput input = input_of(scenario);
  input.clock = uneven_clock(7);
  const RecordedRun with_checkpoints = run_input(input, fem::open_local_contact);
  expect_remainder(with_checkpoints, whole, 0, 0, "while checkpoints are written");
  ASSERT_GE(with_checkpoints.checkpoints.size(), at_least);
  // Five of them, including the first and the last.
  const std::size_t n = with_checkpoints.checkpoints.size();
  const std::size_t stride = std::max<std::size_t>(1, (n - 1) / 4);
  for (std::size_t i = 0; i < n; i += stride) {
    mbs::RunInput rest = input_of(scenario);
    rest.resume_from = with_checkpoints.checkpoints[i];
    rest.clock = uneven_clock(static_cast<unsigned>(i));
    const RecordedRun resumed = run_input(rest, fem::open_local_contact);
    ASSERT_NE(resumed.summary.status, "failed") << resumed.summary.error->what();
    expect_remainder(resumed, whole, with_checkpoints.rows_before[i], with_checkpoints.fields_before[i],
                     fmt::format("resumed at t = {} s", with_checkpoints.checkpoints[i].time));
    // Again, from one written by the resumed run.
    if (resumed.checkpoints.empty()) continue;
    mbs::RunInput again = input_of(scenario);
    again.resume_from = resumed.checkpoints.back();
    const RecordedRun last = run_input(again, fem::open_local_contact);
    expect_remainder(last, whole, with_checkpoints.rows_before[i] + resumed.rows_before.back(),
                     with_checkpoints.fields_before[i] + resumed.fields_before.back(), "resumed twice");
  }
}

class AnyIntegrator : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static std::vector<std::string> with(std::vector<std::string> settings, const std::string& step) {
    const std::string name = GetParam();
    settings.push_back("analysis.integrator={name: " + name + ", " +
                       (name == "rk4" || name == "ab4am4" ? "step: " : "max_step: ") + step + "}");
    return settings;
  }
};
INSTANTIATE_TEST_SUITE_P(WallCheckpoint, AnyIntegrator,
                         testing::Values("cvode_index1", "ida_ggl", "arkode_erk", "arkode_dirk", "rk4", "ab4am4"));

TEST_P(AnyIntegrator, ResumesFromContactEvents) {
  expect_resumable(scenario_from(read_text(HEELSTRIKE_SOURCE_DIR "/examples/bouncing_ball.yaml"),
                                 with({"analysis.end_time=1.6", "output.interval=0.01"}, "5e-4")),
                   2);
}

/// A pendulum has no events: the integrator restarts after a number of steps.
TEST_P(AnyIntegrator, ResumesWithoutEvents) {
  expect_resumable(scenario_from(read_text(HEELSTRIKE_SOURCE_DIR "/examples/simple_pendulum.yaml"),
                                 with({"analysis.end_time=3", "output.interval=0.05"}, "1e-3")),
                   1);
}

/// A ball driven over the ground with friction; its series of fields continues too.
std::string driven_ball(const std::string& type, const std::string& backend) {
  return R"~(heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  ball: {mass: 1.0, inertia: [0.004, 0.004, 0.004], position: [0, 0, 0.1]}
drivers:
  lead: {body: ball, x: {expression: "0.001 * sin(6 * t)"}, y: {polynomial: [0]}, z: {expression: "0.0997 + 0.0005 * sin(9 * t)"}, rx: {polynomial: [0]}, ry: {expression: "0.1 * t"}, rz: {polynomial: [0]}}
contact:
  ball-ground:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: )~" +
         backend + R"~(
analysis:
  type: )~" +
         type + R"~(
  end_time: 1.0
output: {interval: 0.002}
)~";
}

const std::string with_friction = "hertz\n    parameters: {stiffness: 1.0e6, friction: 0.5}";
const std::string without_friction = "hertz\n    parameters: {stiffness: 1.0e6}";
const std::string balance = "  balance:\n    ball: {bodies: [ball], force: {expression: \"300 * sin(pi * t)\"}}\n";

TEST(WallCheckpoint, ResumesKinematicRuns) {
  expect_resumable(scenario_from(driven_ball("kinematic", with_friction)), 1);
  expect_resumable(scenario_from(driven_ball("kinematic", without_friction)), 1);
}

TEST(WallCheckpoint, ResumesInverseRuns) {
  expect_resumable(scenario_from(driven_ball("inverse", with_friction)), 1);
}

TEST(WallCheckpoint, ResumesHybridRuns) {
  expect_resumable(scenario_from(driven_ball("hybrid\n" + balance, with_friction)), 10);
}

TEST(WallCheckpoint, ResumesStaticRuns) {
  expect_resumable(scenario_from(R"~(heelstrike: 1
gravity: [0, 0, -10]
bodies:
  bob: {mass: 2, inertia: [0.01, 0.01, 0.01], position: [0, 0, 0.0999]}
forces:
  coil: {type: spring_damper, bodies: [ground, bob], points: [[1, 0, 0.1], [0, 0, 0]], stiffness: 10, length: 1, damping: 3}
loads:
  push: {body: bob, fx: {expression: "1.5 * sin(3 * t)"}}
contact:
  ball-ground:
    main: {body: bob, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: hertz
    parameters: {stiffness: 1.0e8, exponent: 1.5}
analysis: {type: static, end_time: 1}
output: {interval: 0.02}
)~"),
                   10);
}

/// A dragged block of finite elements: its fields, written once for a fixed partner, form one series.
TEST(WallCheckpoint, ResumedFieldsFormOneSeries) {
  expect_resumable(scenario_from(read_text(HEELSTRIKE_SOURCE_DIR "/examples/block_friction.yaml"),
                                 {"contact.element_size=0.01", "analysis.end_time=1", "output.fields={interval: 0.1}"}),
                   3);
}

TEST(WallCheckpoint, CanBeDisabled) {
  mbs::RunInput input =
      input_of(scenario_from(driven_ball("kinematic", with_friction), {"output.checkpoint_period=0"}));
  input.clock = uneven_clock(1);
  EXPECT_TRUE(run_input(input, fem::open_local_contact).checkpoints.empty());
}

}  // namespace
}  // namespace heelstrike::test
