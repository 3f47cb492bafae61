// A pair that does not fit into the process of a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <utility>

#include "tests/integration/attack/limited_server.hpp"
#include "tests/integration/cli/fem_scenarios.hpp"
#include "tests/integration/cli/program.hpp"
#include "tests/support/child_environment.hpp"

namespace heelstrike::testing_support {
namespace {

using cli_test::eventually;
using testing::AllOf;
using testing::HasSubstr;

/// Runs a scenario on the server.
cli_test::Finished run_on(const LimitedServer& server, const cli_test::ScratchFolder& folder, const std::string& yaml) {
  const std::string block = folder.write("block.yaml", yaml);
  return cli_test::run("heelstrike", {"run", block, "--fem", server.address(), "-o", "out", "--force", "--quiet"},
                       {.working_folder = folder.path(), .environment = {}});
}

/// Below 1 GiB, where the program starts but has no room for the elements, and from 1.3 GiB on, which is sufficient; in
/// between the threads of a busy machine decide. A server that listened without the module
/// of the finite elements (0.6 to 1.2 GB) rejected every session with them.
TEST(PairLimit, ServersThatListenHaveFiniteElements) {
  if (HEELSTRIKE_TEST_TIME_FACTOR > 1) GTEST_SKIP() << "a sanitizer needs additional address space";
  const cli_test::ScratchFolder folder;
  bool too_large_was_tried = false;
  for (const int mebibytes : {700, 800, 900, 1300, 1400, 1600}) {
    SCOPED_TRACE(mebibytes);
    LimitedServer server("fem_server", {"--cache-dir", ""}, static_cast<rlim_t>(mebibytes) << 20U);
    ASSERT_TRUE(
        eventually([&] { return server.ended() || server.log().find("event=listening") != std::string::npos; }));
    if (server.ended()) {
      EXPECT_EQ(server.end(), "exit code 3") << server.log();
      EXPECT_THAT(server.log(), AllOf(HasSubstr("code=\"limit reached\""), HasSubstr("ulimit -v")));
      continue;
    }
    const cli_test::Finished small = run_on(server, folder, cli_test::block_scenario());
    EXPECT_EQ(small.exit_code, 0) << small.err;
    if (!std::exchange(too_large_was_tried, true)) {
      // It is a failure of the run, as with a private server; only a full server may accept the run later. 80,000
      // unknowns, whose factor takes about 0.5 GB.
      const cli_test::Finished large =
          run_on(server, folder, cli_test::block_scenario("element_size: 0.005", "element_size: 0.001"));
      EXPECT_EQ(large.exit_code, 3) << large.err;
      EXPECT_THAT(large.err, AllOf(HasSubstr("memory: "), HasSubstr("ulimit -v")));
    }
    server.signal(SIGTERM);
    EXPECT_TRUE(eventually([&] { return server.ended(); }, std::chrono::seconds{10})) << server.log();
    EXPECT_EQ(server.end(), "exit code 0") << server.log();
  }
}

/// Limits of private servers are those of the run: no other attempt would succeed.
TEST(PairLimit, PrivateServersWithoutMemoryAreAFailureOfTheRun) {
  if (HEELSTRIKE_TEST_TIME_FACTOR > 1) GTEST_SKIP() << "a sanitizer needs additional address space";
  const cli_test::ScratchFolder folder;
  const std::string block = folder.write("block.yaml", cli_test::block_scenario());
  const std::string limited =
      std::string("ulimit -v 500000; exec ") + HEELSTRIKE_BIN_DIR + "/heelstrike run " + block + " -o out";
  const cli_test::Finished ended =
      cli_test::run("/bin/sh", {"-c", limited}, {.working_folder = folder.path(), .environment = {}});
  EXPECT_EQ(ended.exit_code, 3) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("ended before it was ready"), HasSubstr("limit reached")));
}

}  // namespace
}  // namespace heelstrike::testing_support
