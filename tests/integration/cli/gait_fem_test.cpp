// Walking on deformable feet through the real programs: the example that ships with the project, and the walking
// subject where HEELSTRIKE_DATA says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/results/run_folder.hpp"
#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/server_pair.hpp"

namespace heelstrike::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string examples = HEELSTRIKE_SOURCE_DIR "/examples/";

ProgramOptions here(const ScratchFolder& folder) {
  return {.working_folder = folder.path(), .environment = {{"XDG_CACHE_HOME", (folder.path() / "cache").string()}}};
}

// Requirement: a clean clone runs one step of a deformable foot, and servers do not change a byte of it.
TEST(GaitFem, SyntheticStepIsTheSameEverywhere) {
  const ScratchFolder folder;
  const std::string file = examples + "gait_synthetic.yaml";
  const std::vector<std::string> fields = {
      "--set", "output.fields={interval: 0.04, quantities: [contact_pressure], only_contact: false}"};
  const auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"run", file});
    arguments.insert(arguments.end(), fields.begin(), fields.end());
    return run("heelstrike", arguments, here(folder));
  };
  const Finished local = with({"--in-process", "-o", "local"});
  ASSERT_EQ(local.exit_code, 0) << local.err;
  EXPECT_EQ(local.err.find("frame at t"), std::string::npos) << local.err;
  {
    const ServerPair servers(folder.path(), {}, {}, {"--cache-dir", (folder.path() / "server").string()});
    const Finished remote = with({"--mbs", servers.mbs_address, "--fem", servers.fem_address, "-o", "remote"});
    ASSERT_EQ(remote.exit_code, 0) << remote.err;
  }
  EXPECT_TRUE(read_text(folder.path() / "local/timeseries.csv") == read_text(folder.path() / "remote/timeseries.csv"));

  const TimeSeries series = read_timeseries(folder.path() / "local");
  ASSERT_EQ(series.rows(), 69U) << "every frame of 0.68 s at 100 Hz";
  const auto foot = series.column("foot-ground.fz_N"), toes = series.column("toes-ground.fz_N");
  const auto shear = series.column("foot-ground.fx_N"), sideways = series.column("foot-ground.fy_N");
  EXPECT_LT(foot.front() + toes.front(), 5.0) << "initial contact";
  EXPECT_LT(foot.back(), 5.0) << "toe-off";
  EXPECT_GT(foot[20], 300.0) << "foot flat";
  const auto first_load = [](const std::vector<double>& f) {
    return std::ranges::find_if(f, [](double force) { return force > 20.0; }) - f.begin();
  };
  const auto middle = [](const std::vector<double>& f) {  // of the impulse
    double sum = 0.0, moment = 0.0;
    for (std::size_t i = 0; i < f.size(); ++i) sum += f[i], moment += static_cast<double>(i) * f[i];
    return moment / sum;
  };
  EXPECT_LT(first_load(foot), first_load(toes)) << "the heel is loaded before the toes";
  EXPECT_GT(middle(toes), middle(foot) + 7.0) << "and the toes carry on when the heel has left";
  for (std::size_t i = 0; i < foot.size(); ++i) {
    // Coulomb, node by node and so in sum; the solver ends at 1e-10 of the load.
    EXPECT_LE(std::hypot(shear[i], sideways[i]), 0.3 * foot[i] * (1.0 + 1e-6) + 1e-6) << i;
  }

  const Finished plantar = run("heelstrike", {"plantar", "local"}, here(folder));
  EXPECT_EQ(plantar.exit_code, 2) << plantar.out;
  EXPECT_THAT(plantar.err, HasSubstr("body_box")) << "regions of a cut foot are refused, not guessed";
}

TEST(GaitFem, PlantarWithoutFieldsSaysWhatToAdd) {
  const ScratchFolder folder;
  const Finished made =
      run("heelstrike", {"run", examples + "bouncing_ball.yaml", "--in-process", "-o", "ball"}, here(folder));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Finished plantar = run("heelstrike", {"plantar", "ball"}, here(folder));
  EXPECT_NE(plantar.exit_code, 0);
  EXPECT_THAT(plantar.err, HasSubstr("fields"));
}

// Requirement: every frame of both feet converges, and the vertical force is the measured one.
TEST(GaitFem, WalkingSubjectIsCarriedInEveryFrame) {
  if (std::getenv("HEELSTRIKE_DATA") == nullptr) {
    GTEST_SKIP() << "HEELSTRIKE_DATA names no folder with gait_subject01: measured data are not part of the project";
  }
  const ScratchFolder folder;
  const Finished result = run("heelstrike",
                              {"run", examples + "gait_subject01_toes.yaml", "--in-process", "-o", "walk", "--set",
                               "contact.friction=0", "--set", "contact.element_size=0.01"},
                              here(folder));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err.find("frame at t"), std::string::npos) << result.err;
  const TimeSeries series = read_timeseries(folder.path() / "walk");
  EXPECT_EQ(series.rows(), 151U) << "every frame of the recording";
  const Finished compared =
      run("heelstrike",
          {"compare-grf", "walk", "--measured",
           std::string(std::getenv("HEELSTRIKE_DATA")) + "/gait_subject01/subject01_walk1_grf.mot", "--json"},
          here(folder));
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
}

// Requirement, on the stances that nothing was fitted to: centre of pressure within 15 mm rms over 10 to 90 % of
// stance, and a fore-aft force that brakes first and drives then.
TEST(GaitFem, WalkingSubjectIsPredicted) {
  const char* data = std::getenv("HEELSTRIKE_DATA");
  if (data == nullptr || !fs::exists(std::string(data) + "/gait_subject01")) {
    GTEST_SKIP() << "HEELSTRIKE_DATA names no folder with gait_subject01: measured data are not part of the project";
  }
  const ScratchFolder folder;
  const Finished result =
      run("heelstrike", {"run", examples + "gait_subject01_toes.yaml", "--in-process", "-o", "walk"}, here(folder));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Finished compared = run(
      "heelstrike",
      {"compare-grf", "walk", "--measured", std::string(data) + "/gait_subject01/subject01_walk1_grf.mot", "--json"},
      here(folder));
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
  int complete = 0;
  const auto comparison = nlohmann::json::parse(compared.out);
  for (const auto& stance : comparison["stances"]) {
    if (!stance["complete"].get<bool>()) continue;
    ++complete;
    const auto& fore_aft = stance["components"]["vx"];
    EXPECT_LT(stance["cop_rms_mm"].get<double>(), 15.0) << stance["plate"];
    EXPECT_GT(fore_aft["correlation"].get<double>(), 0.7) << stance["plate"] << ": found 0.80 and 0.87";
    const auto &braking = fore_aft["min"]["predicted"], &driving = fore_aft["max"]["predicted"];
    EXPECT_LT(braking["time_s"].get<double>(), driving["time_s"].get<double>()) << stance["plate"];
    EXPECT_LT(braking["value"].get<double>(), -50.0) << stance["plate"] << ": measured about -100 N";
    EXPECT_GT(driving["value"].get<double>(), 50.0) << stance["plate"] << ": measured about 130 N";
  }
  EXPECT_EQ(complete, 2);
}

}  // namespace
}  // namespace heelstrike::cli_test
