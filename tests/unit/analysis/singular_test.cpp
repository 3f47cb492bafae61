// Singular poses are crossed by every method with error control; driven joints follow their drivers with every method.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using ::testing::HasSubstr;

std::string four_bar() {
  return read_text(HEELSTRIKE_SOURCE_DIR "/examples/four_bar_n.yaml");
}

std::vector<std::string> with(const std::string& integrator, int rtol) {
  return {"analysis.integrator.name=" + integrator, fmt::format("analysis.integrator.rtol=1e-{}", rtol),
          fmt::format("analysis.integrator.atol=1e-{}", rtol + 2)};
}

/// On the parallelogram branch all cranks have the same angle; the total energy is that of a single pendulum.
double branch_error(const RecordedRun& run) {
  double worst = 0.0;
  for (const char* other : {"crank1", "crank2"}) {
    for (const char* axis : {".y_m", ".qz"}) {
      const auto a = run.column(std::string("crank0") + axis);
      const auto b = run.column(std::string(other) + axis);
      for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(std::abs(a[i]) - std::abs(b[i])));
    }
  }
  return worst;
}

class SingularPose : public testing::TestWithParam<const char*> {};

TEST_P(SingularPose, IsCrossedOnTheIntendedBranch) {
  for (const int rtol : {6, 8}) {
    const auto run = run_local(scenario_from(four_bar(), with(GetParam(), rtol)));
    ASSERT_EQ(run.summary.status, "completed") << rtol << ": " << run.summary.error->what();
    const auto kinetic = run.column("energy.kinetic_J");
    const auto potential = run.column("energy.potential_J");
    double drift = 0.0;
    for (std::size_t i = 0; i < kinetic.size(); ++i) {
      drift = std::max(drift, std::abs(kinetic[i] + potential[i] - kinetic[0] - potential[0]));
    }
    drift /= *std::ranges::max_element(kinetic);
    const double branch = branch_error(run);
    fmt::print("{:14} rtol 1e-{:<2} {:6} steps  energy {:8.1e}  branch {:8.1e}  Phi {:8.1e}  Phid {:8.1e}\n",
               GetParam(), rtol, run.summary.integrator.steps, drift, branch, run.summary.max_position_violation,
               run.summary.max_velocity_violation);
    // BDF methods lose about 200 rtol over 10 s (docs/theory/integrators.md), Runge-Kutta methods 10; a crossing may
    // cost ida_ggl 100 rtol.
    const bool runge_kutta = std::string(GetParam()).starts_with("arkode");
    EXPECT_LT(drift, (runge_kutta ? 10.0 : 1000.0) * std::pow(10.0, -rtol)) << rtol;
    EXPECT_LT(branch, 1e-5) << "left the branch of parallel cranks, at " << rtol;
    EXPECT_LT(run.summary.max_position_violation, 1e-10) << rtol;
    EXPECT_LT(run.summary.max_velocity_violation, 1e-8) << rtol;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, SingularPose, testing::Values("cvode_index1", "ida_ggl", "arkode_erk", "arkode_dirk"),
                         [](const auto& info) { return std::string(info.param); });

TEST(SingularPose, CrossingIsLogged) {
  // Wider steps may cross the pose undetected.
  const auto run = run_local(scenario_from(
      four_bar(), {"analysis.integrator={name: arkode_erk, rtol: 1.0e-10, atol: 1.0e-12}", "analysis.end_time=1"}));
  EXPECT_THAT(run.log, ::testing::Contains(HasSubstr("the joints are in a singular pose at t = 0.714")));
}

/// A crank driven by angle(t), and a slider moved by a rod of 2 m: x = r cos + sqrt(l^2 - r^2 sin^2).
constexpr const char* driven_slider_crank = R"yaml(heelstrike: 1
gravity: [0, -9.81, 0]
bodies:
  crank: {mass: 1, inertia: [0.01, 0.02, 0.03], position: [0.25, 0, 0]}
  rod: {mass: 0.5, inertia: [0.01, 0.15, 0.15], position: [1.5, 0, 0]}
  slider: {mass: 0.3, inertia: [0.01, 0.01, 0.01], position: [2.5, 0, 0]}
joints:
  pin: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, 0, 1]}
  big_end: {type: revolute, bodies: [crank, rod], point: [0.5, 0, 0], axis: [0, 0, 1]}
  small_end: {type: spherical, bodies: [rod, slider], point: [2.5, 0, 0]}
  rail: {type: prismatic, bodies: [ground, slider], point: [2.5, 0, 0], axis: [1, 0, 0]}
drivers:
  motor: {joint: pin, angle: {expression: "2*t + 3*t^2 + 0.5*sin(5*t)"}}
analysis: {end_time: 2, integrator: {rtol: 1.0e-8, atol: 1.0e-10}}
output: {interval: 0.05, steps: none}
)yaml";

TEST(DrivenCrank, FollowsItsDriverWithEveryMethod) {
  for (const char* integrator : {"cvode_index1", "ida_ggl", "arkode_erk", "arkode_dirk"}) {
    const auto run =
        run_local(scenario_from(driven_slider_crank, {std::string("analysis.integrator.name=") + integrator}));
    ASSERT_EQ(run.summary.status, "completed") << integrator << ": " << run.summary.error->what();
    const auto t = run.column("time_s");
    const auto x = run.column("slider.x_m");
    const auto v = run.column("slider.vx_m_s");
    double position = 0.0, velocity = 0.0;
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double a = 2 * t[i] + 3 * t[i] * t[i] + 0.5 * std::sin(5 * t[i]);
      const double w = 2 + 6 * t[i] + 2.5 * std::cos(5 * t[i]);
      const double root = std::sqrt(4.0 - 0.25 * std::sin(a) * std::sin(a));
      position = std::max(position, std::abs(x[i] - 0.5 * std::cos(a) - root));
      velocity = std::max(velocity, std::abs(v[i] + w * (0.5 * std::sin(a) + 0.25 * std::sin(a) * std::cos(a) / root)));
    }
    fmt::print("{:14} {:6} steps, {:4} rejected, slider {:8.1e} m, {:8.1e} m/s\n", integrator,
               run.summary.integrator.steps, run.summary.integrator.rejected_steps, position, velocity);
    // All motion is prescribed: only the projection's accuracy remains.
    EXPECT_LT(position, 1e-10) << integrator;
    EXPECT_LT(velocity, 1e-9) << integrator;
    EXPECT_LT(run.summary.integrator.rejected_steps, run.summary.integrator.steps / 5) << integrator;
  }
}

}  // namespace
}  // namespace heelstrike::test
