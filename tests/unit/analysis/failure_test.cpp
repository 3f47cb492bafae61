// A run whose integrator fails: the error reports time, reason and place, and the results are kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "fem_server/sessions/local_contact.hpp"
#include "tests/support/forwarding_contact.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using ::testing::HasSubstr;

/// A real contact that rejects states as defined by the test.
class ScriptedContact final : public ForwardingContact {
 public:
  using Script = std::function<void(const PairState&, const Response&)>;
  ScriptedContact(std::unique_ptr<Contact> real, Script script)
      : ForwardingContact(std::move(real)), script_(std::move(script)) {}
  void evaluate(std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                std::span<Response> responses) override {
    ForwardingContact::evaluate(step, iteration, states, responses);
    script_(states[0], responses[0]);
  }

 private:
  Script script_;
};

RecordedRun run_scripted(const ScriptedContact::Script& script) {
  const Scenario scenario = scenario_from(read_text(HEELSTRIKE_SOURCE_DIR "/examples/bouncing_ball.yaml"),
                                          {"analysis.end_time=1", "analysis.integrator.max_rejections=10"});
  return run_with(scenario, [&](auto pairs, auto assets, const auto& context) {
    return std::make_unique<ScriptedContact>(fem::open_local_contact(pairs, assets, context), script);
  });
}

const double onset = std::sqrt(2.0 * 0.9 / 9.81);  // free fall over 0.9 m

/// All rows up to the failure are present, in order, with the episode that had begun.
void expect_kept(const RecordedRun& run) {
  ASSERT_FALSE(run.rows.empty());
  for (std::size_t i = 1; i < run.rows.size(); ++i) EXPECT_GE(run.rows[i][0], run.rows[i - 1][0]);
  EXPECT_NEAR(run.summary.simulated_time, run.rows.back()[0], 2e-3);
  EXPECT_GT(run.summary.simulated_time, onset - 1e-9);
  EXPECT_GT(run.summary.integrator.steps, 0);
  ASSERT_EQ(run.summary.contacts.size(), 1U);
  EXPECT_NEAR(run.summary.contacts[0].onset, onset, 1e-8);
  EXPECT_FALSE(run.summary.contacts[0].end.has_value());
  EXPECT_EQ(run.episodes.size(), 1U);
}

TEST(RunFailure, ExcessivePenetrationIsReportedWithTimeAndReason) {
  const auto run = run_scripted([](const PairState& state, const Response& response) {
    if (response.gap < -1e-3) {
      throw RecoverableError(
          "pair 'ball-ground': deeper than the scripted limit of 1 mm at t = " + std::to_string(state.t) + " s");
    }
  });
  EXPECT_EQ(run.summary.status, "failed");
  ASSERT_TRUE(run.summary.error.has_value());
  const std::string message = run.summary.error->what();
  EXPECT_EQ(run.summary.error->code(), ErrorCode::solver_failed) << message;
  EXPECT_THAT(message, HasSubstr("largest constraint residual there: 'ball: rigid body'"));
  EXPECT_THAT(message, HasSubstr("scripted limit of 1 mm"));
  EXPECT_THAT(message, HasSubstr("'ball-ground' in contact"));
  EXPECT_THAT(message, HasSubstr("The last accepted step ended at t = 0.42"));
  expect_kept(run);
}

TEST(RunFailure, LostContactServerKeepsItsError) {
  const auto run = run_scripted([](const PairState&, const Response& response) {
    if (response.gap < -1e-3) throw unavailable_error("the contact partner went away");
  });
  EXPECT_EQ(run.summary.status, "failed");
  ASSERT_TRUE(run.summary.error.has_value());
  EXPECT_EQ(run.summary.error->code(), ErrorCode::unavailable) << run.summary.error->what();
  // The step at the onset may be the one that lost the partner.
  EXPECT_GT(run.rows.size(), 400U);
  EXPECT_NEAR(run.summary.simulated_time, onset, 2e-3);
}

/// A slider on a rail, driven or loaded as given by `how`.
RecordedRun run_slider(const std::string& how) {
  return run_local(scenario_from(R"(
heelstrike: 1
gravity: [0, 0, 0]
bodies: {slider: {mass: 1, inertia: [1, 1, 1]}}
joints: {rail: {type: prismatic, bodies: [ground, slider], point: [0, 0, 0], axis: [1, 0, 0]}}
analysis: {end_time: 1}
output: {interval: 0.1}
)" + how));
}

TEST(RunFailure, NonFiniteValueIsReportedWithItsTime) {
  struct Case {
    std::string how;
    ErrorCode code;
    std::string name, time;
  };
  const Case cases[] = {
      // Invalid from the first state on: assembly has no valid estimate.
      {"drivers: {pull: {joint: rail, displacement: {expression: \"1/t\"}}}", ErrorCode::invalid_input, "'driver pull'",
       "t = 0 s"},
      {"loads: {push: {body: slider, fx: {expression: \"sqrt(0.5-t)\"}}}", ErrorCode::solver_failed, "push", "t = 0.5"},
  };
  for (const Case& c : cases) {
    const auto run = run_slider(c.how);
    ASSERT_EQ(run.summary.status, "failed") << c.how;
    const std::string message = run.summary.error->what();
    EXPECT_EQ(run.summary.error->code(), c.code) << message;
    EXPECT_THAT(message, HasSubstr(c.name));
    EXPECT_THAT(message, HasSubstr(c.time));
    for (const auto& row : run.rows) {
      for (const double value : row) EXPECT_TRUE(std::isfinite(value)) << c.how;
    }
  }
}

}  // namespace
}  // namespace heelstrike::test
