// examples/block_friction.yaml through the whole multibody side, with the condensed and the full-order back-end and
// against the closed form: stick along the shear stiffness, slip at mu N, reversal along a parallel line.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

// Of the scenario.
constexpr double E = 2.0e6;       // [Pa]
constexpr double mu = 0.5;        // [-]
constexpr double depth = 1e-4;    // [m]
constexpr double length = 0.04;   // [m] along the drag
constexpr double breadth = 0.03;  // [m]
constexpr double height = 0.02;   // [m]
constexpr double travel = 4e-4;   // [m] to either side

/// With nu = 0 a pressed block does not bulge: N = E A depth / height whatever the friction.
constexpr double normal_force = E * length * breadth * depth / height;

/// Shear stiffness of a short beam between two plates that do not turn, shear coefficient 5/6 [N/m].
double shear_stiffness() {
  const double shear = 5.0 / 6.0 * 0.5 * E * length * breadth / height;
  const double second_moment = breadth * std::pow(length, 3) / 12.0;
  const double bending = 12.0 * E * second_moment / std::pow(height, 3);
  return 1.0 / (1.0 / shear + 1.0 / bending);
}

/// Force of a spring behind a Coulomb slider, followed along the drag.
std::vector<double> closed_form(const std::vector<double>& x) {
  std::vector<double> force;
  double stick_point = x.front();
  for (const double place : x) {
    const double reach = mu * normal_force / shear_stiffness();
    stick_point = std::clamp(stick_point, place - reach, place + reach);
    force.push_back(-shear_stiffness() * (place - stick_point));
  }
  return force;
}

RecordedRun run_block(const std::string& backend, const std::vector<std::string>& more) {
  std::vector<std::string> overrides{"contact.element_size=0.005", "output.interval=0.02",
                                     "contact.block-ground.main.material.poissons_ratio=0"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  Scenario scenario =
      scenario_from(read_text(HEELSTRIKE_SOURCE_DIR "/examples/block_friction.yaml"), overrides, backend);
  scenario.output.fields.reset();
  return run_local(scenario);
}

TEST(BlockFriction, FullOrderEqualsCondensedAndBothTheClosedForm) {
  const RecordedRun condensed = run_block("fem_condensed", {});
  const RecordedRun full = run_block("fem_full", {"contact.material_law=linear"});
  ASSERT_EQ(condensed.summary.status, "completed") << condensed.summary.error->what();
  ASSERT_EQ(full.summary.status, "completed") << full.summary.error->what();
  ASSERT_EQ(condensed.rows.size(), full.rows.size());
  const auto t = condensed.column("time_s");
  const auto x = condensed.column("block.x_m");
  const auto fx = condensed.column("block-ground.fx_N");
  const auto fz = condensed.column("block-ground.fz_N");
  const auto lost = condensed.column("energy.dissipated_J");
  const auto full_fx = full.column("block-ground.fx_N");
  const auto full_fz = full.column("block-ground.fz_N");
  const auto full_lost = full.column("energy.dissipated_J");
  const auto exact = closed_form(x);
  fmt::print("{:>6} {:>9} {:>11} {:>11} {:>11} {:>11} {:>11}\n", "t s", "x mm", "condensed N", "full N", "closed N",
             "normal N", "lost mJ");
  double largest_error = 0.0;
  for (std::size_t i = 0; i < t.size(); ++i) {
    // One friction solver for both, fed with the condensed and the full body: each stops at 1e-10 of the depth.
    EXPECT_NEAR(fx[i], full_fx[i], 1e-6 * normal_force) << "t = " << t[i];
    EXPECT_NEAR(fz[i], full_fz[i], 1e-6 * normal_force) << "t = " << t[i];
    EXPECT_LE(std::abs(fx[i]), mu * fz[i] * (1.0 + 1e-8) + 1e-12) << "t = " << t[i];
    if (t[i] < 0.2) continue;  // being pressed
    EXPECT_NEAR(fz[i], normal_force, 0.01 * normal_force) << "t = " << t[i];
    largest_error = std::max(largest_error, std::abs(fx[i] - exact[i]));
    if (i % 10 == 0) {
      fmt::print("{:6.2f} {:9.4f} {:11.6f} {:11.6f} {:11.6f} {:11.6f} {:11.6f}\n", t[i], 1e3 * x[i], fx[i], full_fx[i],
                 exact[i], fz[i], 1e3 * lost[i]);
    }
  }
  fmt::print("largest difference to the closed form {:.4f} N, friction force {:.4f} N\n", largest_error,
             mu * normal_force);
  // Elements of 5 mm and a beam as short as high: stiffnesses differ by 12 % (9 % measured over a reversal, which spans
  // 2 mu N); near full slip the edges slide before the middle.
  EXPECT_LT(largest_error, 0.12 * 2.0 * mu * normal_force);
  for (const double end_of_stroke : {1.0, 2.0, 3.0}) {
    const auto i = static_cast<std::size_t>(std::lround(end_of_stroke / 0.02));
    const double sign = end_of_stroke == 2.0 ? 1.0 : -1.0;
    EXPECT_NEAR(fx[i], sign * mu * fz[i], 1e-6 * normal_force) << "all of the block slips at t = " << t[i];
  }
  // Over the closed cycle from t = 1 s to 3 s all work is lost: the area of the loop.
  const double loop = 4.0 * mu * normal_force * (travel - mu * normal_force / shear_stiffness());
  const double measured = lost.back() - lost[50];
  fmt::print("lost over the cycle: {:.6f} mJ, full {:.6f} mJ, closed form {:.6f} mJ\n", 1e3 * measured,
             1e3 * (full_lost.back() - full_lost[50]), 1e3 * loop);
  EXPECT_NEAR(measured, full_lost.back() - full_lost[50], 1e-6 * measured);
  EXPECT_NEAR(measured, loop, 0.05 * loop);
}

}  // namespace
}  // namespace heelstrike::test
