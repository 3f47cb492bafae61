// The dynamic knee of Hefzy and Abdel-Rahman (examples/knee_hefzy.yaml) against an independent program: fourth-order
// Runge-Kutta on accelerations with Baumgarte's stabilisation, steps of 1e-4 s (docs/studies/hefzy.md).
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

TEST(HefzyKnee, BendsAsTheRegressionTableSays) {
  const auto run = run_local(scenario_from(example(), {"output.interval=1e-4", "analysis.end_time=0.26"}));
  ASSERT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
  const auto angles = angles_of(run);
  const auto time = run.column("time_s");
  fmt::print("{:>8}{:>18}{:>18}{:>18}{:>18}{:>18}\n", "flexion", "t [s]", "abduction [deg]", "external [deg]",
             "medial [N]", "lateral [N]");
  std::size_t i = 0;
  for (const Row& row : table) {
    while (i + 1 < angles.size() && angles[i + 1].flexion < row.flexion) ++i;
    ASSERT_LT(i + 1, angles.size()) << row.flexion;
    // Between rows of 0.1 ms, in which the knee turns by 0.05 degrees, a straight line is exact to 1e-5 degrees.
    const double s = (row.flexion - angles[i].flexion) / (angles[i + 1].flexion - angles[i].flexion);
    const auto between = [s](double a, double b) { return a + s * (b - a); };
    const double t = between(time[i], time[i + 1]);
    const double abduction = between(angles[i].abduction, angles[i + 1].abduction);
    const double external = between(angles[i].external, angles[i + 1].external);
    const double medial = between(norm(run, "medial", i), norm(run, "medial", i + 1));
    const double lateral = between(norm(run, "lateral", i), norm(run, "lateral", i + 1));
    fmt::print("{:8.0f}{:9.4f}{:9.4f}{:9.2f}{:9.2f}{:9.2f}{:9.2f}{:9.1f}{:9.1f}{:9.1f}{:9.1f}\n", row.flexion, t,
               row.time, abduction, row.abduction, external, row.external, medial, row.medial, lateral, row.lateral);
    // Half of the last digit that the table gives, and the change of its program between steps of 1 and 2e-4 s: 5e-5 s.
    EXPECT_NEAR(t, row.time, 1e-4) << row.flexion;
    EXPECT_NEAR(abduction, row.abduction, 0.02) << row.flexion;
    EXPECT_NEAR(external, row.external, 0.1) << row.flexion;
    // Its rows are of the first step behind the angle, up to 0.06 degrees, in which forces change by up to 1.2 N.
    EXPECT_NEAR(medial, row.medial, 1.7) << row.flexion;
    EXPECT_NEAR(lateral, row.lateral, 1.7) << row.flexion;
  }
  // The lateral condyle lifts off once and does not come down.
  const auto last = std::ranges::max_element(run.episodes, {}, [](const ContactEpisode& episode) {
    return episode.pair == "lateral" && episode.end ? *episode.end : 0.0;
  });
  ASSERT_TRUE(last != run.episodes.end() && last->end.has_value());
  const auto at = static_cast<std::size_t>(std::ranges::lower_bound(time, *last->end) - time.begin());
  fmt::print("lateral contact ends at {:.5f} s, {:.2f} degrees\n", *last->end, angles[at].flexion);
  EXPECT_NEAR(angles[at].flexion, 52.51, 0.05);  // rows are 0.05 degrees apart
}

// Before that both condyles stay on their planes: with joints in the place of the contacts every integrator can do it.
TEST(HefzyKnee, EveryIntegratorBendsItAlike) {
  std::string joints = example();
  const auto contact = joints.find("contact:\n");
  const auto analysis = joints.find("analysis:\n");
  const auto plane = [](const char* name, double slope, double height, double radius, const char* center) {
    const double length = std::hypot(slope, 1.0);
    return fmt::format(
        "  {}: {{type: point_on_plane, bodies: [tibia, ground], points: [[{}, 0, {}], {}], axes: [[{}, 0, 1], "
        "[{}, 0, 1]]}}\n",
        name, -radius * slope / length, height + radius / length, center, -slope, -slope);
  };
  joints.replace(contact, analysis - contact,
                 "joints:\n" + plane("medial", 0.358, 0.213, 0.021, "[-0.02375, -0.018, 0.012]") +
                     plane("lateral", -0.341, 0.2129, 0.020, "[0.023, -0.016, 0.0115]") + "\n");
  std::vector<double> flexion;
  for (const char* integrator : {"cvode_index1", "ida_ggl", "arkode_erk", "arkode_dirk", "{name: rk4, step: 5e-5}",
                                 "{name: ab4am4, step: 5e-5}", "{name: moreau, step: 1e-4}"}) {
    const std::string choice = integrator[0] == '{' ? integrator : fmt::format("{{name: {}}}", integrator);
    const auto run = run_local(scenario_from(joints, {"analysis.integrator=" + choice, "analysis.end_time=0.18"}));
    ASSERT_EQ(run.summary.status, "completed") << integrator;
    flexion.push_back(angles_of(run).back().flexion);
    fmt::print("{:28} {:.6f} deg at 0.18 s\n", integrator, flexion.back());
  }
  for (const double value : flexion) EXPECT_NEAR(value, flexion.front(), 1e-4);
}

}  // namespace
}  // namespace heelstrike::test
