// Servers under limits of the operating system: each runs, or reports the limit, and stops regularly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <string>
#include <vector>

#include "rpc/channel.hpp"
#include "tests/integration/attack/limited_server.hpp"
#include "tests/integration/cli/program.hpp"
#include "tests/integration/contact_service/raw_calls.hpp"
#include "tests/integration/contact_service/server_process.hpp"
#include "tests/support/child_environment.hpp"

namespace heelstrike::testing_support {
namespace {

using cli_test::eventually;
using testing::HasSubstr;

/// From the smallest address space that loads its libraries to one that is sufficient.
class AddressSpace : public testing::TestWithParam<int> {};

TEST_P(AddressSpace, ServerRunsOrReportsTheLimitAndExits) {
  if (HEELSTRIKE_TEST_TIME_FACTOR > 1) GTEST_SKIP() << "a sanitizer needs additional address space";
  for (const std::string name : {"fem_server", "mbs_server"}) {
    SCOPED_TRACE(name);
    const TemporaryFolder folder;
    const std::vector<std::string> arguments = name == "fem_server"
                                                   ? std::vector<std::string>{"--cache-dir", ""}
                                                   : std::vector<std::string>{"--spool", folder.path("spool")};
    LimitedServer server(name, arguments, static_cast<rlim_t>(GetParam()) << 20U);
    ASSERT_TRUE(
        eventually([&] { return server.ended() || server.log().find("event=listening") != std::string::npos; }));
    if (server.ended()) {
      if (server.log().find("error while loading shared libraries") != std::string::npos) continue;
      EXPECT_EQ(server.end(), "exit code 3") << server.log();
      EXPECT_THAT(server.log(), HasSubstr("event=failed"));
      EXPECT_THAT(server.log(), HasSubstr("code=\"limit reached\""));
      continue;
    }
    EXPECT_EQ(check_health(rpc::make_channel({.address = server.address(), .tls = {}}), ""), "SERVING");
    server.signal(SIGTERM);
    EXPECT_TRUE(eventually([&] { return server.ended(); }, std::chrono::seconds{10})) << server.log();
    EXPECT_EQ(server.end(), "exit code 0") << server.log();
  }
}

INSTANTIATE_TEST_SUITE_P(Mebibytes, AddressSpace,
                         testing::Values(350, 450, 550, 600, 650, 700, 750, 800, 850, 900, 1000, 1200),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace heelstrike::testing_support
