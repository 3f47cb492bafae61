// Gait on deformable feet end to end: the example included in the project, and the walking subject if HEELSTRIKE_DATA
// is set.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/motion/motion_file.hpp"
#include "common/results/run_folder.hpp"
#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/server_pair.hpp"

namespace heelstrike::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string examples = HEELSTRIKE_SOURCE_DIR "/examples/";

/// Folder of the measured walk; empty if absent.
std::string walking_subject() {
  const char* data = std::getenv("HEELSTRIKE_DATA");
  const std::string folder = data == nullptr ? "" : std::string(data) + "/gait_subject01";
  return fs::exists(folder) ? folder : "";
}

ProgramOptions in_folder(const ScratchFolder& folder) {
  return {.working_folder = folder.path(), .environment = {{"XDG_CACHE_HOME", (folder.path() / "cache").string()}}};
}

/// Regions of a foot cut into two segments, of the run `local`.
void expect_regions_carry_the_foot(const ScratchFolder& folder, const TimeSeries& series) {
  const Finished plantar = run("heelstrike", {"plantar", "local", "--json"}, in_folder(folder));
  ASSERT_EQ(plantar.exit_code, 0) << plantar.err;
  const auto json = nlohmann::json::parse(plantar.out);
  ASSERT_EQ(json.size(), 1U) << "two segments, one foot";
  const auto value = [&](const char* region, const char* name) {
    return json[0]["regions"][region][name].get<double>();
  };
  EXPECT_GT(value("heel", "impulse_Ns"), value("midfoot", "impulse_Ns")) << "the arch carries less";
  EXPECT_GT(value("metatarsal", "impulse_Ns"), value("midfoot", "impulse_Ns"));
  const double midfoot = value("midfoot", "peak_pressure_Pa");
  EXPECT_GT(value("heel", "peak_pressure_Pa"), 1.2 * midfoot);
  EXPECT_GT(value("metatarsal", "peak_pressure_Pa"), 1.2 * midfoot);
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
    // Forces of the faces sum to the normal force, which is the vertical one on flat ground; the rim of the cut between
    // the segments is included. Rounding of several hundred faces, and of files with all digits.
    EXPECT_NEAR(sum, load, 1e-9 * load + 1e-9) << "at " << table.column("time")[i] << " s";
    n_loaded += load > 100.0 ? 1 : 0;
  }
  EXPECT_GT(n_loaded, 8);
}

/// Largest value of a curve over stance, and where it is.
struct Peak {
  double value = -1e9;
  double percent = 0.0;
};
Peak peak_between(const std::vector<double>& curve, double from, double to) {
  Peak peak;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const double percent = 100.0 * static_cast<double>(i) / static_cast<double>(curve.size() - 1);
    if (percent >= from && percent <= to && curve[i] > peak.value) peak = {.value = curve[i], .percent = percent};
  }
  return peak;
}

void expect_peak(const Peak& peak, double low, double high, double from, double to, const char* what) {
  EXPECT_TRUE(peak.value > low && peak.value < high)
      << what << ": " << peak.value << ", expected " << low << " to " << high << " body weights";
  EXPECT_TRUE(peak.percent > from && peak.percent < to)
      << what << ": at " << peak.percent << " %, expected " << from << " to " << to << " % of stance";
}

/// Requirement: the forces of the step are those that a gait laboratory publishes for a healthy adult at a natural
/// cadence (docs/theory/gait.md, section 9), and the load goes from the heel over the ball to the toes.
void expect_forces_of_normal_walking(const TimeSeries& series) {
  constexpr double body_weight = 706.0;  // [N] in the scenario
  std::vector<double> vertical, anterior, braking, lifted, toes, progress;
  for (std::size_t i = 0; i < series.rows(); ++i) {
    const auto both = [&](const char* column) {
      return std::array{series.column(fmt::format("foot-ground.{}", column))[i],
                        series.column(fmt::format("toes-ground.{}", column))[i]};
    };
    const auto fz = both("fz_N"), fx = both("fx_N"), cop = both("copx_m");
    vertical.push_back((fz[0] + fz[1]) / body_weight);
    lifted.push_back(-vertical.back());
    anterior.push_back((fx[0] + fx[1]) / body_weight);
    braking.push_back(-anterior.back());
    toes.push_back(fz[1] / body_weight);
    double moment = 0.0;
    for (const std::size_t part : {0U, 1U}) moment += fz[part] > 0.0 ? fz[part] * cop[part] : 0.0;
    if (vertical.back() > 0.1) progress.push_back(moment / (fz[0] + fz[1]));
  }
  const Peak first = peak_between(vertical, 0, 50), second = peak_between(vertical, 50, 100);
  expect_peak(first, 1.05, 1.2, 18, 30, "first peak");
  expect_peak(second, 1.05, 1.2, 70, 82, "second peak");
  const Peak valley = peak_between(lifted, first.percent, second.percent);
  expect_peak({.value = -valley.value, .percent = valley.percent}, 0.7, 0.8, 40, 60, "minimum between the peaks");
  // The normative curve brakes with 0.17 and propels with 0.19 body weights; the path follows it within 0.05, whose
  // part of the mesh is a few hundredths (meshes of Gmsh 4.8 and 4.13: 0.196 and 0.201).
  expect_peak(peak_between(braking, 0, 100), 0.17 - 0.05, 0.17 + 0.05, 10, 25, "braking");
  expect_peak(peak_between(anterior, 0, 100), 0.19 - 0.05, 0.19 + 0.05, 75, 92, "propulsion");
  EXPECT_LT(peak_between(anterior, 4, 45).value, 0.0) << "the first half brakes";
  EXPECT_LT(peak_between(braking, 58, 97).value, 0.0) << "the second half propels";
  EXPECT_LT(peak_between(toes, 0, 10).value, 0.01) << "the toes are in the air until the foot is flat";
  EXPECT_LT(peak_between(toes, 0, 50).value, 0.15) << "and carry little before the heel rises";
  EXPECT_GT(peak_between(toes, 65, 100).value, 0.3) << "but push off";
  EXPECT_TRUE(std::ranges::is_sorted(progress)) << "the centre of pressure never moves backward";
  EXPECT_GT(progress.back() - progress.front(), 0.18) << "and passes most of the foot's length of 265 mm";
}

// Requirement: a clean clone runs one step of a deformable foot, and servers do not change a byte of it.
TEST(GaitFem, SyntheticStepIsEqualInAllModes) {
  const ScratchFolder folder;
  const std::string file = examples + "gait_synthetic.yaml";
  const std::vector<std::string> fields = {
      "--set", "output.fields={interval: 0.04, quantities: [contact_pressure], contact_only: false}"};
  const auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"run", file});
    arguments.insert(arguments.end(), fields.begin(), fields.end());
    return run("heelstrike", arguments, in_folder(folder));
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
  expect_forces_of_normal_walking(series);
  for (std::size_t i = 0; i < foot.size(); ++i) {
    // Coulomb's law holds per node and therefore in the sum; the solver ends at 1e-10 of the load.
    EXPECT_LE(std::hypot(shear[i], sideways[i]), 0.6 * foot[i] * (1.0 + 1e-6) + 1e-6) << i;
  }

  expect_regions_carry_the_foot(folder, series);
}

// Requirement: the same gait run twice, and on servers, has the same files; frames without history are batched there
// too. The mesh is coarse, because only bytes are compared.
// Bonded in the tangential plane: otherwise 26 of these 137 frames are not solved, because Newton's method cycles
// between sticking and opening nodes.
TEST(GaitFem, FeetBondedToTheGroundAreSolvedInEveryFrame) {
  const ScratchFolder folder;
  const Finished result = run("heelstrike",
                              {"run", examples + "gait_synthetic.yaml", "-o", "bonded", "--in-process", "--quiet",
                               "--set", "analysis.type=kinematic", "--set", "contact.friction=1000", "--set",
                               "output.interval=0.005", "--set", "output.fields.interval=0.5"},
                              in_folder(folder));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, testing::Not(HasSubstr("skipped")));
}

TEST(GaitFem, RunIsRepeatableFromItsFiles) {
  const ScratchFolder folder;
  const auto with = [&](std::vector<std::string> arguments) {
    const std::vector<std::string> all = {"run",   examples + "gait_synthetic.yaml",
                                          "--set", "contact.element_size=0.012",
                                          "--set", "analysis.type=kinematic",
                                          "--set", "output.fields={interval: 0.2, quantities: [contact_pressure]}"};
    arguments.insert(arguments.begin(), all.begin(), all.end());
    return run("heelstrike", arguments, in_folder(folder));
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
        // These contain wall times; everything else is a result.
        if (!entry.is_regular_file() || name == "timing.json" || name == "run.log" || name == "report.html") continue;
        const fs::path relative = fs::relative(entry.path(), folder.path() / ("first" + friction));
        EXPECT_TRUE(read_text(entry.path()) == read_text(folder.path() / (other + friction) / relative))
            << other << ", friction " << friction << ": " << relative;
        ++n_compared;
      }
      EXPECT_GE(n_compared, 5U);
    }
  }
}

TEST(GaitFem, PlantarWithoutFieldsReportsTheMissingKey) {
  const ScratchFolder folder;
  const Finished made =
      run("heelstrike", {"run", examples + "bouncing_ball.yaml", "--in-process", "-o", "ball"}, in_folder(folder));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Finished plantar = run("heelstrike", {"plantar", "ball"}, in_folder(folder));
  EXPECT_EQ(plantar.exit_code, 2);
  EXPECT_THAT(plantar.err, HasSubstr("fields: {interval: 0.02, quantities: [contact_pressure]}"));
}

// Requirement: a failed frame is listed with its reason, and the others are present.
TEST(GaitFem, FailedFramesAreListed) {
  const ScratchFolder folder;
  const Finished result = run(
      "heelstrike",
      {"run", examples + "gait_synthetic.yaml", "--in-process", "-o", "deep", "--set", "contact.element_size=0.012",
       "--set", "analysis.type=kinematic", "--set", "contact.friction=0", "--set", "contact.max_penetration=0.0095"},
      in_folder(folder));
  ASSERT_EQ(result.exit_code, 7) << result.err;
  EXPECT_THAT(result.err, HasSubstr("more like \"frame at t = ")) << "a person reads the first and how many there were";
  std::size_t n_listed = 0;
  std::istringstream lines(read_text(folder.path() / "deep/run.log"));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("frame at t = ") == std::string::npos) continue;
    ++n_listed;
    EXPECT_THAT(line, HasSubstr("0.0095")) << "the reason with its limit";
  }
  EXPECT_GT(n_listed, 3U) << "up to 12 mm are needed";
  EXPECT_EQ(read_timeseries(folder.path() / "deep").rows() + n_listed, 69U) << "every frame is a row or a warning";
  const auto summary = nlohmann::json::parse(read_text(folder.path() / "deep/summary.json"));
  EXPECT_EQ(summary["integrator"]["rejected_steps"].get<std::size_t>(), n_listed);
  EXPECT_THAT(summary["error"]["message"].get<std::string>(),
              HasSubstr(std::to_string(n_listed) + " of 69 frames have no solution"));

  // Missing frames are not integrated over: the impulse is that of neighbouring rows.
  const Finished plantar = run("heelstrike", {"plantar", "deep", "--json"}, in_folder(folder));
  ASSERT_EQ(plantar.exit_code, 0) << plantar.err;
  double impulse = 0.0;
  const auto feet = nlohmann::json::parse(plantar.out);
  for (const auto& region : feet[0]["regions"]) impulse += region["impulse_Ns"].get<double>();
  const TimeSeries series = read_timeseries(folder.path() / "deep");
  const auto t = series.column("time_s"), sole = series.column("foot-ground.fz_N"),
             toes = series.column("toes-ground.fz_N");
  double neighbours = 0.0, bridged = 0.0;
  for (std::size_t i = 1; i < t.size(); ++i) {
    const double piece = 0.5 * (t[i] - t[i - 1]) * (sole[i] + toes[i] + sole[i - 1] + toes[i - 1]);
    bridged += piece;
    if (t[i] - t[i - 1] < 0.015) neighbours += piece;
  }
  EXPECT_LT(neighbours, 0.9 * bridged) << "frames of the middle of stance are missing";
  // Regions carry the normal force, a few percent more than the vertical one where the sole is curved or inclined.
  EXPECT_LT(std::abs(impulse - neighbours), 0.5 * (bridged - neighbours)) << impulse << " of " << neighbours << " N s";
}

/// Maximum and minimum force of one foot between two times.
struct Extremes {
  double largest = 0.0;
  double smallest = 1e9;
};
Extremes force_between(const TimeSeries& series, const std::string& side, double from, double to) {
  const auto t = series.column("time_s");
  const auto sole = series.column(side + "-sole.fz_N"), toes = series.column(side + "-toes.fz_N");
  Extremes found;
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (t[i] < from || t[i] > to) continue;
    found.largest = std::max(found.largest, sole[i] + toes[i]);
    found.smallest = std::min(found.smallest, sole[i] + toes[i]);
  }
  return found;
}

// Requirement: every frame of both feet converges; where the vertical force is predicted it has two peaks.
TEST(GaitFem, WalkingSubjectIsSupportedInEveryFrame) {
  if (walking_subject().empty()) {
    GTEST_SKIP() << "HEELSTRIKE_DATA names no folder with gait_subject01: measured data are not part of the project";
  }
  const ScratchFolder folder;
  const ServerPair servers(folder.path(), {}, {}, {"--cache-dir", (folder.path() / "server").string()});
  const auto walk = [&](const std::string& out, const std::vector<std::string>& settings) {
    std::vector<std::string> all = {"run",   examples + "gait_subject01_toes.yaml",
                                    "--mbs", servers.mbs_address,
                                    "--fem", servers.fem_address,
                                    "-o",    out,
                                    "--set", "contact.friction=0"};
    for (const std::string& setting : settings) all.insert(all.end(), {"--set", setting});
    const Finished result = run("heelstrike", all, in_folder(folder));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err.find("frame at t"), std::string::npos) << result.err;
    const TimeSeries series = read_timeseries(folder.path() / out);
    EXPECT_EQ(series.rows(), 151U) << "every frame of the recording";
    return series;
  };
  (void)walk("walk", {});
  const Finished compared =
      run("heelstrike", {"compare-grf", "walk", "--measured", walking_subject() + "/subject01_walk1_grf.mot", "--json"},
          in_folder(folder));
  ASSERT_EQ(compared.exit_code, 0) << compared.err;

  // Height and pitch from the vertical forces of the incomplete stances, docs/studies/gait.md. A millimetre corresponds
  // to 200 N, so that the shape is asserted: peaks at those of the plates within 0.1 s, and less in between (measured
  // 593 N right, 569 N left). A third peak on the left is not excluded by any assertion.
  const TimeSeries series =
      walk("kinematic",
           {"analysis.type=kinematic",
            "motion.walk.feet.right.registration={position: [-0.011, -0.0181648, -0.0108], angles: [0, -0.0348, 0]}",
            "motion.walk.feet.left.registration={position: [-0.023, 0.0133207, -0.0129], angles: [0, -0.0343, 0]}"});
  const auto expect_peaks = [&](const std::string& side, double first, double second) {
    const double one = force_between(series, side, first - 0.1, first + 0.1).largest;
    const double two = force_between(series, side, second - 0.1, second + 0.1).largest;
    const double between = force_between(series, side, first + 0.1, second - 0.1).smallest;
    EXPECT_GT(std::min(one, two), between + 50.0) << side << ": " << one << ", " << between << ", " << two << " N";
    EXPECT_GT(std::min(one, two), 550.0) << side;
  };
  expect_peaks("right", 0.82, 1.23);
  expect_peaks("left", 1.43, 1.83);
  // With a marker lost at heel strike the pose jumped, and the force with it to 860 N.
  EXPECT_LT(force_between(series, "left", 1.26, 1.34).largest, 450.0) << "measured 105 to 480 N";
}

// Requirement: stance converges in the forward analysis too, through both servers; a fraction of it, heel strike of the
// right and push-off of the left foot.
TEST(GaitFem, WalkingSubjectStepsOnFeetWithMass) {
  if (walking_subject().empty()) {
    GTEST_SKIP() << "HEELSTRIKE_DATA names no folder with gait_subject01: measured data are not part of the project";
  }
  const ScratchFolder folder;
  const ServerPair servers(folder.path(), {}, {}, {"--cache-dir", (folder.path() / "server").string()});
  const Finished result = run("heelstrike",
                              {"run", examples + "gait_forward_subject01.yaml", "--mbs", servers.mbs_address, "--fem",
                               servers.fem_address, "-o", "forward", "--set", "motion.walk.start=0.6", "--set",
                               "analysis.end_time=0.1", "--set", "contact.element_size=0.012"},
                              in_folder(folder));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const TimeSeries series = read_timeseries(folder.path() / "forward");
  EXPECT_NEAR(series.column("time_s").back(), 0.1, 1e-12);
  const auto foot = series.column("right_foot.z_m"), path = series.column("right_path.z_m");
  double deflection = 0.0;
  for (std::size_t i = 0; i < foot.size(); ++i) deflection = std::max(deflection, std::abs(foot[i] - path[i]));
  EXPECT_GT(deflection, 0.001) << "the ground pushes the foot away";
  EXPECT_LT(deflection, 0.010) << "1000 N on 100 kN/m";
  // Columns of the plates: the foot with mass corresponds to the one whose path it is tied to.
  const MotionTable table = read_motion_table(read_text(folder.path() / "forward/ground_reactions.mot"), "forward");
  EXPECT_NEAR(table.column("time").back(), 0.7, 1e-9) << "clock of the recording";
  EXPECT_GT(table.column("ground_force_vy").back(), 200.0) << "measured 512 N at 0.7 s";
  EXPECT_LT(table.column("ground_force_vy").front(), 150.0) << "just after heel strike";
  EXPECT_LT(table.column("1_ground_force_vy").back(), table.column("1_ground_force_vy").front()) << "pushes off";
}

// Requirement for the stances that were not used in a fit: centre of pressure within 15 mm rms over 10 to 90 % of
// stance, and an anterior-posterior force that first brakes and then propels.
TEST(GaitFem, WalkingSubjectIsPredicted) {
  if (walking_subject().empty()) {
    GTEST_SKIP() << "HEELSTRIKE_DATA names no folder with gait_subject01: measured data are not part of the project";
  }
  const ScratchFolder folder;
  const Finished result = run(
      "heelstrike", {"run", examples + "gait_subject01_toes.yaml", "--in-process", "-o", "walk"}, in_folder(folder));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Finished compared =
      run("heelstrike", {"compare-grf", "walk", "--measured", walking_subject() + "/subject01_walk1_grf.mot", "--json"},
          in_folder(folder));
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
