// The contract of proto/heelstrike/v1/contact.proto, verified with the real server over TCP and over a Unix socket.
#include <gtest/gtest.h>

#include <future>
#include <limits>

#include "common/contact/contact.hpp"
#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "common/process/version.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "rpc/call.hpp"
#include "rpc/contact_calls.hpp"
#include "server_process.hpp"

namespace heelstrike::testing_support {
namespace {

ErrorCode code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::internal;
}

std::string local_bounce(int n_steps) {
  const PairSpec pairs[] = {ball_on_ground()};
  return bounce(*fem::open_local_contact(pairs, {}, {}), n_steps);
}

TEST(ContactService, RemoteResponsesEqualLocalOnesBitForBitOnEveryTransport) {
  const ServerProcess server;
  ASSERT_EQ(server.addresses().size(), 2U);
  const std::string expected = local_bounce(100);
  for (const auto& address : server.addresses()) {
    EXPECT_TRUE(bounce(*open_contact(address), 100) == expected) << address;
  }
}

TEST(ContactService, EightConcurrentClientsGetTheResponsesOfOne) {
  const ServerProcess server;
  const std::string expected = local_bounce(100);
  std::vector<std::future<std::string>> clients;
  for (std::size_t i = 0; i < 8; ++i) {
    clients.push_back(
        std::async(std::launch::async, [&server, i] { return bounce(*open_contact(server.address(i % 2)), 100); }));
  }
  for (auto& client : clients) EXPECT_TRUE(client.get() == expected);
}

TEST(ContactService, EvaluateHasNoSideEffects) {
  const ServerProcess server;
  const auto contact = open_contact(server.address());
  Response first[1];
  Response again[1];
  const PairState above[] = {ball_at(0.0, 0.2, 1.0)};
  const PairState deep[] = {ball_at(0.1, 0.0999, 2.0)};
  contact->commit(0, above, first);
  contact->evaluate(1, 0, deep, first);
  const PairState elsewhere[] = {ball_at(0.2, 0.0998, 5.0)};
  contact->evaluate(1, 1, elsewhere, again);
  contact->evaluate(1, 2, deep, again);
  EXPECT_EQ(bits(first[0]), bits(again[0]));
  EXPECT_LT(first[0].gap, 0.0);
  EXPECT_NE(first[0].F_A.force.norm(), 0.0);
}

TEST(ContactService, RepeatedCommitReturnsTheSameBytesAndOtherStepsAreRejected) {
  const ServerProcess server;
  const auto contact = open_contact(server.address());
  Response first[1];
  Response again[1];
  const PairState state[] = {ball_at(0.0, 0.0999, 1.0)};
  const PairState other[] = {ball_at(0.0, 0.0998, 1.0)};
  contact->commit(0, state, first);
  contact->commit(0, state, again);
  EXPECT_EQ(bits(first[0]), bits(again[0]));
  EXPECT_EQ(code_of([&] { contact->commit(0, other, again); }), ErrorCode::out_of_order);
  EXPECT_EQ(code_of([&] { contact->commit(2, state, again); }), ErrorCode::out_of_order);
  EXPECT_EQ(code_of([&] { contact->evaluate(5, 0, state, again); }), ErrorCode::out_of_order);
  contact->commit(1, other, again);  // the errors were replies; stream and session continue
}

TEST(ContactService, SeveralPairsCommitTogetherOrNotAtAll) {
  const ServerProcess server;
  const PairSpec pairs[] = {ball_on_ground("one"), ball_on_ground("two")};
  const auto contact = rpc::open_remote_contact({.endpoint = {.address = server.address(), .tls = {}}})(pairs, {}, {});
  Response responses[2];
  const PairState states[] = {ball_at(0.0, 0.0999, 1.0), ball_at(0.0, 0.2, 1.0)};
  PairState bad[] = {states[0], states[1]};
  bad[1].V_AB.v.x() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(code_of([&] { contact->commit(0, bad, responses); }), ErrorCode::invalid_input);
  contact->commit(0, states, responses);  // step 0 is still the next one for both
  EXPECT_LT(responses[0].gap, 0.0);
  EXPECT_GT(responses[1].gap, 0.0);
}

TEST(ContactService, SavedStateIsRestoredBitForBit) {
  const ServerProcess server;
  const auto contact = open_contact(server.address());
  bounce(*contact, 20);
  const auto saved = contact->save_state();
  const auto other = open_contact(server.address(1));
  other->restore_state(saved);
  Response here[1];
  Response there[1];
  const PairState state[] = {ball_at(0.021, 0.09997, 0.4)};
  contact->commit(21, state, here);
  other->commit(21, state, there);
  EXPECT_EQ(bits(here[0]), bits(there[0]));
  const std::string garbage[] = {"garbage"};
  EXPECT_EQ(code_of([&] { other->restore_state(garbage); }), ErrorCode::invalid_input);
}

TEST(ContactService, BatchAndUnaryCallsEqualTheStream) {
  const ServerProcess server;
  const auto stub = server.stub();
  const auto session = open_session(*stub);
  v1::EvaluateBatchRequest batch;
  batch.set_session_id(session.session_id());
  for (int i = 0; i < 500; ++i) *batch.add_states() = message_of(ball_at(1e-3 * i, 0.1 - 1e-7 * i, 1.0));
  v1::EvaluateBatchResponse all;
  rpc::call("EvaluateBatch", {}, [&](auto& context) { return stub->EvaluateBatch(&context, batch, &all); });
  ASSERT_EQ(all.pairs_size(), 500);
  for (const int i : {0, 1, 250, 499}) {
    v1::PairRequest request;
    request.set_session_id(session.session_id());
    request.set_step(-1);
    *request.mutable_state() = batch.states(i);
    const v1::PairResponse one = evaluate_one(*stub, request);
    EXPECT_EQ(one.SerializeAsString(), all.pairs(i).SerializeAsString()) << i;
    EXPECT_TRUE(one.has_result()) << one.DebugString();
  }
}

TEST(ContactService, InvalidStateOfABatchIsRejectedAloneAndNamed) {
  const ServerProcess server;
  const auto stub = server.stub();
  v1::EvaluateBatchRequest batch;
  batch.set_session_id(open_session(*stub).session_id());
  for (int i = 0; i < 5; ++i) *batch.add_states() = message_of(ball_at(0.0, 0.1 - 1e-6 * i, 1.0));
  batch.mutable_states(1)->clear_x_ab();
  batch.mutable_states(3)->set_time(std::numeric_limits<double>::quiet_NaN());
  v1::EvaluateBatchResponse all;
  rpc::call("EvaluateBatch", {}, [&](auto& context) { return stub->EvaluateBatch(&context, batch, &all); });
  ASSERT_EQ(all.pairs_size(), 5);
  for (const int i : {1, 3}) {
    ASSERT_TRUE(all.pairs(i).has_error()) << i;
    EXPECT_NE(all.pairs(i).error().DebugString().find("states[" + std::to_string(i) + "]"), std::string::npos)
        << all.pairs(i).error().DebugString();
  }
  v1::EvaluateBatchRequest good;
  good.set_session_id(batch.session_id());
  for (const int i : {0, 2, 4}) *good.add_states() = batch.states(i);
  v1::EvaluateBatchResponse expected;
  rpc::call("EvaluateBatch", {}, [&](auto& context) { return stub->EvaluateBatch(&context, good, &expected); });
  for (int k = 0; k < 3; ++k) {
    ASSERT_TRUE(all.pairs(2 * k).has_result()) << k;
    EXPECT_EQ(all.pairs(2 * k).SerializeAsString(), expected.pairs(k).SerializeAsString()) << k;
  }
}

/// Two balls that move down and up again. @return [pair][frame]
std::vector<std::vector<PairState>> prescribed_motion_frames(int n_frames) {
  std::vector<std::vector<PairState>> motion(2);
  for (int k = 0; k < n_frames; ++k) {
    const double t = 0.01 * k;
    motion[0].push_back(ball_at(t, 0.1001 - 1e-3 * t + 5e-3 * t * t, 1.0 - 10.0 * t));
    motion[1].push_back(ball_at(t, 0.1001 - 2e-3 * t + 5e-3 * t * t, 2.0 - 10.0 * t));
  }
  return motion;
}

TEST(ContactService, PrescribedMotionEqualsSingleCommitsAndIsRepeatable) {
  const ServerProcess server;
  const PairSpec pairs[] = {ball_on_ground("one"), ball_on_ground("two")};
  const auto open = rpc::open_remote_contact({.endpoint = {.address = server.address(), .tls = {}}});
  const auto stepped = open(pairs, {}, {});
  const auto along = open(pairs, {}, {});
  auto motion = prescribed_motion_frames(50);
  motion[1][30] = ball_at(0.3, -0.05, 1.0);  // deeper than the radius
  for (int repetition = 0; repetition < 2; ++repetition) {
    const MotionResponses results = along->commit_motion(0, motion, {});
    ASSERT_NE(results.error, nullptr);
    EXPECT_EQ(results.error->code(), ErrorCode::recoverable) << results.error->what();
    ASSERT_EQ(results.responses.size(), 2U);
    for (std::size_t k = 0; k < 30; ++k) {
      const PairState states[] = {motion[0][k], motion[1][k]};
      Response responses[2];
      if (repetition == 0) {
        stepped->commit(static_cast<std::int64_t>(k), states, responses);
        for (std::size_t i = 0; i < 2; ++i) {
          ASSERT_EQ(results.responses[i].size(), 30U);
          EXPECT_EQ(bits(responses[i]), bits(results.responses[i][k])) << i << " frame " << k;
        }
      }
    }
    EXPECT_EQ(along->save_state(), stepped->save_state());
  }
  EXPECT_EQ(code_of([&] { (void)along->commit_motion(40, motion, {}); }), ErrorCode::out_of_order);
  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_EQ(code_of([&] { (void)along->commit_motion(30, prescribed_motion_frames(5), stopped.get_token()); }),
            ErrorCode::cancelled);
  EXPECT_EQ(along->save_state(), stepped->save_state());
}

TEST(ContactService, InvalidPrescribedMotionIsRejectedWithItsField) {
  const ServerProcess server;
  const auto stub = server.stub();
  const auto one = open_session(*stub);
  const auto two = open_session(*stub);
  const auto rejection_error = [&](const std::function<void(v1::CommitMotionRequest&)>& change) {
    v1::CommitMotionRequest request;
    for (const auto* session : {&one, &two}) {
      auto& pair = *request.add_pairs();
      pair.set_session_id(session->session_id());
      for (int k = 0; k < 3; ++k) *pair.add_states() = message_of(ball_at(0.01 * k, 0.2, 1.0));
    }
    change(request);
    v1::CommitMotionResponse response;
    try {
      rpc::call("CommitMotion", {}, [&](auto& context) { return stub->CommitMotion(&context, request, &response); });
    } catch (const Error& error) {
      return std::string(to_string(error.code())) + " " + error.field() + " " + error.what();
    }
    return std::string("accepted");
  };
  const auto expect = [&](const char* part, const std::function<void(v1::CommitMotionRequest&)>& change) {
    const std::string text = rejection_error(change);
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect("same session", [&](auto& r) { r.mutable_pairs(1)->set_session_id(one.session_id()); });
  expect("the same number of states", [](auto& r) { r.mutable_pairs(1)->mutable_states()->RemoveLast(); });
  expect("pairs[1].states[2]", [](auto& r) { r.mutable_pairs(1)->mutable_states(2)->clear_x_ab(); });
  expect("at least one pair", [](auto& r) { r.clear_pairs(); });
  expect("session_id this session is not open on this server",
         [](auto& r) { r.mutable_pairs(0)->set_session_id("nobody"); });
  expect("expected step 0, found 1", [](auto& r) { r.set_first_step(1); });
  EXPECT_EQ(rejection_error([](auto&) {}), "accepted");
}

TEST(ContactService, RestoreAppliesToAllPairsOrNone) {
  const ServerProcess server;
  const PairSpec pairs[] = {ball_on_ground("one"), ball_on_ground("two")};
  const auto open = rpc::open_remote_contact({.endpoint = {.address = server.address(), .tls = {}}});
  const auto contact = open(pairs, {}, {});
  bounce(*contact, 5);
  const auto early = contact->save_state();
  Response responses[2];
  const PairState next[] = {ball_at(0.006, 0.0999, 1.0), ball_at(0.006, 0.0998, 1.0)};
  contact->commit(6, next, responses);
  const auto late = contact->save_state();
  const std::string half_invalid[] = {early[0], "garbage"};
  EXPECT_EQ(code_of([&] { contact->restore_state(half_invalid); }), ErrorCode::invalid_input);
  EXPECT_EQ(contact->save_state(), late) << "the first pair was left restored";
  contact->restore_state(early);
  EXPECT_EQ(contact->save_state(), early);
}

TEST(ContactService, ClosedSessionIsNotFoundAndFieldsAreNotImplemented) {
  const ServerProcess server;
  const auto stub = server.stub();
  const auto session = open_session(*stub);
  EXPECT_EQ(session.backend(), "flores");
  EXPECT_GT(session.parameters_size(), 1);
  EXPECT_EQ(session.digest().size(), 64U);
  v1::GetFieldsRequest fields;
  fields.set_session_id(session.session_id());
  *fields.mutable_state() = message_of(ball_at(0.0, 0.1, 0.0));
  v1::GetFieldsResponse vtu;
  EXPECT_EQ(code_of([&] {
              rpc::call("GetFields", {}, [&](auto& context) { return stub->GetFields(&context, fields, &vtu); });
            }),
            ErrorCode::unimplemented);
  v1::CloseSessionRequest close;
  close.set_session_id(session.session_id());
  v1::CloseSessionResponse closed;
  const auto close_it = [&] {
    rpc::call("CloseSession", {}, [&](auto& context) { return stub->CloseSession(&context, close, &closed); });
  };
  close_it();
  EXPECT_EQ(code_of(close_it), ErrorCode::not_found);
}

TEST(ContactService, ContactClosesItsSessionsAndCountsItsCalls) {
  const ServerProcess server({"--max-sessions", "1"});
  for (int i = 0; i < 3; ++i) {
    const auto contact = open_contact(server.address());
    bounce(*contact, 10);
    const auto statistics = contact->rpc_statistics();
    ASSERT_TRUE(statistics.has_value());
    EXPECT_EQ(statistics->calls, 33);  // 11 steps, two evaluations and a commit each
    EXPECT_GT(statistics->p50_us, 1.0);
    EXPECT_GE(statistics->p99_us, statistics->p50_us);
  }
}

TEST(ContactService, BackendsAreListedWithTheirSchemas) {
  const ServerProcess server;
  const auto stub = server.stub();
  v1::ListBackendsResponse list;
  rpc::call("ListBackends", {}, [&](auto& context) { return stub->ListBackends(&context, {}, &list); });
  EXPECT_GE(list.backends_size(), 10);
  for (const auto& backend : list.backends()) {
    EXPECT_FALSE(backend.summary().empty()) << backend.name();
    EXPECT_GT(backend.surface_pairs_size(), 0) << backend.name();
    for (const auto& parameter : backend.parameters()) EXPECT_FALSE(parameter.meaning().empty()) << parameter.name();
  }
}

TEST(ContactService, AssetsAreStoredOnceUnderTheirDigest) {
  const ServerProcess server({"--max-asset-mib", "4"});
  const auto stub = server.stub();
  AssetContent asset{.sha256 = {}, .name = "foot.stl", .content = std::string(3'000'000, 'm')};
  asset.sha256 = sha256_hex(asset.content);
  EXPECT_FALSE(rpc::upload_asset(*stub, asset, "test", {}));
  EXPECT_TRUE(rpc::upload_asset(*stub, asset, "test", {}));
  AssetContent changed{.sha256 = std::string(64, '0'), .name = "foot.stl", .content = "abc"};
  EXPECT_EQ(code_of([&] { rpc::upload_asset(*stub, changed, "test", {}); }), ErrorCode::invalid_input);
  AssetContent large{.sha256 = std::string(64, '1'), .name = "body.stl", .content = std::string(5'000'000, 'm')};
  EXPECT_EQ(code_of([&] { rpc::upload_asset(*stub, large, "test", {}); }), ErrorCode::limit);
}

}  // namespace
}  // namespace heelstrike::testing_support
