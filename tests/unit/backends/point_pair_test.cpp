// Closest points: exact cases in closed form, derivatives against differences.
#include <gtest/gtest.h>

#include "common/errors/error.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "tests/unit/backends/example_pairs.hpp"

namespace heelstrike::fem {
namespace {

using testing_support::example_geometries;

TEST(PointPair, BallOnPlaneClosedForm) {
  const PointPair pair(SphereSurface{.radius = 0.1, .center = {0.0, 0.0, 0.02}}, PlaneSurface{}, "t");
  // The plane z = 0 of B lies 0.07 m below A's origin: the sphere's lowest point, at z = -0.08 m, is 0.01 m inside.
  const PairState state{.t = 0.0,
                        .X_AB = {.R = Matrix3::Identity(), .p = {3.0, 4.0, -0.07}},
                        .V_AB = {.w = Vector3::Zero(), .v = {5, 6, 0.7}}};
  const PointGeometry g = pair.at(state);
  EXPECT_NEAR(g.gap, -0.01, 1e-16);
  EXPECT_NEAR(g.gap_rate, -0.7, 1e-15);
  EXPECT_EQ(g.n_A, Vector3(0, 0, -1)) << "out of A towards B";
  EXPECT_LT((g.p_AC - Vector3(0, 0, -0.075)).norm(), 1e-15) << "middle of the overlap: " << g.p_AC.transpose();
  EXPECT_EQ(pair.effective_radius(), 0.1);
}

TEST(PointPair, BallInSocketClosedForm) {
  const PointPair pair(SphereSurface{.radius = -0.05, .center = Vector3::Zero()},
                       SphereSurface{.radius = 0.04, .center = Vector3::Zero()}, "t");
  const PairState state{.t = 0.0,
                        .X_AB = {.R = Matrix3::Identity(), .p = {0.012, 0, 0}},
                        .V_AB = {.w = Vector3::Zero(), .v = {2.0, 0, 0}}};
  const PointGeometry g = pair.at(state);
  EXPECT_NEAR(g.gap, -0.002, 1e-16);
  EXPECT_NEAR(g.gap_rate, -2.0, 1e-15);
  EXPECT_EQ(g.n_A, Vector3(-1, 0, 0)) << "out of the socket's wall, towards the ball";
  EXPECT_LT((g.p_AC - Vector3(0.051, 0, 0)).norm(), 1e-15);
  EXPECT_NEAR(pair.effective_radius(), 0.2, 1e-15);
}

TEST(PointPair, ConcentricBallInSocketIsFarFromContact) {
  const PointPair pair(SphereSurface{.radius = -0.05, .center = Vector3::Zero()},
                       SphereSurface{.radius = 0.04, .center = Vector3::Zero()}, "t");
  PairState state;
  EXPECT_NEAR(pair.at(state).gap, 0.01, 1e-16);
  EXPECT_EQ(pair.at(state).gap_rate, 0.0);
  state.V_AB.v = {0, 3, 4};
  EXPECT_NEAR(pair.at(state).gap_rate, -5.0, 1e-15);
}

TEST(PointPair, OtherShapesAreRejected) {
  EXPECT_THROW(PointPair(PlaneSurface{}, PlaneSurface{}, "t"), Error);
  EXPECT_THROW(PointPair(SphereSurface{.radius = 1.0, .center = Vector3::Zero()}, CylinderSurface{}, "t"), Error);
}

class PointPairDerivatives : public testing::TestWithParam<testing_support::ExampleGeometry> {};

// Central differences of sixth order with h = 3e-4 over centre distances of 0.03 m and more: truncation (1e-2)^6 =
// 1e-12 per unit of a seventh derivative over 140, about 5! / 0.03; rounding 1e-16 / 3e-4. Both below 1e-9.
TEST_P(PointPairDerivatives, AreExact) {
  const auto& example = GetParam();
  const PointPair pair(example.main, example.partner, "t");
  PairState state{.t = 0.0, .X_AB = example.X_AB, .V_AB = {.w = {0.8, -1.1, 0.6}, .v = {0.3, 0.5, -0.2}}};
  // 2 cm apart, so that no difference reaches the limit of depth.
  state.X_AB.p += (0.02 - pair.at(state).gap) * pair.at(state).n_A;
  const PointGeometry g = pair.at(state);
  const double h = 3e-4;
  for (int i = 0; i < 6; ++i) {
    const auto at = [&](double k) {
      Vector6 x = Vector6::Zero();
      x[i] = k * h;
      PairState s = state;
      s.X_AB.R = rotation_from_vector(x.head<3>()) * s.X_AB.R;
      s.X_AB.p += x.tail<3>();
      return pair.at(s);
    };
    const PointGeometry p1 = at(1), m1 = at(-1), p2 = at(2), m2 = at(-2), p3 = at(3), m3 = at(-3);
    const auto slope = [&](auto member) {
      const auto d = [&](const PointGeometry& a, const PointGeometry& b) { return a.*member - b.*member; };
      return ((45.0 * d(p1, m1) - 9.0 * d(p2, m2) + d(p3, m3)) / (60.0 * h)).eval();
    };
    const auto scalar_slope = [&](double PointGeometry::*member) {
      return (45.0 * (p1.*member - m1.*member) - 9.0 * (p2.*member - m2.*member) + (p3.*member - m3.*member)) /
             (60.0 * h);
    };
    EXPECT_LT((slope(&PointGeometry::n_A) - g.dn_dX.col(i)).norm(), 1e-8) << i;
    EXPECT_LT((slope(&PointGeometry::p_AC) - g.dp_dX.col(i)).norm(), 1e-8) << i;
    EXPECT_NEAR(scalar_slope(&PointGeometry::gap), g.dgap_dX[i], 1e-8) << i;
    EXPECT_NEAR(scalar_slope(&PointGeometry::gap_rate), g.dgap_rate_dX[i], 1e-8) << i;
  }
}

// The rate is the derivative along the motion, and its derivative by the twist is dgap_dX.
TEST_P(PointPairDerivatives, IndentationRateIsTheGapGradientTimesTheTwist) {
  const auto& example = GetParam();
  const PointPair pair(example.main, example.partner, "t");
  const PairState state{.t = 0.0, .X_AB = example.X_AB, .V_AB = {.w = {0.8, -1.1, 0.6}, .v = {0.3, 0.5, -0.2}}};
  const PointGeometry g = pair.at(state);
  EXPECT_NEAR(g.dgap_dX * state.V_AB.vector(), g.gap_rate, 1e-15);
}

INSTANTIATE_TEST_SUITE_P(Shapes, PointPairDerivatives, testing::ValuesIn(example_geometries()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace heelstrike::fem
