// A contact server that crashes during a run: rows and summary have the bits of the uninterrupted run.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <type_traits>

#include "common/contact/contact.hpp"
#include "common/errors/error.hpp"
#include "common/errors/rejection.hpp"
#include "common/results/summary.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "rpc/contact_sessions.hpp"
#include "server_process.hpp"
#include "tests/support/forwarding_contact.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::testing_support {
namespace {

using test::RecordedRun;

/// Calls before and after which a fault occurs, in their order.
class Course {
 public:
  virtual ~Course() = default;
  virtual void before_call() {}
  virtual void after_call() {}
};

class WatchedContact final : public test::ForwardingContact {
 public:
  WatchedContact(std::unique_ptr<Contact> inner, Course& course)
      : ForwardingContact(std::move(inner)), course_(course) {}
  void evaluate(std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                std::span<Response> responses) override {
    around([&] { ForwardingContact::evaluate(step, iteration, states, responses); });
  }
  void commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) override {
    around([&] { ForwardingContact::commit(step, states, responses); });
  }
  [[nodiscard]] std::vector<std::string> save_state() override {
    return around([&] { return ForwardingContact::save_state(); });
  }
  void restore_state(std::span<const std::string> states) override {
    around([&] { ForwardingContact::restore_state(states); });
  }
  [[nodiscard]] bool history_independent() const override { return inner().history_independent(); }
  [[nodiscard]] std::vector<BatchEntry> evaluate_batch(std::size_t pair, std::span<const PairState> states,
                                                       bool tangents, std::stop_token stop) override {
    return around([&] { return inner().evaluate_batch(pair, states, tangents, stop); });
  }
  [[nodiscard]] MotionResponses commit_motion(std::int64_t first_step, std::span<const std::vector<PairState>> states,
                                              std::stop_token stop) override {
    return around([&] { return inner().commit_motion(first_step, states, stop); });
  }

 private:
  template <typename Call>
  std::invoke_result_t<const Call&> around(const Call& call) {
    course_.before_call();
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      course_.after_call();
    } else {
      auto response = call();
      course_.after_call();
      return response;
    }
  }

  Course& course_;
};

void expect_same_run(const RecordedRun& run, const RecordedRun& whole) {
  ASSERT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
  ASSERT_EQ(run.rows.size(), whole.rows.size());
  for (std::size_t r = 0; r < run.rows.size(); ++r) {
    ASSERT_EQ(std::memcmp(run.rows[r].data(), whole.rows[r].data(), run.rows[r].size() * sizeof(double)), 0)
        << "row at " << run.rows[r][0] << " s";
  }
  EXPECT_EQ(summary_json(run.summary), summary_json(whole.summary));
}

std::size_t n_reported(const RecordedRun& run, const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(run.log, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
}

Scenario example(const std::string& name, const std::vector<std::string>& settings) {
  return test::scenario_from(test::read_text(std::string(HEELSTRIKE_SOURCE_DIR "/examples/") + name), settings);
}

/// With restitution: the approach velocity is stored. One contact, and the next one.
Scenario bouncing_ball() {
  return example("bouncing_ball.yaml", {"analysis.end_time=1.3", "contact.restitution=0.7"});
}
Scenario rolling_ball() {
  return example("rolling_ball.yaml", {"analysis.end_time=0.03"});
}
/// Stick and slip of finite elements, many frames committed together.
Scenario dragged_block() {
  return example("block_friction.yaml",
                 {"contact.element_size=0.01", "analysis.end_time=0.6", "output={interval: 0.01}"});
}
Scenario elastic_ball() {
  return example("fem_ball.yaml", {"contact.element_size=0.05", "contact.contact_size=0.02", "analysis.end_time=0.45",
                                   "analysis.integrator.rtol=1e-5", "output={interval: 0.01}"});
}

/// Sessions whose requests a contact in this process completes, one by one.
class LocalSessions final : public rpc::ContactSessions {
 public:
  explicit LocalSessions(std::unique_ptr<Contact> contact) : contact_(std::move(contact)) {}
  [[nodiscard]] std::optional<std::int64_t> connect(bool /*stopped*/) override {
    if (std::exchange(connected_, true)) return {};
    return -1;
  }
  [[nodiscard]] std::span<const PairDescription> pairs() const override { return contact_->pairs(); }
  [[nodiscard]] bool history_independent() const override { return contact_->history_independent(); }
  void send(rpc::Requests /*requests*/) override {}
  void receive(rpc::Requests requests) override {
    for (const rpc::QueuedRequest& queued : requests) {
      PendingRequest& request = *queued.pending;
      request.responses.resize(request.states.size());
      request.error = rejection_error([&] {
        if (request.kind == RequestKind::commit)
          return contact_->commit(request.step, request.states, request.responses);
        contact_->evaluate(request.step, queued.iteration, request.states, request.responses);
      });
      if (request.error) return;  // the sessions are lost
    }
  }
  [[nodiscard]] std::vector<BatchEntry> evaluate_batch(std::size_t pair, std::span<const PairState> states,
                                                       bool tangents, std::stop_token stop) override {
    return contact_->evaluate_batch(pair, states, tangents, stop);
  }
  [[nodiscard]] MotionResponses commit_motion(std::int64_t first_step, std::span<const std::vector<PairState>> states,
                                              std::stop_token stop) override {
    return contact_->commit_motion(first_step, states, stop);
  }
  [[nodiscard]] std::vector<std::string> save_state() override { return contact_->save_state(); }
  void restore_state(std::span<const std::string> states) override { contact_->restore_state(states); }
  [[nodiscard]] std::string fields(std::size_t pair, const PairState& state, const FieldRequest& request) override {
    return contact_->fields(pair, state, request);
  }

 private:
  std::unique_ptr<Contact> contact_;
  bool connected_ = false;
};

/// A contact with recovery over the contacts of `open`, each of which has the sessions of one life.
ContactFactory retrying(ContactFactory open, rpc::RetryOptions options) {
  options.peer = "it";
  return rpc::retrying(
      [open = std::move(open)](auto pairs, auto assets, const OpenContext& context,
                               rpc::RoundTrips& /*round_trips*/) -> std::unique_ptr<rpc::ContactSessions> {
        return std::make_unique<LocalSessions>(open(pairs, assets, context));
      },
      std::move(options));
}

// --- a partner that crashes at chosen calls
// ---------------------------------------------------------------------------

/// Crashes at chosen calls, counted over all restarts; after a crash it has no sessions.
class CrashingPartner final : public Course {
 public:
  CrashingPartner(std::set<int> before, std::set<int> after) : before_(std::move(before)), after_(std::move(after)) {}
  void before_call() override {
    if (before_.contains(++n_)) die();
  }
  void after_call() override {
    if (after_.contains(n_)) die();
  }
  /// An opening is a call too.
  [[nodiscard]] ContactFactory partner() {
    return [this](auto pairs, auto assets, const OpenContext& context) -> std::unique_ptr<Contact> {
      before_call();
      return std::make_unique<WatchedContact>(fem::open_local_contact(pairs, assets, context), *this);
    };
  }
  [[nodiscard]] int n() const { return n_; }

 private:
  [[noreturn]] static void die() { throw Error(ErrorCode::not_found, "no such session"); }
  std::set<int> before_, after_;
  int n_ = 0;
};

RecordedRun run_with_crashes(const Scenario& scenario, CrashingPartner& partner) {
  return test::run_with(scenario, retrying(partner.partner(), {.reconnect_timeout = std::chrono::seconds{60}}));
}

void expect_survival(const Scenario& scenario) {
  CrashingPartner quiet({}, {});
  const RecordedRun whole = run_with_crashes(scenario, quiet);
  EXPECT_EQ(n_reported(whole, "was restarted"), 0U);
  expect_same_run(whole, test::run_local(scenario));
  std::mt19937 random(11);
  for (int trial = 0; trial < 4; ++trial) {
    // Some immediately after each other: while the contact is opened and its history repeated.
    std::set<int> before, after;
    for (int i = 0; i < 4; ++i) {
      const int at = 2 + static_cast<int>(random() % static_cast<unsigned>(quiet.n()));
      (i % 2 == 0 ? before : after).insert(at);
      before.insert(at + 1 + static_cast<int>(random() % 4));
    }
    CrashingPartner partner(before, after);
    SCOPED_TRACE(trial);
    const RecordedRun run = run_with_crashes(scenario, partner);
    expect_same_run(run, whole);
    EXPECT_GT(n_reported(run, "was restarted without"), 0U);
    EXPECT_EQ(n_reported(run, "was reopened"), n_reported(run, "was restarted without"));
  }
}

TEST(Recovery, OfRestitution) {
  expect_survival(bouncing_ball());
}
TEST(Recovery, OfFriction) {
  expect_survival(rolling_ball());
}
TEST(Recovery, OfFramesCommittedTogether) {
  expect_survival(dragged_block());
}

TEST(Recovery, IsDisabledWithoutATimeout) {
  CrashingPartner partner({5}, {});
  const RecordedRun run = test::run_with(bouncing_ball(), retrying(partner.partner(), {.reconnect_timeout = {}}));
  ASSERT_TRUE(run.summary.error.has_value());
  EXPECT_EQ(run.summary.error->code(), ErrorCode::not_found);
  EXPECT_EQ(n_reported(run, "was reopened"), 0U);
}

TEST(Recovery, EndsAfterTheTimeout) {
  std::set<int> always;
  for (int i = 5; i < 1000; ++i) always.insert(i);
  CrashingPartner partner(always, {});
  const RecordedRun run = test::run_with(
      bouncing_ball(), retrying(partner.partner(), {.reconnect_timeout = std::chrono::milliseconds{100}}));
  EXPECT_EQ(run.summary.status, "failed");
  EXPECT_LT(partner.n(), 20) << "no second wait";
}

TEST(Recovery, WaitsForTheFirstOpeningOfAKnownServer) {
  for (const bool was_there : {true, false}) {
    CrashingPartner partner({}, {});
    int n_openings = 0;
    const auto late = [&](auto pairs, auto assets, const OpenContext& context) {
      if (++n_openings < 3) throw unavailable_error("nobody listens");
      return partner.partner()(pairs, assets, context);
    };
    const RecordedRun run =
        test::run_with(bouncing_ball(),
                       retrying(late, {.reconnect_timeout = std::chrono::seconds{60}, .retry_first_open = was_there}));
    EXPECT_EQ(run.summary.status, was_there ? "completed" : "failed");
    EXPECT_EQ(n_openings, was_there ? 3 : 1);
  }
}

TEST(Recovery, RejectsADifferentProgram) {
  CrashingPartner partner({9}, {});
  int n_openings = 0;
  const auto changed = [&](std::span<const PairSpec> pairs, auto assets, const OpenContext& context) {
    std::vector<PairSpec> specs(pairs.begin(), pairs.end());
    if (++n_openings > 1) specs[0].parameters["stiffness"] = 1.0;
    return partner.partner()(specs, assets, context);
  };
  const RecordedRun run =
      test::run_with(bouncing_ball(), retrying(changed, {.reconnect_timeout = std::chrono::seconds{60}}));
  ASSERT_TRUE(run.summary.error.has_value());
  EXPECT_EQ(run.summary.error->code(), ErrorCode::version_mismatch) << run.summary.error->what();
}

// --- the real server, killed -----------------------------------------------------------------------------------------

/// Kills the server and restarts it at the same address, at seeded calls and instants within them. One thread does so
/// throughout, because a server ends with the thread that started it.
class Killer final : public Course {
 public:
  Killer(unsigned seed, int every) : random_(seed), every_(every) { schedule(); }
  ~Killer() override {
    const std::scoped_lock lock(mutex_);
    worker_.request_stop();
    changed_.notify_all();
  }
  /// Set once the first server listens.
  [[nodiscard]] std::string address() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !address_.empty(); });
    return address_;
  }
  void before_call() override {
    if (--left_ > 0) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !delay_; });
    delay_ = std::chrono::microseconds(random_() % 1500);
    changed_.notify_all();
    ++n_killed_;
    schedule();
  }
  [[nodiscard]] int n_killed() const { return n_killed_; }

 private:
  void schedule() { left_ = 1 + static_cast<int>(random_() % static_cast<unsigned>(2 * every_)); }
  void work(const std::stop_token& stop) {
    auto server = std::make_unique<ServerProcess>(std::vector<std::string>{}, std::vector<std::string>{"127.0.0.1:0"});
    std::unique_lock lock(mutex_);
    address_ = server->address();
    while (true) {
      delay_.reset();
      changed_.notify_all();
      changed_.wait(lock, [&] { return delay_ || stop.stop_requested(); });
      if (stop.stop_requested()) return;
      const auto delay = *delay_;
      lock.unlock();
      std::this_thread::sleep_for(delay);  // immediate: the instant within the call
      server->signal(SIGKILL);
      server->wait();
      server = std::make_unique<ServerProcess>(std::vector<std::string>{}, std::vector<std::string>{address_});
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::chrono::microseconds> delay_ = std::chrono::microseconds{0};  ///< of the next kill; none = idle
  std::string address_;
  std::mt19937 random_;
  int every_;
  int left_ = 0;
  int n_killed_ = 0;
  std::jthread worker_{[this](const std::stop_token& stop) { work(stop); }};
};

/// @param every  mean number of calls between kills
void expect_survival_of_kills(const Scenario& scenario, int every, int at_least) {
  const RecordedRun whole = test::run_local(scenario);
  Killer killer(5, every);
  const ContactFactory remote = rpc::open_remote_contact(
      {.endpoint = {.address = killer.address(), .tls = {}}, .reconnect_timeout = std::chrono::seconds{60}});
  const RecordedRun run = test::run_with(scenario, [&](auto pairs, auto assets, const OpenContext& context) {
    return std::make_unique<WatchedContact>(remote(pairs, assets, context), killer);
  });
  expect_same_run(run, whole);
  EXPECT_GE(killer.n_killed(), at_least);
}

TEST(Recovery, OfABouncingBallFromKills) {
  expect_survival_of_kills(bouncing_ball(), 150, 5);
}
TEST(Recovery, OfARollingBallFromKills) {
  expect_survival_of_kills(rolling_ball(), 50, 2);
}
TEST(Recovery, OfADraggedBlockFromKills) {
  expect_survival_of_kills(dragged_block(), 10, 3);
}
TEST(Recovery, OfAnElasticBallFromKills) {
  expect_survival_of_kills(elastic_ball(), 100, 2);
}

}  // namespace
}  // namespace heelstrike::testing_support
