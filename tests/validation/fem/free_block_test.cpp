// A block of finite elements with lateral support by friction only, or without: at rest, and in resumed runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

/// A block of 0.1 kg whose bottom has zero gap to the ground at the start: 1 N of weight.
Scenario block(const std::string& more, double friction, const std::string& analysis, double height = 0.01) {
  return scenario_from(fmt::format(R"(heelstrike: 1
gravity: [0, 0, -10]
bodies:
  block: {{mass: 0.1, inertia: [1.0e-4, 1.0e-4, 1.0e-4], position: [0, 0, {}]{}
contact:
  touch:
    main:
      body: block
      surface: {{block: {{lengths: [0.04, 0.03, 0.02]}}}}
      material: {{youngs_modulus: 2.0e5, poissons_ratio: 0.3, density: 4166}}
    partner: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: fem_condensed
    parameters: {{support: inertia_relief, element_size: 0.01, contact_set: bottom, friction: {}}}
{}
)",
                                   height, more, friction, analysis));
}

constexpr const char* at_rest = "analysis: {type: static, end_time: 1}\noutput: {interval: 0.25}";

void expect_completed(const RecordedRun& run) {
  ASSERT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
}

TEST(FreeBlock, FrictionAloneSupportsIt) {
  const auto run = run_local(block("}\nloads:\n  push: {body: block, fx: {expression: \"0.4*t\"}}", 0.5, at_rest));
  expect_completed(run);
  const auto t = run.column("time_s");
  const auto fx = run.column("touch.fx_N");
  const auto x = run.column("block.x_m");
  ASSERT_EQ(t.size(), 5U);
  for (std::size_t i = 0; i < t.size(); ++i) EXPECT_NEAR(fx[i], -0.4 * t[i], 1e-7) << "balance to 1e-10 of the forces";
  for (std::size_t i = 1; i < t.size(); ++i) EXPECT_GT(x[i], x[i - 1]) << "it deforms elastically";
  // 0.4 N on a shear stiffness of about 10 kN/m: far from sliding.
  EXPECT_LT(x.back(), 1e-4);
}

TEST(FreeBlock, WithoutFrictionEveryTimeOfASequenceHasItsEquilibrium) {
  const auto run = run_local(block("}\nloads:\n  push: {body: block, fz: {expression: \"-0.5*t\"}}", 0.0, at_rest));
  expect_completed(run);
  const auto fz = run.column("touch.fz_N");
  ASSERT_EQ(fz.size(), 5U);
  for (std::size_t i = 0; i < fz.size(); ++i) {
    EXPECT_NEAR(fz[i], 1.0 + 0.125 * static_cast<double>(i), 1e-7);
    // Only rounding of the tangents moves it sideways.
    EXPECT_NEAR(run.column("block.x_m")[i], 0.0, 1e-9);
  }
}

/// On a slope of 15 degrees, released 10 um to 1 mm deep: friction 0.5 supports it, and Newton's steps of the
/// overdamped motion include it. Without the stiffness of sticking nodes they slid to and fro for 2000 steps.
TEST(FreeBlock, FrictionSupportsItOnASlopeFromAnyOverlap) {
  const double slope = 15.0 * std::numbers::pi / 180.0;
  const double gx = 10.0 * std::sin(slope);
  const double gz = 10.0 * std::cos(slope);
  for (const double overlap : {0.0, 1e-6, 1e-5, 1e-4, 1e-3}) {
    SCOPED_TRACE(overlap);
    Scenario scenario = block("}", 0.5, at_rest, 0.01 - overlap);
    scenario.gravity = {gx, 0.0, -gz};
    const auto run = run_local(scenario);
    expect_completed(run);
    EXPECT_NEAR(run.column("touch.fx_N").back(), -0.1 * gx, 1e-7) << "balance to 1e-10 of the forces";
    EXPECT_NEAR(run.column("touch.fz_N").back(), 0.1 * gz, 1e-7);
    EXPECT_LE(run.summary.integrator.jacobian_evaluations, 20);
  }
}

/// Bodies with zero gap at the start rotate by the rounding of their wrenches, and have overlaps of 1e-89 m.
TEST(FreeBlock, SlidesFromZeroGapWithEveryIntegrator) {
  std::vector<double> speeds;
  for (const char* integrator : {"arkode_dirk", "arkode_erk", "cvode_index1", "ida_ggl"}) {
    SCOPED_TRACE(integrator);
    const auto analysis =
        fmt::format("analysis: {{end_time: 0.001, integrator: {{name: {}}}}}\noutput: {{interval: 0.001}}", integrator);
    const auto run = run_local(block(", velocity: [0.1, 0, 0]}", 0.5, analysis));
    expect_completed(run);
    speeds.push_back(run.column("block.vx_m_s").back());
  }
  for (const double speed : speeds) EXPECT_NEAR(speed, speeds[1], 1e-5);
}

/// Dropped with a velocity along the ground: it sticks, slides, lifts off and returns.
TEST(FreeBlock, ResumesWithFrictionBitForBit) {
  const Scenario scenario = block(", velocity: [0.05, 0, 0]}", 0.3,
                                  "analysis: {end_time: 0.02, integrator: {rtol: 1.0e-5, atol: 1.0e-7}}\n"
                                  "output: {interval: 0.001, checkpoint_interval: 0.004}",
                                  0.0101);
  const RecordedRun whole = run_local(scenario);
  expect_completed(whole);
  EXPECT_GT(whole.summary.energy.dissipated, 1e-5) << "no friction, no test";
  ASSERT_GE(whole.checkpoints.size(), 4U);
  for (const Checkpoint& checkpoint : whole.checkpoints) {
    const RecordedRun resumed = run_local(scenario, checkpoint);
    expect_completed(resumed);
    const auto skipped = whole.rows.size() - resumed.rows.size();
    for (std::size_t r = 0; r < resumed.rows.size(); ++r) {
      const auto& row = resumed.rows[r];
      ASSERT_EQ(std::memcmp(row.data(), whole.rows[skipped + r].data(), row.size() * sizeof(double)), 0)
          << "resumed at " << checkpoint.time << " s, row at " << row[0] << " s";
    }
  }
}

}  // namespace
}  // namespace heelstrike::test
