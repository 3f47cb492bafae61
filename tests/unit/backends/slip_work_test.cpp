// Work of friction over one step: closed forms of a spring with a slider, and the measure of slip.
#include <gtest/gtest.h>

#include "fem_server/backend_interface/slip.hpp"
#include "fem_server/surfaces/contact_path.hpp"

namespace heelstrike::fem {
namespace {

const Vector3 along = Vector3(0.6, 0.8, 0.0);

TEST(SlipWork, OfASliderUnderAVaryingForceUsesTheMeanForce) {
  EXPECT_DOUBLE_EQ(
      slip_work({.traction = 10.0 * along, .limit_before = 10.0, .trial = 80.0 * along, .limit = 30.0, .slip = 0.05}),
      20.0 * 0.05);
  EXPECT_EQ(slip_work({.traction = 10.0 * along, .limit_before = 10.0, .trial = 9.0 * along, .limit = 10.0}), 0.0);
}

// Loaded to a third of the limit: slip acts against the limit, and not against the mean of both tractions.
TEST(SlipWork, OfASpringAtTheOnsetOfSlipUsesTheLimit) {
  EXPECT_DOUBLE_EQ(
      slip_work({.traction = 5.0 * along, .limit_before = 15.0, .trial = 45.0 * along, .limit = 15.0, .slip = 0.02}),
      15.0 * 0.02);
  // Reversed: it passes through zero first.
  EXPECT_DOUBLE_EQ(
      slip_work({.traction = -15.0 * along, .limit_before = 15.0, .trial = 45.0 * along, .limit = 15.0, .slip = 0.02}),
      15.0 * 0.02);
}

// A spring of k = 1000 N/m with 5 N is released, with any limit: it loses its stored energy. The limit falls to 5 N
// late in the step, at a time rounded to 1e-16 (limit / 5 N)^2 = 1e-12 of the limit at most.
TEST(SlipWork, OfASpringThatSeparatesIsItsStoredEnergy) {
  const double k = 1000.0;
  for (const double limit : {5.0, 20.0, 500.0}) {
    EXPECT_NEAR(
        slip_work(
            {.traction = 5.0 * along, .limit_before = limit, .trial = 5.0 * along, .limit = 0.0, .slip = 5.0 / k}),
        0.5 * 25.0 / k, 1e-9 * 0.5 * 25.0 / k)
        << limit;
  }
}

// Slip is conjugate to the force at the contact point, also deep in the contact: a ball that rotates by d about y and
// does not move slips by (R - depth / 2) d there.
TEST(SlipWork, SlipIsMeasuredAtThePointOfTheForce) {
  const double R = 0.1;
  const double depth = 0.02;
  for (const bool swapped : {false, true}) {
    const Surface ball = SphereSurface{.radius = R, .center = Vector3::Zero()};
    const Surface plane = PlaneSurface{};
    const PointPair pair = swapped ? PointPair(plane, ball, "x") : PointPair(ball, plane, "x");
    const auto rotated = [&](double angle) {
      const Pose X_PlaneBall{.R = rotation_from_vector({0.0, angle, 0.0}), .p = {0.0, 0.0, R - depth}};
      return PairState{.t = 0.0, .X_AB = swapped ? X_PlaneBall : X_PlaneBall.inverse(), .V_AB = {}};
    };
    const PairState before = rotated(0.3);
    const PairState after = rotated(0.3 + 0.25);
    const TransportedSlip slip = slip_after(pair, {.X_AB = before.X_AB, .geometry = pair.at(before)}, Vector3::Zero(),
                                            pair.at(after), after.X_AB);
    EXPECT_NEAR(slip.value.norm(), (R - 0.5 * depth) * 0.25, 1e-15) << swapped;
  }
}

}  // namespace
}  // namespace heelstrike::fem
