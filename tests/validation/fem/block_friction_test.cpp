// examples/block_friction.yaml through the whole multibody side, with the condensed and the full-order back-end,
// compared with exact results: stick along the shear stiffness, slip at mu N, reversal along a parallel line.
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

/// Bounds of the stiffness [N/m] against a displacement of the sticking bottom by the theorems of minimum energy. The
/// stresses of a short beam between two plates that do not rotate (bending linear, shear parabolic over the length) are
/// in equilibrium with free sides: their complementary energy is not below the exact one. Simple shear is compatible,
/// and linear elements represent it: its strain energy is not below theirs, and theirs not below the exact one.
constexpr double lower_stiffness() {
  const double shear = 5.0 / 6.0 * 0.5 * E * length * breadth / height;
  const double second_moment = breadth * length * length * length / 12.0;
  const double bending = 12.0 * E * second_moment / (height * height * height);
  return 1.0 / (1.0 / shear + 1.0 / bending);
}
constexpr double upper_stiffness = 0.5 * E * length * breadth / height;

RecordedRun run_block(const std::string& backend, const std::vector<std::string>& more) {
  std::vector<std::string> overrides{"contact.element_size=0.005", "output.interval=0.02",
                                     "contact.block-ground.main.material.poissons_ratio=0"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  Scenario scenario =
      scenario_from(read_text(HEELSTRIKE_SOURCE_DIR "/examples/block_friction.yaml"), overrides, backend);
  scenario.output.fields.reset();
  return run_local(scenario);
}

/// Of the given mesh, without sliding: the drag's first 0.1 s with high friction.
double stick_stiffness() {
  const RecordedRun run = run_block("fem_condensed", {"contact.friction=10", "analysis.end_time=0.3"});
  return -run.column("block-ground.fx_N").back() / run.column("block.x_m").back();
}

constexpr double row_interval = 0.02;                                   // [s]
constexpr std::size_t first_stroke = 10, reversals[] = {50, 100, 150};  // rows at 0.2 s and at 1, 2 and 3 s

TEST(BlockFriction, FullOrderEqualsCondensedInStickSlipAndReversal) {
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
  const auto full_dissipated = full.column("energy.dissipated_J");
  ASSERT_EQ(t.size(), reversals[2] + 1);
  ASSERT_NEAR(t[reversals[0]], 1.0, 1e-9 * row_interval);

  const double k = stick_stiffness();
  fmt::print("stiffness {:.1f} N/m, not below {:.1f} N/m, not above {:.1f} N/m\n", k, lower_stiffness(),
             upper_stiffness);
  EXPECT_GT(k, lower_stiffness());
  EXPECT_LT(k, upper_stiffness);

  // Rows of one friction solver with the condensed and the full body: each stops at 1e-10 of the depth.
  constexpr double same = 1e-6 * normal_force;
  double rotated_x = 0.0;
  double rotated_force = 0.0;
  double work = 0.0;
  double quadrature = 0.0;
  fmt::print("{:>6} {:>9} {:>11} {:>11} {:>11} {:>11}\n", "t s", "x mm", "condensed N", "full N", "normal N",
             "lost mJ");
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (i % 10 == 0) {
      fmt::print("{:6.2f} {:9.4f} {:11.6f} {:11.6f} {:11.6f} {:11.6f}\n", t[i], 1e3 * x[i], fx[i], full_fx[i], fz[i],
                 1e3 * lost[i]);
    }
    EXPECT_NEAR(fx[i], full_fx[i], same) << "t = " << t[i];
    EXPECT_NEAR(fz[i], full_fz[i], same) << "t = " << t[i];
    EXPECT_LE(std::abs(fx[i]), mu * fz[i] * (1.0 + 1e-8) + 1e-12) << "t = " << t[i];
    if (i < first_stroke) continue;  // being pressed
    EXPECT_NEAR(fz[i], normal_force, 0.01 * normal_force) << "t = " << t[i];
    if (i > first_stroke) {
      EXPECT_LE((fx[i] - fx[i - 1]) * (x[i] - x[i - 1]), same * travel) << "pushed along at t = " << t[i];
    }
    // Sliding only reduces the force of sticking, and sticking parts have the stiffness of the bounds, wherever nodes
    // have reversed. While no node carries ten times its part of the force, no node slides before a tenth of the path
    // to full slip, and the force is that of sticking.
    const double path = std::abs(x[i] - rotated_x);
    const double change = std::abs(fx[i] - rotated_force);
    EXPECT_LE(change, upper_stiffness * path + same) << "t = " << t[i];
    if (path * k < 0.1 * mu * normal_force * (rotated_force == 0.0 ? 1.0 : 2.0)) {
      EXPECT_GE(change, lower_stiffness() * path - same) << "t = " << t[i];
    }
    if (i > reversals[0]) {
      work -= 0.5 * (fx[i] + fx[i - 1]) * (x[i] - x[i - 1]);
      quadrature += std::abs((fx[i] - fx[i - 1]) * (x[i] - x[i - 1]));
    }
    if (std::ranges::find(reversals, i) != std::end(reversals)) {
      const double sign = x[i] > 0.0 ? -1.0 : 1.0;
      EXPECT_NEAR(fx[i], sign * mu * fz[i], same) << "all of the block slips at t = " << t[i];
      rotated_x = x[i];
      rotated_force = fx[i];
    }
  }

  // Over the closed cycle from t = 1 s to 3 s all work is dissipated. Between two rows the force is monotonic, so that
  // neither sum is further from the integral than the sum of the rectangles between two rows.
  const double measured = lost.back() - lost[reversals[0]];
  const double stuck_loop = 4.0 * mu * normal_force * (travel - mu * normal_force / k);
  fmt::print(
      "lost over the cycle: {:.6f} mJ, full {:.6f} mJ, work {:.6f} mJ, without partial slip {:.6f} mJ, rows {:.6f} "
      "mJ\n",
      1e3 * measured, 1e3 * (full_dissipated.back() - full_dissipated[reversals[0]]), 1e3 * work, 1e3 * stuck_loop,
      1e3 * quadrature);
  EXPECT_NEAR(measured, full_dissipated.back() - full_dissipated[reversals[0]], 1e-6 * measured);
  EXPECT_NEAR(measured, work, quadrature);
  EXPECT_LT(measured, stuck_loop + quadrature) << "partial slip narrows the loop";
}

}  // namespace
}  // namespace heelstrike::test
