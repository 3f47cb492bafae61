#include "mbs_server/simulation/run_state.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {
namespace {

RunState example() {
  RunState state{.next_row = 123456789012,
                 .n_rows = 7,
                 .committed_dissipation = 0.1 + 0.2,  // has no short decimal form
                 .initial_energy = -1.0 / 3.0,
                 .max_position_violation = 5e-324,  // smallest denormal
                 .max_velocity_violation = 1.7976931348623157e308,
                 .closed = {1, 0},
                 .episodes = {},
                 .finished = {}};
  ContactEpisode open{.pair = "heel", .onset = 1e-7, .end = {}, .separation_velocity = {}, .effective_restitution = {}};
  open.max_force = 2.0 / 3.0;
  ContactEpisode done = open;
  done.end = 0.3;
  done.separation_velocity = 1.0 / 7.0;
  done.effective_restitution = 0.7;
  done.max_impulse = 1.0 / 9.0;
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
  EXPECT_EQ(a.separation_velocity, b.separation_velocity);
  EXPECT_EQ(a.effective_restitution, b.effective_restitution);
  EXPECT_EQ(a.max_impulse, b.max_impulse);
}

const CheckpointFrame frame{.end_time = 2e9, .interval = 0.01, .pairs = {"heel", "toe"}};

Checkpoint sealed(const RunState& state) {
  Checkpoint checkpoint{.scenario_digest = "a scenario",
                        .step = 12,
                        .time = 1234567890.115,
                        .state = {1.0 / 3.0, -2.0},
                        .contact_states = {std::string("a\0b", 3), ""},
                        .engine = {}};
  write_run_state(checkpoint, state);
  return checkpoint;
}

TEST(RunState, RoundTripKeepsEveryBit) {
  const RunState before = example();
  const Checkpoint checkpoint = sealed(before);
  const RunState after = read_run_state(checkpoint, frame);
  EXPECT_EQ(after.next_row, before.next_row);
  EXPECT_EQ(after.n_rows, before.n_rows);
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
  EXPECT_EQ(sealed(after).engine, checkpoint.engine);
}

void expect_rejected(const Checkpoint& checkpoint, const std::string& reason) {
  try {
    (void)read_run_state(checkpoint, frame);
    ADD_FAILURE() << "accepted, expected: " << reason;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_input) << e.what();
    EXPECT_EQ(e.field(), "checkpoint");
    EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what();
  }
}

TEST(RunState, BytesOfAnotherVersionAreRejected) {
  for (const std::string bytes : {"", "{}", "not json \x1b[31m", R"({"format": 1, "next_row": 0})"}) {
    Checkpoint checkpoint = sealed(example());
    checkpoint.engine = bytes;
    expect_rejected(checkpoint, "written by another version of the program");
  }
}

TEST(RunState, AnyChangedByteIsDetected) {
  const Checkpoint checkpoint = sealed(example());
  const std::string damaged = "it is damaged";
  for (std::size_t i = checkpoint.engine.find('\n') - 64; i < checkpoint.engine.size(); i += 7) {
    Checkpoint changed = checkpoint;
    changed.engine[i] = static_cast<char>(changed.engine[i] ^ 1);
    expect_rejected(changed, damaged);
  }
  for (const auto& change : std::vector<std::function<void(Checkpoint&)>>{
           [](Checkpoint& c) { c.scenario_digest += "x"; }, [](Checkpoint& c) { ++c.step; },
           [](Checkpoint& c) { c.time = std::nextafter(c.time, 0.0); }, [](Checkpoint& c) { c.state[1] = 2.0; },
           [](Checkpoint& c) { c.contact_states[0].pop_back(); },
           [](Checkpoint& c) { std::swap(c.contact_states[0], c.contact_states[1]); },
           [](Checkpoint& c) { c.engine.resize(60); }}) {
    Checkpoint changed = checkpoint;
    change(changed);
    expect_rejected(changed, damaged);
  }
}

/// The author of a forged checkpoint can compute its checksum.
/// The same numbers with another compiler, or another version of the formulas, have other bits.
TEST(RunState, BytesOfAnotherProgramAreRejectedWithBothNames) {
  Checkpoint checkpoint = sealed(example());
  write_run_state(checkpoint, example(), "9.9.9 GCC 99");
  expect_rejected(checkpoint, "written by heelstrike 9.9.9 GCC 99, and this is ");
}

TEST(RunState, InvalidNumbersAreRejected) {
  const auto rejected = [](const std::function<void(RunState&)>& change, const std::string& reason) {
    RunState state = example();
    change(state);
    expect_rejected(sealed(state), reason);
  };
  rejected([](RunState& s) { s.next_row = -(std::int64_t{1} << 62); }, "expected 123456789012 as the next row");
  rejected([](RunState& s) { s.next_row += 2; }, "as the next row");
  rejected([](RunState& s) { s.closed.push_back(0); }, "expected 2 contact pairs");
  rejected([](RunState& s) { s.closed = {0, 0}; }, "an open episode for each pair in contact");
  rejected([](RunState& s) { s.episodes[0].episode->pair = "toe"; }, "expected an episode of pair 'heel'");
  rejected([](RunState& s) { s.episodes[0].recent.resize(4); }, "at most 3 recent points");
  rejected([](RunState& s) { s.finished[0].pair = "nobody"; }, "expected episodes of the pairs of this scenario");
  rejected([](RunState& s) { s.finished[0].onset = 1e300; }, "expected an onset");
  rejected([](RunState& s) { s.max_position_violation = -1.0; }, "violations that are not negative");
  for (const double time : {-1.0, 2.1e9}) {
    Checkpoint checkpoint = sealed(example());
    checkpoint.time = time;
    write_run_state(checkpoint, example());
    expect_rejected(checkpoint, "expected a time");
  }
  Checkpoint checkpoint = sealed(example());
  checkpoint.step = -1;
  write_run_state(checkpoint, example());
  expect_rejected(checkpoint, "expected a step number");
}

TEST(RunState, NextTimeOfAGridIsComputedByMultiplication) {
  for (const double interval : {0.1, 0.0857, 1e-3, 7.0}) {
    for (int n = 1; n < 2000; ++n) {
      ASSERT_EQ(first_after(interval, interval * n), n + 1);
      ASSERT_EQ(first_after(interval, std::nextafter(interval * n, 0.0)), n);
    }
  }
  EXPECT_EQ(first_after(0.5, 0.0), 1);
}

}  // namespace
}  // namespace heelstrike::mbs
