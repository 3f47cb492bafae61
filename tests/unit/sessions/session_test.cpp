// Step order, idempotent commit, saved state, batches, and the classes on top of Session.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <thread>

#include "common/errors/error.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "fem_server/sessions/open_session.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/foot.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/points.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "tests/unit/backends/bits.hpp"
#include "tests/unit/backends/example_pairs.hpp"
#include "tests/unit/sessions/expensive_backend.hpp"
#include "tests/unit/sessions/impact.hpp"

namespace heelstrike::fem {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::ball_on_ground;
using testing_support::bits_of;
using testing_support::error_of;
using testing_support::ExpensiveBackend;
using testing_support::no_context;
using testing_support::straight_state;

PairState state(double t, double opening, double closing) {
  return straight_state(t, 0.1, opening, closing);
}

class SessionTest : public testing::Test {
 protected:
  Response commit(std::int64_t step, const PairState& s) {
    auto prepared = session->prepare_commit(step, s);
    const Response response = prepared.committed.response;
    session->publish(std::move(prepared));
    return response;
  }

  std::unique_ptr<Session> session = open_session(ball_on_ground(), no_context());
};

TEST_F(SessionTest, StepsAreConsecutive) {
  EXPECT_EQ(session->committed_step(), -1);
  const auto rejected = [&](std::int64_t step) {
    return error_of([&] { (void)session->prepare_commit(step, state(0, 0.5, 1)); }).first;
  };
  for (const std::int64_t step : {-2, -1, 1, 2}) EXPECT_EQ(rejected(step), ErrorCode::out_of_order) << step;
  commit(0, state(0, 0.5, 1));
  EXPECT_EQ(session->committed_step(), 0);
  for (const std::int64_t step : {-1, 0, 2, 7}) {
    if (step != 0) {
      EXPECT_EQ(rejected(step), ErrorCode::out_of_order) << step;
    }
  }
  commit(1, state(0.1, 0.4, 1));
  EXPECT_EQ(rejected(0), ErrorCode::out_of_order);
  EXPECT_EQ(session->committed_step(), 1);
}

TEST_F(SessionTest, EvaluateReceivesTheTrialStep) {
  EXPECT_NO_THROW((void)session->evaluate(0, state(0, 0.5, 1)));
  EXPECT_NO_THROW((void)session->evaluate(-1, state(0, 0.5, 1)));
  commit(0, state(0, 0.5, 1));
  EXPECT_NO_THROW((void)session->evaluate(1, state(0, 0.5, 1)));
  const auto [code, message] = error_of([&] { (void)session->evaluate(0, state(0, 0.5, 1)); });
  EXPECT_EQ(code, ErrorCode::out_of_order);
  EXPECT_THAT(message, AllOf(HasSubstr("ball-ground"), HasSubstr("expected step 1"), HasSubstr("found 0")));
}

TEST_F(SessionTest, RepeatedCommitReturnsTheSameBits) {
  commit(0, state(0, 0.5, 3));
  const PairState onset = state(0.1, -1e-6, 3);
  const auto first = bits_of(commit(1, onset));
  const std::string saved = session->save_state();
  EXPECT_EQ(bits_of(commit(1, onset)), first);
  EXPECT_EQ(bits_of(commit(1, onset)), first);
  EXPECT_EQ(session->save_state(), saved);
  EXPECT_EQ(session->committed_step(), 1);
  PairState other = onset;
  other.V_AB.v.z() = std::nextafter(other.V_AB.v.z(), 0.0);
  const auto [code, message] = error_of([&] { commit(1, other); });
  EXPECT_EQ(code, ErrorCode::out_of_order);
  EXPECT_THAT(message, HasSubstr("already committed, with another state"));
}

TEST_F(SessionTest, PreparationHasNoSideEffects) {
  commit(0, state(0, 0.5, 3));
  const std::string saved = session->save_state();
  auto prepared = session->prepare_commit(1, state(0.1, -1e-6, 3));
  EXPECT_EQ(session->save_state(), saved);
  commit(1, state(0.1, -2e-6, 3));
  EXPECT_EQ(error_of([&] { session->publish(std::move(prepared)); }).first, ErrorCode::out_of_order);
}

// A client with a lost connection repeats a commit whose first call may still be running.
TEST_F(SessionTest, RetryBesideTheRepeatedCallIsAccepted) {
  commit(0, state(0, 0.5, 3));
  const PairState onset = state(0.1, -1e-6, 3);
  auto first = session->prepare_commit(1, onset);
  auto retry = session->prepare_commit(1, onset);
  EXPECT_EQ(bits_of(first.committed.response), bits_of(retry.committed.response));
  session->publish(std::move(first));
  const std::string saved = session->save_state();
  EXPECT_NO_THROW(session->publish(std::move(retry)));
  EXPECT_EQ(session->save_state(), saved);
}

TEST_F(SessionTest, SeveralSessionsArePublishedAllOrNone) {
  const auto other = open_session(ball_on_ground("other"), no_context());
  const std::vector<Session*> both{session.get(), other.get()};
  const PairState s = state(0, 0.5, 3);
  std::vector<Session::PreparedCommit> prepared;
  for (const Session* one : both) prepared.push_back(one->prepare_commit(0, s));
  auto foreign_session = other->prepare_commit(0, state(0, 0.4, 3));
  other->publish(std::move(foreign_session));
  EXPECT_EQ(error_of([&] { Session::publish_all(both, prepared); }).first, ErrorCode::out_of_order);
  EXPECT_EQ(session->committed_step(), -1) << "the first session must not have advanced alone";
  EXPECT_EQ(other->committed_step(), 0);
}

TEST_F(SessionTest, OppositeOrdersOfTheSameSessionsNeitherDeadlockNorSplit) {
  const auto other = open_session(ball_on_ground("other"), no_context());
  const std::vector<Session*> forth{session.get(), other.get()};
  const std::vector<Session*> back{other.get(), session.get()};
  constexpr std::int64_t n_steps = 200;
  const auto commit_in = [&](const std::vector<Session*>& order) {
    std::vector<Response> responses(2);
    for (std::int64_t step = 0; step < n_steps; ++step) {
      const PairState s = state(0.1 * static_cast<double>(step), -1e-6, 3);
      try {
        commit_sessions(order, step, std::vector{s, s}, responses);
      } catch (const Error& error) {  // the other thread is further on: rejected without side effects
        EXPECT_EQ(error.code(), ErrorCode::out_of_order);
      }
      EXPECT_GE(session->committed_step(), step);
      EXPECT_GE(other->committed_step(), step);
    }
  };
  {
    const std::jthread one(commit_in, std::cref(forth));
    const std::jthread two(commit_in, std::cref(back));
  }
  EXPECT_EQ(session->committed_step(), n_steps - 1);
  EXPECT_EQ(other->committed_step(), n_steps - 1);
}

TEST_F(SessionTest, ConcurrentExpensivePairsGiveEqualResultsAndTheFirstError) {
  std::vector<std::unique_ptr<Session>> slow;
  std::vector<std::unique_ptr<Session>> quick;
  std::vector<Session*> slow_sessions;
  std::vector<Session*> fast_sessions;
  for (int i = 0; i < 5; ++i) {
    const PairSpec pair = ball_on_ground(fmt::format("pair {}", i));
    slow.push_back(std::make_unique<Session>(pair, std::make_unique<ExpensiveBackend>(make_backend(pair, no_context())),
                                             std::string(64, 'a')));
    quick.push_back(open_session(pair, no_context()));
    slow_sessions.push_back(slow.back().get());
    fast_sessions.push_back(quick.back().get());
  }
  std::vector<PairState> states(5);
  std::vector<Response> from_slow(5);
  std::vector<Response> from_fast(5);
  for (std::int64_t step = 0; step < 20; ++step) {
    for (std::size_t i = 0; i < 5; ++i) {
      states[i] = state(0.1 * static_cast<double>(step), -1e-6 * static_cast<double>(i), 3);
    }
    commit_sessions(slow_sessions, step, states, from_slow);
    commit_sessions(fast_sessions, step, states, from_fast);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(bits_of(from_slow[i]), bits_of(from_fast[i])) << "pair " << i;
  }
  states[1].t = 6.0;
  states[3].t = 7.0;
  try {
    commit_sessions(slow_sessions, 20, states, from_slow);
    FAIL() << "a pair rejects the state";
  } catch (const RecoverableError& error) {
    EXPECT_STREQ(error.what(), "rejected at 6") << "the error of the first pair that has one";
  }
  for (const Session* one : slow_sessions) EXPECT_EQ(one->committed_step(), 19) << "all or none";
}

TEST_F(SessionTest, RejectsNonFiniteNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const int field : {0, 1, 2, 3, 4}) {
    PairState s = state(0, 0.5, 1);
    if (field == 0) s.t = nan;
    if (field == 1) s.X_AB.R(1, 2) = nan;
    if (field == 2) s.X_AB.p.x() = std::numeric_limits<double>::infinity();
    if (field == 3) s.V_AB.w.y() = nan;
    if (field == 4) s.V_AB.v.z() = nan;
    const auto [code, message] = error_of([&] { (void)session->evaluate(-1, s); });
    EXPECT_EQ(code, ErrorCode::invalid_input) << field;
    EXPECT_THAT(message, HasSubstr("ball-ground"));
    EXPECT_EQ(error_of([&] { commit(0, s); }).first, ErrorCode::invalid_input);
  }
  EXPECT_EQ(session->committed_step(), -1);
}

// A rotation with an error of the size of an integrator tolerance is made a rotation before the back-end receives it.
TEST_F(SessionTest, PoseIsMadeCanonical) {
  PairState s = state(0, -1e-4, 1);
  s.X_AB.R = rotation_from_vector({0.3, -0.2, 0.5});
  PairState exact = s;
  exact.X_AB = canonical_pose(s.X_AB);
  s.X_AB.R *= 1.0 + 1e-9;
  const Response r = session->evaluate(-1, s);
  EXPECT_LT((r.F_A.vector() - session->evaluate(-1, exact).F_A.vector()).norm(), 1e-9 * r.F_A.force.norm());
}

TEST_F(SessionTest, RestoredSessionContinuesBitForBit) {
  commit(0, state(0, 0.5, 3));
  commit(1, state(0.1, -1e-6, 3));
  const std::string saved = session->save_state();
  const auto other = open_session(ball_on_ground("another name"), no_context());
  other->restore_state(saved);
  EXPECT_EQ(other->save_state(), saved);
  EXPECT_EQ(other->committed_step(), 1);
  // The response to a repeated commit is part of the state.
  EXPECT_EQ(bits_of(other->prepare_commit(1, state(0.1, -1e-6, 3)).committed.response),
            bits_of(session->prepare_commit(1, state(0.1, -1e-6, 3)).committed.response));
  for (std::int64_t step = 2; step < 6; ++step) {
    const PairState s = state(0.1, -1e-4 * static_cast<double>(step), 4.0 - static_cast<double>(step));
    EXPECT_EQ(bits_of(session->evaluate(step, s)), bits_of(other->evaluate(step, s)));
    auto prepared = other->prepare_commit(step, s);
    EXPECT_EQ(bits_of(commit(step, s)), bits_of(prepared.committed.response));
    other->publish(std::move(prepared));
  }
  EXPECT_EQ(other->save_state(), session->save_state());
}

TEST_F(SessionTest, RestoreMayGoBackInTime) {
  commit(0, state(0, 0.5, 3));
  const std::string saved = session->save_state();
  commit(1, state(0.1, -1e-6, 3));
  session->restore_state(saved);
  EXPECT_EQ(session->committed_step(), 0);
  EXPECT_NO_THROW(commit(1, state(0.1, -1e-6, 2)));
}

TEST_F(SessionTest, StateOfAnotherPairIsRejectedWithoutSideEffects) {
  commit(0, state(0, 0.5, 3));
  const std::string saved = session->save_state();
  PairSpec hertz = ball_on_ground();
  hertz.backend = "hertz";
  hertz.parameters.erase("restitution");
  const auto rejected = [&](std::string_view bytes) { return error_of([&] { session->restore_state(bytes); }).second; };
  EXPECT_THAT(rejected(open_session(hertz, no_context())->save_state()),
              AllOf(HasSubstr("back-end 'flores'"), HasSubstr("found 'hertz'")));
  EXPECT_THAT(rejected(open_session(ball_on_ground("x", 0.61), no_context())->save_state()), HasSubstr("digest"));
  EXPECT_THAT(rejected("garbage"), HasSubstr("truncated"));
  EXPECT_THAT(rejected(std::string(2000, 'x')), HasSubstr("saved state"));
  EXPECT_THAT(rejected(saved + "x"), HasSubstr("remain after the end"));
  for (std::size_t bit = 3; bit < 8 * saved.size(); bit += 37) {
    std::string changed = saved;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(error_of([&] { session->restore_state(changed); }).first, ErrorCode::invalid_input) << bit;
  }
  for (std::size_t n = 0; n < saved.size(); n += 13) {
    EXPECT_EQ(error_of([&] { session->restore_state(std::string_view(saved).substr(0, n)); }).first,
              ErrorCode::invalid_input);
  }
  EXPECT_EQ(session->save_state(), saved);
}

TEST_F(SessionTest, BatchKeepsOrderAndDoesNotDependOnThreads) {
  commit(0, state(0, -1e-6, 3));
  std::vector<PairState> states;
  for (int i = 0; i < 101; ++i) states.push_back(state(0.1, -1e-5 * i, 3.0 - 0.05 * i));
  states[50] = state(0.1, -0.15, 1);  // deeper than the radius
  states[60].V_AB.v.x() = std::numeric_limits<double>::quiet_NaN();
  const auto one = session->evaluate_batch(states, 1);
  for (const unsigned n : {0U, 2U, 4U, 200U}) {
    const auto many = session->evaluate_batch(states, n);
    ASSERT_EQ(many.size(), states.size());
    for (std::size_t i = 0; i < states.size(); ++i) {
      EXPECT_EQ(bits_of(many[i].response), bits_of(one[i].response)) << i;
      EXPECT_EQ(many[i].error == nullptr, one[i].error == nullptr) << i;
    }
  }
  EXPECT_EQ(bits_of(one[7].response), bits_of(session->evaluate(1, states[7])));
  ASSERT_NE(one[50].error, nullptr);
  EXPECT_EQ(one[50].error->code(), ErrorCode::recoverable);
  ASSERT_NE(one[60].error, nullptr);
  EXPECT_EQ(one[60].error->code(), ErrorCode::invalid_input);
  EXPECT_TRUE(session->evaluate_batch({}, 4).empty());
  const auto given = session->evaluate_batch(states, 3, prescribed_motion);
  for (std::size_t i = 0; i < states.size(); ++i) {
    EXPECT_EQ(bits_of(given[i].response), bits_of(one[i].response)) << i;
    EXPECT_EQ(given[i].error == nullptr, one[i].error == nullptr) << i;
  }
}

TEST_F(SessionTest, EvaluationsRunConcurrentlyWithCommits) {
  commit(0, state(0, -1e-6, 3));
  std::vector<int> failures(2, 0);
  {
    std::vector<std::jthread> readers;
    for (std::size_t k = 0; k < failures.size(); ++k) {
      readers.emplace_back([&, k] {
        for (int i = 0; i < 500; ++i) {
          if (session->evaluate(-1, state(0.1, -1e-4, 1)).gap >= 0.0) ++failures[k];
        }
      });
    }
    for (std::int64_t step = 1; step < 200; ++step) {
      commit(step, state(0.1, -1e-5, 1));
      (void)session->save_state();
    }
  }
  EXPECT_EQ(failures, std::vector<int>(2, 0));
}

TEST_F(SessionTest, DescriptionHasParametersInForceAndDigest) {
  const PairDescription& d = session->description();
  EXPECT_EQ(d.name, "ball-ground");
  EXPECT_EQ(d.backend, "flores");
  EXPECT_EQ(number(d.parameters, "exponent"), 1.5);
  EXPECT_EQ(d.digest.size(), 64U);
  EXPECT_EQ(open_session(ball_on_ground("renamed"), no_context())->description().digest, d.digest);
  EXPECT_NE(open_session(ball_on_ground("x", 0.61), no_context())->description().digest, d.digest);
  PairSpec moved = ball_on_ground();
  SphereSurface ball = SphereSurface::of(moved.partner.surface).value();
  ball.center.x() = 1e-9;
  moved.partner.surface = ball;
  EXPECT_NE(open_session(moved, no_context())->description().digest, d.digest);
}

// States saved by earlier versions contain these digests, and are accepted while the digests do not change.
TEST(PairDigest, EqualsThatOfEarlierVersions) {
  const std::pair<Surface, const char*> surfaces[] = {
      {SphereSurface{.radius = -0.1, .center = {1, 2, 3}},
       "10f4dc1970ae7ee2a89d2dfaae9dc03779702da3466104dea4552d0c7d110998"},
      {PlaneSurface{.normal = Vector3(1, 2, 3).normalized(), .point = {4, 5, 6}},
       "631777d494d0dd60dd938c5ef250ce793f03c5b3f8dd6a0d20327fb290e7a2e8"},
      {CylinderSurface{.radius = 0.2,
                       .axis = Vector3(1, 1, 0).normalized(),
                       .center = {1, 0, 0},
                       .length = 0.375,
                       .core_radius = 0.1,
                       .layers = {{.name = "bone", .height = 0.25}, {.name = "fat", .height = 0.125}}},
       "cb0b4f2ae66087c63dfa48bf45d59e6103965ced4462b1a005756296c84af9e6"},
      {CylinderSurface{.radius = 0.2}, "030dab423d96e1a480cee3e56e876adcdfebfac75292c9df35360ce7964667c7"},
      // As given by a scenario: the conversion from the quaternion to the rotation and back would change last bits.
      {Surface{.kind = "mesh",
               .values = {{"asset", std::string("m")},
                          {"format", std::string("stl")},
                          {"length_scale", 1e-3},
                          {"position", std::vector<double>{7, 8, 9}},
                          {"orientation", std::vector<double>{0.6, 0.0, 0.8, 0.0}}},
               .sha256 = std::string(64, 'a')},
       "a79cef31133cb093eee94244fd831bf04b0c48b97480dd8331153d3134e4b113"},
      {PointCloudSurface{.points = {{1, 2, 3}, {4, 5, 6}}, .areas = {0.5, 0.25}},
       "dd372d108fc3dec4d1bf9ceb3e1ea083922561db01b2441fa1a4cb197e8805e9"},
      {BlockSurface{.lengths = {1, 2, 3}, .center = {4, 5, 6}},
       "74eddcb294d64269cbfb445fb0c2d59c386d4f4653de27943639847b24bc9fe9"},
      {FootSurface{.dimensions = {.length = 0.25, .cut_height = 0.02}, .right = true, .ankle = {1, 2, 3}},
       "55f6f12b100121fc99927ec5ca3a52e536e3158efda1020172a27979dfa87ebd"}};
  const ParameterMap parameters = {
      {"flag", true}, {"list", std::vector<double>{1.0, -0.0}}, {"number", 1e-300}, {"text", std::string("x")}};
  for (const auto& [surface, digest] : surfaces) {
    PairSpec pair{.name = "a-b", .backend = "flores", .parameters = {}, .main = {}, .partner = {}};
    pair.main = {.name = "a",
                 .surface = surface,
                 .materials = {{.youngs_modulus = 1e9, .poissons_ratio = 0.3, .density = 0.0, .set = "bone"}}};
    pair.partner = {.name = "b", .surface = PlaneSurface{}, .materials = {}};
    EXPECT_EQ(pair_digest(pair, parameters), digest) << surface.kind;
  }
}

class LocalContactTest : public testing::Test {
 protected:
  std::unique_ptr<Contact> open(double restitution = 0.6) {
    return open_local_contact(std::vector{ball_on_ground("left", restitution), ball_on_ground("right", restitution)},
                              {}, {});
  }
  std::unique_ptr<Contact> contact = open();
  std::vector<Response> responses = std::vector<Response>(2);
};

TEST_F(LocalContactTest, ListsItsPairs) {
  ASSERT_EQ(contact->pairs().size(), 2U);
  EXPECT_EQ(contact->pairs()[1].name, "right");
  EXPECT_EQ(contact->rpc_statistics(), std::nullopt);
}

TEST_F(LocalContactTest, AllPairsAdvanceOrNone) {
  contact->commit(0, std::vector{state(0, 0.5, 1), state(0, 0.5, 1)}, responses);
  const auto saved = contact->save_state();
  EXPECT_EQ(error_of([&] {
              contact->commit(1, std::vector{state(0.1, -1e-6, 1), state(0.1, -0.15, 1)}, responses);
            }).first,
            ErrorCode::recoverable);
  EXPECT_EQ(contact->save_state(), saved);
  EXPECT_NO_THROW(contact->commit(1, std::vector{state(0.1, -1e-6, 1), state(0.1, 0.1, 1)}, responses));
}

TEST_F(LocalContactTest, RespondsAsASessionWithTheCanonicalPose) {
  PairState s = state(0, 0.0, 1);
  s.X_AB.R = rotation_from_vector({0.3, -0.2, 0.5});
  s.X_AB.p.z() -= 1e-4;
  contact->evaluate(0, 1, std::vector{s, s}, responses);
  PairState sent = s;
  sent.X_AB = canonical_pose(s.X_AB);
  const auto session = open_session(ball_on_ground(), no_context());
  EXPECT_EQ(bits_of(responses[0]), bits_of(session->evaluate(0, sent)));
  EXPECT_EQ(bits_of(responses[1]), bits_of(responses[0]));
}

TEST_F(LocalContactTest, WrongSizesAreRejected) {
  const std::vector one{state(0, 0.5, 1)};
  EXPECT_EQ(error_of([&] { contact->evaluate(0, 0, one, responses); }).first, ErrorCode::invalid_input);
  EXPECT_EQ(error_of([&] { contact->commit(0, one, responses); }).first, ErrorCode::invalid_input);
  EXPECT_EQ(error_of([&] { contact->restore_state(std::vector<std::string>{"x"}); }).first, ErrorCode::invalid_input);
  EXPECT_EQ(error_of([&] { (void)contact->fields(2, one[0], {}); }).first, ErrorCode::invalid_input);
  EXPECT_EQ(error_of([&] { (void)contact->fields(0, one[0], {}); }).first, ErrorCode::unimplemented);
}

TEST_F(LocalContactTest, RestoresAllPairsOrNone) {
  contact->commit(0, std::vector{state(0, 0.5, 1), state(0, 0.5, 1)}, responses);
  const auto early = contact->save_state();
  contact->commit(1, std::vector{state(0.1, -1e-6, 1), state(0.1, 0.4, 1)}, responses);
  const auto late = contact->save_state();
  EXPECT_THROW(contact->restore_state(std::vector<std::string>{early[0], "garbage"}), Error);
  EXPECT_EQ(contact->save_state(), late);
  contact->restore_state(early);
  EXPECT_EQ(contact->save_state(), early);
}

TEST_F(LocalContactTest, OpeningReportsProgressAndCanBeCancelled) {
  std::vector<double> fractions;
  OpenContext context;
  context.on_progress = [&](std::string_view, double fraction) { fractions.push_back(fraction); };
  (void)open_local_contact(std::vector{ball_on_ground("a"), ball_on_ground("b")}, {}, context);
  EXPECT_EQ(fractions, (std::vector<double>{0.5, 1.0}));
  std::stop_source stop;
  stop.request_stop();
  context.stop = stop.get_token();
  EXPECT_EQ(error_of([&] { (void)open_local_contact(std::vector{ball_on_ground()}, {}, context); }).first,
            ErrorCode::cancelled);
}

// Each pair would condense the ball separately: rejected before any preparation. Point laws may share it.
TEST(LocalContact, RejectsAnElasticBodyInTwoPairs) {
  std::vector<PairSpec> pairs{ball_on_ground("floor"), ball_on_ground("wall")};
  for (PairSpec& pair : pairs) {
    pair.main.name = "ball";
    pair.main.materials = {{.youngs_modulus = 1e6, .poissons_ratio = 0.3, .density = 1000.0, .set = ""}};
  }
  EXPECT_NO_THROW((void)open_local_contact(pairs, {}, {}));
  for (PairSpec& pair : pairs) {
    pair.backend = "fem_condensed";
    pair.parameters.clear();
  }
  const auto [code, message] = error_of([&] { (void)open_local_contact(pairs, {}, {}); });
  EXPECT_EQ(code, ErrorCode::invalid_input);
  EXPECT_THAT(message,
              AllOf(HasSubstr("contact.wall.main.body"), HasSubstr("also in contact.floor"), HasSubstr("point law")));
}

}  // namespace
}  // namespace heelstrike::fem
