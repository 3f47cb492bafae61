// From recorded markers to ground reactions compared with force plates, on the command line: a synthetic foot, and the
// walking subject if HEELSTRIKE_DATA is set.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <numbers>
#include <sstream>

#include "common/results/run_folder.hpp"
#include "gait/force_plate.hpp"
#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/scenarios.hpp"
#include "tests/unit/gait/c3d_writer.hpp"

namespace heelstrike::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

/// A right foot in a laboratory with x forward, y up, z to the right [mm].
struct Marker {
  const char* name;
  std::array<double, 3> place;
};
const std::vector<Marker> foot = {{"Heel", {-74, 70, 0}},     {"Sup", {70, 80, -45}},     {"Lat", {69, 64, 62}},
                                  {"Tip", {216, 51, -15}},    {"ToeLat", {159, 40, 66}},  {"ToeMed", {153, 49, -42}},
                                  {"AnkleLat", {-3, 98, 45}}, {"AnkleMed", {3, 104, -45}}};

/// The markers, moved by `offset` [mm] at every time.
std::string trc(int n, const std::function<std::array<double, 3>(double)>& offset) {
  std::string text = fmt::format(
      "PathFileType\t4\t(X/Y/Z)\tx.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\n"
      "100.00\t100.00\t{}\t{}\tmm\nFrame#\tTime",
      n, foot.size());
  for (const Marker& marker : foot) text += fmt::format("\t{}\t\t", marker.name);
  text += "\n\t";
  for (std::size_t i = 1; i <= foot.size(); ++i) text += fmt::format("\tX{0}\tY{0}\tZ{0}", i);
  text += "\n\n";
  for (int frame = 0; frame < n; ++frame) {
    const double t = 0.01 * frame;
    const auto d = offset(t);
    text += fmt::format("{}\t{:.2f}", frame + 1, t);
    for (const Marker& marker : foot) {
      for (std::size_t c = 0; c < 3; ++c) text += fmt::format("\t{:.6f}", marker.place[c] + d[c]);
    }
    text += '\n';
  }
  return text;
}

constexpr double belt = -1.2;  // [m/s]

/// Presses 2 mm into the ground in the middle of 1 s.
double press(double t) {
  return 0.002 * std::pow(std::sin(std::numbers::pi * t), 2);
}

/// 400 N under the middle of the foot.
std::string plates(double late = 0.0) {
  std::string text =
      "p\nversion=1\nnRows=101\nnColumns=10\ninDegrees=no\nendheader\ntime\tground_force_vx\tground_force_vy\t"
      "ground_force_vz\tground_force_px\tground_force_py\tground_force_pz\tground_torque_x\tground_torque_y\t"
      "ground_torque_z\n";
  for (int i = 0; i <= 100; ++i) {
    text += fmt::format("{}\t0\t400\t0\t{}\t0\t0\t0\t0\t0\n", 0.01 * i, 0.05 + belt * (0.01 * i + late));
  }
  return text;
}

const std::string scenario = R"(heelstrike: 1
gravity: [0, 0, -9.81]
motion:
  walk:
    markers: ${GAIT_TEST_FOLDER}/walk.trc
    static: static.trc
    plates: grf.mot
    axes: {x: x, y: z, z: -y}
    feet:
      right: {hindfoot: [Heel, Sup, Lat, ToeLat, ToeMed], heel: Heel, toe_tip: Tip, toe_lateral: ToeLat,
              toe_medial: ToeMed, origin: [AnkleLat, AnkleMed], plate: ground_force}
bodies:
  foot: {mass: 1.0, inertia: [0.01, 0.01, 0.01]}
  belt: {mass: 1.0, inertia: [1, 1, 1]}
drivers:
  foot: {body: foot, follow: walk.right.hindfoot}
  belt: {body: belt, follow: walk.ground}
contact:
  heel:
    main: {body: foot, surface: {sphere: {radius: 0.02, center: [-0.05, 0.01, -0.081]}}}
    partner: {body: belt, surface: {plane: {normal: [0, 0, 1]}}}
    backend: hertz
    parameters: {stiffness: 1.0e6}
  ball:
    main: {body: foot, surface: {sphere: {radius: 0.02, center: [0.15, -0.02, -0.081]}}}
    partner: {body: belt, surface: {plane: {normal: [0, 0, 1]}}}
    backend: hertz
    parameters: {stiffness: 3.0e6}
analysis: {type: kinematic, end_time: 1.0}
output: {interval: 0.01}
)";

class Gait : public testing::Test {
 protected:
  Gait() {
    folder_.write("static.trc", trc(10, [](double) { return std::array<double, 3>{0, 0, 0}; }));
    folder_.write("walk.trc", trc(101, [](double t) { return std::array{1e3 * belt * t, -1e3 * press(t), 0.0}; }));
    folder_.write("grf.mot", plates());
    here_ = {.working_folder = folder_.path(), .environment = {{"GAIT_TEST_FOLDER", folder_.path().string()}}};
  }

  /// Output of `heelstrike run` for the scenario with one text replaced.
  Finished run_with(const std::string& from = "", const std::string& to = "") const {
    std::string text = scenario;
    if (!from.empty()) text.replace(text.find(from), from.size(), to);
    folder_.write("gait.yaml", text);
    return run("heelstrike", {"run", "gait.yaml", "--in-process", "--force", "-o", "out"}, here_);
  }

  ScratchFolder folder_;
  ProgramOptions here_;
};

TEST_F(Gait, BodiesFollowMarkersAndTheGround) {
  const Finished result = run_with();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("mm from heel to toe tip"), HasSubstr("ground moves at [-1.2000, ")));
  // Result expected of a scan; the foot points 15 mm to the left over 290 mm.
  EXPECT_THAT(result.err, AllOf(HasSubstr("right: no registration"), HasSubstr("heel marker is at x = -73.9"),
                                HasSubstr("the force plate at z = -101.0 mm")));
  const TimeSeries series = read_timeseries(folder_.path() / "out");
  const auto t = series.column("time_s"), x = series.column("foot.x_m"), z = series.column("foot.z_m");
  const auto v = series.column("foot.vx_m_s"), slip = series.column("belt.vx_m_s");
  const auto heel = series.column("heel.fz_N"), ball = series.column("ball.fz_N");
  ASSERT_EQ(t.size(), 101U);
  for (std::size_t i = 0; i < t.size(); ++i) {
    // Files have 1e-9 m; splines interpolate the samples.
    EXPECT_NEAR(x[i], belt * t[i], 1e-8) << i;
    EXPECT_NEAR(z[i], 0.101 - press(t[i]), 1e-8) << i;
    EXPECT_NEAR(v[i], belt, 1e-5) << i;
    EXPECT_NEAR(slip[i], belt, 1e-9) << i;
    // Spheres are in contact when the foot is pressed down.
    EXPECT_NEAR(heel[i] + ball[i], 4.0e6 * std::pow(press(t[i]), 1.5), 1e-2) << i;
  }
}

TEST_F(Gait, GroundReactionsEqualTheMeasuredPlate) {
  ASSERT_EQ(run_with().exit_code, 0);
  const MotionTable table = read_motion_table(read_text(folder_.path() / "out/ground_reactions.mot"), "mot");
  const ForcePlate plate = read_force_plates(table).front();
  EXPECT_EQ(plate.name, "ground_force");
  ASSERT_EQ(plate.times.size(), 101U);
  const double f = 4.0e6 * std::pow(press(0.5), 1.5);
  EXPECT_NEAR(plate.force[50].y(), f, 1e-2) << "y is up in the laboratory";
  // A quarter of the load on the heel's sphere, three quarters on the ball's; the foot points from heel to toe tip, 15
  // mm to the left over 290 mm, and its y is -z of the laboratory.
  const double yaw = std::atan2(0.015, 0.290);
  const double x = 0.25 * -0.05 + 0.75 * 0.15, y = 0.25 * 0.01 + 0.75 * -0.02;
  EXPECT_NEAR(plate.point[50].x(), belt * 0.5 + std::cos(yaw) * x - std::sin(yaw) * y, 1e-6);
  EXPECT_NEAR(plate.point[50].z(), -(std::sin(yaw) * x + std::cos(yaw) * y), 1e-6);
  EXPECT_NEAR(plate.point[50].y(), 0.0, 1e-12);
  EXPECT_LT(plate.force[0].norm(), 1e-9) << "the foot only touches";
}

// Requirement: prescribed input of a run is never called predicted.
TEST_F(Gait, ComparisonReportsTheInputsOfTheRun) {
  ASSERT_EQ(run_with("{type: kinematic, end_time: 1.0}",
                     "{type: hybrid, end_time: 1.0, balance: {foot: {bodies: [foot], force: {plate: walk.right}}}}")
                .exit_code,
            0);
  const std::vector<std::string> compare = {"compare-grf", "out", "--measured", "grf.mot", "--mass", "40"};
  const Finished table = run("heelstrike", compare, here_);
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("vy is prescribed in the run"));
  EXPECT_THAT(table.out, testing::ContainsRegex("vy\\) +N +given"));
  EXPECT_THAT(table.out, testing::ContainsRegex("vx\\) +N +predicted"));
  std::vector<std::string> as_json = compare;
  as_json.emplace_back("--json");
  const auto json = nlohmann::json::parse(run("heelstrike", as_json, here_).out);
  const auto& components = json["stances"][0]["components"];
  EXPECT_EQ(components["vy"]["run"], "given");
  for (const char* name : {"vx", "vz", "moment"}) EXPECT_EQ(components[name]["run"], "predicted") << name;
  EXPECT_THAT(read_text(folder_.path() / "out/compare-grf/report.html"), HasSubstr("vy is prescribed in the run"));
  EXPECT_THAT(read_text(folder_.path() / "out/compare-grf/stance_1.svg"), HasSubstr("vertical (vy) [N]: prescribed"));
  EXPECT_THAT(read_text(folder_.path() / "out/compare-grf/stances.csv"), HasSubstr("stance_percent"));

  ASSERT_EQ(run_with().exit_code, 0);
  const Finished kinematic = run("heelstrike", compare, here_);
  ASSERT_EQ(kinematic.exit_code, 0) << kinematic.err;
  EXPECT_THAT(kinematic.out, testing::Not(HasSubstr("given")));
}

TEST_F(Gait, RejectsInvalidInput) {
  struct Case {
    const char* from;
    const char* to;
    std::vector<const char*> said;
  };
  const std::vector<Case> cases = {
      {"hindfoot: [Heel,",
       "hindfoot: [Heal,",
       {"gait.yaml:10: motion.walk.feet.right", "'Heal'", "did you mean 'Heel'"}},
      {"y: z, z: -y", "y: y, z: z", {"motion.walk.feet.right", "on the wall", "axes"}},
      {"z: -y", "z: y", {"motion.walk", "mirror image"}},
      {"GAIT_TEST_FOLDER", "GAIT_NO_FOLDER", {"${GAIT_NO_FOLDER}/walk.trc", "environment variable GAIT_NO_FOLDER"}},
      {"plate: ground_force", "plate: ground_forse", {"'ground_forse'", "did you mean 'ground_force'?"}},
      {"follow: walk.right.hindfoot", "follow: walk.right.hind", {"gait.yaml", "walk.right.hindfoot", "walk.ground"}},
      {"end_time: 1.0", "end_time: 2.0", {"cover the run", "0 to 1 s"}},
      {"axes:", "order: 3\n    axes:", {"motion.walk.order", "even"}},
      {"axes:", "start: -0.5\n    axes:", {"cover the run"}}};
  for (const Case& invalid : cases) {
    const Finished result = run_with(invalid.from, invalid.to);
    EXPECT_EQ(result.exit_code, 2) << invalid.to << "\n" << result.err;
    for (const char* text : invalid.said) EXPECT_THAT(result.err, HasSubstr(text)) << invalid.to;
  }
}

TEST_F(Gait, RejectsInvalidFiles) {
  const auto rejected = [&](const std::string& name, const std::string& content, const std::vector<std::string>& said) {
    const std::string before = read_text(folder_.path() / name);
    folder_.write(name, content);
    const Finished result = run_with();
    folder_.write(name, before);
    EXPECT_EQ(result.exit_code, 2) << name << "\n" << result.err;
    for (const auto& text : said) EXPECT_THAT(result.err, HasSubstr(text));
  };
  const auto changed = [&](const std::string& name, const std::string& from, const std::string& to) {
    std::string text = read_text(folder_.path() / name);
    return text.replace(text.find(from), from.size(), to);
  };
  rejected("grf.mot", changed("grf.mot", "\n0.5\t", "\n0.3\t"),
           {"grf.mot:58", "at least 0.49 s as in the preceding row", "must increase"});
  rejected("grf.mot", plates(0.25), {"gait.yaml:10", "walk.trc", "'ground_force'", "not synchronous", "with +0.2"});
  rejected("static.trc", changed("static.trc", "\tmm\n", "\tm\n"),
           {"gait.yaml:10", "static.trc", "0.1 to 0.45 m", "found 291 m", "units"});
  rejected("walk.trc", changed("walk.trc", "\tmm\n", "\tm\n"),
           {"gait.yaml:10", "walk.trc", "static trial, 0.291 m", "found 291 m", "units"});
  rejected("walk.trc", changed("walk.trc", "\t0.50\t", "\t0.30\t"), {"walk.trc:57", "above 0.49 s", "must increase"});
  rejected("walk.trc", changed("walk.trc", "\tHeel\t", "\tHeal\t"),
           {"gait.yaml:10", "walk.trc", "'Heel'", "did you mean 'Heal'?"});
  rejected("static.trc", changed("static.trc", "3\t0.02", "3\t0.01"), {"static.trc:9", "must increase"});
}

/// Rows of a .trc with a marker's three entries modified by `change`; x, y, z in the laboratory.
std::string with_marker(const std::string& text, std::size_t marker,
                        const std::function<void(std::array<std::string, 3>&)>& change) {
  std::istringstream lines(text);
  std::string result, line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, '\t');) cells.push_back(cell);
    if (number > 6 && cells.size() >= 2 + 3 * foot.size()) {
      std::array<std::string, 3> entries;
      for (std::size_t c = 0; c < 3; ++c) entries[c] = cells[2 + 3 * marker + c];
      change(entries);
      for (std::size_t c = 0; c < 3; ++c) cells[2 + 3 * marker + c] = entries[c];
      line = fmt::format("{}", fmt::join(cells, "\t"));
    }
    result += line + '\n';
  }
  return result;
}

TEST_F(Gait, RejectsMarkersWithoutSamples) {
  const std::string good = read_text(folder_.path() / "walk.trc");
  const auto blank = [](std::array<std::string, 3>& entries) { entries = {"", "", ""}; };
  for (const std::size_t marker : {std::size_t{0}, std::size_t{3}, std::size_t{4}}) {
    folder_.write("walk.trc", with_marker(good, marker, blank));
    const Finished result = run_with();
    EXPECT_EQ(result.exit_code, 2) << result.err;
    for (const std::string& text : {std::string("gait.yaml:10"), std::string("walk.trc"),
                                    fmt::format("'{}'", foot[marker].name), std::string("gaps in all 101 frames")}) {
      EXPECT_THAT(result.err, HasSubstr(text));
    }
  }
}

TEST_F(Gait, RejectsInvalidStaticTrials) {
  const std::string good = read_text(folder_.path() / "static.trc");
  const auto rejected = [&](const std::string& content, const std::vector<std::string>& said) {
    folder_.write("static.trc", content);
    const Finished result = run_with();
    EXPECT_EQ(result.exit_code, 2) << result.err;
    for (const auto& text : said) EXPECT_THAT(result.err, HasSubstr(text));
  };
  const auto blank = [](std::array<std::string, 3>& entries) { entries = {"", "", ""}; };
  rejected(with_marker(good, 0, blank), {"gait.yaml:10", "static.trc", "'Heel'", "gaps in all 10 frames"});
  // The toe tip 150 mm up on 290 mm: 24 degrees, beyond the accepted 15.
  rejected(with_marker(good, 3, [](std::array<std::string, 3>& entries) { entries[1] = "201.0"; }),
           {"gait.yaml:10", "static.trc", "foot flat", "degrees upwards"});
}

TEST_F(Gait, RejectsModuliOutsideTheScan) {
  (void)run_with();
  const auto rejected = [&](const std::vector<std::string>& arguments, const std::string& said) {
    std::vector<std::string> all = {"calibrate", "gait.yaml"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Finished result = run("heelstrike", all, here_);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(said));
  };
  rejected({"--registration", "--moduli", "4e5,2e5,8e5"}, "do not ascend");
  rejected({"--registration", "--moduli", "2e5,4e5"}, "at least three");
  rejected({"--registration", "--moduli", "2e5,soft,8e5"}, "found 'soft'");
  rejected({"--moduli", "2e5,4e5,8e5"}, "--registration");
}

/// Columns of one plate [N, m]: force up 700 sin, anterior-posterior 100 cos over 0 to 1 s, centre of pressure from 0
/// to 0.2 m.
std::string half_sine(double factor, double cop_offset) {
  std::string text =
      "time\tground_force_vx\tground_force_vy\tground_force_vz\tground_force_px\tground_force_py\tground_force_pz\t"
      "ground_torque_x\tground_torque_y\tground_torque_z\n";
  for (int i = -10; i <= 1010; ++i) {
    const double t = 1e-3 * i;
    const bool loaded = t > 0.0 && t < 1.0;
    const double s = loaded ? std::sin(std::numbers::pi * t) : 0.0;
    const double c = loaded ? -std::cos(std::numbers::pi * t) : 0.0;
    text += fmt::format("{}\t{}\t{}\t0\t{}\t0\t{}\t0\t0\t0\n", t, factor * 100.0 * c, factor * 700.0 * s, 0.2 * t,
                        cop_offset);
  }
  return text;
}

TEST(CompareGrf, ReportsDeviationsPutIntoTheData) {
  const ScratchFolder folder;
  fs::create_directory(folder.path() / "walk");
  folder.write("walk/ground_reactions.mot", half_sine(1.1, 0.012));
  folder.write("measured.mot", half_sine(1.0, 0.0));
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const Finished result =
      run("heelstrike", {"compare-grf", "walk", "--measured", "measured.mot", "--mass", "70", "--json"}, here);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  ASSERT_EQ(json["stances"].size(), 1U);
  const auto& stance = json["stances"][0];
  // Root mean square of a tenth of a half sine; the rows cut off at 20 N are 1.8 % of the stance with almost no load.
  const auto& vertical = stance["components"]["vy"];
  EXPECT_NEAR(vertical["rms"].get<double>(), 70.0 / std::numbers::sqrt2, 0.6);
  EXPECT_NEAR(vertical["rms_percent_body_weight"].get<double>(), 100.0 * vertical["rms"].get<double>() / (70 * 9.80665),
              1e-9);
  EXPECT_NEAR(vertical["max"]["measured"]["value"].get<double>(), 700.0, 1e-9);
  EXPECT_NEAR(vertical["max"]["predicted"]["value"].get<double>(), 770.0, 1e-9);
  EXPECT_NEAR(vertical["max"]["predicted"]["time_s"].get<double>(), 0.5, 1e-9);
  EXPECT_NEAR(vertical["correlation"].get<double>(), 1.0, 1e-12);
  EXPECT_NEAR(stance["components"]["vx"]["min"]["predicted"]["value"].get<double>(),
              1.1 * stance["components"]["vx"]["min"]["measured"]["value"].get<double>(), 1e-9);
  EXPECT_TRUE(stance["components"]["vz"]["correlation"].is_null()) << "nothing to correlate";
  EXPECT_NEAR(stance["cop_rms_mm"].get<double>(), 12.0, 1e-9);
  EXPECT_NEAR(stance["cop_max_mm"].get<double>(), 12.0, 1e-9);

  const Finished table = run("heelstrike", {"compare-grf", "walk", "--measured", "measured.mot"}, here);
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_THAT(table.out, AllOf(HasSubstr("first peak of the vertical force"), HasSubstr("error 12.0 mm rms")));
  EXPECT_EQ(run("heelstrike", {"compare-grf", "nowhere", "--measured", "measured.mot"}, here).exit_code, 5);
}

// Files with the load on the plate, in kN, without a number, or about another vertical.
TEST(CompareGrf, ConventionsOfTheMeasurementAreChecked) {
  const ScratchFolder folder;
  fs::create_directory(folder.path() / "walk");
  folder.write("walk/ground_reactions.mot", half_sine(1.0, 0.0));
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const auto compared = [&](const std::string& measured) {
    folder.write("measured.mot", measured);
    return run("heelstrike", {"compare-grf", "walk", "--measured", "measured.mot", "--mass", "70", "--json"}, here);
  };
  const Finished reversed = compared(half_sine(-1.0, 0.0));
  ASSERT_EQ(reversed.exit_code, 0) << reversed.err;
  EXPECT_THAT(reversed.err, HasSubstr("note: measured.mot: ground_force: its peak load, 700 N, points into the floor"));
  const auto json = nlohmann::json::parse(reversed.out);
  EXPECT_NEAR(json["stances"][0]["components"]["vy"]["rms"].get<double>(), 0.0, 1e-9);
  EXPECT_EQ(json["notes"].size(), 1U);

  const Finished kilonewtons = compared(half_sine(1e-3, 0.0));
  EXPECT_EQ(kilonewtons.exit_code, 2);
  EXPECT_THAT(kilonewtons.err, AllOf(HasSubstr("1000 times as large"), HasSubstr("if they are in kN")));

  std::string missing = half_sine(1.0, 0.0);
  const auto row = missing.find("\n0.5\t") + 5;
  missing.replace(row, missing.find('\t', row) - row, "nan");
  const Finished nan = compared(missing);
  EXPECT_EQ(nan.exit_code, 2);
  EXPECT_THAT(nan.err, AllOf(HasSubstr("measured.mot: ground_force: expected finite forces"), HasSubstr("t = 0.5 s")));

  std::string other_axes = half_sine(1.0, 0.0);
  for (const auto& [from, to] : {std::pair{"force_vy", "force_vw"}, {"force_vz", "force_vy"}, {"force_vw", "force_vz"}})
    other_axes.replace(other_axes.find(from), 8, to);
  const Finished axes = compared(other_axes);
  EXPECT_EQ(axes.exit_code, 2);
  EXPECT_THAT(axes.err, HasSubstr("expected the mean load along y, as that of the run, found it along z"));
}

// The walking subject with spheres under the feet, without a fit to the measured forces. The accuracy of kinematic
// spheres is limited by the markers' height, -2.0 to +2.7 mm in mid-stance: of 6.1 mm of indentation, a third to a half
// of every force. The centre of pressure depends less on it: 18.9 mm (right) and 28.3 mm (left) rms when this test was
// written, compared with 21 and about 30 mm of an independent calculation with one-segment feet.
TEST(GaitSpheres, WalkEndToEnd) {
  const char* data = std::getenv("HEELSTRIKE_DATA");
  if (data == nullptr || !fs::exists(std::string(data) + "/gait_subject01")) {
    GTEST_SKIP() << "HEELSTRIKE_DATA names no folder with gait_subject01: measured data are not part of the project";
  }
  const ScratchFolder folder;
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const Finished result = run("heelstrike", {"run", examples + "gait_spheres.yaml", "-o", "walk"}, here);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("ground moves at [-1.13"), HasSubstr("marker L.Midfoot.Sup is excluded")));
  const Finished again =
      run("heelstrike", {"run", examples + "gait_spheres.yaml", "--in-process", "-o", "again"}, here);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(read_text(folder.path() / "walk/ground_reactions.mot") ==
              read_text(folder.path() / "again/ground_reactions.mot"))
      << "servers and one process differ";
  const std::string measured = std::string(data) + "/gait_subject01/subject01_walk1_grf.mot";
  const Finished compared = run("heelstrike", {"compare-grf", "walk", "--measured", measured, "--json"}, here);
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
  const auto json = nlohmann::json::parse(compared.out);
  EXPECT_NEAR(json["body_mass_kg"].get<double>(), 72.9, 0.1);
  int complete = 0;
  for (const auto& stance : json["stances"]) {
    if (!stance["complete"].get<bool>()) continue;
    ++complete;
    EXPECT_LT(stance["cop_rms_mm"].get<double>(), 32.0) << stance.dump(2);
    EXPECT_LT(stance["components"]["vy"]["rms_percent_body_weight"].get<double>(), 50.0) << stance.dump(2);
    EXPECT_GT(stance["cop_samples"].get<int>(), 360) << "10 to 90 % of stance at 600 Hz";
  }
  EXPECT_EQ(complete, 2) << "one stance of each foot";
}

TEST(TrialImport, FilesOfAC3dTrial) {
  test::C3dWriter trial;
  trial.point_names = {"Heel", "Tip"};
  trial.channel_names = {"fx", "fy", "fz", "mx", "my", "mz", "EMG"};
  trial.channel_units = {"N", "N", "N", "Nmm", "Nmm", "Nmm", "V"};
  trial.scales.assign(7, 1.0);
  trial.offsets.assign(7, 0.0);
  trial.frames.assign(3, {{100, 0, 30, 0}, {0, 0, 0, -1}});
  trial.analog.assign(3, {{0, 0, -700, 70000, 0, 0, 3}, {0, 0, -700, 70000, 0, 0, 4}});
  // x of the plate is y of the laboratory, y is x; z points down.
  trial.plates = {{.type = 2,
                   .corners = {200, 300, 0, 200, -300, 0, -200, -300, 0, -200, 300, 0},
                   .origin = {0, 0, -40},
                   .channel = {1, 2, 3, 4, 5, 6},
                   .matrix = {}}};
  const ScratchFolder folder;
  folder.write("walk.c3d", trial.text());
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const Finished result = run("heelstrike", {"import", "walk.c3d", "-o", "out", "--json"}, here);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(nlohmann::json::parse(result.out)["files"].get<std::vector<std::string>>(),
              testing::ElementsAre("out/walk.trc", "out/walk.mot", "out/walk_analog.sto", "out/walk_events.csv"));
  const auto plates = read_force_plates(read_motion_table(read_text(folder.path() / "out/walk.mot"), "walk.mot"));
  // Mx = 70 N m = y Fz, and y of the plate is x of the laboratory.
  EXPECT_LT((plates.at(0).point[0] - Vector3(-0.1, 0, 0)).norm(), 1e-12) << plates[0].point[0].transpose();
  EXPECT_THAT(read_text(folder.path() / "out/walk_analog.sto"), HasSubstr("time\tEMG\n0.1\t3\n"));
  EXPECT_THAT(read_text(folder.path() / "out/NOT_IMPORTED.txt"), HasSubstr("marker Tip: never seen"));
  EXPECT_THAT(run("heelstrike", {"import", "walk.c3d", "-o", "out"}, here).err,
              HasSubstr("out/walk.trc: expected a folder without a file of this name"));
  folder.write("cut.c3d", trial.text().substr(0, 2000));
  EXPECT_THAT(run("heelstrike", {"import", "cut.c3d", "-o", "cut"}, here).err, HasSubstr("the file is truncated"));
}

}  // namespace
}  // namespace heelstrike::cli_test
