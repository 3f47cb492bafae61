// Points of contact of rigid bodies: gaps, normals and curvatures, of balls, corners and meshes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "common/surfaces/block.hpp"
#include "common/surfaces/knee.hpp"
#include "common/surfaces/plane.hpp"
#include "common/surfaces/points.hpp"
#include "common/surfaces/sphere.hpp"
#include "tests/unit/backends/conformance_checks.hpp"
#include "tests/unit/backends/example_pairs.hpp"

namespace heelstrike::fem {
namespace {

using testing_support::example_geometries;
using testing_support::example_pair;
using testing_support::make_example;
using testing_support::placed;

PairSpec pair_of(Surface main, Surface partner) {
  return {.name = "pair",
          .backend = "rigid",
          .parameters = {},
          .main = {.name = "A", .surface = std::move(main), .materials = {}},
          .partner = {.name = "B", .surface = std::move(partner), .materials = {}}};
}

/// With B's origin at `p_AB` and without motion.
Response ask(const PairSpec& pair, const Vector3& p_AB) {
  PairState state;
  state.X_AB.p = p_AB;
  const auto backend = make_example(pair);
  return backend->evaluate(*backend->initial_history(), state);
}

// The gap falls by what B moves along the normal, and the rate is its derivative: for all pairs of analytic bodies.
TEST(Rigid, GapsAndNormalsBelongTogether) {
  for (const auto& geometry : example_geometries()) {
    const PairSpec pair = example_pair("rigid_coulomb", geometry);
    const auto backend = make_example(pair);
    const auto history = backend->initial_history();
    const PairState state = placed(pair, geometry.X_AB, 1e-4, 0.3);
    const Response r = backend->evaluate(*history, state);
    EXPECT_NEAR(r.gap, -1e-4, 1e-12) << geometry.name;
    EXPECT_NEAR(r.gap_rate, -0.3, 1e-9) << geometry.name;
    EXPECT_TRUE(r.F_A.force.isZero(0.0));
    ASSERT_EQ(r.points.size(), 1U);
    constexpr double h = 1e-6;
    PairState later = state;
    later.X_AB.p += h * r.points[0].n_A;
    EXPECT_NEAR((backend->evaluate(*history, later).gap - r.gap) / h, 1.0, 1e-6) << geometry.name;
  }
}

TEST(Rigid, KnowsTheCurvaturesOfBalls) {
  const Response r = ask(pair_of(SphereSurface{.radius = 0.2}, SphereSurface{.radius = 0.05}), {0.0, 0.0, 0.2501});
  ASSERT_EQ(r.points.size(), 1U);
  EXPECT_NEAR(r.points[0].curvature_A, 5.0, 1e-9);
  EXPECT_NEAR(r.points[0].curvature_B, 20.0, 1e-9);
}

TEST(Rigid, ABlockStandsOnFourCorners) {
  const Response r = ask(pair_of(PlaneSurface{}, BlockSurface{.lengths = {0.2, 0.1, 0.05}, .center = Vector3::Zero()}),
                         {0.3, 0.0, 0.025});
  ASSERT_EQ(r.points.size(), 4U);
  for (const ContactPoint& point : r.points) {
    EXPECT_NEAR(point.gap, 0.0, 1e-15);
    EXPECT_EQ(point.n_A, Vector3(Vector3::UnitZ()));
    EXPECT_NEAR(std::abs(point.p_AC.x() - 0.3), 0.1, 1e-15);
  }
}

// Two blocks, one on the other: each has corners on the other's surface, and all are found from both sides.
TEST(Rigid, BlocksMeetWithCornersOfBoth) {
  const BlockSurface large{.lengths = {0.4, 0.4, 0.1}, .center = Vector3::Zero()},
      small{.lengths = {0.1, 0.1, 0.1}, .center = Vector3::Zero()};
  for (const bool swapped : {false, true}) {
    const PairSpec pair = swapped ? pair_of(small, large) : pair_of(large, small);
    const Response r = ask(pair, {0.0, 0.0, swapped ? -0.1 : 0.1});
    ASSERT_EQ(r.points.size(), 4U) << swapped;
    for (const ContactPoint& point : r.points) {
      EXPECT_NEAR(point.gap, 0.0, 1e-12);
      EXPECT_NEAR(point.n_A.z(), swapped ? -1.0 : 1.0, 1e-9);
    }
  }
}

TEST(Rigid, IsPureAndRemembersNothing) {
  const auto geometry = example_geometries().front();
  const PairSpec pair = example_pair("rigid", geometry);
  const auto backend = make_example(pair);
  const auto fresh = backend->initial_history();
  const PairState state = placed(pair, geometry.X_AB, 1e-4, 0.3);
  const auto saved = backend->load_history(fresh->save());
  EXPECT_EQ(testing_support::bits_of(backend->evaluate(*fresh, state)),
            testing_support::bits_of(backend->evaluate(*backend->commit(*saved, state).history, state)));
  EXPECT_THROW((void)backend->load_history("something else"), Error);
}

// Where the bodies were at the last commit changes the time of an answer and no bit of it: probes that were farther
// than the others come into reach by the smallest part of what the pose allows, too.
TEST(Rigid, WhereToLookFirstChangesNoAnswer) {
  KneeSurface tibia;
  tibia.is_tibia = true;
  tibia.edge = 0.003;
  const PairSpec pair = pair_of(tibia, KneeSurface{});
  const auto backend = make_example(pair);
  std::mt19937 generator(11);
  const auto random = [&] { return static_cast<double>(generator()) / 4294967296.0; };
  const auto any = [&] { return Vector3(2.0 * random() - 1.0, 2.0 * random() - 1.0, 2.0 * random() - 1.0); };
  auto history = backend->initial_history();
  int several = 0;
  PairState state;
  for (int i = 0; i < 300; ++i) {
    // From below the rounding of coordinates to beyond all that is remembered.
    const double size = std::pow(10.0, -9.0 + 7.0 * random());
    const Vector3 turn = 20.0 * size * any();
    state.X_AB.R = Eigen::AngleAxisd(turn.norm(), turn.normalized()).toRotationMatrix();
    state.X_AB.p = size * any() + Vector3(0.0, 1e-4 * random(), 0.0);
    const Response expected = backend->evaluate(*backend->initial_history(), state);
    const Response found = backend->evaluate(*history, state);
    ASSERT_EQ(testing_support::bits_of(found), testing_support::bits_of(expected)) << i;
    if (found.points.size() > 1) ++several;
    if (i % 3 == 0) history = backend->commit(*history, state).history;
  }
  EXPECT_GT(several, 50) << "most poses have one point only, so that hardly anything was compared";
}

/// Bars of 0.1 x 0.1 m across each other, the lower along x, the upper along y, `turned` about their axes.
Response crossed_bars(double turned, double height, double sideways = 0.0) {
  const auto bar = [](const Vector3& lengths) { return BlockSurface{.lengths = lengths}; };
  const auto backend = make_example(pair_of(bar({1.0, 0.1, 0.1}), bar({0.1, 1.0, 0.1})));
  const Pose X_WA{.R = Eigen::AngleAxisd(turned, Vector3::UnitX()).toRotationMatrix(), .p = Vector3::Zero()};
  const Pose X_WB{.R = Eigen::AngleAxisd(turned, Vector3::UnitY()).toRotationMatrix(), .p = {sideways, 0.0, height}};
  PairState state;
  state.X_AB = X_WA.inverse() * X_WB;
  Response r = backend->evaluate(*backend->initial_history(), state);
  for (ContactPoint& point : r.points) {
    point.p_AC = X_WA * point.p_AC;
    point.n_A = X_WA.R * point.n_A;
  }
  return r;
}

TEST(Rigid, EdgesThatCrossBearEachOther) {
  const double high = std::sqrt(2.0) * 0.1;  // two halves of diagonals
  for (const double gap : {0.01, 1e-5, -1e-5, -1e-3}) {
    const Response r = crossed_bars(std::numbers::pi / 4, high + gap, 0.2);
    ASSERT_EQ(r.points.size(), 1U) << gap;
    EXPECT_NEAR(r.points[0].gap, gap, 1e-14);
    EXPECT_LT((r.points[0].n_A - Vector3::UnitZ()).norm(), 1e-12);
    EXPECT_LT((r.points[0].p_AC - Vector3(0.2, 0.0, 0.5 * (high + gap))).norm(), 1e-12);
  }
}

TEST(Rigid, BarsLaidFlatAcrossBearOnTheCornersOfWhatTheyShare) {
  const Response r = crossed_bars(0.0, 0.1 + 1e-5);
  ASSERT_EQ(r.points.size(), 4U);
  Vector3 middle = Vector3::Zero();
  for (const ContactPoint& point : r.points) {
    EXPECT_NEAR(point.gap, 1e-5, 1e-15);
    EXPECT_LT((point.n_A - Vector3::UnitZ()).norm(), 1e-12);
    EXPECT_NEAR(std::abs(point.p_AC.x()), 0.05, 1e-12);
    EXPECT_NEAR(std::abs(point.p_AC.y()), 0.05, 1e-12);
    middle += 0.25 * point.p_AC;
  }
  EXPECT_LT(middle.head<2>().norm(), 1e-12);
}

// A corner that meets a face stays one contact: no edge of the one crosses an edge of the other there.
TEST(Rigid, CornersOnAFaceGainNoEdges) {
  const PairSpec pair = pair_of(BlockSurface{.lengths = {1.0, 1.0, 0.1}}, BlockSurface{.lengths = {0.1, 0.1, 0.1}});
  EXPECT_EQ(ask(pair, {0.1, 0.2, 0.1 + 1e-5}).points.size(), 4U);
}

}  // namespace
}  // namespace heelstrike::fem
