// The handler of an exchange stream, concurrent with the table that closes idle sessions.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "common/errors/error.hpp"
#include "fem_server/service/exchange_handler.hpp"
#include "rpc/wire/contact_wire.hpp"
#include "tests/unit/sessions/impact.hpp"

namespace heelstrike::fem {
namespace {

using namespace std::chrono_literals;

struct NoHistory final : History {
  [[nodiscard]] std::string save() const override { return {}; }
};

/// Runs `work` during each commit.
class BusyBackend final : public ContactBackend {
 public:
  explicit BusyBackend(std::function<void()> work) : ContactBackend({}), work_(std::move(work)) {}
  [[nodiscard]] std::shared_ptr<const History> initial_history() const override {
    return std::make_shared<NoHistory>();
  }
  [[nodiscard]] Response evaluate(const History& /*history*/, const PairState& /*state*/,
                                  const EvaluateOptions& /*options*/) const override {
    return {};
  }
  [[nodiscard]] Committed commit(const History& /*history*/, const PairState& /*state*/,
                                 const EvaluateOptions& /*options*/) const override {
    work_();
    return {.history = initial_history(), .response = {}};
  }
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view /*bytes*/) const override {
    return initial_history();
  }

 private:
  std::function<void()> work_;
};

TEST(ExchangeHandler, SessionDuringACommitIsNotIdle) {
  Metrics metrics;
  SessionTable table({.idle_timeout = 20ms}, [](std::size_t) {});
  const auto insert = [&](std::function<void()> work) {
    PairSpec pair;
    pair.name = "pair";
    return table.insert(table.reserve(), "run", "",
                        std::make_unique<Session>(pair, std::make_unique<BusyBackend>(std::move(work)), "digest"));
  };
  // A later session expired during the work of this one: without protection this one would have expired too.
  const auto busy = insert([&] {
    const auto later = insert([] {});
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (later->is_open() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    EXPECT_FALSE(later->is_open());
  });
  ExchangeHandler handler(table, metrics, 4, {});
  v1::ExchangeRequest request;
  request.set_kind(v1::ExchangeRequest::KIND_COMMIT);
  auto& pair = *request.add_pairs();
  pair.set_session_id(busy->id());
  wire::to_proto(testing_support::straight_state(0.0, 0.1, 0.5, 1.0), *pair.mutable_state());
  v1::ExchangeResponse reply;
  handler.process(request, reply);
  ASSERT_TRUE(reply.pairs(0).has_result()) << reply.DebugString();
  EXPECT_TRUE(busy->is_open());
  EXPECT_EQ(busy->session().committed_step(), 0);
}

}  // namespace
}  // namespace heelstrike::fem
