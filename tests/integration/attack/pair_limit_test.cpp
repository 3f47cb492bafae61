// A pair that does not fit into the process of a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/integration/attack/limited_server.hpp"
#include "tests/integration/cli/fem_scenarios.hpp"
#include "tests/integration/cli/program.hpp"
#include "tests/support/child_environment.hpp"

namespace heelstrike::testing_support {
namespace {

using cli_test::eventually;
using testing::AllOf;
using testing::HasSubstr;

/// It is a failure of the run, as with a private server; only a full server may accept the run later.
TEST(PairLimit, WithoutAddressSpaceTheRunFails) {
  if (HEELSTRIKE_TEST_TIME_FACTOR > 1) GTEST_SKIP() << "a sanitizer needs additional address space";
  const cli_test::ScratchFolder folder;
  const std::string block = folder.write("block.yaml", cli_test::block_scenario());
  // The need of a server depends on the number of processors. The first one that starts has less left than the module
  // of the elements maps.
  for (const int mebibytes : {700, 800, 900, 1000, 1100, 1200, 1400, 1600}) {
    LimitedServer server("fem_server", {"--cache-dir", ""}, static_cast<rlim_t>(mebibytes) << 20U);
    ASSERT_TRUE(
        eventually([&] { return server.ended() || server.log().find("event=listening") != std::string::npos; }));
    if (server.ended()) continue;
    const cli_test::Finished result =
        cli_test::run("heelstrike", {"run", block, "--fem", server.address(), "-o", "out", "--quiet"},
                      {.working_folder = folder.path(), .environment = {}});
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("memory: "), HasSubstr("ulimit -v")));
    return;
  }
  GTEST_SKIP() << "no server starts with 1.6 GiB of address space";
}

}  // namespace
}  // namespace heelstrike::testing_support
