// State after a crash, a stop, or an unexpected peer.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/scenarios.hpp"
#include "tests/integration/cli/server_pair.hpp"

namespace heelstrike::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A run that lasts until it is ended, with private servers whose folder is in `base`.
struct LongRun {
  LongRun() : base(scratch.path() / "run") {
    fs::create_directory(base);
    fs::permissions(base, fs::perms::owner_all);
    const std::string file =
        scratch.write("ball.yaml", ball_scenario("end_time: 0.5", "end_time: 1.0e5, budget: {rows: 200000000}"));
    client = std::make_unique<Program>(
        "heelstrike", std::vector<std::string>{"run", file, "-o", "out"},
        ProgramOptions{.working_folder = scratch.path(), .environment = {{"XDG_RUNTIME_DIR", base.string()}}});
    // Some rows on disk: the run is in progress.
    EXPECT_TRUE(eventually([&] { return read_text(out() / "timeseries.csv").size() > 20000; })) << client->output();
    fem = children(client->pid(), "fem_server");
    mbs = children(client->pid(), "mbs_server");
    EXPECT_EQ(fem.size(), 1U);
    EXPECT_EQ(mbs.size(), 1U);
  }

  [[nodiscard]] fs::path out() const { return scratch.path() / "out"; }

  void expect_nothing_left() const {
    for (const pid_t server : {fem.at(0), mbs.at(0)}) {
      EXPECT_TRUE(eventually([server] { return !alive(server); })) << "orphan " << server;
    }
    EXPECT_TRUE(fs::is_empty(base)) << "stale " << fs::directory_iterator(base)->path();
  }

  /// Complete rows, equal to those of an uninterrupted run.
  void expect_rows_are_a_beginning() const {
    const std::string rows = read_text(out() / "timeseries.csv");
    EXPECT_EQ(rows.back(), '\n') << "a torn row";
    const std::string file = (scratch.path() / "ball.yaml").string();
    // The same end time, because the integrator's first step depends on it.
    Program whole("heelstrike", {"run", file, "--in-process", "-o", "whole", "--quiet"},
                  {.working_folder = scratch.path(), .environment = {}});
    const fs::path table = scratch.path() / "whole/timeseries.csv";
    ASSERT_TRUE(eventually([&] { return read_text(table).size() >= rows.size(); }));
    whole.signal(SIGTERM);
    EXPECT_EQ(whole.wait().exit_code, 130);
    EXPECT_TRUE(read_text(table).substr(0, rows.size()) == rows) << "not the beginning of the uninterrupted run";
  }

  ScratchFolder scratch;
  fs::path base;
  std::unique_ptr<Program> client;
  std::vector<pid_t> fem;
  std::vector<pid_t> mbs;
};

/// Current process of this role; waits until it exists.
pid_t current(const LongRun& run, const char* owner) {
  std::vector<pid_t> found;
  EXPECT_TRUE(eventually([&] {
    found = children(run.client->pid(), owner);
    return !found.empty() || !alive(run.client->pid());
  }));
  return found.empty() ? -1 : found[0];
}

/// A server that crashes by chance is restarted, and the run continues after its last rows.
void expect_run_continues(LongRun& run, pid_t server, const std::string& name) {
  ::kill(server, SIGKILL);
  const auto reached = read_text(run.out() / "timeseries.csv").size();
  ASSERT_TRUE(eventually([&] { return read_text(run.out() / "timeseries.csv").size() > reached + 100000; }))
      << run.client->output();
  EXPECT_THAT(run.client->output(), HasSubstr(name));
  EXPECT_THAT(run.client->output(), HasSubstr("signal 9 (Killed); it is restarted"));
  run.client->signal(SIGTERM);
  EXPECT_EQ(run.client->wait().exit_code, 130);
  run.expect_rows_are_a_beginning();
  EXPECT_TRUE(fs::is_empty(run.base));
}

TEST(Faults, KilledContactServerIsRestarted) {
  LongRun run;
  expect_run_continues(run, run.fem.at(0), "(fem_server)");
}

TEST(Faults, KilledMultibodyServerIsRestarted) {
  LongRun run;
  expect_run_continues(run, run.mbs.at(0), "(mbs_server)");
}

/// A server that crashes repeatedly before the run progresses is not restarted for ever.
TEST(Faults, RepeatedCrashAtTheSameTimeEndsTheRunWithTheServerName) {
  for (const char* name : {"mbs_server", "fem_server"}) {
    LongRun run;
    for (pid_t last = -1; alive(run.client->pid());) {
      const pid_t server = current(run, name);
      if (server > 0 && server != last) ::kill(last = server, SIGKILL);
    }
    const Finished result = run.client->wait();
    EXPECT_EQ(result.exit_code, 4) << result.err;
    EXPECT_THAT(result.err, HasSubstr(name));
    EXPECT_THAT(result.err, HasSubstr("failed 6 times without progress of the run"));
    EXPECT_THAT(read_text(run.out() / "INCOMPLETE"), HasSubstr("failed 6 times"));
    EXPECT_EQ(nlohmann::json::parse(read_text(run.out() / "summary.json"))["status"], "failed");
    EXPECT_TRUE(fs::is_empty(run.base));
  }
}

TEST(Faults, ServerKilledBeforeReadyIsRestarted) {
  for (const std::string name : {"mbs_server", "fem_server"}) {
    const ScratchFolder folder;
    const std::string file = folder.write("ball.yaml", ball_scenario());
    Program client("heelstrike", {"run", file, "-o", "out"}, {.working_folder = folder.path(), .environment = {}});
    std::vector<pid_t> servers;
    ASSERT_TRUE(eventually([&] {
      servers = children(client.pid(), name);
      return !servers.empty();
    }));
    ::kill(servers.front(), SIGKILL);  // its libraries are still being loaded
    const Finished result = client.wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("(" + name + ") ended with signal 9 (Killed); it is restarted"));
  }
}

class Stopped : public testing::TestWithParam<int> {};

TEST_P(Stopped, RunKeepsItsResultsAndLeavesNoProcess) {
  LongRun run;
  run.client->signal(GetParam());
  const Finished result = run.client->wait();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_EQ(nlohmann::json::parse(read_text(run.out() / "summary.json"))["status"], "cancelled");
  EXPECT_THAT(read_text(run.out() / "INCOMPLETE"), HasSubstr("cancelled"));
  EXPECT_THAT(result.err, HasSubstr("heelstrike resume out continues it from its "));
  run.expect_rows_are_a_beginning();
  run.expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(Signals, Stopped, testing::Values(SIGINT, SIGTERM),
                         [](const auto& info) { return info.param == SIGINT ? "CtrlC" : "Sigterm"; });

TEST(Faults, KilledClientLeavesNoOrphanAndTheNextStartRemovesItsFiles) {
  LongRun run;
  run.client->signal(SIGKILL);
  EXPECT_EQ(run.client->wait().exit_code, 128 + SIGKILL);
  for (const pid_t server : {run.fem.at(0), run.mbs.at(0)}) {
    EXPECT_TRUE(eventually([server] { return !alive(server); })) << "orphan " << server;
  }
  EXPECT_THAT(read_text(run.out() / "INCOMPLETE"), HasSubstr("killed"));
  const Finished next = cli_test::run("heelstrike", {"doctor"},
                                      {.working_folder = "/", .environment = {{"XDG_RUNTIME_DIR", run.base.string()}}});
  EXPECT_EQ(next.exit_code, 0) << next.out;
  EXPECT_TRUE(fs::is_empty(run.base)) << "the private folder of the killed client is still there";
}

TEST(Faults, DrainLetsRunningClientsFinish) {
  const ScratchFolder folder;
  auto servers = std::make_unique<ServerPair>(folder.path(), std::map<std::string, std::string>{},
                                              std::vector<std::string>{"--drain-timeout", "300"});
  const std::string file =
      folder.write("ball.yaml", ball_scenario("end_time: 0.5", "end_time: 1.0e5, budget: {rows: 200000000}"));
  Program client("heelstrike", {"run", file, "--mbs", servers->mbs_address, "-o", "out"},
                 {.working_folder = folder.path(), .environment = {}});
  ASSERT_TRUE(eventually([&] { return read_text(folder.path() / "out/timeseries.csv").size() > 20000; }));
  servers->mbs->signal(SIGTERM);
  const Finished result = client.wait();
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_EQ(nlohmann::json::parse(read_text(folder.path() / "out/summary.json"))["status"], "cancelled");
}

TEST(Faults, VersionMismatchReportsBothVersions) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path(), {{"HEELSTRIKE_TEST_CONTRACT", "99"}});
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const Finished result = run("heelstrike", {"run", file, "--mbs", servers.mbs_address},
                              {.working_folder = folder.path(), .environment = {}});
  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_THAT(result.err, HasSubstr("99"));
  const Finished doctor = run("heelstrike", {"doctor", "--mbs", servers.mbs_address});
  EXPECT_EQ(doctor.exit_code, 6) << doctor.out;
}

TEST(Faults, ScenarioAboveTheSizeLimitIsRejected) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path(), {}, {"--max-scenario-kib", "1"});
  const std::string file = folder.write("ball.yaml", ball_scenario() + "# " + std::string(2000, 'x') + "\n");
  const Finished result = run("heelstrike", {"run", file, "--mbs", servers.mbs_address},
                              {.working_folder = folder.path(), .environment = {}});
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1024"));
  EXPECT_FALSE(fs::exists(folder.path() / "runs/ball-flores")) << "a run that never began must not leave a folder";
}

TEST(Faults, PortInUseIsReported) {
  const int taken = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(taken, 1), 0);
  ::getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size);
  const std::string port = std::to_string(ntohs(address.sin_port));
  const ScratchFolder folder;
  const Finished result =
      run("mbs_server", {"--listen", "127.0.0.1:" + port, "--spool", (folder.path() / "spool").string()});
  ::close(taken);
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr(port));
}

TEST(Faults, InvalidBytesOnThePortAffectNoClient) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path());
  const int garbage = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = servers.mbs_address.substr(5);
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::connect(garbage, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const std::string bytes(100000, '\x7f');
  (void)!::send(garbage, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  ::close(garbage);
  EXPECT_EQ(run("heelstrike", {"doctor", "--mbs", servers.mbs_address}).exit_code, 0);
}

TEST(Faults, FullDiskIsAFileError) {
  const ScratchFolder folder;
  const fs::path disk = folder.path() / "disk";
  fs::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "mounting a small disk requires root";
  const std::string file = folder.write("ball.yaml", ball_scenario("end_time: 0.5", "end_time: 20"));
  for (const std::string mode : {"", "--in-process"}) {
    std::vector<std::string> arguments = {"run", file, "-o", (disk / ("out" + mode)).string()};
    if (!mode.empty()) arguments.push_back(mode);
    const Finished result = run("heelstrike", arguments, {.working_folder = folder.path(), .environment = {}});
    EXPECT_EQ(result.exit_code, 5) << mode << result.err;
    EXPECT_THAT(result.err, HasSubstr("No space left")) << mode;
  }
  EXPECT_EQ(::umount(disk.c_str()), 0);
}

}  // namespace
}  // namespace heelstrike::cli_test
