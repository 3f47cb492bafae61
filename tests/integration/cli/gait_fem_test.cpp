// Walking on deformable feet through the real programs: the example that ships with the project, and the walking
// subject where HEELSTRIKE_DATA says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/motion/motion_table.hpp"
#include "common/results/run_folder.hpp"
#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/server_pair.hpp"

namespace heelstrike::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string examples = HEELSTRIKE_SOURCE_DIR "/examples/";

/// Folder of the measured walk; empty where there is none.
std::string walking_subject() {
  const char* data = std::getenv("HEELSTRIKE_DATA");
  const std::string folder = data == nullptr ? "" : std::string(data) + "/gait_subject01";
  return fs::exists(folder) ? folder : "";
}

ProgramOptions here(const ScratchFolder& folder) {
  return {.working_folder = folder.path(), .environment = {{"XDG_CACHE_HOME", (folder.path() / "cache").string()}}};
}

/// Regions of a foot cut into two segments, of the run `local`.
void expect_regions_carry_the_foot(const ScratchFolder& folder, const TimeSeries& series) {
  const Finished plantar = run("heelstrike", {"plantar", "local", "--json"}, here(folder));
  ASSERT_EQ(plantar.exit_code, 0) << plantar.err;
  const auto json = nlohmann::json::parse(plantar.out);
  ASSERT_EQ(json.size(), 1U) << "two segments, one foot";
  const auto value = [&](const char* region, const char* name) {
    return json[0]["regions"][region][name].get<double>();
  };
  // Not by their peaks: those of the arch lie on its borders with heel and ball.
  EXPECT_GT(value("heel", "impulse_Ns"), value("midfoot", "impulse_Ns")) << "the arch carries less";
  EXPECT_GT(value("metatarsal", "impulse_Ns"), value("midfoot", "impulse_Ns"));
  EXPECT_GT(value("hallux", "peak_pressure_Pa"), 0.0);
  EXPECT_GT(value("lesser_toes", "peak_pressure_Pa"), 0.0);
  EXPECT_GT(json[0]["regions"]["heel"]["pressure_time_integral_Pas"].get<double>(), 0.0);

  const MotionTable table = read_motion_table(read_text(folder.path() / "local/plantar_regions.sto"), "plantar");
  const auto times = series.column("time_s");
  const auto foot = series.column("foot-ground.fz_N"), toes = series.column("toes-ground.fz_N");
  int n_loaded = 0;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const auto row =
        std::ranges::find_if(times, [&](double t) { return std::abs(t - table.column("time")[i]) < 1e-9; });
    const double load =
        foot[static_cast<std::size_t>(row - times.begin())] + toes[static_cast<std::size_t>(row - times.begin())];
    double sum = 0.0;
    for (const char* region : {"heel", "midfoot", "metatarsal", "hallux", "lesser_toes"}) {
      sum += table.column(fmt::format("foot-ground.{}.force_N", region))[i];
    }
    // Pressures are means over a node's neighbours; at the rim of what may touch some of them have none to give.
    EXPECT_NEAR(sum, load, 0.01 * load + 0.1) << "at " << table.column("time")[i] << " s";
    n_loaded += load > 100.0 ? 1 : 0;
  }
  EXPECT_GT(n_loaded, 8);
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

  expect_regions_carry_the_foot(folder, series);
}

// Requirement: the same gait run twice, and on servers, gives the same files; frames without history go in batches
// there too. Coarse, because it is about bytes.
TEST(GaitFem, RepeatsItsFiles) {
  const ScratchFolder folder;
  const auto with = [&](std::vector<std::string> arguments) {
    const std::vector<std::string> all = {"run",   examples + "gait_synthetic.yaml",
                                          "--set", "contact.element_size=0.012",
                                          "--set", "output.fields={interval: 0.2, quantities: [contact_pressure]}"};
    arguments.insert(arguments.begin(), all.begin(), all.end());
    return run("heelstrike", arguments, here(folder));
  };
  for (const std::string friction : {"0", "0.3"}) {
    const std::string set = "contact.friction=" + friction;
    const ServerPair servers(folder.path(), {}, {}, {"--cache-dir", (folder.path() / "server").string()});
    for (const std::string name : {"first", "again"}) {
      const Finished local = with({"--in-process", "--set", set, "-o", name + friction});
      ASSERT_EQ(local.exit_code, 0) << local.err;
    }
    const Finished remote =
        with({"--mbs", servers.mbs_address, "--fem", servers.fem_address, "--set", set, "-o", "remote" + friction});
    ASSERT_EQ(remote.exit_code, 0) << remote.err;
    for (const std::string other : {"again", "remote"}) {
      std::size_t n_compared = 0;
      for (const auto& entry : fs::recursive_directory_iterator(folder.path() / ("first" + friction))) {
        const std::string name = entry.path().filename().string();
        // These tell wall times; everything else is a result.
        if (!entry.is_regular_file() || name == "summary.json" || name == "run.log" || name == "report.html") continue;
        const fs::path relative = fs::relative(entry.path(), folder.path() / ("first" + friction));
        EXPECT_TRUE(read_text(entry.path()) == read_text(folder.path() / (other + friction) / relative))
            << other << ", friction " << friction << ": " << relative;
        ++n_compared;
      }
      EXPECT_GE(n_compared, 5U);
    }
  }
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
  if (walking_subject().empty()) {
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
      run("heelstrike", {"compare-grf", "walk", "--measured", walking_subject() + "/subject01_walk1_grf.mot", "--json"},
          here(folder));
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
}

// Requirement, on the stances that nothing was fitted to: centre of pressure within 15 mm rms over 10 to 90 % of
// stance, and a fore-aft force that brakes first and drives then.
TEST(GaitFem, WalkingSubjectIsPredicted) {
  if (walking_subject().empty()) {
    GTEST_SKIP() << "HEELSTRIKE_DATA names no folder with gait_subject01: measured data are not part of the project";
  }
  const ScratchFolder folder;
  const Finished result =
      run("heelstrike", {"run", examples + "gait_subject01_toes.yaml", "--in-process", "-o", "walk"}, here(folder));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Finished compared =
      run("heelstrike", {"compare-grf", "walk", "--measured", walking_subject() + "/subject01_walk1_grf.mot", "--json"},
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
