// Inverse analysis of the motion that a forward run recorded returns the loads that the forward run applied.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>

#include <cmath>

#include "gait/motion_columns.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using ::testing::HasSubstr;

/// A spatial double pendulum with a free body beside it: a torque that depends on time at every joint.
std::string machine(const std::string& loads_or_drivers, const std::string& type, double interval) {
  return fmt::format(R"(heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  upper: {{mass: 2, inertia: [0.2, 0.15, 0.1], center_of_mass: [0.02, 0, -0.05], position: [0, 0, -0.5], angular_velocity: [0, 1, 0], velocity: [-0.5, 0, 0]}}
  lower: {{mass: 1, inertia: [0.1, 0.12, 0.05], position: [0, 0, -1.5], velocity: [-1, 0, 0]}}
  bird: {{mass: 0.5, inertia: [0.02, 0.03, 0.04], position: [1, 0, 0], velocity: [0.2, 0.4, 3], angular_velocity: [2, 5, -1]}}
joints:
  shoulder: {{type: revolute, bodies: [ground, upper], point: [0, 0, 0], axis: [0, 1, 0]}}
  elbow: {{type: spherical, bodies: [upper, lower], point: [0, 0, -1]}}
{}analysis: {{type: {}, end_time: 2, integrator: {{rtol: 1.0e-9, atol: 1.0e-11}}}}
output: {{interval: {}, accelerations: true, steps: none}}
)",
                     loads_or_drivers, type, interval);
}

constexpr const char* loads = R"yaml(loads:
  muscle: {body: upper, ty: {expression: "3*sin(4*t)"}}
  wrist: {body: lower, torque: [0.3, 0, 0], ty: {expression: "cos(3*t)"}, tz: {polynomial: [0.1, -0.2]}}
  wing: {body: bird, fx: {expression: "sin(5*t)"}, force: [0, 0, 5], torque: [0.01, 0, 0.02]}
)yaml";
constexpr const char* drivers = R"yaml(drivers:
  muscle: {joint: shoulder, recorded: {name: run.csv}}
  wrist: {joint: elbow, recorded: {name: run.csv}}
  wing: {body: bird, recorded: {name: run.csv}}
)yaml";

/// timeseries.csv as a run folder has it; without the columns whose names contain one of `hidden`.
std::string csv_of(const RecordedRun& run, const std::vector<std::string>& hidden = {}) {
  std::vector<std::size_t> selected;
  for (std::size_t i = 0; i < run.columns.size(); ++i) {
    const auto& name = run.columns[i].name;
    const bool skip =
        std::ranges::any_of(hidden, [&](const auto& part) { return name.find(part) != std::string::npos; });
    if (!skip) selected.push_back(i);
  }
  std::string text;
  for (const auto i : selected) text += fmt::format("{}{}", text.empty() ? "" : ",", run.columns[i].name);
  for (const auto& row : run.rows) {
    for (std::size_t k = 0; k < selected.size(); ++k)
      text += fmt::format("{}{}", k == 0 ? "\n" : ",", row[selected[k]]);
  }
  return text + "\n";
}

RecordedRun run_recorded(const std::string& yaml, const std::string& table) {
  Scenario scenario = scenario_from(yaml);
  read_motion_columns(scenario, [&](const std::string&) { return &table; });
  return run_local(scenario);
}

/// Largest differences from the applied loads, relative to their magnitudes: torque of the muscle, torque of the wrist,
/// force and torque on the bird. `skip` rows at each end.
struct Errors {
  double muscle = 0.0, wrist = 0.0, wing = 0.0;
  [[nodiscard]] double worst() const { return std::max({muscle, wrist, wing}); }
};

Errors errors_of(const RecordedRun& inverse, std::size_t skip = 0) {
  Errors errors;
  const auto t = inverse.column("time_s");
  const auto at = [&](const std::string& name, std::size_t i) { return inverse.column(name)[i]; };
  for (std::size_t i = skip; i + skip < t.size(); ++i) {
    const double s = t[i];
    // The torque on the lower body reacts on the upper one: the shoulder carries its y component too.
    const double wrist_y = std::cos(3 * s);
    errors.muscle =
        std::max(errors.muscle, std::abs(at("driver_muscle.upper.ty_Nm", i) - 3 * std::sin(4 * s) - wrist_y));
    const Vector3 wrist(at("driver_wrist.lower.tx_Nm", i), at("driver_wrist.lower.ty_Nm", i),
                        at("driver_wrist.lower.tz_Nm", i));
    errors.wrist = std::max(errors.wrist, (wrist - Vector3(0.3, wrist_y, 0.1 - 0.2 * s)).norm());
    const Vector3 force(at("driver_wing.bird.fx_N", i), at("driver_wing.bird.fy_N", i), at("driver_wing.bird.fz_N", i));
    const Vector3 torque(at("driver_wing.bird.tx_Nm", i), at("driver_wing.bird.ty_Nm", i),
                         at("driver_wing.bird.tz_Nm", i));
    errors.wing = std::max(errors.wing, (force - Vector3(std::sin(5 * s), 0, 5)).norm() / 5.0);
    errors.wing = std::max(errors.wing, (torque - Vector3(0.01, 0, 0.02)).norm());
  }
  return errors;
}

// Requirement: inverse applied to the result of forward returns the applied loads to 1e-8.
TEST(Recorded, InverseOfARunWithAccelerationsReturnsItsLoads) {
  const auto forward = run_local(scenario_from(machine(loads, "forward", 0.02)));
  ASSERT_EQ(forward.summary.status, "completed") << forward.summary.error->what();
  const auto inverse = run_recorded(machine(drivers, "inverse", 0.02), csv_of(forward));
  ASSERT_EQ(inverse.summary.status, "completed") << inverse.summary.error->what();
  ASSERT_EQ(inverse.rows.size(), forward.rows.size());
  const Errors errors = errors_of(inverse);
  fmt::print("with accelerations: muscle {:.1e}, wrist {:.1e}, wing {:.1e}\n", errors.muscle, errors.wrist,
             errors.wing);
  EXPECT_LT(errors.worst(), 1e-8);
  for (const char* name : {"upper.qy", "lower.x_m", "bird.qw", "bird.wx_rad_s", "lower.alphaz_rad_s2"}) {
    for (std::size_t i = 0; i < inverse.rows.size(); ++i) {
      EXPECT_NEAR(forward.column(name)[i], inverse.column(name)[i], 1e-8) << name << " row " << i;
    }
  }
}

// Errors of differentiation when a record has no accelerations, or poses only: the orders stated in body_record.hpp.
TEST(Recorded, DifferentiatedRecordsConverge) {
  const auto errors_with = [&](double interval, const std::vector<std::string>& hidden) {
    // Noise of the forward run of size e adds e / h^2 to the accelerations: here it must stay below the splines' error.
    const auto forward = run_local(scenario_from(machine(loads, "forward", interval),
                                                 {"analysis.integrator.name=arkode_erk", "analysis.integrator.order=8",
                                                  "analysis.integrator.rtol=1e-13", "analysis.integrator.atol=1e-14"}));
    const auto inverse = run_recorded(machine(drivers, "inverse", interval), csv_of(forward, hidden));
    EXPECT_EQ(inverse.summary.status, "completed") << (inverse.summary.error ? inverse.summary.error->what() : "");
    // Rows near the ends have lower order.
    return errors_of(inverse, static_cast<std::size_t>(0.4 / interval)).worst();
  };
  const std::vector<std::string> accelerations = {".a"};
  const std::vector<std::string> rates = {".a", ".v", ".w"};
  for (const auto& [name, hidden, order] :
       {std::tuple{"poses and twists", accelerations, 4.0}, {"poses only", rates, 3.0}}) {
    const double coarse = errors_with(0.04, hidden);
    const double fine = errors_with(0.02, hidden);
    fmt::print("{}: error of loads {:.1e} at 40 ms, {:.1e} at 20 ms, order {:.1f}\n", name, coarse, fine,
               std::log2(coarse / fine));
    EXPECT_LT(fine, 1e-3) << name;
    EXPECT_GT(std::log2(coarse / fine), order) << name;
  }
}

TEST(Recorded, LogReportsTheErrorOfDifferentiation) {
  const auto forward = run_local(scenario_from(machine(loads, "forward", 0.02)));
  const auto inverse = run_recorded(machine(drivers, "inverse", 0.02), csv_of(forward, {".a", ".v", ".w"}));
  EXPECT_THAT(inverse.log, ::testing::Contains(HasSubstr("driver wing: accelerations are derivatives of splines")));
}

TEST(Recorded, ErrorsInTheTableAreReported) {
  const auto forward = run_local(scenario_from(machine(loads, "forward", 0.5)));
  const std::string table = csv_of(forward);
  const auto message = [&](const std::string& text, const std::string& yaml) -> std::string {
    try {
      Scenario scenario = scenario_from(yaml);
      read_motion_columns(scenario, [&](const std::string&) { return &text; });
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  const std::string good = machine(drivers, "inverse", 0.5);
  EXPECT_EQ(message(table, good), "no error");
  EXPECT_THAT(message(csv_of(forward, {"upper.qw"}), good),
              ::testing::AllOf(HasSubstr("test.yaml:11: drivers.muscle.recorded: "),
                               HasSubstr("expected a column 'upper.qw'")));
  EXPECT_THAT(message(table.substr(0, table.rfind('\n', table.size() - 2) + 1), good),
              HasSubstr("expected times that cover the run, 0 to 2 s, found 0 to 1.5 s"));
  std::string longer = table;
  longer.replace(longer.find("\n0.5,"), 5, "\n0.5,7,");
  EXPECT_THAT(message(longer, good), HasSubstr("run.csv:3: expected"));
}

/// Angle of a pin that follows column `q` of `text`, at 1 s, and the notes.
std::pair<double, std::vector<std::string>> angle_of(const std::string& file, const std::string& text,
                                                     const std::string& more = "", const std::string& column = "q") {
  Scenario scenario = scenario_from(fmt::format(
      "heelstrike: 1\ngravity: [0, 0, 0]\nbodies:\n  arm: {{mass: 1, inertia: [1, 1, 1], position: [0, 0, "
      "-0.5]}}\njoints:\n  pin: {{type: "
      "revolute, bodies: [ground, arm], point: [0, 0, 0], axis: [0, 1, 0]}}\ndrivers:\n  turn: {{joint: pin, angle: "
      "{{file: {{name: {}, column: {}{}}}}}}}\nanalysis: {{type: kinematic, end_time: 1}}\noutput: "
      "{{interval: 0.5}}\n",
      file, column, more));
  read_motion_columns(scenario, [&](const std::string&) { return &text; });
  return {scenario.drivers.front().functions.at("angle").function->at(1.0).f, scenario.notes};
}

std::string motion_text(const std::string& header, const std::string& column = "q") {
  return header + "time\t" + column + "\n0\t0\n0.5\t45\n1\t90\n";
}

// A knee of 90 degrees was read as 90 radians.
TEST(Recorded, DegreesAreConvertedToRadians) {
  using ::testing::ElementsAre;
  constexpr double right = std::numbers::pi / 2;
  const std::string degrees = motion_text("m\nversion=1\nnRows=3\nnColumns=2\ninDegrees=yes\nendheader\n");
  const std::string radians = motion_text("m\nversion=1\nnRows=3\nnColumns=2\ninDegrees=no\nendheader\n");
  const std::string silent = motion_text("m\nversion=1\nnRows=3\nnColumns=2\nendheader\n");
  const std::string simm = motion_text("name m\ndatacolumns 2\ndatarows 3\nendheader\n");

  auto [angle, notes] = angle_of("m.mot", degrees);
  EXPECT_NEAR(angle, right, 1e-12);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("column 'q' of m.mot is in degrees and was converted to radians")));
  std::tie(angle, notes) = angle_of("m.mot", degrees, ", scale: -1");
  EXPECT_NEAR(angle, -right, 1e-12);
  std::tie(angle, notes) = angle_of("m.mot", degrees, ", scale: 0.017453292519943295");
  EXPECT_NEAR(angle, right, 1e-12);
  EXPECT_THAT(notes, ElementsAre());
  std::tie(angle, notes) = angle_of("m.mot", degrees, ", scale: 2");
  EXPECT_NEAR(angle, 180.0, 1e-9);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("multiplied by scale = 2 to radians")));
  std::tie(angle, notes) = angle_of("m.mot", radians);
  EXPECT_NEAR(angle, 90.0, 1e-9);
  EXPECT_THAT(notes, ElementsAre());
  std::tie(angle, notes) = angle_of("m.sto", silent);
  EXPECT_NEAR(angle, 90.0, 1e-9);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("radians are assumed")));
  std::tie(angle, notes) = angle_of("m.mot", simm);
  EXPECT_NEAR(angle, right, 1e-12);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("like in OpenSim for a .mot file without")));
  std::tie(angle, notes) = angle_of("m.csv", motion_text("", "q_deg"), "", "q_deg");
  EXPECT_NEAR(angle, right, 1e-12);
  std::tie(angle, notes) = angle_of("m.csv", motion_text("", "q_rad"), "", "q_rad");
  EXPECT_NEAR(angle, 90.0, 1e-9);
  EXPECT_THAT(notes, ElementsAre());
}

/// Rotation and translation of a joint that follow the column `q` of `text`, at 1 s, and the notes.
struct Followed {
  double angle = 0.0, shift = 0.0;
  std::vector<std::string> notes;
};
Followed followed(const std::string& text, const std::string& more = "", const std::string& column = "q") {
  const std::string follows = fmt::format("{{follows: {{file: {{name: m.mot, column: \"{}\"{}}}}}}}", column, more);
  Scenario scenario = scenario_from(fmt::format(
      "heelstrike: 1\ngravity: [0, 0, 0]\nbodies: {{b: {{mass: 1, inertia: [1, 1, 1]}}}}\njoints:\n  slide: {{type: "
      "custom, bodies: [ground, b], coordinates: {{turn: {{}}, shift: {{}}}}, rotations: [{{axis: [1, 0, 0]}}, {{axis: "
      "[0, 1, 0]}}, {{axis: [0, 0, 1], of: {{turn: {{polynomial: [0, 1]}}}}}}], translations: [{{axis: [1, 0, 0], of: "
      "{{shift: {{polynomial: [0, 1]}}, turn: {{polynomial: [0, 1]}}}}}}, {{axis: [0, 1, 0]}}, {{axis: [0, 0, 1]}}]}}\n"
      "drivers: {{d: {{coordinates: {{turn: {0}, shift: {0}}}}}}}\nanalysis: {{type: kinematic, end_time: 1}}\n"
      "output: {{interval: 0.5}}\n",
      follows));
  read_motion_columns(scenario, [&](const std::string&) { return &text; });
  const auto& functions = scenario.drivers.front().functions;
  return {.angle = functions.at("turn").function->at(1.0).f,
          .shift = functions.at("shift").function->at(1.0).f,
          .notes = scenario.notes};
}

// A coordinate of 90 degrees was read as 90 radians.
TEST(Recorded, CoordinatesThatRotateAreConvertedToRadians) {
  using ::testing::ElementsAre;
  constexpr double right = std::numbers::pi / 2;
  const std::string header = "m\nversion=1\nnRows=3\nnColumns=2\ninDegrees=yes\nendheader\n";
  Followed found = followed(motion_text(header));
  EXPECT_NEAR(found.angle, right, 1e-12);
  EXPECT_NEAR(found.shift, 90.0, 1e-9) << "a length";
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("turn.follows.file: column 'q' of m.mot is in degrees and was "
                                                 "converted to radians")));
  found = followed(motion_text(header), ", angles: radians");
  EXPECT_NEAR(found.angle, 90.0, 1e-9);
  EXPECT_THAT(found.notes, ElementsAre());
  found = followed(motion_text(""), ", angles: degrees");
  EXPECT_NEAR(found.angle, right, 1e-12);
  EXPECT_THAT(found.notes, ElementsAre());
  found = followed("time,q [deg]\n0,0\n0.5,45\n1,90\n", "", "q [deg]");
  EXPECT_NEAR(found.angle, right, 1e-12);
  EXPECT_NEAR(found.shift, 90.0, 1e-9);
}

// Of two rows at one time the first was dropped without a word.
TEST(Recorded, RowsWithEqualTimesAreNoted) {
  const Followed found = followed("time,q_rad\n0,0\n0.5,1\n0.5,2\n1,3\n", "", "q_rad");
  EXPECT_THAT(found.notes, ::testing::Each(::testing::AllOf(HasSubstr("m.mot: 1 rows have the time of the following"),
                                                            HasSubstr("t = 0.5 s"), HasSubstr("follows.file"))));
  EXPECT_EQ(found.notes.size(), 2U);
}

/// The function of a load, and the notes.
std::pair<TimeFunctionPtr, std::vector<std::string>> load_of(const std::string& function) {
  Scenario scenario = scenario_from(
      "heelstrike: 1\ngravity: [0, 0, 0]\nbodies: {b: {mass: 1, inertia: [1, 1, 1]}}\nloads: {push: {body: b, fx: {" +
      function + "}}}\nanalysis: {type: forward, end_time: 1}\noutput: {interval: 0.5}\n");
  const std::string text = "time,f\n0,0\n0.49,0\n0.51,100\n1,100\n";
  read_motion_columns(scenario, [&](const std::string&) { return &text; });
  return {scenario.loads.front().functions.at("fx").function, scenario.notes};
}

// A push of 100 N between sparse rows ranged from -462 to 562 N.
TEST(Recorded, SplinesThatLeaveTheirRowsAreNoted) {
  using ::testing::ElementsAre;
  for (const std::string source :
       {"table: {times: [0, 0.49, 0.51, 1], values: [0, 0, 100, 100]", "file: {name: f.csv, column: f"}) {
    auto [f, notes] = load_of(source + "}");
    EXPECT_THAT(notes, ElementsAre(::testing::AllOf(HasSubstr("fx."), HasSubstr("the spline reaches"),
                                                    HasSubstr("the rows are within 0 and 100"))));
    std::tie(f, notes) = load_of(source + ", spline: linear}");
    EXPECT_THAT(notes, ElementsAre());
    EXPECT_NEAR(f->at(0.5).f, 50.0, 1e-12);
    EXPECT_EQ(f->at(0.3).f, 0.0);
  }
}

}  // namespace
}  // namespace heelstrike::test
