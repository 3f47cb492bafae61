// Errors in models end to end: each is reported with file, line and key, before or instead of a run. Results kept by a
// run that cannot continue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "common/results/run_folder.hpp"
#include "tests/integration/cli/program.hpp"

namespace heelstrike::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A pendulum of two rods, one key per line so that a message can name the line.
std::string pendulum(const std::string& from = "", const std::string& to = "") {
  std::string text = R"yaml(heelstrike: 1
gravity: [0, -9.81, 0]
bodies:
  upper: {mass: 1.0, inertia: [0.001, 0.083, 0.083], position: [0.5, 0, 0]}
  lower: {mass: 1.0, inertia: [0.001, 0.083, 0.083], position: [1.5, 0, 0]}
joints:
  shoulder: {type: revolute, bodies: [ground, upper], point: [0, 0, 0], axis: [0, 0, 1]}
  elbow: {type: revolute, bodies: [upper, lower], point: [1, 0, 0], axis: [0, 0, 1]}
analysis: {end_time: 0.5, integrator: {name: cvode_index1, rtol: 1.0e-8}}
output: {interval: 0.05}
)yaml";
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text;
}

struct InvalidModel {
  std::string name;
  std::string from;               ///< text of the valid scenario
  std::string to;                 ///< its replacement
  std::vector<std::string> said;  ///< parts of the message
};

const std::string driver_before_analysis = "analysis: {end";

/// A driver inserted before line 9.
InvalidModel invalid_table(const std::string& name, const std::string& table, std::vector<std::string> said) {
  return {name, driver_before_analysis,
          "drivers:\n  motor: {joint: shoulder, angle: {table: " + table + "}}\n" + driver_before_analysis,
          std::move(said)};
}

class InvalidModels : public testing::TestWithParam<InvalidModel> {};

TEST_P(InvalidModels, AreReportedWithFileLineAndKey) {
  const ScratchFolder folder;
  folder.write("knee.csv", "time,knee\n0,0\n0.2,0.1\n0.4,0.3\n");
  const std::string file = folder.write("model.yaml", pendulum(GetParam().from, GetParam().to));
  for (const std::string command : {"validate", "run"}) {
    const Finished result = run("heelstrike", {command, file}, {.working_folder = folder.path(), .environment = {}});
    EXPECT_EQ(result.exit_code, 2) << command << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr("model.yaml:")) << command;
    for (const std::string& part : GetParam().said) EXPECT_THAT(result.err, HasSubstr(part)) << command;
    EXPECT_FALSE(fs::exists(folder.path() / "runs")) << "a rejected scenario must not leave a folder";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Scenarios, InvalidModels,
    testing::Values(
        InvalidModel{"ZeroMass",
                     "mass: 1.0",
                     "mass: 0",
                     {":4: bodies.upper.mass: expected a number in [1e-12, 1e+12] [kg], found 0"}},
        InvalidModel{"InertiaOfNoBody",
                     "inertia: [0.001, 0.083, 0.083]",
                     "inertia: [0.001, 0.083, 0.2]",
                     {":4: bodies.upper.inertia: ", "at most the sum of the two others", "0.2"}},
        InvalidModel{"InertiaNotPositive",
                     "inertia: [0.001, 0.083, 0.083]",
                     "inertia: [0.001, 0.083, 0.083, 0.5, 0, 0]",
                     {":4: bodies.upper.inertia: ", "positive definite"}},
        InvalidModel{"JointOfUnknownBody",
                     "[upper, lower]",
                     "[upper, lowr]",
                     {":8: joints.elbow.bodies: ", "'lowr'", "did you mean 'lower'?"}},
        InvalidModel{"JointOfOneBodyTwice",
                     "[upper, lower]",
                     "[upper, upper]",
                     {":8: joints.elbow.bodies: expected two different bodies, found 'upper' twice"}},
        InvalidModel{"ToleranceTooLarge", "rtol: 1.0e-8", "rtol: 0.5", {":9: analysis.integrator.rtol: ", "found 0.5"}},
        InvalidModel{"ToleranceTooSmall", "rtol: 1.0e-8", "rtol: 1.0e-20", {":9: analysis.integrator.rtol: "}},
        InvalidModel{
            "ToleranceZero", "rtol: 1.0e-8", "atol: 0", {":9: analysis.integrator.atol: ", "in [1e-18, 1000]"}},
        InvalidModel{"UnknownIntegrator", "cvode_index1", "cvode", {":9: analysis.integrator.name: ", "cvode_index1"}},
        invalid_table(
            "TableTooShort", "{times: [0, 0.1, 0.3], values: [0, 1, 2]}",
            {":10: drivers.motor.angle.table: expected times that cover the run, 0 to 0.5 s, found 0 to 0.3 s"}),
        invalid_table("TableNotIncreasing", "{times: [0, 0.3, 0.2, 0.6], values: [0, 1, 2, 3]}",
                      {":10: drivers.motor.angle.table: ", "expected increasing times [s], found 0.2 after 0.3"}),
        invalid_table("TableOfUnequalLengths", "{times: [0, 1], values: [0]}", {":10: drivers.motor.angle.table: "}),
        InvalidModel{"MotionFileTooShort",
                     driver_before_analysis,
                     "drivers:\n  motor: {joint: shoulder, angle: {file: {name: knee.csv, column: knee}}}\n" +
                         driver_before_analysis,
                     {":10: drivers.motor.angle.file: expected times that cover the run", "found 0 to 0.4 s"}},
        InvalidModel{"MotionFileWithoutColumn",
                     driver_before_analysis,
                     "drivers:\n  motor: {joint: shoulder, angle: {file: {name: knee.csv, column: hip}}}\n" +
                         driver_before_analysis,
                     {":10: drivers.motor.angle.file: ", "knee.csv:1: expected a column 'hip', found time, knee"}},
        InvalidModel{"LoadOfTimeMisspelled",
                     driver_before_analysis,
                     "loads:\n  wind: {body: lower, fx: {expression: \"sin(2*tt)\"}}\n" + driver_before_analysis,
                     {":10: loads.wind.fx.expression: "}},
        InvalidModel{"RecordWithoutPoses",
                     driver_before_analysis,
                     "drivers:\n  motor: {joint: shoulder, recorded: {name: knee.csv}}\n" + driver_before_analysis,
                     {":10: drivers.motor.recorded: ", "knee.csv:1: expected a column 'upper.x_m'"}}),
    [](const auto& info) { return info.param.name; });

Finished run_in(const ScratchFolder& folder, const std::string& text, std::vector<std::string> more = {}) {
  const std::string file = folder.write("model.yaml", text);
  std::vector<std::string> arguments = {"run", file, "-o", "out"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run("heelstrike", arguments, {.working_folder = folder.path(), .environment = {}});
}

TEST(Assembly, InfeasibleGuessIsReportedWithItsJoints) {
  const ScratchFolder folder;
  // The rods reach 2 m; the eye is 5 m away.
  const Finished result = run_in(
      folder,
      pendulum("analysis: {end",
               "  eye: {type: spherical, bodies: [ground, lower], points: [[5, 0, 0], [0.5, 0, 0]]}\nanalysis: {end"));
  // Assembly is the first action of a run: the file itself is valid.
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("model.yaml:9: joints.eye: "));
  EXPECT_THAT(result.err, HasSubstr("expected an initial state that satisfies all joints and drivers"));
  EXPECT_THAT(result.err, HasSubstr("elbow"));
}

TEST(Assembly, RoughGuessIsCorrectedAndTheDistanceReported) {
  const ScratchFolder folder;
  const Finished result =
      run_in(folder, pendulum("elbow: {type: revolute, bodies: [upper, lower], point: [1, 0, 0], axis: [0, 0, 1]}",
                              "elbow: {type: spherical, bodies: [upper, lower], points: [[0.5, 0, 0], [-0.6, 0, 0]]}"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(read_text(folder.path() / "out/run.log"), HasSubstr("assembly moved lower by"));
}

TEST(Assembly, RedundantLoopIsReportedAndRuns) {
  const ScratchFolder folder;
  // A plane of motion that both hinges already enforce.
  const Finished result = run_in(
      folder, pendulum("analysis: {end",
                       "  guide: {type: point_on_plane, bodies: [ground, lower], point: [1.5, 0, 0], axis: [0, 0, 1]}\n"
                       "analysis: {end"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(read_text(folder.path() / "out/run.log"),
              HasSubstr("1 of 23 constraint equations are redundant and not used: guide"));
}

TEST(Assembly, ContradictoryLoopIsRejectedWithTheConflictingJoints) {
  const ScratchFolder folder;
  const Finished result = run_in(
      folder,
      pendulum("analysis: {end",
               "  strut: {type: distance, bodies: [ground, lower], points: [[0, 0, 0], [0.5, 0, 0]], length: 3}\n"
               "analysis: {end"));
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("model.yaml:9: joints.strut: "));
  EXPECT_THAT(result.err, HasSubstr("in shoulder, elbow, strut"));
}

// A driver beyond the reach of the rods stops the run; earlier rows are on disk.
TEST(RunFailure, ReportsTimeReasonAndPlaceAndKeepsTheResults) {
  const ScratchFolder folder;
  const std::string text = pendulum("analysis: {end_time: 0.5",
                                    "  rail: {type: point_on_line, bodies: [ground, lower], points: [[0, 0, 0], [0.5, "
                                    "0, 0]], axes: [[1, 0, 0], [1, 0, 0]]}\n"
                                    "drivers:\n  pull: {body: lower, x: {expression: \"1.2 + 0.5*t\"}}\n"
                                    "analysis: {end_time: 2");
  const Finished result = run_in(
      folder, text,
      {"--set", "bodies.upper.position=[0.35, 0.357, 0]", "--set",
       "bodies.upper.orientation=[0.9238795325, 0, 0, 0.3826834324]", "--set", "bodies.lower.position=[1.06, 0.357, 0]",
       "--set", "bodies.lower.orientation=[0.9238795325, 0, 0, -0.3826834324]", "--set",
       "joints.elbow={type: revolute, bodies: [upper, lower], points: [[0.5, 0, 0], [-0.5, 0, 0]], "
       "axes: [[0, 0, 1], [0, 0, 1]]}"});
  EXPECT_EQ(result.exit_code, 3) << result.err << result.out;
  EXPECT_THAT(result.err, HasSubstr("the run failed"));
  const fs::path out = folder.path() / "out";
  EXPECT_TRUE(fs::exists(out / "INCOMPLETE"));
  const auto summary = nlohmann::json::parse(read_text(out / "summary.json"));
  EXPECT_EQ(summary["status"], "failed");
  EXPECT_EQ(summary["error"]["code"], "solver failed");
  const std::string message = summary["error"]["message"];
  EXPECT_THAT(message, testing::AnyOf(HasSubstr("failed at t = "), HasSubstr("was repeated")));
  EXPECT_THAT(message, HasSubstr("The last accepted step ended at t = "));
  EXPECT_THAT(message, testing::AnyOf(HasSubstr("'driver pull'"), HasSubstr("'rail'"), HasSubstr("'elbow'"),
                                      HasSubstr("'shoulder'")))
      << "a constraint that is involved";
  // The rows up to there are kept: about 0.6 s.
  const TimeSeries series = read_timeseries(out);
  const auto t = series.column("time_s");
  ASSERT_GT(t.size(), 5U);
  const double end = summary["simulated_time_s"];
  EXPECT_GT(end, 0.3);
  EXPECT_LT(end, 2.0);
  EXPECT_NEAR(t.back(), end, 0.05 + 1e-9);
}

/// Motion files in all three formats drive the shoulder; the angle returns as sin(angle) of the upper rod.
TEST(MotionFiles, DriveAJointEndToEnd) {
  const ScratchFolder folder;
  std::string rows, csv = "t_s,knee,hip\n", mot = "Coordinates\nversion=1\ninDegrees=yes\nendheader\ntime\tknee\thip\n";
  for (int i = 0; i <= 60; ++i) {
    const double t = 0.01 * i;
    const double angle = 0.4 * std::sin(3.0 * t);
    csv += std::to_string(t) + ",0," + std::to_string(angle) + "\n";
    mot += std::to_string(t) + "\t0\t" + std::to_string(angle * 180.0 / 3.14159265358979) + "\n";
  }
  folder.write("hip.csv", csv);
  folder.write("hip.mot", mot);
  folder.write("hip.sto", mot);
  for (const std::string source : {"{name: hip.csv, column: hip, time: t_s, spline: quintic}",
                                   "{name: hip.mot, column: hip, scale: 0.017453292519943295}",
                                   "{name: hip.sto, column: hip, scale: 0.017453292519943295}"}) {
    const Finished result = run_in(
        folder,
        pendulum("analysis: {end", "drivers:\n  hip: {joint: shoulder, angle: {file: " + source + "}}\nanalysis: {end"),
        {"--force"});
    ASSERT_EQ(result.exit_code, 0) << source << result.err;
    const TimeSeries series = read_timeseries(folder.path() / "out");
    const auto t = series.column("time_s");
    const auto y = series.column("upper.y_m");
    // Six digits in the file, 10 ms between rows.
    for (std::size_t i = 0; i < t.size(); ++i) EXPECT_NEAR(y[i], 0.5 * std::sin(0.4 * std::sin(3.0 * t[i])), 2e-6);
  }
}

// The folder of a run as the source of an inverse analysis returns the loads of the run.
TEST(MotionFiles, ARunFolderIsTheMotionOfAnInverseAnalysis) {
  const ScratchFolder folder;
  const std::string loads = "loads:\n  motor: {body: upper, tz: {expression: \"2*sin(6*t)\"}}\n";
  const std::string forward = folder.write("forward.yaml", pendulum("analysis: {end", loads + "analysis: {end"));
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const Finished first = run("heelstrike", {"run", forward, "-o", "swing", "--set", "output.accelerations=true"}, here);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  for (const std::string table : {"swing/timeseries.csv", "swing/kinematics.sto"}) {
    const Finished second =
        run_in(folder,
               pendulum("analysis: {end", "drivers:\n  motor: {joint: shoulder, recorded: {name: " + table +
                                              "}}\n  free: {joint: elbow, recorded: {name: " + table +
                                              "}}\nanalysis: {type: inverse, end"),
               {"--force"});
    ASSERT_EQ(second.exit_code, 0) << second.err;
    const TimeSeries series = read_timeseries(folder.path() / "out");
    const auto t = series.column("time_s");
    const auto motor = series.column("driver_motor.upper.tz_Nm");
    const auto elbow = series.column("driver_free.lower.tz_Nm");
    ASSERT_GE(t.size(), 11U);
    for (std::size_t i = 0; i < t.size(); ++i) {
      EXPECT_NEAR(motor[i], 2.0 * std::sin(6.0 * t[i]), 1e-8) << table << " at t = " << t[i];
      EXPECT_NEAR(elbow[i], 0.0, 1e-8) << table << " at t = " << t[i];
    }
  }
}

TEST(StaticAnalysis, WritesOneRowInEquilibriumEndToEnd) {
  const ScratchFolder folder;
  const Finished result = run_in(folder, pendulum("analysis: {end", "analysis: {type: static, end"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const TimeSeries series = read_timeseries(folder.path() / "out");
  ASSERT_EQ(series.rows(), 1U);
  EXPECT_NEAR(series.column("upper.y_m")[0], -0.5, 1e-8);
  EXPECT_NEAR(series.column("lower.y_m")[0], -1.5, 1e-8);
  EXPECT_NEAR(series.column("shoulder.upper.fy_N")[0], 2 * 9.81, 1e-8);
}

// Overrides of the import are in the written file, under the given name.
TEST(ImportOsim, WritesTheRequestedScenario) {
  const ScratchFolder folder;
  folder.write("leg.osim", R"(<OpenSimDocument Version="40000"><Model name="leg"><BodySet><objects>
<Body name="thigh"><mass>7</mass><mass_center>0 0 0</mass_center><inertia>0.1 0.1 0.1 0 0 0</inertia></Body>
<Body name="shank"><mass>4</mass><mass_center>0 -0.2 0</mass_center><inertia>0.1 0.1 0.1 0 0 0</inertia></Body>
</objects></BodySet><JointSet><objects><PinJoint name="knee"><socket_parent_frame>/bodyset/thigh</socket_parent_frame>
<socket_child_frame>/bodyset/shank</socket_child_frame><coordinates><Coordinate name="flexion">
<default_value>0.5</default_value></Coordinate></coordinates></PinJoint></objects></JointSet></Model></OpenSimDocument>
)");
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
  const Finished made = run("heelstrike",
                            {"import-osim", "leg.osim", "--subset", "knee", "--set", "analysis.end_time=0.25", "--set",
                             "gravity=[0, 0, -1]", "-o", "out/swing.yaml"},
                            here);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(read_text(folder.path() / "out/swing.yaml"),
              testing::AllOf(testing::StartsWith("# From the OpenSim model leg;"), HasSubstr("gravity: [0, 0, -1]"),
                             HasSubstr("end_time: 0.25"), HasSubstr("description: \"Imported from leg.osim\"\n")));
  EXPECT_EQ(run("heelstrike", {"validate", "out/swing.yaml"}, here).exit_code, 0);
  EXPECT_TRUE(fs::exists(folder.path() / "out/NOT_IMPORTED.txt"));
  EXPECT_EQ(run("heelstrike", {"run", "out/swing.yaml", "--in-process", "-o", "swing"}, here).exit_code, 0);
  const Finished drawn =
      run("heelstrike", {"import-osim", "leg.osim", "--subset", "knee", "--drawer-force", "100", "-o", "drawn"}, here);
  EXPECT_EQ(drawn.exit_code, 2);
  EXPECT_THAT(drawn.err, HasSubstr("--flexion"));
}

}  // namespace
}  // namespace heelstrike::cli_test
