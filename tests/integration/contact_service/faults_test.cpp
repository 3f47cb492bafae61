// Killed, hanging and unreachable peers: typed errors in time, retries that change nothing.
#include <gtest/gtest.h>

#include <csignal>
#include <future>

#include "common/errors/error.hpp"
#include "cutting_proxy.hpp"
#include "server_process.hpp"
#include "tests/support/child_environment.hpp"

namespace heelstrike::testing_support {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

Error error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return {ErrorCode::internal, "no error"};
}

TEST(Faults, KillDuringAnExchangeIsUnavailableAndNotADeadline) {
  ServerProcess server;
  const auto contact = open_contact(rpc::RemoteContactOptions{.endpoint = {.address = server.address(), .tls = {}},
                                                              .exchange_timeout = scaled_time_limit(seconds{20}),
                                                              .reconnect_timeout = milliseconds{500}});
  bounce(*contact, 3);
  server.freeze();  // the request is on its way and cannot be answered
  auto evaluation = std::async(std::launch::async, [&] {
    Response response[1];
    const PairState state[] = {ball_at(0.0, 0.1, 1.0)};
    return error_of([&] { contact->evaluate(4, 0, state, response); });
  });
  server.signal(SIGKILL);
  const Error error = evaluation.get();
  EXPECT_EQ(error.code(), ErrorCode::unavailable) << error.what();
  EXPECT_NE(std::string(error.what()).find(server.address()), std::string::npos) << error.what();
}

TEST(Faults, HangingServerIsADeadlineAndTheNextCallSucceeds) {
  ServerProcess server;
  const auto contact = open_contact(
      rpc::RemoteContactOptions{.endpoint = {.address = server.address(1), .tls = {}}, .exchange_timeout = seconds{5}});
  Response response[1];
  const PairState state[] = {ball_at(0.0, 0.0999, 1.0)};
  contact->commit(0, state, response);
  const std::string expected = bits(response[0]);
  server.freeze();
  const auto begin = Clock::now();
  const Error error = error_of([&] { contact->commit(0, state, response); });
  EXPECT_EQ(error.code(), ErrorCode::deadline) << error.what();
  EXPECT_NE(std::string(error.what()).find("commit of step 0"), std::string::npos) << error.what();
  EXPECT_GE(Clock::now() - begin, milliseconds{4900});
  server.signal(SIGCONT);
  contact->commit(0, state, response);
  EXPECT_EQ(bits(response[0]), expected);
}

TEST(Faults, LostConnectionIsRestoredAndTheRunHasTheSameBits) {
  const ServerProcess server({}, {"127.0.0.1:0"});
  const std::string expected = bounce(*open_contact(server.address()), 40);
  CuttingProxy proxy(server.address());
  const auto contact = open_contact(proxy.address());
  std::string results;
  Response response[1];
  for (int step = 0; step <= 40; ++step) {
    const double phase = 1e-3 * step;
    const PairState state[] = {ball_at(phase, 0.1 + 2e-5 * std::cos(60.0 * phase), 0.5)};
    for (int iteration = 0; iteration < 2; ++iteration) {
      contact->evaluate(step, iteration, state, response);
      results += bits(response[0]);
    }
    if (step % 10 == 5) proxy.cut();
    contact->commit(step, state, response);
    results += bits(response[0]);
  }
  EXPECT_TRUE(results == expected);
  EXPECT_GE(proxy.n_connections(), 5);
}

// Deferred evaluations and commits: those pending when the connection broke are requested again, commits that had
// arrived are not.
TEST(Faults, DeferredEvaluationsSurviveALostConnectionWithTheSameBits) {
  const ServerProcess server({}, {"127.0.0.1:0"});
  CuttingProxy proxy(server.address());
  const auto posting = open_contact(proxy.address());
  const auto waiting = open_contact(server.address());
  std::vector<std::shared_ptr<const PendingRequest>> rows;
  std::vector<Response> expected;
  Response response[1];
  const auto apart = [](int step) { return ball_at(1e-3 * step, 0.2 + 1e-3 * step, 0.5); };
  for (int step = 0; step <= 300; ++step) {
    const PairState state[] = {apart(step)};
    rows.push_back(posting->post(RequestKind::evaluate, step, state));
    (void)posting->post(RequestKind::commit, step, state);
    waiting->evaluate(step, 0, state, response);
    expected.push_back(response[0]);
    waiting->commit(step, state, response);
    if (step % 50 == 45) proxy.cut();
  }
  posting->drain();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_TRUE(rows[i]->completed);
    ASSERT_EQ(rows[i]->error, nullptr) << rows[i]->error->what();
    EXPECT_EQ(bits(rows[i]->responses[0]), bits(expected[i])) << i;
  }
  EXPECT_GE(proxy.n_connections(), 4);
  // Both histories are at the same step and equal.
  const PairState touching[] = {ball_at(0.301, 0.0999, 0.5)};
  posting->evaluate(301, 0, touching, response);
  const std::string result = bits(response[0]);
  waiting->evaluate(301, 0, touching, response);
  EXPECT_EQ(result, bits(response[0]));
  EXPECT_LT(posting->rpc_statistics()->calls, 60);
}

// The connection breaks with the maximum number of pending messages: the next one does not wait for their replies.
TEST(Faults, AFullPipelineSurvivesALostConnection) {
  ServerProcess server({}, {"127.0.0.1:0"});
  CuttingProxy proxy(server.address());
  const auto contact = open_contact(proxy.address());
  const PairState state[] = {ball_at(0.0, 0.2, 0.5)};
  std::vector<std::shared_ptr<const PendingRequest>> rows;
  const auto post = [&](int n) {
    for (int i = 0; i < n; ++i) rows.push_back(contact->post(RequestKind::evaluate, 0, state));
  };
  server.freeze();
  post(4 * 32);
  proxy.cut();
  server.signal(SIGCONT);
  post(3 * 32);
  contact->drain();
  for (const auto& row : rows) {
    ASSERT_TRUE(row->completed);
    ASSERT_EQ(row->error, nullptr) << row->error->what();
  }
  EXPECT_GE(proxy.n_connections(), 2);
}

// Later steps are rejected after a failed commit, with its error.
TEST(Faults, FailedDeferredCommitIsReported) {
  const ServerProcess server;
  const auto contact = open_contact(server.address());
  Response response[1];
  const PairState state[] = {ball_at(0.0, 0.2, 0.5)};
  contact->commit(0, state, response);
  const auto commit = contact->post(RequestKind::commit, 7, state);
  const Error error = error_of([&] { contact->evaluate(8, 0, state, response); });
  EXPECT_EQ(error.code(), ErrorCode::out_of_order) << error.what();
  ASSERT_NE(commit->error, nullptr);
  EXPECT_EQ(commit->error->code(), ErrorCode::out_of_order);
}

TEST(Faults, NewServerAtTheSameAddressContinuesFromTheLastCommit) {
  auto first = std::make_unique<ServerProcess>();
  const std::string address = first->address(0);
  const auto contact = open_contact(address);
  bounce(*contact, 3);
  first->signal(SIGKILL);
  first->wait();
  const ServerProcess second({}, {address});
  const auto uninterrupted = open_contact(address);
  bounce(*uninterrupted, 3);
  Response result[1], expected[1];
  const PairState state[] = {ball_at(0.004, 0.09999, 0.5)};
  contact->commit(4, state, result);
  uninterrupted->commit(4, state, expected);
  EXPECT_EQ(bits(result[0]), bits(expected[0]));
}

TEST(Faults, MissingServerIsReported) {
  const Error error = error_of([] { open_contact("unix:/tmp/heelstrike-nobody-listens-here.sock"); });
  EXPECT_EQ(error.code(), ErrorCode::unavailable);
  EXPECT_NE(std::string(error.what()).find("heelstrike-nobody-listens-here"), std::string::npos) << error.what();
}

TEST(Faults, CancelledOpeningHasATypedError) {
  const ServerProcess server;
  const PairSpec pairs[] = {ball_on_ground()};
  std::stop_source stop;
  stop.request_stop();
  const auto open = rpc::open_remote_contact({.endpoint = {.address = server.address(), .tls = {}}});
  const Error error = error_of([&] { open(pairs, {}, {.run_id = "", .on_progress = {}, .stop = stop.get_token()}); });
  EXPECT_EQ(error.code(), ErrorCode::cancelled) << error.what();
}

}  // namespace
}  // namespace heelstrike::testing_support
