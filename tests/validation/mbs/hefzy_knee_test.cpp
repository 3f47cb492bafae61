// The dynamic knee of Hefzy and Abdel-Rahman (examples/knee_hefzy.yaml, knee_hefzy_joints.yaml), compared with an
// independent program: fourth-order Runge-Kutta on accelerations with Baumgarte's stabilisation, steps of 1e-4 s
// (docs/studies/hefzy.md).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

constexpr double degree = std::numbers::pi / 180.0;

/// Rotations of the tibia by the joint coordinate system of the source [deg].
struct JointAngles {
  double flexion = 0.0;
  double abduction = 0.0;
  double external = 0.0;
};

JointAngles joint_angles(const Matrix3& R) {
  return {.flexion = std::atan2(R(1, 2), R(2, 2)) / degree,
          .abduction = std::acos(R(0, 2)) / degree - 90.0,
          .external = std::atan2(R(0, 1), R(0, 0)) / degree};
}

std::vector<JointAngles> angles_of(const RecordedRun& run) {
  const auto w = run.column("tibia.qw");
  const auto x = run.column("tibia.qx");
  const auto y = run.column("tibia.qy");
  const auto z = run.column("tibia.qz");
  std::vector<JointAngles> angles;
  for (std::size_t i = 0; i < w.size(); ++i) {
    angles.push_back(joint_angles(rotation_from_quaternion(Quaternion(w[i], x[i], y[i], z[i]))));
  }
  return angles;
}

std::string example() {
  return read_text(HEELSTRIKE_SOURCE_DIR "/examples/knee_hefzy.yaml");
}

/// Row of the regression table; forces in N.
struct Row {
  double flexion, time, abduction, external, medial, lateral;
};
constexpr Row table[] = {
    {10, 0.0677, 0.76, 0.64, 60.9, 133.1}, {20, 0.1004, 0.67, 2.23, 108, 89.8},   {30, 0.1283, 0.40, -1.68, 143, 101},
    {40, 0.1531, -0.45, -6.55, 187, 106},  {50, 0.1762, -1.67, -11.3, 314, 32},   {60, 0.1979, -2.60, -14.8, 389, 0},
    {70, 0.2191, -2.70, -15.84, 284, 0},   {80, 0.2389, -2.99, -16.55, 168.5, 0}, {90, 0.2588, -2.83, -17.85, 60, 0}};

double norm(const RecordedRun& run, const std::string& pair, std::size_t i) {
  return std::hypot(run.column(pair + ".fx_N")[i], run.column(pair + ".fy_N")[i], run.column(pair + ".fz_N")[i]);
}

/// The example up to 90 degrees with a row every 0.1 ms, in which the knee rotates by 0.05 degrees.
const RecordedRun& bent_knee() {
  static const RecordedRun run =
      run_local(scenario_from(example(), {"output.interval=1e-4", "analysis.end_time=0.26"}));
  return run;
}

/// Time and angle of the final separation of the lateral condyle. The forces of rigid bodies are means over steps: the
/// episode gives its end.
double lateral_end(const RecordedRun& run) {
  double end = 0.0;
  for (const ContactEpisode& episode : run.episodes) {
    if (episode.pair == "lateral") end = std::max(end, episode.end.value_or(0.0));
  }
  return end;
}

TEST(HefzyKnee, FlexionFollowsTheRegressionTable) {
  const RecordedRun& run = bent_knee();
  ASSERT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
  const auto angles = angles_of(run);
  const auto time = run.column("time_s");
  fmt::print("{:>8}{:>18}{:>18}{:>18}{:>18}{:>18}\n", "flexion", "t [s]", "abduction [deg]", "external [deg]",
             "medial [N]", "lateral [N]");
  std::size_t i = 0;
  for (const Row& row : table) {
    while (i + 1 < angles.size() && angles[i + 1].flexion < row.flexion) ++i;
    ASSERT_LT(i + 1, angles.size()) << row.flexion;
    // Between rows of 0.1 ms, in which the knee rotates by 0.05 degrees, a straight line is exact to 1e-5 degrees.
    const double s = (row.flexion - angles[i].flexion) / (angles[i + 1].flexion - angles[i].flexion);
    const auto between = [s](double a, double b) { return a + s * (b - a); };
    const double t = between(time[i], time[i + 1]);
    const double abduction = between(angles[i].abduction, angles[i + 1].abduction);
    const double external = between(angles[i].external, angles[i + 1].external);
    const double medial = between(norm(run, "medial", i), norm(run, "medial", i + 1));
    const double lateral = between(norm(run, "lateral", i), norm(run, "lateral", i + 1));
    fmt::print("{:8.0f}{:9.4f}{:9.4f}{:9.2f}{:9.2f}{:9.2f}{:9.2f}{:9.1f}{:9.1f}{:9.1f}{:9.1f}\n", row.flexion, t,
               row.time, abduction, row.abduction, external, row.external, medial, row.medial, lateral, row.lateral);
    // Half of the last digit of the table, and the change of its program between steps of 1 and 2e-4 s: 5e-5 s.
    EXPECT_NEAR(t, row.time, 1e-4) << row.flexion;
    EXPECT_NEAR(abduction, row.abduction, 0.02) << row.flexion;
    EXPECT_NEAR(external, row.external, 0.1) << row.flexion;
    // Its rows are of the first step after the angle, up to 0.06 degrees, in which forces change by up to 1.2 N.
    EXPECT_NEAR(medial, row.medial, 1.7) << row.flexion;
    EXPECT_NEAR(lateral, row.lateral, 1.7) << row.flexion;
  }
  // The lateral condyle separates once and does not return.
  const double end = lateral_end(run);
  const auto at = static_cast<std::size_t>(std::ranges::lower_bound(time, end) - time.begin());
  fmt::print("lateral contact ends at {:.5f} s, {:.2f} degrees\n", end, angles[at].flexion);
  EXPECT_NEAR(angles[at].flexion, 52.51, 0.05);  // rows are 0.05 degrees apart
}

/// Value of one curve in the text of the source, and of the independent program with the true angular velocity.
struct Statement {
  const char* quantity;
  const char* column;  ///< of the peak force, or of an angle
  const char* text;
  double value, flexion;  ///< [N or deg] of the independent program, and where [deg]
};
constexpr Statement text_values[] = {
    {"external rotation, largest", "external", "at 15 to 20 deg", 2.6, 16.7},
    {"varus, largest", "varus", "at 60 deg", 3.0, 84.5},
    {"medial contact, largest", "medial", "at 60 deg", 392, 59},
    {"anterior cruciate, anterior", "acl_anterior.force_N", "70 N at 90 deg", 88, 71},
    {"anterior cruciate, posterior", "acl_posterior.force_N", "50 N at extension", 70, 56},
    {"posterior cruciate, anterior", "pcl_anterior.force_N", "150 N at 60 deg", 204, 60},
    {"posterior cruciate, posterior", "pcl_posterior.force_N", "50 N at extension", 50.2, 0.2},
    {"medial collateral, anterior", "mcl_anterior.force_N", "100 N at 50 deg", 87, 49},
    {"medial collateral, deep", "mcl_deep.force_N", "90 N at 45 deg", 128, 40},
    {"medial collateral, oblique", "mcl_oblique.force_N", "30 N near extension", 47, 2.8},
    {"lateral collateral", "lcl.force_N", "90 N at extension", 90.6, 0.2}};

std::vector<double> curve(const RecordedRun& run, const std::string& name) {
  std::vector<double> values;
  if (name == "external" || name == "varus") {
    for (const JointAngles& at : angles_of(run)) values.push_back(name == "varus" ? -at.abduction : at.external);
  } else if (name == "medial") {
    for (std::size_t i = 0; i < run.rows.size(); ++i) values.push_back(norm(run, name, i));
  } else {
    values = run.column(name);
  }
  return values;
}

// The values of the source's text, compared with those of its equations with the true angular velocity.
TEST(HefzyKnee, ExtremesEqualTheEquationsAndDifferFromTheText) {
  const RecordedRun& run = bent_knee();
  ASSERT_EQ(run.summary.status, "completed");
  const auto angles = angles_of(run);
  const auto end = std::ranges::find_if(angles, [](const JointAngles& at) { return at.flexion > 90.0; });
  for (const Statement& statement : text_values) {
    const auto values = curve(run, statement.column);
    const auto last = values.begin() + (end - angles.begin());
    const auto largest = std::max_element(values.begin(), last);
    const double flexion = angles[static_cast<std::size_t>(largest - values.begin())].flexion;
    fmt::print("| {} | {} | {:.1f} at {:.1f} | {:g} at {:g} |\n", statement.quantity, statement.text, *largest, flexion,
               statement.value, statement.flexion);
    // Half of the last given digit of the independent program, and the error of its steps of 1e-4 s. Where a curve is
    // flat, rounding determines the position of its maximum.
    const bool whole_number = statement.value > 10.0 && statement.value == std::round(statement.value);
    EXPECT_NEAR(*largest, statement.value, (whole_number ? 0.5 : 0.05) + 1e-3 * statement.value) << statement.quantity;
    EXPECT_NEAR(flexion, statement.flexion, 0.6) << statement.quantity;
  }
}

// With unilateral joints instead of the contacts every integrator flexes the knee to 90 degrees, through the separation
// of the lateral condyle.
TEST(HefzyKnee, AllIntegratorsAgree) {
  const std::string joints = read_text(HEELSTRIKE_SOURCE_DIR "/examples/knee_hefzy_joints.yaml");
  const auto leg = [](const std::string& text, const char* end) {
    const auto begin = text.find("gravity:");
    return text.substr(begin, text.find(end) - begin);
  };
  EXPECT_EQ(leg(joints, "joints:\n"), leg(example(), "contact:\n")) << "two examples of one leg";
  const RecordedRun& contacts = bent_knee();
  const auto time = contacts.column("time_s");
  const auto row = static_cast<std::size_t>(std::ranges::lower_bound(time, 0.2588 - 1e-9) - time.begin());
  const double reference = angles_of(contacts)[row].flexion;
  std::vector<double> flexion, opening;
  for (const char* integrator : {"{name: cvode_index1}", "{name: ida_ggl}", "{name: arkode_erk}", "{name: arkode_dirk}",
                                 "{name: rk4, step: 5e-5}", "{name: ab4am4, step: 5e-5}"}) {
    const auto run = run_local(scenario_from(
        joints, {fmt::format("analysis.integrator={}", integrator), "analysis.end_time=0.2588", "output.steps=all"}));
    ASSERT_EQ(run.summary.status, "completed") << integrator << (run.summary.error ? run.summary.error->what() : "");
    flexion.push_back(angles_of(run).back().flexion);
    const auto force = run.column("lateral.force_N");
    // The event has a row, in which the force is zero to the accuracy of its time.
    const auto event = std::ranges::find_if(force, [](double f) { return f < 1e-6; });
    ASSERT_NE(event, force.end()) << integrator;
    const auto open = static_cast<std::size_t>(event - force.begin());
    opening.push_back(run.column("time_s")[open]);
    fmt::print("{:28} lateral opens at {:.7f} s, {:.4f} deg; {:.6f} deg at the end\n", integrator, opening.back(),
               angles_of(run)[open].flexion, flexion.back());
    EXPECT_TRUE(std::all_of(event + 1, force.end(), [](double f) { return f == 0.0; }))
        << integrator << ": it has no second contact";
    for (const double f : run.column("medial.force_N")) EXPECT_GT(f, 0.0) << integrator;
  }
  for (const double value : flexion) EXPECT_NEAR(value, flexion.front(), 1e-4);
  // Forces of fibres jump by up to 4 % where their linear part begins, undetected by the integrators; those of fixed
  // steps of 50 us pass the last jump within a step.
  for (const double value : opening) EXPECT_NEAR(value, opening.front(), 1e-5);
  // Time stepping is of the second order with steps of 25 us, and reports the end of a contact after its gap exceeds
  // rounding.
  EXPECT_NEAR(flexion.front(), reference, 1e-2);
  EXPECT_NEAR(opening.front(), lateral_end(contacts), 1e-4);
}

}  // namespace
}  // namespace heelstrike::test
