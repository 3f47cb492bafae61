// A lost connection never ends a run while the server is there, and changes none of its bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "common/errors/error.hpp"
#include "tests/integration/attack/chaos_proxy.hpp"
#include "tests/integration/contact_service/server_process.hpp"
#include "tests/support/child_environment.hpp"

namespace heelstrike::testing_support {
namespace {

using std::chrono::milliseconds;

/// Of this test; HEELSTRIKE_ATTACK_CUTS asks for more.
int number_of_cuts() {
  const char* wanted = std::getenv("HEELSTRIKE_ATTACK_CUTS");
  return wanted != nullptr ? std::atoi(wanted) : 60;
}

/// What happens to the connection at a step, the same in every run of the test.
class Trouble {
 public:
  explicit Trouble(ChaosProxy& proxy) : proxy_(proxy) {}

  /// @returns what was done, for messages
  std::string make() {
    const auto kind = static_cast<Cut>(random_() % 4);
    // An exchange of one pair is answered with some 700 bytes: the cut falls before, into or behind the answer.
    const std::uint64_t bytes = random_() % 2 == 0 ? 0 : random_() % 1200;
    proxy_.cut(kind, bytes);
    return "cut of kind " + std::to_string(static_cast<int>(kind)) + " after " + std::to_string(bytes) + " bytes";
  }

 private:
  ChaosProxy& proxy_;
  std::mt19937 random_{20261};
};

/// Steps of a bounce with `trouble` before each commit; the bits of all answers.
std::string bounce_through(Contact& contact, int n_steps, const std::function<void(int)>& trouble) {
  std::string answers;
  Response response[1];
  for (int step = 0; step < n_steps; ++step) {
    const double phase = 1e-3 * step;
    const PairState state[] = {ball_at(phase, 0.1 + 2e-5 * std::cos(60.0 * phase), 0.5)};
    trouble(step);
    contact.evaluate(step, 0, state, response);
    answers += bits(response[0]);
    contact.commit(step, state, response);
    answers += bits(response[0]);
  }
  return answers;
}

TEST(Cuts, NoOrdinaryCutEndsARunOrChangesABit) {
  const int n = number_of_cuts();
  const ServerProcess server({}, {"127.0.0.1:0"});
  const std::string expected = bounce_through(*open_contact(server.address()), n, [](int) {});
  ChaosProxy proxy(server.address());
  Trouble trouble(proxy);
  const auto contact = open_contact(proxy.address());
  std::string last;
  try {
    const std::string answers = bounce_through(*contact, n, [&](int) { last = trouble.make(); });
    EXPECT_TRUE(answers == expected) << "a cut has changed an answer";
  } catch (const Error& error) {
    ADD_FAILURE() << "after " << proxy.n_cuts() << " cuts, the last a " << last << ": " << error.what();
  }
  // Some orders meet a connection that is being made and count once for two.
  EXPECT_GT(proxy.n_cuts(), n / 2);
}

TEST(Cuts, AServerThatRefusesForAWhileIsWaitedFor) {
  const ServerProcess server({}, {"127.0.0.1:0"});
  const std::string expected = bounce_through(*open_contact(server.address()), 6, [](int) {});
  ChaosProxy proxy(server.address());
  const auto contact = open_contact(proxy.address());
  const std::string answers = bounce_through(*contact, 6, [&](int step) {
    if (step == 3) proxy.refuse_for(milliseconds{2'500});  // longer than any pause between two attempts
  });
  EXPECT_TRUE(answers == expected);
}

TEST(Cuts, PatienceHasAnEnd) {
  const ServerProcess server({}, {"127.0.0.1:0"});
  ChaosProxy proxy(server.address());
  const auto contact = open_contact(
      rpc::RemoteContactOptions{.endpoint = {.address = proxy.address(), .tls = {}}, .patience = milliseconds{300}});
  try {
    bounce_through(*contact, 6, [&](int step) {
      if (step == 3) proxy.refuse_for(patience(std::chrono::seconds{60}));
    });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable) << error.what();
  }
}

}  // namespace
}  // namespace heelstrike::testing_support
