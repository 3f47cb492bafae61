// A run that is interrupted at any time resumes in its folder with the bytes of an uninterrupted one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/scenarios.hpp"
#include "tests/integration/cli/server_pair.hpp"

namespace heelstrike::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct ResumedCase {
  const char* name;
  const char* example;  ///< without a name the ball of the other tests
  std::vector<std::string> options;
};

/// Step of the last checkpoint; 0 = none.
long last_step(const fs::path& run) {
  long last = 0;
  std::error_code ignored;
  for (fs::directory_iterator entry(run / "checkpoints", ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().stem().string();
    if (entry->path().extension() == ".ckpt") last = std::max(last, std::stol(name.substr(name.find('_') + 1)));
  }
  return last;
}

class Resume : public testing::TestWithParam<ResumedCase> {
 protected:
  [[nodiscard]] std::vector<std::string> run_into(const char* output) const {
    const ResumedCase& c = GetParam();
    const std::string scenario = c.example != nullptr
                                     ? examples + c.example
                                     : folder.write("ball.yaml", ball_scenario("end_time: 0.5", "end_time: 1.5"));
    std::vector<std::string> arguments = {
        "run", scenario, "-o", output, "--force", "--set", "output.checkpoint_interval=0.01"};
    arguments.insert(arguments.end(), c.options.begin(), c.options.end());
    return arguments;
  }
  /// Kills the program once its run has a checkpoint of this step or a later one. @returns false when the run has ended
  /// before
  [[nodiscard]] bool cut_off(const std::vector<std::string>& arguments, long step) const {
    Program client("heelstrike", arguments, here);
    while (last_step(run) < step && alive(client.pid())) std::this_thread::yield();
    client.signal(SIGKILL);
    (void)client.wait();
    return fs::exists(run / "INCOMPLETE");
  }

  const ScratchFolder folder;
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const fs::path run = folder.path() / "cut";
};

TEST_P(Resume, ResumedRunEqualsTheUninterruptedRunBitForBit) {
  const Finished whole = cli_test::run("heelstrike", run_into("whole"), here);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const long n = last_step(folder.path() / "whole");
  ASSERT_GT(n, 100);
  const std::vector<std::string> in_place = {"resume", "cut"};
  for (const long instant : {1L, n / 4, n / 2}) {
    SCOPED_TRACE(instant);
    // On a busy machine a run may end before the next poll.
    bool cut = false;
    for (int attempt = 0; attempt < 10 && !cut; ++attempt) {
      fs::remove_all(run);
      cut = cut_off(run_into("cut"), instant);
    }
    ASSERT_TRUE(cut);
    // Again, in the resumed run.
    if (cut_off(in_place, last_step(run) + n / 10)) {
      const Finished resumed = cli_test::run("heelstrike", in_place, here);
      ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    }
    EXPECT_FALSE(fs::exists(run / "INCOMPLETE"));
    for (const char* file : {"timeseries.csv", "forces.sto", "kinematics.sto"}) {
      EXPECT_TRUE(read_text(run / file) == read_text(folder.path() / "whole" / file)) << file;
    }
    const auto contacts = [](const fs::path& of) {
      return nlohmann::json::parse(read_text(of / "summary.json"))["contacts"];
    };
    EXPECT_EQ(contacts(run), contacts(folder.path() / "whole"));
    EXPECT_THAT(read_text(run / "run.log"), HasSubstr("resumed from step_"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Runs, Resume,
    testing::Values(ResumedCase{"OwnServers", nullptr, {}},
                    ResumedCase{
                        "HistoryOfFriction", "rolling_ball.yaml", {"--set", "output.checkpoint_interval=0.002"}},
                    ResumedCase{"InProcess", nullptr, {"--in-process", "--set", "output.interval=1e-4"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ResumeRejects, RunsThatCannotContinue) {
  const ScratchFolder folder;
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const auto rejected = [&](const std::vector<std::string>& arguments) {
    const Finished result = run("heelstrike", arguments, here);
    EXPECT_EQ(result.exit_code, 5) << result.err;
    return result.err;
  };
  EXPECT_THAT(rejected({"resume", "nowhere"}), HasSubstr("found no folder nowhere"));
  EXPECT_THAT(rejected({"resume", "."}), HasSubstr("no scenario.yaml"));
  const std::string interval = "output.checkpoint_interval=0.05";
  ASSERT_EQ(run("heelstrike", {"run", file, "--in-process", "-o", "done", "--set", interval}, here).exit_code, 0);
  EXPECT_THAT(rejected({"resume", "done"}), HasSubstr("complete"));
  // As if interrupted: without checkpoints, with a truncated table, with another scenario.
  folder.write("done/INCOMPLETE", "cut off\n");
  const std::string table = read_text(folder.path() / "done/timeseries.csv");
  folder.write("done/timeseries.csv", table.substr(0, 200));
  EXPECT_THAT(rejected({"resume", "done"}), HasSubstr("ends before"));
  folder.write("done/timeseries.csv", table);
  const std::string scenario = read_text(folder.path() / "done/scenario.yaml");
  folder.write("done/scenario.yaml", scenario + "# changed\n");
  const Finished other = run("heelstrike", {"resume", "done", "--in-process"}, here);
  EXPECT_EQ(other.exit_code, 2) << other.err;
  EXPECT_THAT(other.err, HasSubstr("scenario.yaml: it has changed since the run began"));
  folder.write("done/scenario.yaml", scenario);
  EXPECT_EQ(run("heelstrike", {"resume", "done", "--in-process"}, here).exit_code, 0);
  EXPECT_TRUE(read_text(folder.path() / "done/timeseries.csv") == table);
  fs::remove_all(folder.path() / "done/checkpoints");
  folder.write("done/INCOMPLETE", "cut off\n");
  EXPECT_THAT(rejected({"resume", "done"}), HasSubstr("without checkpoints"));
}

/// The first client was killed; another one collects the remaining rows.
TEST(Attach, WritesTheFolderOfTheFirstClient) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path());
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const std::string file = folder.write("ball.yaml", ball_scenario("end_time: 0.5", "end_time: 3"));
  const std::vector<std::string> fast = {
      "--set", "output.checkpoint_interval=0.1", "--set", "output.steps=all", "--mbs", servers.mbs_address};
  const auto command = [&](const char* output) {
    std::vector<std::string> arguments = {"run", file, "-o", output, "--quiet"};
    arguments.insert(arguments.end(), fast.begin(), fast.end());
    return arguments;
  };
  ASSERT_EQ(run("heelstrike", command("whole"), here).exit_code, 0);
  bool cut = false;
  for (int attempt = 0; attempt < 10 && !cut; ++attempt) {
    fs::remove_all(folder.path() / "cut");
    Program first("heelstrike", command("cut"), here);
    while (last_step(folder.path() / "cut") < 1 && alive(first.pid())) std::this_thread::yield();
    first.signal(SIGKILL);
    (void)first.wait();
    cut = fs::exists(folder.path() / "cut/INCOMPLETE");
  }
  ASSERT_TRUE(cut);
  const std::string log = read_text(folder.path() / "cut/run.log");
  const auto begin = log.find("run run-");
  ASSERT_NE(begin, std::string::npos) << log;
  const std::string id = log.substr(begin + 4, log.find(' ', begin + 4) - begin - 4);
  // In another folder, and in that of the first client.
  Program watcher("heelstrike", {"attach", id, "--mbs", servers.mbs_address, "-o", "elsewhere", "--quiet"}, here);
  const Finished attached =
      run("heelstrike", {"attach", id, "--mbs", servers.mbs_address, "-o", "cut", "--quiet"}, here);
  EXPECT_EQ(attached.exit_code, 0) << attached.err;
  const Finished other = watcher.wait();
  EXPECT_EQ(other.exit_code, 0) << other.err;
  for (const char* output : {"cut", "elsewhere"}) {
    for (const char* name : {"scenario.yaml", "timeseries.csv", "forces.sto", "kinematics.sto"}) {
      EXPECT_TRUE(read_text(folder.path() / output / name) == read_text(folder.path() / "whole" / name))
          << output << "/" << name;
    }
    EXPECT_FALSE(fs::exists(folder.path() / output / "INCOMPLETE"));
    EXPECT_TRUE(fs::exists(folder.path() / output / "report.html"));
  }
  const Finished forgotten = run("heelstrike", {"attach", id, "--mbs", servers.mbs_address, "-o", "late"}, here);
  EXPECT_NE(forgotten.exit_code, 0);
  EXPECT_THAT(forgotten.err, HasSubstr("there is no run named"));
}

/// Ctrl-C leaves the run on the server; a later command stops it.
TEST(Attach, DetachesAtCtrlCAndCancelsOnRequest) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path());
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const std::string file =
      folder.write("ball.yaml", ball_scenario("end_time: 0.5", "end_time: 1.0e5, budget: {rows: 200000000}"));
  Program first("heelstrike", {"run", file, "-o", "first", "--mbs", servers.mbs_address, "--quiet"}, here);
  ASSERT_TRUE(eventually([&] { return read_text(folder.path() / "first/timeseries.csv").size() > 20000; }));
  first.signal(SIGKILL);
  (void)first.wait();
  const std::string log = read_text(folder.path() / "first/run.log");
  const auto begin = log.find("run run-");
  ASSERT_NE(begin, std::string::npos) << log;
  const std::string id = log.substr(begin + 4, log.find(' ', begin + 4) - begin - 4);
  const auto n_bytes = read_text(folder.path() / "first/timeseries.csv").size();
  Program second("heelstrike", {"attach", id, "--mbs", servers.mbs_address, "-o", "first", "--quiet"}, here);
  ASSERT_TRUE(eventually([&] { return read_text(folder.path() / "first/timeseries.csv").size() > n_bytes + 20000; }));
  second.signal(SIGINT);
  const Finished detached = second.wait();
  EXPECT_EQ(detached.exit_code, 130) << detached.err;
  EXPECT_THAT(detached.err, HasSubstr("run " + id + " goes on"));
  EXPECT_THAT(detached.err, HasSubstr("--cancel stops it"));
  const Finished cancelled =
      run("heelstrike", {"attach", id, "--mbs", servers.mbs_address, "-o", "first", "--quiet", "--cancel"}, here);
  EXPECT_THAT(read_text(folder.path() / "first/INCOMPLETE"), HasSubstr("cancelled"));
  EXPECT_THAT(cancelled.err, HasSubstr("heelstrike resume first")) << cancelled.exit_code;
}

}  // namespace
}  // namespace heelstrike::cli_test
