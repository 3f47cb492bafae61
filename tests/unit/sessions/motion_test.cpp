// Commits along prescribed motion: the responses of single commits, all sessions or none, repeatable, stoppable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fem_server/sessions/open_session.hpp"
#include "tests/unit/backends/bits.hpp"
#include "tests/unit/backends/example_pairs.hpp"
#include "tests/unit/sessions/expensive_backend.hpp"
#include "tests/unit/sessions/impact.hpp"

namespace heelstrike::fem {
namespace {

using testing::HasSubstr;
using testing_support::ball_on_ground;
using testing_support::bits_of;
using testing_support::error_of;
using testing_support::ExpensiveBackend;
using testing_support::no_context;
using testing_support::straight_state;

constexpr std::size_t n_pairs = 3;
using Motion = std::vector<std::vector<PairState>>;

/// Balls with individual velocities move down and up again: approach velocities are stored at different frames.
Motion bounce(std::size_t n_frames) {
  Motion motion(n_pairs);
  for (std::size_t i = 0; i < n_pairs; ++i) {
    for (std::size_t k = 0; k < n_frames; ++k) {
      const double t = 0.01 * static_cast<double>(k);
      const double speed = 1.0 + static_cast<double>(i);
      motion[i].push_back(straight_state(t, 0.1, 1e-4 - 1e-3 * speed * t + 5e-3 * t * t, speed - 10.0 * t));
    }
  }
  return motion;
}

class MotionTest : public testing::Test {
 protected:
  struct Sessions {
    std::vector<std::unique_ptr<Session>> owned;
    std::vector<Session*> all;
  };
  static Sessions open(bool expensive, const std::function<void()>& on_commit = {}) {
    Sessions sessions;
    for (std::size_t i = 0; i < n_pairs; ++i) {
      const PairSpec pair = ball_on_ground(fmt::format("pair {}", i));
      auto backend = make_backend(pair, no_context());
      if (expensive) backend = std::make_unique<ExpensiveBackend>(std::move(backend), on_commit);
      sessions.owned.push_back(std::make_unique<Session>(pair, std::move(backend), std::string(64, 'a')));
      sessions.all.push_back(sessions.owned.back().get());
    }
    return sessions;
  }

  /// Single commits of all frames. @return [pair][frame]
  static std::vector<std::vector<Response>> one_by_one(const Sessions& sessions, const Motion& motion,
                                                       std::int64_t first_step) {
    std::vector<std::vector<Response>> results(n_pairs);
    std::vector<PairState> states(n_pairs);
    std::vector<Response> responses(n_pairs);
    for (std::size_t k = 0; k < motion[0].size(); ++k) {
      for (std::size_t i = 0; i < n_pairs; ++i) states[i] = motion[i][k];
      commit_sessions(sessions.all, first_step + static_cast<std::int64_t>(k), states, responses);
      for (std::size_t i = 0; i < n_pairs; ++i) results[i].push_back(responses[i]);
    }
    return results;
  }

  static void expect_same(const std::vector<std::vector<Response>>& a, const std::vector<std::vector<Response>>& b,
                          std::size_t n) {
    ASSERT_EQ(a.size(), n_pairs);
    for (std::size_t i = 0; i < n_pairs; ++i) {
      ASSERT_EQ(a[i].size(), n);
      for (std::size_t k = 0; k < n; ++k) EXPECT_EQ(bits_of(a[i][k]), bits_of(b[i][k])) << i << " frame " << k;
    }
  }

  static void expect_same_state(const Sessions& a, const Sessions& b) {
    for (std::size_t i = 0; i < n_pairs; ++i) EXPECT_EQ(a.all[i]->save_state(), b.all[i]->save_state()) << i;
  }
};

TEST_F(MotionTest, EqualsSingleCommitsAndContinuesLikeThem) {
  const Motion motion = bounce(40);
  const Sessions single = open(false);
  const auto expected = one_by_one(single, motion, 0);
  for (const bool expensive : {false, true}) {
    const Sessions sessions = open(expensive);
    const MotionResponses results = commit_motion_of_sessions(sessions.all, 0, motion, {});
    EXPECT_EQ(results.error, nullptr);
    expect_same(results.responses, expected, 40);
    expect_same_state(sessions, single);
  }
  const Sessions mixed = open(true);
  Motion head = motion;
  Motion tail = motion;
  for (auto& states : head) states.resize(13);
  for (auto& states : tail) states.erase(states.begin(), states.begin() + 13);
  (void)commit_motion_of_sessions(mixed.all, 0, head, {});
  (void)one_by_one(mixed, tail, 13);
  expect_same_state(mixed, single);
}

TEST_F(MotionTest, EndsForAllBeforeTheFirstRejectedState) {
  Motion motion = bounce(20);
  motion[2][7].t = 7.0;  // rejected
  motion[1][7].t = 6.0;  // rejected at the same frame: the first pair is reported
  motion[0][11].t = 8.0;
  const Sessions sessions = open(true);
  const MotionResponses results = commit_motion_of_sessions(sessions.all, 0, motion, {});
  ASSERT_NE(results.error, nullptr);
  EXPECT_EQ(results.error->code(), ErrorCode::recoverable);
  EXPECT_STREQ(results.error->what(), "rejected at 6");
  const Sessions single = open(false);
  Motion taken = motion;
  for (auto& states : taken) states.resize(7);
  expect_same(results.responses, one_by_one(single, taken, 0), 7);
  expect_same_state(sessions, single);
  // The rejected frame is skipped and the motion continues.
  Motion rest = bounce(20);
  for (auto& states : rest) states.erase(states.begin(), states.begin() + 8);
  EXPECT_EQ(commit_motion_of_sessions(sessions.all, 7, rest, {}).error, nullptr);
  (void)one_by_one(single, rest, 7);
  expect_same_state(sessions, single);
}

TEST_F(MotionTest, NoWorkIsDoneFarBeyondARejectedState) {
  std::atomic<int> commits = 0;
  const Sessions sessions = open(true, [&] { ++commits; });
  Motion motion = bounce(400);
  motion[0].front().t = 6.0;  // rejected at once
  motion[1].front().t = 6.0;
  ASSERT_NE(commit_motion_of_sessions(sessions.all, 0, motion, {}).error, nullptr);
  // The third may be several states ahead when the rejection arrives, on another thread; without a check of it, 400.
  EXPECT_LT(commits, 300);
}

TEST_F(MotionTest, InternalErrorAtOneStateKeepsThePrecedingStates) {
  const Sessions sessions = open(true);
  Motion motion = bounce(10);
  motion[1][6].t = -1.0;
  const MotionResponses results = commit_motion_of_sessions(sessions.all, 0, motion, {});
  ASSERT_NE(results.error, nullptr);
  EXPECT_EQ(results.error->code(), ErrorCode::internal);
  for (const Session* session : sessions.all) EXPECT_EQ(session->committed_step(), 5);
}

TEST_F(MotionTest, RepetitionMayBeginLaterAndEndLater) {
  const Motion motion = bounce(30);
  Motion head = motion;
  for (auto& states : head) states.resize(20);
  Motion tail = motion;
  for (auto& states : tail) states.erase(states.begin(), states.begin() + 12);
  const Sessions whole = open(true);
  const MotionResponses expected = commit_motion_of_sessions(whole.all, 0, motion, {});
  const Sessions parts = open(true);
  (void)commit_motion_of_sessions(parts.all, 0, head, {});
  const MotionResponses results = commit_motion_of_sessions(parts.all, 12, tail, {});
  for (std::size_t i = 0; i < n_pairs; ++i) {
    ASSERT_EQ(results.responses[i].size(), 18U);
    for (std::size_t k = 0; k < 18; ++k) {
      EXPECT_EQ(bits_of(results.responses[i][k]), bits_of(expected.responses[i][12 + k])) << i << " frame " << k;
    }
  }
  expect_same_state(parts, whole);
}

TEST_F(MotionTest, RepetitionHasTheSameResponse) {
  Motion motion = bounce(20);
  motion[1][15].t = 6.0;  // rejected each time
  const Sessions sessions = open(true);
  const MotionResponses first = commit_motion_of_sessions(sessions.all, 0, motion, {});
  const std::string state = sessions.all[0]->save_state();
  const MotionResponses again = commit_motion_of_sessions(sessions.all, 0, motion, {});
  expect_same(again.responses, first.responses, 15);
  ASSERT_NE(again.error, nullptr);
  EXPECT_STREQ(again.error->what(), first.error->what());
  EXPECT_EQ(sessions.all[0]->save_state(), state) << "nothing has advanced";
  // The last of them may be repeated alone, too.
  EXPECT_EQ(bits_of(sessions.all[0]->prepare_commit(14, motion[0][14]).committed.response),
            bits_of(first.responses[0][14]));
}

TEST_F(MotionTest, OtherStepsAndOtherStatesAreRejected) {
  const Motion motion = bounce(20);
  const Sessions sessions = open(false);
  (void)commit_motion_of_sessions(sessions.all, 0, motion, {});
  const auto rejection_error = [&](std::int64_t first_step, const Motion& states) {
    return error_of([&] { (void)commit_motion_of_sessions(sessions.all, first_step, states, {}); });
  };
  EXPECT_EQ(rejection_error(21, motion).first, ErrorCode::out_of_order);
  EXPECT_EQ(rejection_error(-1, motion).first, ErrorCode::out_of_order);
  Motion other = motion;
  other[2][5].X_AB.p.z() += 1e-12;
  const auto [code, text] = rejection_error(0, other);
  EXPECT_EQ(code, ErrorCode::out_of_order);
  EXPECT_THAT(text, HasSubstr("pair 2"));
  EXPECT_THAT(text, HasSubstr("step 5"));
  (void)one_by_one(sessions, bounce(1), 20);
  EXPECT_THAT(rejection_error(0, motion).second, HasSubstr("too old to be repeated"));
  Motion ragged = motion;
  ragged[1].pop_back();
  EXPECT_EQ(rejection_error(21, ragged).first, ErrorCode::invalid_input);
  for (const Session* session : sessions.all) EXPECT_EQ(session->committed_step(), 20);
}

TEST_F(MotionTest, StopLeavesAllSessionsUnchanged) {
  const Sessions sessions = open(true);
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(error_of([&] { (void)commit_motion_of_sessions(sessions.all, 0, bounce(20), source.get_token()); }).first,
            ErrorCode::cancelled);
  for (const Session* session : sessions.all) EXPECT_EQ(session->committed_step(), -1);
}

TEST_F(MotionTest, StopDuringACallLeavesAllSessionsUnchanged) {
  std::stop_source source;
  std::atomic<int> commits{0};
  const Sessions sessions = open(true, [&] {
    if (++commits == 7) source.request_stop();
  });
  EXPECT_EQ(error_of([&] { (void)commit_motion_of_sessions(sessions.all, 0, bounce(20), source.get_token()); }).first,
            ErrorCode::cancelled);
  EXPECT_LT(commits, 20) << "no session continues to the end";
  for (const Session* session : sessions.all) EXPECT_EQ(session->committed_step(), -1);
  const Sessions others = open(false);
  const MotionResponses results = commit_motion_of_sessions(sessions.all, 0, bounce(20), {});
  expect_same(results.responses, one_by_one(others, bounce(20), 0), 20);
}

TEST_F(MotionTest, InterveningCommitIsDetected) {
  const Motion motion = bounce(5);
  const Sessions sessions = open(false);
  const std::string fresh = sessions.all[1]->save_state();
  const std::function<void()> interruptions[] = {
      [&] { sessions.all[1]->publish(sessions.all[1]->prepare_commit(0, motion[0][0])); },
      [&] { sessions.all[1]->restore_state(fresh); },  // to the same step
  };
  for (const auto& interrupt : interruptions) {
    sessions.all[1]->restore_state(fresh);
    Session::RejectedIndex rejected{100};
    std::vector<Session::PreparedMotion> prepared;
    for (std::size_t i = 0; i < n_pairs; ++i) {
      prepared.push_back(sessions.all[i]->prepare_motion(0, motion[i], rejected, {}));
    }
    interrupt();
    EXPECT_EQ(error_of([&] { Session::publish_motion(sessions.all, prepared, 5); }).first, ErrorCode::out_of_order);
    EXPECT_EQ(sessions.all[0]->committed_step(), -1) << "all or none";
  }
}

}  // namespace
}  // namespace heelstrike::fem
