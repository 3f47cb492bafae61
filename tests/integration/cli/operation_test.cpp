// The client in operation: encrypted servers, a hanging server, a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/integration/cli/encrypted_servers.hpp"
#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/scenarios.hpp"
#include "tests/integration/cli/server_pair.hpp"

namespace heelstrike::cli_test {
namespace {

using testing::HasSubstr;

class EncryptedRuns : public EncryptedServers {
 protected:
  [[nodiscard]] Finished run_with(std::vector<std::string> tls) const {
    const std::string file = folder.write("ball.yaml", ball_scenario());
    std::vector<std::string> arguments = {"run", file, "--force", "-o", "out", "--mbs", mbs_address};
    arguments.insert(arguments.end(), tls.begin(), tls.end());
    return run("heelstrike", arguments, {.working_folder = folder.path(), .environment = {}});
  }
};

TEST_F(EncryptedRuns, AcceptKnownClientsOnly) {
  const std::vector<std::string> trust = {"--tls-ca", certificates.certificate("ca"), "--tls-authority",
                                          "contact.test"};
  const auto with = [&](const std::string& name) {
    auto options = trust;
    options.insert(options.end(), {"--tls-cert", certificates.certificate(name), "--tls-key", certificates.key(name)});
    return options;
  };
  const Finished known = run_with(with("client"));
  EXPECT_EQ(known.exit_code, 0) << known.err;
  EXPECT_GT(read_text(folder.path() / "out/timeseries.csv").size(), 1000U);
  EXPECT_EQ(run_with(with("stranger")).exit_code, 4);
  EXPECT_EQ(run_with(trust).exit_code, 4) << "let in without a certificate";
  EXPECT_EQ(run_with({}).exit_code, 4) << "let in without encryption";
  for (Program* server : {mbs.get(), fem.get()}) {
    server->signal(SIGTERM);
    EXPECT_EQ(server->wait().exit_code, 0) << server->output();
  }
}

// The server is alive and its connection intact: only the deadline detects it.
TEST(HangingServer, EndsTheRunAtTheDeadlineAndKeepsTheResults) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path(), {}, {"--exchange-timeout", "1"});
  const std::string file =
      folder.write("ball.yaml", ball_scenario("end_time: 0.5", "end_time: 1.0e5, budget: {rows: 200000000}"));
  Program client("heelstrike", {"run", file, "--mbs", servers.mbs_address, "-o", "out"},
                 {.working_folder = folder.path(), .environment = {}});
  ASSERT_TRUE(eventually([&] { return read_text(folder.path() / "out/timeseries.csv").size() > 20000; }));
  servers.fem->signal(SIGSTOP);
  const Finished result = client.wait();
  servers.fem->signal(SIGCONT);
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_THAT(result.err, HasSubstr(servers.fem_address));
  const auto summary = nlohmann::json::parse(read_text(folder.path() / "out/summary.json"));
  EXPECT_EQ(summary["status"], "failed");
  EXPECT_GT(summary["simulated_time_s"].get<double>(), 0.0);
  EXPECT_EQ(read_text(folder.path() / "out/timeseries.csv").back(), '\n') << "a torn row";
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "out/INCOMPLETE"));
}

TEST(Terminal, ShowsAProgressBarAndALogShowsLines) {
  const ScratchFolder folder;
  // Bounces for ever and writes little.
  std::string scenario = ball_scenario("end_time: 0.5", "end_time: 1.0e5, budget: {rows: 200000000}");
  scenario.replace(scenario.find("restitution: 0.8"), 16, "restitution: 1.0");
  scenario.replace(scenario.find("interval: 1.0e-3"), 16, "interval: 1.0e-1");
  const std::string file = folder.write("ball.yaml", scenario);
  const auto shows = [&](const std::string& program, const std::vector<std::string>& arguments,
                         const std::string& text) {
    Program client(program, arguments, {.working_folder = folder.path(), .environment = {}});
    const bool shown = client.wait_for_output(text);
    client.signal(SIGTERM);
    const std::string output = client.output();
    client.wait();
    return shown ? output : "never showed '" + text + "': " + output;
  };
  const std::string command =
      std::string("exec ") + HEELSTRIKE_BIN_DIR + "/heelstrike run " + file + " --in-process -o terminal";
  const std::string bar = shows("/usr/bin/script", {"-qec", command, "/dev/null"}, " left");
  EXPECT_THAT(bar, HasSubstr("\r\033[K"));
  EXPECT_THAT(bar, HasSubstr("[...."));
  const std::string lines = shows("heelstrike", {"run", file, "--in-process", "-o", "log"}, " left");
  EXPECT_THAT(lines, HasSubstr(" left\n"));
  EXPECT_EQ(lines.find('\033'), std::string::npos) << "control characters in a log";
}

}  // namespace
}  // namespace heelstrike::cli_test
