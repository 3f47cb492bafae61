// A lost connection never ends a run while the server is available, and changes none of its bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <random>
#include <thread>

#include "common/errors/error.hpp"
#include "tests/integration/attack/chaos_proxy.hpp"
#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/scenarios.hpp"
#include "tests/integration/contact_service/server_process.hpp"
#include "tests/support/child_environment.hpp"

namespace heelstrike::testing_support {
namespace {

using std::chrono::milliseconds;

/// Number of cuts of a test; HEELSTRIKE_ATTACK_CUTS increases it (docs/guide/operating.md gives the results for 1,000).
int number_of_cuts(int usual) {
  const char* requested = std::getenv("HEELSTRIKE_ATTACK_CUTS");
  return requested != nullptr ? std::atoi(requested) : usual;
}

/// Connection faults, equal in every run of a test.
class Faults {
 public:
  /// @param max_bytes  the cut follows after at most this number of bytes from the server; every other cut is immediate
  explicit Faults(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  void make(ChaosProxy& proxy) {
    constexpr Cut kinds[] = {Cut::end,        Cut::reset_client, Cut::reset_server,
                             Cut::reset_both, Cut::client_only,  Cut::pause};
    const Cut kind = kinds[random_() % std::size(kinds)];
    const std::uint64_t bytes = random_() % 2 == 0 ? 0 : random_() % max_bytes_;
    // One in thirty lasts longer than any pause between two attempts.
    const milliseconds time{random_() % 30 == 0 ? 2'500 : random_() % 3 == 0 ? random_() % 300 : 0};
    last_ = "cut of kind " + std::to_string(static_cast<int>(kind)) + " after " + std::to_string(bytes) +
            " bytes, refusing for " + std::to_string(time.count()) + " ms";
    proxy.cut(kind, bytes, time);
  }
  [[nodiscard]] std::uint32_t choose(std::uint32_t n) { return static_cast<std::uint32_t>(random_()) % n; }
  [[nodiscard]] const std::string& last() const { return last_; }

 private:
  std::uint64_t max_bytes_;
  std::string last_;
  std::mt19937 random_{20261};
};

/// Steps of a bounce with `trouble` before each commit; returns the bits of all responses.
std::string bounce_through(Contact& contact, int n_steps, const std::function<void(int)>& faults) {
  std::string responses;
  Response response[1];
  for (int step = 0; step < n_steps; ++step) {
    const double phase = 1e-3 * step;
    const PairState state[] = {ball_at(phase, 0.1 + 2e-5 * std::cos(60.0 * phase), 0.5)};
    faults(step);
    contact.evaluate(step, 0, state, response);
    responses += bits(response[0]);
    contact.commit(step, state, response);
    responses += bits(response[0]);
  }
  return responses;
}

TEST(Cuts, InterruptedConnectionsNeitherEndARunNorChangeABit) {
  const int n = number_of_cuts(60);
  const ServerProcess server({}, {"127.0.0.1:0"});
  const std::string expected = bounce_through(*open_contact(server.address()), n, [](int) {});
  ChaosProxy proxy(server.address());
  // The response to an exchange of one pair has about 700 bytes: the cut falls before, into or behind the response.
  Faults faults(1200);
  const auto contact = open_contact(proxy.address());
  try {
    const std::string responses = bounce_through(*contact, n, [&](int) { faults.make(proxy); });
    EXPECT_TRUE(responses == expected) << "a cut has changed a response";
  } catch (const Error& error) {
    ADD_FAILURE() << "after " << proxy.n_cuts() << " cuts, the last a " << faults.last() << ": " << error.what();
  }
  std::cout << proxy.n_cuts() << " cuts of exchanges\n";
  // Some orders affect a connection during its setup and count once for two.
  EXPECT_GT(proxy.n_cuts(), n / 2);
}

/// Address of `server`, which listens on a port that it chooses.
std::string address_of(const cli_test::Program& server) {
  const std::string log = server.output();
  const std::string mark = "addresses=\"";
  const auto begin = log.find(mark) + mark.size();
  return log.substr(begin, log.find('"', begin) - begin);
}

// From the submission to the last row: either connection of a run is cut at any time.
TEST(Cuts, InterruptingBothConnectionsOfWholeRunsLosesNothing) {
  const int n = number_of_cuts(8);
  const cli_test::ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", cli_test::ball_scenario("end_time: 0.5", "end_time: 1.5"));
  const cli_test::ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  ASSERT_EQ(cli_test::run("heelstrike", {"run", file, "--in-process", "-o", "expected"}, here).exit_code, 0);
  const std::string expected = cli_test::read_text(folder.path() / "expected/timeseries.csv");

  const ServerProcess fem({}, {"127.0.0.1:0"});
  ChaosProxy to_fem(fem.address());
  cli_test::Program mbs("mbs_server", {"--listen", "127.0.0.1:0", "--fem", to_fem.address(), "--spool",
                                       (folder.path() / "spool").string()});
  ASSERT_TRUE(mbs.wait_for_output("event=listening"));
  ChaosProxy to_mbs(address_of(mbs));
  ChaosProxy* const proxies[] = {&to_fem, &to_mbs};
  const auto n_cuts = [&] { return to_fem.n_cuts() + to_mbs.n_cuts(); };
  Faults faults(20'000);
  while (n_cuts() < n && !testing::Test::HasFailure()) {
    cli_test::Program client("heelstrike", {"run", file, "--mbs", to_mbs.address(), "-o", "out", "--force"}, here);
    while (cli_test::alive(client.pid())) {
      const int before = n_cuts();
      faults.make(*proxies[faults.choose(2)]);
      // The time that a run needs to send the bytes before the cut depends on the machine; ctest limits it.
      while (n_cuts() == before && cli_test::alive(client.pid())) std::this_thread::sleep_for(milliseconds{5});
    }
    const auto result = client.wait();
    EXPECT_EQ(result.exit_code, 0) << "after " << n_cuts() << " cuts, the last a " << faults.last() << "\n"
                                   << result.err;
    EXPECT_TRUE(cli_test::read_text(folder.path() / "out/timeseries.csv") == expected) << faults.last();
  }
  std::cout << to_fem.n_cuts() << " cuts between the servers, " << to_mbs.n_cuts() << " before them\n";
  mbs.signal(SIGTERM);
  EXPECT_EQ(mbs.wait().exit_code, 0) << mbs.output();
}

// Delayed responses and a network that duplicates everything: servers receive submissions, evaluations and commits a
// second time.
TEST(Cuts, DelaysAndDuplicatesCauseNoSilentLoss) {
  const cli_test::ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", cli_test::ball_scenario());
  const cli_test::ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  ASSERT_EQ(cli_test::run("heelstrike", {"run", file, "--in-process", "-o", "expected"}, here).exit_code, 0);
  const ServerProcess fem({}, {"127.0.0.1:0"});
  ChaosProxy to_fem(fem.address());
  cli_test::Program mbs("mbs_server", {"--listen", "127.0.0.1:0", "--fem", to_fem.address(), "--spool",
                                       (folder.path() / "spool").string()});
  ASSERT_TRUE(mbs.wait_for_output("event=listening"));
  ChaosProxy to_mbs(address_of(mbs));
  struct Disturbance {
    milliseconds delay;
    bool twice_to_mbs;
    bool twice_to_fem;
  };
  for (const auto& [delay, twice_to_mbs, twice_to_fem] :
       {Disturbance{milliseconds{1}, true, false}, Disturbance{milliseconds{0}, true, true}}) {
    SCOPED_TRACE(delay.count());
    to_mbs.disturb(delay, twice_to_mbs);
    to_fem.disturb(delay, twice_to_fem);
    const auto result =
        cli_test::run("heelstrike", {"run", file, "--mbs", to_mbs.address(), "-o", "out", "--force"}, here);
    if (result.exit_code != 0) {
      // Evaluations and commits overlap: a duplicate may commit before the original arrives, and be many steps ahead
      // where the client does not wait for commits. Late originals are rejected by name, by whichever check comes
      // first: of an evaluation, at the start of a commit, or before its publication.
      EXPECT_TRUE(twice_to_fem) << result.err;
      const char* const too_late[] = {"the one after the last commit", "steps are committed consecutively",
                                      "another commit or restore intervened between the two phases"};
      EXPECT_TRUE(std::any_of(std::begin(too_late), std::end(too_late), [&](const char* words) {
        return result.err.find(words) != std::string::npos;
      })) << result.err;
      const std::string table = cli_test::read_text(folder.path() / "out/timeseries.csv");
      const std::string expected = cli_test::read_text(folder.path() / "expected/timeseries.csv");
      const auto first = std::mismatch(table.begin(), table.end(), expected.begin(), expected.end()).first;
      EXPECT_TRUE(first == table.end()) << "differs from byte " << first - table.begin() << " of " << table.size()
                                        << ":\n"
                                        << table.substr(table.rfind('\n', first - table.begin()) + 1) << result.err;
      continue;
    }
    for (const char* name : {"timeseries.csv", "forces.sto", "kinematics.sto"}) {
      EXPECT_TRUE(cli_test::read_text(folder.path() / "out" / name) ==
                  cli_test::read_text(folder.path() / "expected" / name))
          << name;
    }
  }
  EXPECT_GT(to_fem.n_duplicates() + to_mbs.n_duplicates(), 3);
  mbs.signal(SIGTERM);
  EXPECT_EQ(mbs.wait().exit_code, 0) << mbs.output();
}

// Without TLS only the checksums of TCP protect a byte, and network elements that modify it recompute them.
TEST(Cuts, CorruptedBitsDoNotChangeAResponse) {
  const int n = number_of_cuts(60);
  constexpr int n_steps = 12;
  const ServerProcess server({}, {"127.0.0.1:0"});
  const std::string expected = bounce_through(*open_contact(server.address()), n_steps, [](int) {});
  ChaosProxy proxy(server.address());
  std::mt19937 random(20265);
  int n_errors = 0;
  for (int i = 0; i < n; ++i) {
    // The session is open when the bit is flipped: a request has about 250 bytes and its response about 700.
    const bool from_server = random() % 2 == 0;
    const std::uint64_t bytes = random() % (from_server ? 8'000 : 3'000);
    const int bit = static_cast<int>(random() % 8);
    SCOPED_TRACE(std::to_string(i) + (from_server ? ": from the server, " : ": to the server, ") +
                 std::to_string(bytes));
    try {
      const auto contact = open_contact(rpc::RemoteContactOptions{.endpoint = {.address = proxy.address(), .tls = {}},
                                                                  .reply_watchdog = milliseconds{300},
                                                                  .reconnect_timeout = std::chrono::seconds{10}});
      const std::string responses = bounce_through(*contact, n_steps, [&](int step) {
        if (step == 0) proxy.damage(from_server, bytes, bit);
      });
      EXPECT_TRUE(responses == expected) << "a flipped bit has changed a response";
    } catch (const Error& error) {
      // A flipped bit in the headers of a call may change the method or the length. An error is sufficient.
      ++n_errors;
    }
  }
  std::cout << proxy.n_damages() << " changed bits, " << n_errors << " ended with an error\n";
  EXPECT_GT(proxy.n_damages(), n / 2);
  EXPECT_LT(n_errors, n / 4) << "most are requested again";
}

TEST(Cuts, RunWaitsForATemporarilyUnavailableServer) {
  const ServerProcess server({}, {"127.0.0.1:0"});
  const std::string expected = bounce_through(*open_contact(server.address()), 6, [](int) {});
  ChaosProxy proxy(server.address());
  const auto contact = open_contact(proxy.address());
  const std::string responses = bounce_through(*contact, 6, [&](int step) {
    if (step == 3) proxy.cut(Cut::end, 0, milliseconds{2'500});  // longer than any pause between two attempts
  });
  EXPECT_TRUE(responses == expected);
}

TEST(Cuts, RetriesEndAfterTheTimeout) {
  const ServerProcess server({}, {"127.0.0.1:0"});
  ChaosProxy proxy(server.address());
  const auto contact = open_contact(rpc::RemoteContactOptions{.endpoint = {.address = proxy.address(), .tls = {}},
                                                              .reconnect_timeout = milliseconds{300}});
  try {
    bounce_through(*contact, 6, [&](int step) {
      if (step == 3) proxy.cut(Cut::end, 0, scaled_time_limit(std::chrono::seconds{60}));
    });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable) << error.what();
  }
}

}  // namespace
}  // namespace heelstrike::testing_support
