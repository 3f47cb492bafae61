// A run resumed from a checkpoint has the bits of the uninterrupted one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

Scenario bouncing_ball() {
  // Checkpoints in free flight and, with the third bounce, between contacts; 0.4285 s lies within the first contact.
  return scenario_from(read_text(HEELSTRIKE_SOURCE_DIR "/examples/bouncing_ball.yaml"),
                       {"analysis.end_time=1.5", "output.checkpoint_interval=0.0857", "output.interval=0.01"});
}

bool is_bitwise_equal(double a, double b) {
  return std::memcmp(&a, &b, sizeof(double)) == 0;
}

void expect_same_summary(const RunSummary& a, const RunSummary& b, const std::string& where) {
  EXPECT_EQ(a.status, b.status) << where;
  EXPECT_TRUE(is_bitwise_equal(a.simulated_time, b.simulated_time)) << where;
  EXPECT_EQ(a.contact_commits, b.contact_commits) << where;
  EXPECT_TRUE(is_bitwise_equal(a.energy.initial, b.energy.initial)) << where;
  EXPECT_TRUE(is_bitwise_equal(a.energy.final, b.energy.final)) << where << a.energy.final << " " << b.energy.final;
  EXPECT_TRUE(is_bitwise_equal(a.energy.dissipated, b.energy.dissipated)) << where;
  EXPECT_TRUE(is_bitwise_equal(a.energy.balance_error, b.energy.balance_error)) << where;
  EXPECT_TRUE(is_bitwise_equal(a.max_position_violation, b.max_position_violation)) << where;
  EXPECT_TRUE(is_bitwise_equal(a.max_velocity_violation, b.max_velocity_violation)) << where;
  ASSERT_EQ(a.contacts.size(), b.contacts.size()) << where;
  for (std::size_t i = 0; i < a.contacts.size(); ++i) {
    EXPECT_TRUE(is_bitwise_equal(a.contacts[i].onset, b.contacts[i].onset)) << where;
    EXPECT_TRUE(is_bitwise_equal(a.contacts[i].max_force, b.contacts[i].max_force)) << where;
    EXPECT_TRUE(is_bitwise_equal(a.contacts[i].max_indentation, b.contacts[i].max_indentation)) << where;
    EXPECT_EQ(a.contacts[i].end, b.contacts[i].end) << where;
    EXPECT_EQ(a.contacts[i].separation_velocity, b.contacts[i].separation_velocity) << where;
  }
}

TEST(Checkpoint, ResumedRunEqualsTheUninterruptedRunBitForBit) {
  const Scenario scenario = bouncing_ball();
  const RecordedRun whole = run_local(scenario);
  ASSERT_EQ(whole.summary.status, "completed") << whole.summary.error->what();
  ASSERT_GT(whole.checkpoints.size(), 10U);
  bool in_contact = false;
  for (const Checkpoint& checkpoint : whole.checkpoints) {
    const std::string where = fmt::format("resumed at t = {} s\n", checkpoint.time);
    in_contact = in_contact || checkpoint.engine.find("\"closed\":[true]") != std::string::npos;
    const RecordedRun resumed = run_local(scenario, checkpoint);
    ASSERT_EQ(resumed.summary.status, "completed") << where << resumed.summary.error->what();
    ASSERT_LT(resumed.rows.size(), whole.rows.size()) << where;
    const auto skipped = whole.rows.size() - resumed.rows.size();
    for (std::size_t r = 0; r < resumed.rows.size(); ++r) {
      for (std::size_t c = 0; c < resumed.rows[r].size(); ++c) {
        ASSERT_TRUE(is_bitwise_equal(resumed.rows[r][c], whole.rows[skipped + r][c]))
            << where << "row at " << resumed.rows[r][0] << " s, " << whole.columns[c].name << ": "
            << fmt::format("{} and {}", resumed.rows[r][c], whole.rows[skipped + r][c]);
      }
    }
    expect_same_summary(resumed.summary, whole.summary, where);
  }
  EXPECT_TRUE(in_contact) << "no checkpoint fell into a contact: choose another interval";
}

TEST(Checkpoint, OfAnotherScenarioIsRejected) {
  const Scenario scenario = bouncing_ball();
  Checkpoint checkpoint = run_local(scenario).checkpoints.front();
  checkpoint.scenario_digest = "another";
  const RecordedRun run = run_local(scenario, checkpoint);
  EXPECT_EQ(run.summary.status, "failed");
  ASSERT_TRUE(run.summary.error.has_value());
  EXPECT_EQ(run.summary.error->code(), ErrorCode::invalid_input);
  EXPECT_NE(std::string(run.summary.error->what()).find("another scenario"), std::string::npos)
      << run.summary.error->what();
  EXPECT_TRUE(run.rows.empty());
}

TEST(Checkpoint, WithADifferentNumberOfStatesIsRejected) {
  const Scenario scenario = bouncing_ball();
  Checkpoint checkpoint = run_local(scenario).checkpoints.front();
  checkpoint.state.pop_back();
  const RecordedRun run = run_local(scenario, checkpoint);
  ASSERT_TRUE(run.summary.error.has_value());
  EXPECT_NE(std::string(run.summary.error->what()).find("expected 26 state entries, found 25"), std::string::npos)
      << run.summary.error->what();
}

}  // namespace
}  // namespace heelstrike::test
