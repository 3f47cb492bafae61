// The planar knee after Machado (examples/knee_machado_2d.yaml, docs/studies/machado.md): profiles by splines bear a
// leg.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

TEST(MachadoKnee, IndentationOverFlexionIsThatOfTheStudy) {
  const std::string example = read_text(HEELSTRIKE_SOURCE_DIR "/examples/knee_machado_2d.yaml");
  const auto run = run_local(scenario_from(example));
  ASSERT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
  const auto w = run.column("tibia.qw");
  const auto z = run.column("tibia.qz");
  const auto side = run.column("tibia.z_m");
  const auto gap = run.column("tibiofemoral.gap_m");
  const auto fx = run.column("tibiofemoral.fx_N");
  const auto fy = run.column("tibiofemoral.fy_N");
  const auto energy = run.column("energy.kinetic_J");
  const auto potential = run.column("energy.potential_J");
  const auto work = run.column("energy.external_J");
  const auto total = [&](std::size_t i) { return energy[i] + potential[i] - work[i]; };
  double largest = 0.0;
  double imbalance = 0.0;
  double out_of_plane = 0.0;
  double flexion = 0.0;
  for (std::size_t i = 0; i < gap.size(); ++i) {
    const double depth = std::max(-gap[i], 0.0);
    // The law of the file, at the depth of the same row.
    EXPECT_NEAR(std::hypot(fx[i], fy[i]), 2.808e6 * std::pow(depth, 1.5), 1e-6) << i;
    largest = std::max(largest, depth);
    imbalance = std::max(imbalance, std::abs(total(i) - total(0)));
    out_of_plane = std::max(out_of_plane, std::abs(side[i]));
    flexion = -2.0 * std::atan2(z[i], w[i]) * 180.0 / std::numbers::pi;
  }
  fmt::print(
      "largest indentation {:.6f} mm, flexion at the end {:.3f} deg, balance {:.2e} J, out of the plane {:.1e} m\n",
      1e3 * largest, flexion, imbalance, out_of_plane);
  // The largest of the rows, which are 1 ms apart; another tolerance of the integrator changes them by less.
  EXPECT_NEAR(largest, 3.727e-3, 5e-5);
  EXPECT_NEAR(flexion, 75.12, 0.01);
  // 1.1 J of work: what a contact leaves over that is no potential would be of the order of its energy, 1 J.
  EXPECT_LT(imbalance, 1e-4);
  EXPECT_LT(out_of_plane, 1e-12);
}

}  // namespace
}  // namespace heelstrike::test
