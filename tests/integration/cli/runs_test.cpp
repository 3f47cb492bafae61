// The three ways to run a scenario, and what they leave on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/scenarios.hpp"
#include "tests/integration/cli/server_pair.hpp"

namespace heelstrike::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Modes : public testing::TestWithParam<const char*> {};

// Requirement: local, in-process and remote runs of one scenario give the same bits.
TEST_P(Modes, GiveTheSameTimeSeries) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path());
  const std::string scenario = examples + GetParam();
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const Finished in_process = run("heelstrike", {"run", scenario, "--in-process", "-o", "a"}, here);
  ASSERT_EQ(in_process.exit_code, 0) << in_process.err;
  const Finished own_servers = run("heelstrike", {"run", scenario, "-o", "b"}, here);
  ASSERT_EQ(own_servers.exit_code, 0) << own_servers.err;
  const Finished named_servers = run("heelstrike", {"run", scenario, "--mbs", servers.mbs_address, "-o", "c"}, here);
  ASSERT_EQ(named_servers.exit_code, 0) << named_servers.err;
  const Finished own_mbs = run("heelstrike", {"run", scenario, "--fem", servers.fem_address, "-o", "d"}, here);
  ASSERT_EQ(own_mbs.exit_code, 0) << own_mbs.err;
  const std::string rows = read_text(folder.path() / "a/timeseries.csv");
  EXPECT_GT(rows.size(), 1000U);
  for (const char* other : {"b", "c", "d"}) {
    EXPECT_TRUE(read_text(folder.path() / other / "timeseries.csv") == rows) << "a and " << other << " differ";
    EXPECT_FALSE(fs::exists(folder.path() / other / "INCOMPLETE"));
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, Modes, testing::Values("bouncing_ball.yaml", "colliding_spheres.yaml"),
                         [](const auto& info) { return std::string(info.param, std::strchr(info.param, '.')); });

TEST(Run, ChoosesAFolderThatIsFree) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  for (int i = 0; i < 2; ++i) {
    const Finished result = run("heelstrike", {"run", file, "--in-process", "--backend", "hertz"}, here);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("restitution")) << "a dropped parameter must be told";
  }
  EXPECT_TRUE(fs::exists(folder.path() / "runs/ball-hertz/summary.json"));
  EXPECT_TRUE(fs::exists(folder.path() / "runs/ball-hertz-2/summary.json"));
}

TEST(Run, PrintsTheSummaryForScripts) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const Finished result = run("heelstrike", {"run", file, "--json", "--set", "contact.restitution=0.6"},
                              {.working_folder = folder.path(), .environment = {}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto summary = nlohmann::json::parse(result.out);
  EXPECT_EQ(summary["status"], "completed");
  EXPECT_EQ(summary["backend"], "flores");
  EXPECT_GT(summary["rpc"]["calls"].get<int>(), 0);
  EXPECT_DOUBLE_EQ(summary["simulated_time_s"].get<double>(), 0.5);
  EXPECT_THAT(read_text(folder.path() / "runs/ball-flores/scenario.yaml"), HasSubstr("0.6"));
}

TEST(Run, ForceOverwrites) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  ASSERT_EQ(run("heelstrike", {"run", file, "--in-process", "-o", "out"}, here).exit_code, 0);
  EXPECT_EQ(run("heelstrike", {"run", file, "--in-process", "-o", "out"}, here).exit_code, 5);
  EXPECT_EQ(run("heelstrike", {"run", file, "--in-process", "-o", "out", "--force"}, here).exit_code, 0);
}

TEST(Run, ANamedServerKeepsNothingOfARunThatHasBeenFetched) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path());
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const Finished result = run("heelstrike", {"run", file, "--mbs", servers.mbs_address, "-o", "out"}, here);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const auto& entry : fs::directory_iterator(folder.path() / "spool")) {
    EXPECT_NE(entry.path().extension(), ".events") << entry.path();
  }
}

TEST(Run, EightClientsShareOnePairOfServers) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path());
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  ASSERT_EQ(run("heelstrike", {"run", file, "--in-process", "-o", "alone"}, here).exit_code, 0);
  std::vector<std::unique_ptr<Program>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<Program>(
        "heelstrike",
        std::vector<std::string>{"run", file, "--mbs", servers.mbs_address, "-o", "c" + std::to_string(i)}, here));
  }
  const std::string alone = read_text(folder.path() / "alone/timeseries.csv");
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const Finished result = clients[i]->wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(read_text(folder.path() / ("c" + std::to_string(i)) / "timeseries.csv") == alone) << "client " << i;
  }
}

TEST(Compare, WritesOneFolderAndOneTable) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const Finished result =
      run("heelstrike", {"compare", file, "--backends", "flores,hertz", "--reference", "hertz", "-o", "cmp"},
          {.working_folder = folder.path(), .environment = {}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* name : {"flores/summary.json", "hertz/timeseries.csv", "comparison.csv", "comparison.md"}) {
    EXPECT_TRUE(fs::exists(folder.path() / "cmp" / name)) << name;
  }
  const auto comparison = nlohmann::json::parse(read_text(folder.path() / "cmp/comparison.json"));
  ASSERT_EQ(comparison["rows"].size(), 2U);
  EXPECT_LT(comparison["rows"][0]["max_force_N"].get<double>(), comparison["rows"][1]["max_force_N"].get<double>())
      << "damping takes energy before the largest force";
  EXPECT_EQ(comparison["rows"][1]["max_force_N_relative_deviation"], 0.0);
}

TEST(Compare, AFailingBackendIsARow) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", ball_scenario());
  // The stiffness of a rubber band: as a linear spring it stops the ball within its radius no more than as Hertz' law
  // does.
  const Finished result = run("heelstrike",
                              {"compare", file, "--backends", "hertz,hooke", "--in-process", "-o", "cmp", "--json",
                               "--set", "contact.stiffness=10"},
                              {.working_folder = folder.path(), .environment = {}});
  EXPECT_EQ(result.exit_code, 3) << result.out << result.err;
  const auto comparison = nlohmann::json::parse(result.out);
  ASSERT_EQ(comparison["rows"].size(), 2U);
  EXPECT_THAT(comparison["rows"][0]["failure"].get<std::string>(), HasSubstr("too deep"));
}

TEST(Compare, AParameterOnlySomeBackendsKnowIsLeftOutForTheOthersWithANote) {
  const ScratchFolder folder;
  const std::string file = folder.write("ball.yaml", ball_scenario());
  const ProgramOptions there{.working_folder = folder.path(), .environment = {}};
  const Finished result = run("heelstrike",
                              {"compare", file, "--backends", "hertz,flores", "--in-process", "-o", "cmp", "--json",
                               "--set", "contact.restitution=0.5"},
                              there);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("restitution is not a parameter of back-end hertz"));
  const auto rows = nlohmann::json::parse(result.out)["rows"];
  EXPECT_NEAR(rows[0]["effective_restitution"].get<double>(), 1.0, 1e-5);
  EXPECT_NEAR(rows[1]["effective_restitution"].get<double>(), 0.4704, 3e-3);

  const Finished mistake = run(
      "heelstrike",
      {"compare", file, "--backends", "hertz,flores", "--in-process", "-o", "cmp2", "--set", "contact.restitutoin=0.5"},
      there);
  EXPECT_EQ(mistake.exit_code, 2) << mistake.err;
  EXPECT_THAT(mistake.err, HasSubstr("restitution"));
}

TEST(Validate, PrintsWhatItUnderstood) {
  const Finished text = run("heelstrike", {"validate", examples + "bouncing_ball.yaml"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* part : {"valid", "ball-ground", "sphere", "plane", "flores", "restitution = 0.8"}) {
    EXPECT_THAT(text.out, HasSubstr(part));
  }
  const Finished json = run("heelstrike", {"validate", examples + "bouncing_ball.yaml", "--json"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["contact"][0]["backend"], "flores");
}

TEST(Backends, ServerAndProgramAgree) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path());
  const Finished own = run("heelstrike", {"backends", "--json"});
  ASSERT_EQ(own.exit_code, 0) << own.err;
  // Ten point laws, and what the build adds to them.
  EXPECT_GE(nlohmann::json::parse(own.out)["backends"].size(), 10U);
  EXPECT_EQ(run("heelstrike", {"backends", "--json", "--fem", servers.fem_address}).out, own.out);
  EXPECT_THAT(run("heelstrike", {"backends", "flores"}).out, HasSubstr("(0, 1]"));
}

TEST(Doctor, TriesAPrivatePairAndAsksRunningServers) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path());
  const Finished own = run("heelstrike", {"doctor"});
  EXPECT_EQ(own.exit_code, 0) << own.out << own.err;
  EXPECT_THAT(own.out, HasSubstr("trial run"));
  const Finished named =
      run("heelstrike", {"doctor", "--json", "--mbs", servers.mbs_address, "--fem", servers.fem_address});
  EXPECT_EQ(named.exit_code, 0) << named.out << named.err;
  EXPECT_EQ(nlohmann::json::parse(named.out)["healthy"], true);
  EXPECT_THAT(named.out, HasSubstr("10000 N, as expected"));
  // A contact server is not a multibody server; the sentence must not leave the user alone with gRPC's words.
  EXPECT_NE(run("heelstrike", {"doctor", "--mbs", servers.fem_address}).exit_code, 0);
}

}  // namespace
}  // namespace heelstrike::cli_test
