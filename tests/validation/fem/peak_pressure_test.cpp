// The peak pressure of balls meshed by the mesher, compared with Hertz at equal force, for any positions of the nodes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <numbers>

#include "tests/validation/fem/hertz_ball.hpp"

namespace heelstrike::fem {
namespace {

using namespace hertz;

// Requirement: 3 % at a / h = 10 on any mesh of the mesher (a / h = 5 of quadratic elements, whose nodes are as dense).
// The scatter of the nodes is of the order of h / a, so the bounds of coarser contacts follow the same line, 0.3 h / a,
// with a tenth of h / a for the curvature within the reach of the recovery.
TEST(PeakPressure, FollowsHertzForAnyMesh) {
  std::printf("%8s %6s %6s %8s %8s %8s\n", "h [mm]", "order", "a/h", "nodes", "a/aH", "p0/pH");
  for (const Meshed& mesh : {Meshed{1.1e-3, 1, {0.0, 0.0, -1.0}}, Meshed{1.0e-3, 1, {0.0, 0.0, -1.0}},
                             Meshed{1.1e-3, 1, {0.3, 0.5, -0.8}}, Meshed{2.0e-3, 2, {0.0, 0.0, -1.0}}}) {
    const auto ball = std::make_unique<CondensedContact>("fem_condensed", ball_model(meshed_ball(mesh, 0.012), 0.0125),
                                                         ParameterMap{});
    for (const double ratio : {5.0, 7.0, 10.0}) {
      if (mesh.order == 2 && ratio > 5.0) continue;
      const double a = ratio * mesh.h;
      const double P = 4.0 / 3.0 * E_star * a * a * a / R;
      const Row row = at_force(*ball, P);
      const double p0 = 1.5 * P / (std::numbers::pi * a * a);
      std::printf("%8.2f %6u %6.1f %8zu %8.4f %8.4f\n", 1e3 * mesh.h, mesh.order, ratio, ball->model().points.size(),
                  row.radius / a, row.peak / p0);
      EXPECT_NEAR(row.peak / p0, 1.0, mesh.order == 2 || ratio == 10.0 ? 0.03 : 0.4 / ratio);
      EXPECT_NEAR(row.radius / a, 1.0, 0.03);
    }
  }
}

}  // namespace
}  // namespace heelstrike::fem
