// The scanned foot pressed on a plate: condensed compared with full order, linear and neo-Hookean.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "fem_server/backends/fem_full/full_contact.hpp"
#include "tests/support/foot_case.hpp"

namespace heelstrike::fem {
namespace {

void print_row(double depth, const char* model, const Response& r, double seconds) {
  std::printf("%8.1f %22s %11.4f %9.3f %9.3f %9.3f %11.3f %6d %9.4f\n", 1e3 * depth, model, r.F_A.force.z(),
              1e4 * r.area, 1e3 * r.p_ACop.x(), 1e3 * r.p_ACop.y(), 1e-3 * r.peak_pressure, r.statistics.active_points,
              seconds);
}

Response timed(const ContactBackend& contact, const PairState& state, const char* model, double depth) {
  const auto start = std::chrono::steady_clock::now();
  const Response r = contact.evaluate(*contact.initial_history(), state);
  print_row(depth, model, r, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return r;
}

TEST(Foot, SlowCondensedAgainstFullOrder) {
  if (!test::foot_scan()) {
    GTEST_SKIP() << "no foot scan: set HEELSTRIKE_DATA to the folder that holds foot/foot_left.stl";
  }
  constexpr double h = 6e-3;
  const VolumeMesh mesh = test::foot_mesh(h);
  const PreparedBody prepared = test::foot_body(mesh, 0.0);
  const CondensedContact condensed("fem_condensed", test::condensed_model(prepared), {});
  const FullContact linear("fem_full", test::foot_body(mesh, 0.0), MaterialLaw::linear, {});
  const FullContact finite("fem_full", test::foot_body(mesh, 0.0), MaterialLaw::neo_hookean, {});
  const double sole = test::sole_height(condensed.model().points);
  std::printf("h = %.1f mm: %zu tetrahedra, %zu candidates\n%8s %22s %11s %9s %9s %9s %11s %6s %9s\n", 1e3 * h,
              mesh.n_elements(), prepared.contact.nodes.size(), "d [mm]", "model", "F [N]", "A [cm2]", "x [mm]",
              "y [mm]", "p [kPa]", "nodes", "t [s]");
  for (const double depth : {2e-3, 4e-3, 6e-3, 8.8e-3}) {
    const PairState state = test::loaded_foot(sole, depth);
    const Response a = timed(condensed, state, "condensed", depth);
    const Response b = timed(linear, state, "full, linear", depth);
    (void)timed(finite, state, "full, neo-Hookean", depth);
    EXPECT_NEAR(a.F_A.force.z(), b.F_A.force.z(), 1e-6 * b.F_A.force.z()) << "issue: to 1e-6";
    EXPECT_NEAR(a.area, b.area, 1e-6 * b.area);
    EXPECT_NEAR(a.peak_pressure, b.peak_pressure, 1e-6 * b.peak_pressure);
    EXPECT_LT((a.p_ACop - b.p_ACop).norm(), 1e-7);
  }
}

// The press test of the thesis on its three meshes. Depths are measured from the lowest point of the scan: that of a
// mesh lies 0.09 to 0.15 mm above it, which is 7 % of the force at 2 mm. The remaining error is that of the meshes: 1.8
// % at 2 mm, below 1 % from 4 mm on (docs/studies/foot_press.md).
TEST(Foot, SlowMeshSizeStudyOfALoadedFoot) {
  if (!test::foot_scan()) {
    GTEST_SKIP() << "no foot scan: set HEELSTRIKE_DATA to the folder that holds foot/foot_left.stl";
  }
  const double scan_sole = test::scan_height();
  const std::vector<double> depths{2e-3, 4e-3, 6e-3, 8e-3, 8.8e-3};
  std::vector<std::vector<double>> forces(depths.size());
  std::printf("%8s %11s %9s %9s %9s %11s %6s\n", "d [mm]", "F [N]", "A [cm2]", "x [mm]", "y [mm]", "p [kPa]", "nodes");
  for (const double h : {5e-3, 4e-3, 3e-3}) {
    const VolumeMesh mesh = test::foot_mesh(h);
    const CondensedContact contact("fem_condensed", test::condensed_model(test::foot_body(mesh, 0.0, 1.22)), {});
    std::printf("h = %.1f mm: %zu tetrahedra, %zu candidates\n", 1e3 * h, mesh.n_elements(),
                contact.model().points.size());
    for (std::size_t i = 0; i < depths.size(); ++i) {
      const Response r = contact.evaluate(*contact.initial_history(), test::loaded_foot(scan_sole, depths[i]));
      forces[i].push_back(r.F_A.force.z());
      std::printf("%8.1f %11.3f %9.3f %9.3f %9.3f %11.3f %6d\n", 1e3 * depths[i], r.F_A.force.z(), 1e4 * r.area,
                  1e3 * r.p_ACop.x(), 1e3 * r.p_ACop.y(), 1e-3 * r.peak_pressure, r.statistics.active_points);
    }
  }
  for (std::size_t i = 0; i < depths.size(); ++i) {
    const auto [least, most] = std::ranges::minmax(forces[i]);
    EXPECT_LT(most - least, (depths[i] < 3e-3 ? 0.02 : 0.01) * most) << "at " << 1e3 * depths[i] << " mm";
  }
}

}  // namespace
}  // namespace heelstrike::fem
