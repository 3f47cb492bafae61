// A ball with friction rolls to and fro, and rests on a slope without creep.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tests/validation/fem/hertz_ball.hpp"

namespace heelstrike::fem {
namespace {

constexpr double rolling_depth = 1e-3;
constexpr double rolling_friction = 0.3;

/// The plane in the ball's frame after rolling by `angle` about y: x = R angle forwards.
PairState rolled(double angle, double radius) {
  PairState state;  // the body rotates by `angle`, so that B rotates by -angle in A
  state.X_AB.R = rotation_from_vector(Vector3(0.0, -angle, 0.0));
  const Vector3 p_BA(radius * angle, 0.0, radius - rolling_depth);
  state.X_AB.p = -(state.X_AB.R * p_BA);
  return state;
}

TEST(RollingBall, DoesNotCreep) {
  auto model = hertz::ball_model(test::ball_mesh(hertz::R, 3e-3, 18e-3, 1.25), 1.2 * 18e-3);
  model.options.friction = rolling_friction;
  const CondensedContact ball("fem_condensed", std::move(model), {});
  auto history = ball.commit(*ball.initial_history(), rolled(0.0, hertz::R)).history;
  std::printf("%10s %12s %12s %14s\n", "angle", "Fx/(mu Fz)", "Fz [N]", "dissip. [mJ]");
  double dissipated = 0.0;
  Response first = ball.evaluate(*history, rolled(0.0, hertz::R));
  Response last = first;
  double largest = 0.0;
  for (int i = 1; i <= 40; ++i) {
    const double angle = 1e-3 * (i <= 20 ? i : 40 - i);
    const Committed c = ball.commit(*history, rolled(angle, hertz::R));
    history = c.history;
    last = c.response;
    dissipated += last.dissipated_increment;
    largest = std::max(largest, std::abs(last.F_A.force.x() - first.F_A.force.x()));
    const Vector3 force = rolled(angle, hertz::R).X_AB.R.transpose() * last.F_A.force;
    if (i % 5 == 0)
      std::printf("%10.4f %12.5f %12.3f %14.6f\n", angle, force.x() / (rolling_friction * force.z()), force.z(),
                  1e3 * dissipated);
    EXPECT_GE(last.dissipated_increment, -1e-11) << "rounding of 5 kN times the resolution of the gap";
    EXPECT_LE(force.head<2>().norm(), rolling_friction * force.z() * (1.0 + 1e-9));
  }
  // Back at the start: partial slip at the edge leaves less than on the way out (Masing's rule for the reversal), and a
  // ball that rolls without creep needs far less force than sliding.
  EXPECT_LT(std::abs(last.F_A.force.x() - first.F_A.force.x()), largest);
  EXPECT_LT(largest, 0.5 * rolling_friction * first.F_A.force.z());
  EXPECT_NEAR(last.F_A.force.z(), first.F_A.force.z(), 5e-3 * first.F_A.force.z());
  // Fixed: a hundred commits of the same state change nothing.
  const Response constrained = ball.evaluate(*history, rolled(0.0, hertz::R));
  for (int i = 0; i < 100; ++i) history = ball.commit(*history, rolled(0.0, hertz::R)).history;
  const Response later = ball.evaluate(*history, rolled(0.0, hertz::R));
  EXPECT_NEAR(constrained.F_A.force.x(), later.F_A.force.x(), 1e-9 * constrained.F_A.force.z());
  EXPECT_NEAR(later.dissipated_increment, 0.0, 1e-12);
}

}  // namespace
}  // namespace heelstrike::fem
