#include "mbs_server/analysis/run_state.hpp"

#include <gtest/gtest.h>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {
namespace {

RunState example() {
  RunState state{.next_row = 123456789012,
                 .next_checkpoint = 7,
                 .committed_dissipation = 0.1 + 0.2,  // has no short decimal form
                 .initial_energy = -1.0 / 3.0,
                 .max_position_violation = 5e-324,  // smallest denormal
                 .max_velocity_violation = 1.7976931348623157e308,
                 .closed = {1, 0},
                 .episodes = {},
                 .finished = {}};
  ContactEpisode open{.pair = "heel", .onset = 1e-7, .end = {}, .separation_speed = {}, .effective_restitution = {}};
  open.max_force = 2.0 / 3.0;
  ContactEpisode done = open;
  done.end = 0.3;
  done.separation_speed = 1.0 / 7.0;
  done.effective_restitution = 0.7;
  state.episodes.push_back(
      {.episode = open, .recent = {{.t = 0.1, .force = 1.0 / 3.0, .gap = -1e-5, .gap_rate = -0.7}}});
  state.episodes.push_back({.episode = {}, .recent = {}});
  state.finished = {done};
  return state;
}

void expect_same(const ContactEpisode& a, const ContactEpisode& b) {
  EXPECT_EQ(a.pair, b.pair);
  EXPECT_EQ(a.onset, b.onset);
  EXPECT_EQ(a.end, b.end);
  EXPECT_EQ(a.max_force, b.max_force);
  EXPECT_EQ(a.separation_speed, b.separation_speed);
  EXPECT_EQ(a.effective_restitution, b.effective_restitution);
}

TEST(RunState, RoundTripKeepsEveryBit) {
  const RunState before = example();
  const RunState after = load_run_state(save_run_state(before));
  EXPECT_EQ(after.next_row, before.next_row);
  EXPECT_EQ(after.next_checkpoint, before.next_checkpoint);
  EXPECT_EQ(after.committed_dissipation, before.committed_dissipation);
  EXPECT_EQ(after.initial_energy, before.initial_energy);
  EXPECT_EQ(after.max_position_violation, before.max_position_violation);
  EXPECT_EQ(after.max_velocity_violation, before.max_velocity_violation);
  EXPECT_EQ(after.closed, before.closed);
  ASSERT_EQ(after.episodes.size(), 2U);
  expect_same(*after.episodes[0].episode, *before.episodes[0].episode);
  ASSERT_EQ(after.episodes[0].recent.size(), 1U);
  EXPECT_EQ(after.episodes[0].recent[0].force, 1.0 / 3.0);
  EXPECT_FALSE(after.episodes[1].episode.has_value());
  ASSERT_EQ(after.finished.size(), 1U);
  expect_same(after.finished[0], before.finished[0]);
  EXPECT_EQ(save_run_state(after), save_run_state(before));
}

TEST(RunState, OtherBytesAreRefusedAsACheckpoint) {
  for (const std::string bytes : {"", "{}", "not json", R"({"format": 99})"}) {
    try {
      (void)load_run_state(bytes);
      FAIL() << "accepted: " << bytes;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_input) << e.what();
      EXPECT_EQ(e.field(), "checkpoint");
    }
  }
}

}  // namespace
}  // namespace heelstrike::mbs
