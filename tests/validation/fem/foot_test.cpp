// The scanned foot pressed on a plate: condensed against full order, linear and neo-Hookean.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

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
    const PairState state = test::pressed_foot(sole, depth);
    const Response a = timed(condensed, state, "condensed", depth);
    const Response b = timed(linear, state, "full, linear", depth);
    (void)timed(finite, state, "full, neo-Hookean", depth);
    EXPECT_NEAR(a.F_A.force.z(), b.F_A.force.z(), 1e-6 * b.F_A.force.z()) << "issue: to 1e-6";
    EXPECT_NEAR(a.area, b.area, 1e-6 * b.area);
    EXPECT_NEAR(a.peak_pressure, b.peak_pressure, 1e-6 * b.peak_pressure);
    EXPECT_LT((a.p_ACop - b.p_ACop).norm(), 1e-7);
  }
}

}  // namespace
}  // namespace heelstrike::fem
