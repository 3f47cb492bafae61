// Successive contacts, and sliding that ends: every integrator at its default tolerances.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/validation/mbs/completed_run.hpp"

namespace heelstrike::test {
namespace {

class EveryEventIntegrator : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static std::string integrator() { return fmt::format("analysis.integrator.name={}", GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Adaptive, EveryEventIntegrator,
                         testing::Values("cvode_index1", "ida_ggl", "arkode_erk", "arkode_dirk"),
                         [](const auto& info) { return std::string(info.param); });

/// Equal balls in a row with gaps between them, the first of which approaches at 5 m/s.
std::string row_of_balls(int n, double gap) {
  std::string bodies, contact;
  for (int i = 0; i < n; ++i) {
    const double x = i == 0 ? -0.1 : i * (0.056 + gap);
    bodies += fmt::format(
        "  b{}: {{mass: 0.17, inertia: [5.3e-5, 5.3e-5, 5.3e-5], position: [{}, 0, 0], velocity: [{}, 0, 0]}}\n", i, x,
        i == 0 ? 5 : 0);
    if (i == 0) continue;
    contact += fmt::format(
        "  c{0}: {{main: {{body: b{1}, surface: {{sphere: {{radius: 0.028}}}}}}, partner: {{body: b{0}, surface: "
        "{{sphere: {{radius: 0.028}}}}}}, backend: hertz, parameters: {{stiffness: 1.0e9}}}}\n",
        i, i - 1);
  }
  return "heelstrike: 1\ngravity: [0, 0, 0]\nbodies:\n" + bodies + "contact:\n" + contact +
         "analysis: {end_time: 0.05, integrator: {}}\noutput: {interval: 0.01, steps: none}\n";
}

// Bodies at rest remain at rest relative to each other, with a rate of the gap that is always zero. With a gap wider
// than any overlap (0.37 mm) the impacts are sequential, and equal balls transfer their whole velocity.
TEST_P(EveryEventIntegrator, RowOfBallsTransfersItsVelocity) {
  for (const int n : {3, 5}) {
    const RecordedRun run = completed(scenario_from(row_of_balls(n, 1e-3), {integrator()}));
    EXPECT_NEAR(run.column(fmt::format("b{}.vx_m_s", n - 1)).back(), 5.0, 1e-4) << n;
    EXPECT_NEAR(run.column("b0.vx_m_s").back(), 0.0, 1e-4) << n;
  }
}

// Narrower gaps overlap the impacts; momentum and energy are conserved for any gap.
TEST_P(EveryEventIntegrator, NarrowGapsConserveMomentumAndEnergy) {
  for (const double gap : {0.0, 1e-12, 1e-9, 1e-6, 1e-4}) {
    const RecordedRun run = completed(scenario_from(row_of_balls(4, gap), {integrator()}));
    double momentum = 0.0, energy = 0.0;
    for (int i = 0; i < 4; ++i) {
      const double v = run.column(fmt::format("b{}.vx_m_s", i)).back();
      momentum += v;
      energy += v * v;
    }
    EXPECT_NEAR(momentum, 5.0, 1e-6) << gap;
    EXPECT_NEAR(energy, 25.0, 2e-3) << gap;
  }
}

/// Thrown along the floor, guided so that it does not rotate.
constexpr const char* slider = R"(
heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  s: {mass: 2.0, inertia: [8.0e-3, 8.0e-3, 8.0e-3], position: [0, 0, 0.09998038], velocity: [2.0, 0, 0]}
  frame: {mass: 1.0e-3, inertia: [1.0e-6, 1.0e-6, 1.0e-6], position: [0, 0, 0.09998038], velocity: [2.0, 0, 0]}
joints:
  x: {type: prismatic, bodies: [ground, frame], point: [0, 0, 0], axis: [1, 0, 0]}
  z: {type: prismatic, bodies: [frame, s], point: [0, 0, 0], axis: [0, 0, 1]}
contact:
  c:
    main: {body: s, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: hooke
    parameters: {stiffness: 1.0e6, friction: 0.4, stick_stiffness: 1.0e6}
analysis: {end_time: 0.6116, integrator: {}}
output: {interval: 0.005, steps: none}
)";

// At rest from T = 0.51 s on. Without an event there friction reverses it with 0.4 m/s.
TEST_P(EveryEventIntegrator, SliderStopsAndStays) {
  const RecordedRun run = completed(scenario_from(slider, {integrator()}));
  constexpr double limit = 0.4 * 2.0 * g;  // [N]
  const double stop = 0.5 * 2.001 * 2.0 * 2.0 / limit;
  // The friction spring recovers its elongation, and overshoots by as much.
  const double path = limit / 1.0e6;
  EXPECT_NEAR(run.column("s.x_m").back(), stop, 2.0 * path);
  EXPECT_NEAR(run.column("s.vx_m_s").back(), 0.0, path * std::sqrt(1.0e6 / 2.0));
}

}  // namespace
}  // namespace heelstrike::test
