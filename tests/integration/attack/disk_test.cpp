// Full disks, folders in use, restarted servers: the client reports the error and keeps the existing results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/scenarios.hpp"
#include "tests/integration/cli/server_pair.hpp"

namespace heelstrike::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string long_scenario() {
  return ball_scenario("end_time: 0.5", "end_time: 1.0e5, budget: {rows: 1000000000}");
}

/// A disk of 128 KiB at `folder`; unmounted by the destructor.
class SmallDisk {
 public:
  explicit SmallDisk(fs::path folder) : folder_(std::move(folder)) {
    fs::create_directory(folder_);
    mounted_ = ::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=128k") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] const fs::path& path() const { return folder_; }

 private:
  fs::path folder_;
  bool mounted_ = false;
};

/// What a run leaves after it could not write.
void expect_an_honest_folder(const fs::path& out, const std::string& reason) {
  EXPECT_THAT(read_text(out / "INCOMPLETE"), HasSubstr(reason));
  const std::string rows = read_text(out / "timeseries.csv");
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.back(), '\n') << "a torn row";
}

TEST(Disk, FullDiskIsReportedInTheRunFolder) {
  const ScratchFolder folder;
  const SmallDisk disk(folder.path() / "disk");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small disk requires root";
  const std::string file = folder.write("ball.yaml", long_scenario());
  const Finished result = run("heelstrike", {"run", file, "--in-process", "-o", (disk.path() / "out").string()},
                              {.working_folder = folder.path(), .environment = {}});
  EXPECT_EQ(result.exit_code, 5) << result.err;
  expect_an_honest_folder(disk.path() / "out", "No space left");
}

TEST(Disk, FullSpoolDiskEndsTheRunWithAFileError) {
  const ScratchFolder folder;
  const SmallDisk disk(folder.path() / "spool");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small disk requires root";
  const ServerPair servers(folder.path());
  const std::string file = folder.write("ball.yaml", long_scenario());
  const Finished result = run("heelstrike", {"run", file, "--mbs", servers.mbs_address, "-o", "out"},
                              {.working_folder = folder.path(), .environment = {}});
  EXPECT_EQ(result.exit_code, 5) << result.err;
  expect_an_honest_folder(folder.path() / "out", "No space left");
}

TEST(Disk, FileSizeLimitCausesAnErrorAndNoSignal) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", long_scenario());
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 100'000, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  Program client("heelstrike", {"run", file, "--in-process", "-o", "out"},
                 {.working_folder = folder.path(), .environment = {}});
  ::setrlimit(RLIMIT_FSIZE, &before);
  const Finished result = client.wait();
  EXPECT_EQ(result.exit_code, 5) << result.err;
  expect_an_honest_folder(folder.path() / "out", "File too large");
}

TEST(Folder, InUseIsNotOverwritten) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", long_scenario());
  Program first("heelstrike", {"run", file, "--in-process", "-o", "out"},
                {.working_folder = folder.path(), .environment = {}});
  const fs::path table = folder.path() / "out/timeseries.csv";
  ASSERT_TRUE(eventually([&] { return read_text(table).size() > 20000; }));
  const Finished second = run("heelstrike", {"run", file, "--in-process", "-o", "out", "--force"},
                              {.working_folder = folder.path(), .environment = {}});
  EXPECT_EQ(second.exit_code, 5) << second.err;
  EXPECT_THAT(second.err, HasSubstr("another run writes to it"));
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait().exit_code, 130);
  EXPECT_THAT(read_text(folder.path() / "out/INCOMPLETE"), HasSubstr("cancelled"));
}

/// A named multibody server that is killed and restarted during a run resumes it.
TEST(Restart, MultibodyServerResumesItsRunsAfterARestart) {
  const ScratchFolder folder;
  ServerPair servers(folder.path());
  const std::string file = folder.write("ball.yaml", long_scenario());
  Program client("heelstrike",
                 {"run", file, "--mbs", servers.mbs_address, "-o", "out", "--set", "output.checkpoint_interval=0.1"},
                 {.working_folder = folder.path(), .environment = {}});
  const fs::path table = folder.path() / "out/timeseries.csv";
  ASSERT_TRUE(eventually([&] { return read_text(table).size() > 20000; }));
  servers.mbs->signal(SIGKILL);
  servers.mbs->wait();
  const auto reached = read_text(table).size();
  servers.mbs = std::make_unique<Program>(
      "mbs_server", std::vector<std::string>{"--listen", servers.mbs_address, "--fem", servers.fem_address, "--spool",
                                             (folder.path() / "spool").string()});
  // Rows sent by the first server may still arrive: the test waits for the message and then for the rows of the second
  // server.
  const std::string message = "the multibody server was restarted; the run resumes from t = ";
  EXPECT_TRUE(eventually([&] { return client.output().find(message) != std::string::npos; })) << client.output();
  EXPECT_TRUE(eventually([&] { return read_text(table).size() > reached + 100000; })) << client.output();
  client.signal(SIGTERM);
  EXPECT_EQ(client.wait().exit_code, 130);
  const std::string rows = read_text(table);
  EXPECT_EQ(rows.back(), '\n');
}

}  // namespace
}  // namespace heelstrike::cli_test
