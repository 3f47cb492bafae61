// A run that is cut off at any time goes on in its folder and leaves the bytes of one that nobody disturbed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/scenarios.hpp"

namespace heelstrike::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct ResumedCase {
  const char* name;
  const char* example;  ///< without a name the ball of the other tests
  std::vector<std::string> options;
};

std::size_t n_checkpoints(const fs::path& run) {
  std::size_t n = 0;
  std::error_code ignored;
  for (fs::directory_iterator entry(run / "checkpoints", ignored), end; entry != end; ++entry) {
    n += entry->path().extension() == ".ckpt" ? 1 : 0;
  }
  return n;
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
  /// Kills the program once its run has so many checkpoints. @returns false when the run has ended before
  [[nodiscard]] bool cut_off(const std::vector<std::string>& arguments, std::size_t checkpoints) const {
    Program client("heelstrike", arguments, here);
    while (n_checkpoints(run) < checkpoints && alive(client.pid())) std::this_thread::yield();
    client.signal(SIGKILL);
    (void)client.wait();
    return fs::exists(run / "INCOMPLETE");
  }

  const ScratchFolder folder;
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const fs::path run = folder.path() / "cut";
};

TEST_P(Resume, LeavesTheBytesOfAnUndisturbedRun) {
  const Finished whole = cli_test::run("heelstrike", run_into("whole"), here);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::size_t n = n_checkpoints(folder.path() / "whole");
  ASSERT_GT(n, 20U);
  const std::vector<std::string> in_place = {"resume", "cut"};
  for (const std::size_t instant : {std::size_t{1}, n / 4, n / 2}) {
    SCOPED_TRACE(instant);
    // On a busy machine a run may end before this program looks again.
    bool cut = false;
    for (int attempt = 0; attempt < 10 && !cut; ++attempt) {
      fs::remove_all(run);
      cut = cut_off(run_into("cut"), instant);
    }
    ASSERT_TRUE(cut);
    // Once more, in the resumed run.
    if (cut_off(in_place, n_checkpoints(run) + 2)) {
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

TEST(ResumeRefuses, WhatCannotGoOn) {
  const ScratchFolder folder;
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const auto refused = [&](const std::vector<std::string>& arguments) {
    const Finished result = run("heelstrike", arguments, here);
    EXPECT_EQ(result.exit_code, 5) << result.err;
    return result.err;
  };
  EXPECT_THAT(refused({"resume", "nowhere"}),
              HasSubstr("nowhere: expected a run to resume, found no folder of this name"));
  EXPECT_THAT(refused({"resume", "."}), HasSubstr("no scenario.yaml"));
  const std::string interval = "output.checkpoint_interval=0.05";
  ASSERT_EQ(run("heelstrike", {"run", file, "--in-process", "-o", "done", "--set", interval}, here).exit_code, 0);
  EXPECT_THAT(refused({"resume", "done"}), HasSubstr("complete"));
  // As if it had been cut off: without checkpoints, with a table that was cut by hand, with another scenario.
  folder.write("done/INCOMPLETE", "cut off\n");
  const std::string table = read_text(folder.path() / "done/timeseries.csv");
  folder.write("done/timeseries.csv", table.substr(0, 200));
  EXPECT_THAT(refused({"resume", "done"}), HasSubstr("end before"));
  folder.write("done/timeseries.csv", table);
  const std::string scenario = read_text(folder.path() / "done/scenario.yaml");
  folder.write("done/scenario.yaml", scenario + "# changed\n");
  const Finished other = run("heelstrike", {"resume", "done", "--in-process"}, here);
  EXPECT_NE(other.exit_code, 0);
  EXPECT_THAT(other.err, HasSubstr("another scenario"));
  folder.write("done/scenario.yaml", scenario);
  EXPECT_EQ(run("heelstrike", {"resume", "done", "--in-process"}, here).exit_code, 0);
  EXPECT_TRUE(read_text(folder.path() / "done/timeseries.csv") == table);
  fs::remove_all(folder.path() / "done/checkpoints");
  folder.write("done/INCOMPLETE", "cut off\n");
  EXPECT_THAT(refused({"resume", "done"}), HasSubstr("without checkpoints"));
}

}  // namespace
}  // namespace heelstrike::cli_test
