// Points of contact of rigid bodies: gaps, normals and curvatures, of balls, corners and meshes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/knee.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/points.hpp"
#include "scenario/surfaces/sphere.hpp"
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
Response response_at(const PairSpec& pair, const Vector3& p_AB) {
  PairState state;
  state.X_AB.p = p_AB;
  const auto backend = make_example(pair);
  return backend->evaluate(*backend->initial_history(), state);
}

// The gap decreases by the motion of B along the normal, and the rate is its derivative: for all pairs of analytic
// bodies.
TEST(Rigid, GapsAndNormalsAreConsistent) {
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

TEST(Rigid, CurvaturesOfBallsAreExact) {
  const Response r =
      response_at(pair_of(SphereSurface{.radius = 0.2}, SphereSurface{.radius = 0.05}), {0.0, 0.0, 0.2501});
  ASSERT_EQ(r.points.size(), 1U);
  EXPECT_NEAR(r.points[0].curvature_A, 5.0, 1e-9);
  EXPECT_NEAR(r.points[0].curvature_B, 20.0, 1e-9);
}

// Over half of these gaps of a ball of 0.1 m are reduced by rounding when its radius is subtracted and added again.
TEST(Rigid, BallsAtAnyDistanceHaveTheirGap) {
  for (const double radius : {0.05, 0.1, 0.11}) {
    const PairSpec pair = pair_of(PlaneSurface{}, SphereSurface{.radius = radius});
    const auto backend = make_example(pair);
    PairState state;
    for (int i = 1; i <= 1000; ++i) {
      state.X_AB.p.z() = radius * (1.0 + 0.005 * i);
      ASSERT_NEAR(backend->evaluate(*backend->initial_history(), state).gap, 0.005 * i * radius, 1e-15) << i;
    }
  }
}

TEST(Rigid, BlockRestsOnFourCorners) {
  const Response r = response_at(
      pair_of(PlaneSurface{}, BlockSurface{.lengths = {0.2, 0.1, 0.05}, .center = Vector3::Zero()}), {0.3, 0.0, 0.025});
  ASSERT_EQ(r.points.size(), 4U);
  for (const ContactPoint& point : r.points) {
    EXPECT_NEAR(point.gap, 0.0, 1e-15);
    EXPECT_EQ(point.n_A, Vector3(Vector3::UnitZ()));
    EXPECT_NEAR(std::abs(point.p_AC.x() - 0.3), 0.1, 1e-15);
  }
}

// Two stacked blocks: each has corners on the other's surface, and all are found from both sides.
TEST(Rigid, BlocksTouchAtCornersOfBoth) {
  const BlockSurface large{.lengths = {0.4, 0.4, 0.1}, .center = Vector3::Zero()},
      small{.lengths = {0.1, 0.1, 0.1}, .center = Vector3::Zero()};
  for (const bool swapped : {false, true}) {
    const PairSpec pair = swapped ? pair_of(small, large) : pair_of(large, small);
    const Response r = response_at(pair, {0.0, 0.0, swapped ? -0.1 : 0.1});
    ASSERT_EQ(r.points.size(), 4U) << swapped;
    for (const ContactPoint& point : r.points) {
      EXPECT_NEAR(point.gap, 0.0, 1e-12);
      EXPECT_NEAR(point.n_A.z(), swapped ? -1.0 : 1.0, 1e-9);
    }
  }
}

TEST(Rigid, IsPureAndHistoryIndependent) {
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

// The poses at the last commit change the time of a response and no bit of it: points that were farther than the others
// also come into reach by the smallest fraction of the allowed motion.
TEST(Rigid, SearchStartDoesNotChangeTheResult) {
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
    // From below the rounding of coordinates to beyond the stored range.
    const double size = std::pow(10.0, -9.0 + 7.0 * random());
    const Vector3 rotation = 20.0 * size * any();
    state.X_AB.R = Eigen::AngleAxisd(rotation.norm(), rotation.normalized()).toRotationMatrix();
    state.X_AB.p = size * any() + Vector3(0.0, 1e-4 * random(), 0.0);
    const Response expected = backend->evaluate(*backend->initial_history(), state);
    const Response found = backend->evaluate(*history, state);
    ASSERT_EQ(testing_support::bits_of(found), testing_support::bits_of(expected)) << i;
    if (found.points.size() > 1) ++several;
    if (i % 3 == 0) history = backend->commit(*history, state).history;
  }
  EXPECT_GT(several, 50) << "most poses have one point only, so that hardly anything was compared";
}

/// Crossed bars of 0.1 x 0.1 m, the lower along x, the upper along y, rotated by `turned` about their axes.
Response crossed_bars(double rotated, double height, double sideways = 0.0) {
  const auto bar = [](const Vector3& lengths) { return BlockSurface{.lengths = lengths}; };
  const auto backend = make_example(pair_of(bar({1.0, 0.1, 0.1}), bar({0.1, 1.0, 0.1})));
  const Pose X_WA{.R = Eigen::AngleAxisd(rotated, Vector3::UnitX()).toRotationMatrix(), .p = Vector3::Zero()};
  const Pose X_WB{.R = Eigen::AngleAxisd(rotated, Vector3::UnitY()).toRotationMatrix(), .p = {sideways, 0.0, height}};
  PairState state;
  state.X_AB = X_WA.inverse() * X_WB;
  Response r = backend->evaluate(*backend->initial_history(), state);
  for (ContactPoint& point : r.points) {
    point.p_AC = X_WA * point.p_AC;
    point.n_A = X_WA.R * point.n_A;
  }
  return r;
}

TEST(Rigid, CrossingEdgesAreInContact) {
  const double high = std::sqrt(2.0) * 0.1;  // two halves of diagonals
  for (const double gap : {0.01, 1e-5, -1e-5, -1e-3}) {
    const Response r = crossed_bars(std::numbers::pi / 4, high + gap, 0.2);
    ASSERT_EQ(r.points.size(), 1U) << gap;
    EXPECT_NEAR(r.points[0].gap, gap, 1e-14);
    EXPECT_LT((r.points[0].n_A - Vector3::UnitZ()).norm(), 1e-12);
    EXPECT_LT((r.points[0].p_AC - Vector3(0.2, 0.0, 0.5 * (high + gap))).norm(), 1e-12);
  }
}

TEST(Rigid, FlatCrossedBarsTouchAtTheCornersOfTheirOverlap) {
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

// A corner in contact with a face stays one contact: no edge of one crosses an edge of the other there.
TEST(Rigid, CornersOnAFaceAddNoEdgeContacts) {
  const PairSpec pair = pair_of(BlockSurface{.lengths = {1.0, 1.0, 0.1}}, BlockSurface{.lengths = {0.1, 0.1, 0.1}});
  EXPECT_EQ(response_at(pair, {0.1, 0.2, 0.1 + 1e-5}).points.size(), 4U);
}

/// Boxes of different sizes at any pose: the smallest overlap along the axes that may separate them, negative if they
/// do not overlap along one. The separating axis theorem is exact for boxes, overlapping or not.
double smallest_overlap(const Vector3& half_A, const Vector3& half_B, const Pose& X_AB) {
  const Matrix3& R = X_AB.R;
  std::vector<Vector3> axes;
  for (Eigen::Index i = 0; i < 3; ++i) axes.insert(axes.end(), {Vector3::Unit(i), R.col(i)});
  for (Eigen::Index i = 0; i < 3; ++i) {
    for (Eigen::Index j = 0; j < 3; ++j) axes.emplace_back(Vector3::Unit(i).cross(Vector3(R.col(j))));
  }
  double overlap = std::numeric_limits<double>::infinity();
  for (const Vector3& axis : axes) {
    if (axis.norm() < 1e-9) continue;
    const Vector3 n = axis.normalized();
    const double reach = n.cwiseAbs().dot(half_A) + (R.transpose() * n).cwiseAbs().dot(half_B);
    overlap = std::min(overlap, reach - std::abs(n.dot(X_AB.p)));
  }
  return overlap;
}

// Boxes that overlap by up to a hundredth of their size: the deepest point is the penetration depth, for points of
// deeper facets of the Minkowski difference do not exist. Separated boxes have no point inside.
TEST(Rigid, TenThousandPairsOfBoxesAgreeWithTheirSeparatingAxes) {
  std::mt19937 generator(5);
  const auto random = [&] { return static_cast<double>(generator()) / 4294967296.0; };
  const auto any = [&] { return Vector3(2.0 * random() - 1.0, 2.0 * random() - 1.0, 2.0 * random() - 1.0); };
  int in_contact = 0;
  for (int shape = 0; shape < 100; ++shape) {
    const Vector3 A = Vector3(0.05, 0.05, 0.05) + 0.1 * any().cwiseAbs();
    const Vector3 B = Vector3(0.05, 0.05, 0.05) + 0.1 * any().cwiseAbs();
    const auto backend = make_example(pair_of(BlockSurface{.lengths = A}, BlockSurface{.lengths = B}));
    const auto history = backend->initial_history();
    for (int i = 0; i < 100; ++i) {
      PairState state;
      state.X_AB.R = Eigen::AngleAxisd(std::numbers::pi * random(), any().normalized()).toRotationMatrix();
      // Moved along a random direction until they overlap by the given depth.
      const Vector3 path = any().normalized();
      const double requested = 1e-3 * (random() - 0.2);
      double far = 0.4, near = 0.0;
      for (int k = 0; k < 60; ++k) {
        const double middle = 0.5 * (far + near);
        state.X_AB.p = middle * path;
        (smallest_overlap(0.5 * A, 0.5 * B, state.X_AB) > requested ? near : far) = middle;
      }
      const double overlap = smallest_overlap(0.5 * A, 0.5 * B, state.X_AB);
      const Response r = backend->evaluate(*history, state);
      if (overlap < 0.0) {
        EXPECT_GT(r.gap, 0.0) << shape << " " << i;
        continue;
      }
      ASSERT_FALSE(r.points.empty()) << shape << " " << i;
      EXPECT_NEAR(r.gap, -overlap, 1e-9) << shape << " " << i;
      ++in_contact;
    }
  }
  EXPECT_GT(in_contact, 7000);
}

// An edge across a face with a slight tilt: the end that lifts is reported as well as the one that penetrates;
// otherwise it would be unsupported at the next instant.
TEST(Rigid, TippingEdgeOnAFaceHasContactAtBothEnds) {
  const auto backend =
      make_example(pair_of(BlockSurface{.lengths = {0.1, 0.1, 0.1}}, BlockSurface{.lengths = {0.2, 0.1, 0.1}}));
  for (const double tilt : {0.0, 1e-4, -1e-4, 5e-4}) {
    PairState state;
    state.X_AB.R =
        (Eigen::AngleAxisd(tilt, Vector3::UnitY()) * Eigen::AngleAxisd(0.25 * std::numbers::pi, Vector3::UnitX()))
            .toRotationMatrix();
    state.X_AB.p = {0.0, 0.0, 0.05 + 0.05 * std::numbers::sqrt2};
    const auto points = backend->evaluate(*backend->initial_history(), state).points;
    ASSERT_EQ(points.size(), 2U) << tilt;
    for (const ContactPoint& point : points) {
      EXPECT_NEAR(std::abs(point.p_AC.x()), 0.05, 1e-4) << tilt;
      // To the square of the tilt.
      EXPECT_NEAR(point.gap, -tilt * point.p_AC.x(), 1e-7) << tilt;
      EXPECT_NEAR(point.n_A.z(), 1.0, 1e-6) << tilt;
    }
  }
}

// A block on a face, tilted by up to half a milliradian: the corners that rise are reported as well, above the face,
// on it and below it.
TEST(Rigid, TiltedBlockOnAFaceHasFourCorners) {
  const auto backend = make_example(pair_of(BlockSurface{.lengths = {0.5, 0.5, 0.1}, .center = Vector3::Zero()},
                                            BlockSurface{.lengths = {0.1, 0.1, 0.1}, .center = Vector3::Zero()}));
  for (const double tilt : {0.0, 1e-7, 2e-5, -2e-4, 5e-4}) {
    for (const double depth : {0.0, 0.5, 1.0, 1.5}) {  // of the rising corners, in units of half their rise
      PairState state;
      state.X_AB.R = Eigen::AngleAxisd(tilt, Vector3::UnitY()).toRotationMatrix();
      state.X_AB.p = {0.01, 0.02, 0.1 - depth * 0.05 * std::abs(tilt)};
      const auto points = backend->evaluate(*backend->initial_history(), state).points;
      ASSERT_EQ(points.size(), 4U) << tilt << " " << depth;
      for (const ContactPoint& point : points) {
        const double x = point.p_AC.x() - 0.01;
        EXPECT_NEAR(std::abs(x), 0.05, 1e-4) << tilt << " " << depth;
        // To the square of the tilt.
        EXPECT_NEAR(point.gap, -tilt * x - depth * 0.05 * std::abs(tilt), 1e-7) << tilt << " " << depth;
        EXPECT_NEAR(point.n_A.z(), 1.0, 1e-6) << tilt << " " << depth;
      }
    }
  }
}

/// Points of two equal cubes of 0.1 m, the second at `p_AB`, as blocks or as meshes.
std::vector<ContactPoint> cubes_at(const Vector3& p_AB) {
  const BlockSurface cube{.lengths = {0.1, 0.1, 0.1}};
  return response_at(pair_of(cube, cube), p_AB).points;
}

// Faces of two equal cubes in contact: the corners of their common area, all with the normal of the faces, in every
// direction, for any coincidence and any overlap.
TEST(Rigid, FacesInContactTouchAtTheCornersOfTheirOverlap) {
  for (const double depth : {0.0, 1e-16, -1e-13, 1e-12, 1e-6, 1e-4, -1e-5}) {
    for (const double x : {0.0, 1e-17, 1e-12, 1e-6, 5e-5, 0.005, 0.04}) {
      for (const double y : {0.0, -1e-12, 1e-5, -0.003, 0.04}) {
        for (Eigen::Index axis = 0; axis < 3; ++axis) {
          for (const double side : {-1.0, 1.0}) {
            Vector3 p;
            p[axis] = side * (0.1 - depth);
            p[(axis + 1) % 3] = x;
            p[(axis + 2) % 3] = y;
            const auto points = cubes_at(p);
            ASSERT_EQ(points.size(), 4U) << p.transpose();
            Vector3 middle = Vector3::Zero();
            for (const ContactPoint& point : points) {
              EXPECT_NEAR(point.gap, -depth, 1e-12);
              EXPECT_NEAR(side * point.n_A[axis], 1.0, 1e-9) << p.transpose();
              EXPECT_NEAR(std::abs(point.p_AC[(axis + 1) % 3] - 0.5 * x), 0.05 - 0.5 * std::abs(x), 1e-9);
              EXPECT_NEAR(std::abs(point.p_AC[(axis + 2) % 3] - 0.5 * y), 0.05 - 0.5 * std::abs(y), 1e-9);
              middle += 0.25 * point.p_AC;
            }
            EXPECT_NEAR(middle[(axis + 1) % 3], 0.5 * x, 1e-9);
            EXPECT_NEAR(middle[(axis + 2) % 3], 0.5 * y, 1e-9);
          }
        }
      }
    }
  }
}

// A cube that slides on one neighbour, level with the next: their common area has no extent, and there is no obstacle.
TEST(Rigid, LevelMotionCausesNoContact) {
  for (const double ahead : {5e-5, 1e-6, 1e-9, 0.0}) {
    for (const double deep : {0.0, 1e-13, 1e-11}) {
      for (const ContactPoint& point : cubes_at({0.1 + ahead, 0.01, 0.1 - deep})) {
        EXPECT_GT(point.gap, 1e-4) << ahead << " " << deep;
      }
    }
  }
  // A real step stops it.
  const auto points = cubes_at({0.1 + 1e-5, 0.01, 0.1 - 1e-4});
  ASSERT_EQ(points.size(), 4U);
  for (const ContactPoint& point : points) EXPECT_NEAR(point.n_A.x(), 1.0, 1e-9);
}

/// A cylinder of 0.1 m radius and 0.3 m length along y, on a plane at z = 0, rotated about x, then about z, then
/// lifted.
Response cylinder_on_plane(double tilt, double heading, double height) {
  const auto backend =
      make_example(pair_of(PlaneSurface{}, CylinderSurface{.radius = 0.1, .axis = Vector3::UnitY(), .length = 0.3}));
  PairState state;
  state.X_AB.R = (Eigen::AngleAxisd(heading, Vector3::UnitZ()) * Eigen::AngleAxisd(tilt, Vector3::UnitX()) *
                  Eigen::AngleAxisd(0.7, Vector3::UnitY()))
                     .toRotationMatrix();
  state.X_AB.p = {0.0, 0.0, height};
  return backend->evaluate(*backend->initial_history(), state);
}

TEST(Rigid, CylinderTouchesAtTheEndsOfALine) {
  const Response r = cylinder_on_plane(0.0, 0.3, 0.1);
  ASSERT_EQ(r.points.size(), 2U);
  for (const ContactPoint& point : r.points) {
    EXPECT_NEAR(point.gap, 0.0, 1e-15);
    EXPECT_NEAR(point.curvature_B, 10.0, 1e-12);
    EXPECT_NEAR(point.p_AC.norm(), 0.15, 1e-12);
    EXPECT_NEAR(std::abs(point.p_AC.y()), 0.15 * std::cos(0.3), 1e-12);
  }
  // Tilted, on one point of a rim; upright, on points around it.
  const double lean = 0.4;
  const double height = 0.15 * std::sin(lean) + 0.1 * std::cos(lean);
  const Response leaning = cylinder_on_plane(lean, 1.0, height);
  ASSERT_EQ(leaning.points.size(), 1U);
  EXPECT_NEAR(leaning.points[0].gap, 0.0, 1e-15);
  const Response upright = cylinder_on_plane(0.5 * std::numbers::pi, 0.0, 0.15);
  EXPECT_EQ(upright.points.size(), 16U);
  for (const ContactPoint& point : upright.points) EXPECT_NEAR(point.gap, 0.0, 1e-12);
}

// A roller across a narrower rail: contact where its lowest line leaves the rail, and likewise for two crossed rollers.
TEST(Rigid, CylinderTouchesEdgesAndCylinders) {
  const CylinderSurface roller{.radius = 0.1, .axis = Vector3::UnitY(), .length = 0.3};
  const Response r = response_at(pair_of(BlockSurface{.lengths = {1.0, 0.1, 0.05}}, roller), {0.2, 0.02, 0.125});
  ASSERT_EQ(r.points.size(), 2U);
  for (const ContactPoint& point : r.points) {
    EXPECT_NEAR(point.gap, 0.0, 1e-15);
    EXPECT_NEAR(point.n_A.z(), 1.0, 1e-12);
    EXPECT_NEAR(point.p_AC.x(), 0.2, 1e-12);
    EXPECT_NEAR(std::abs(point.p_AC.y()), 0.05, 1e-12);
    EXPECT_NEAR(point.curvature_B, 10.0, 1e-12);
  }
  CylinderSurface other{.radius = 0.05, .axis = Vector3::UnitX(), .length = 0.4};
  const Response crossed = response_at(pair_of(other, roller), {0.1, 0.05, 0.15 + 1e-5});
  ASSERT_EQ(crossed.points.size(), 1U);
  EXPECT_NEAR(crossed.points[0].gap, 1e-5, 1e-15);
  EXPECT_NEAR((crossed.points[0].p_AC - Vector3(0.1, 0.0, 0.05 + 5e-6)).norm(), 0.0, 1e-12);
  // Side by side, on the ends of their common line.
  other = {.radius = 0.05, .axis = Vector3::UnitY(), .length = 0.2};
  const Response beside = response_at(pair_of(other, roller), {0.15, 0.12, 0.0});
  ASSERT_EQ(beside.points.size(), 2U);
  for (const ContactPoint& point : beside.points) {
    EXPECT_NEAR(point.gap, 0.0, 1e-14);
    EXPECT_NEAR(point.p_AC.y(), point.p_AC.y() > 0.0 ? 0.1 : -0.03, 1e-12);
  }
}

// Corners of a box just inside the flat end of a cylinder are at its end, not at its side.
TEST(Rigid, BoxRestsOnTheEndOfACylinder) {
  const Response r =
      response_at(pair_of(CylinderSurface{.radius = 0.1, .length = 0.2}, BlockSurface{.lengths = {0.1, 0.1, 0.1}}),
                  {0.0, 0.0, 0.15 - 1e-12});
  ASSERT_EQ(r.points.size(), 4U);
  for (const ContactPoint& point : r.points) {
    EXPECT_NEAR(point.gap, -1e-12, 1e-14);
    EXPECT_NEAR(point.n_A.z(), 1.0, 1e-12);
  }
}

constexpr double rail = 0.05, roller_radius = 0.1;

// A cylinder between two edges parallel to its axis has two points on each, also where the edges are longer than it,
// and with any rounding of the pose: without them it falls through.
TEST(Rigid, CylinderTouchesParallelEdges) {
  const CylinderSurface roller{.radius = roller_radius, .axis = Vector3::UnitY(), .length = 0.4};
  const double height = std::sqrt(roller_radius * roller_radius - rail * rail);
  for (const double length : {0.2, 0.4, 1.0}) {
    for (const double yaw : {0.0, 1e-12, 1e-9, 1e-6}) {
      for (const double deep : {-1e-6, 0.0, 1e-14, 1e-12, 1e-9}) {
        const BlockSurface block{.lengths = {1.0, length, 1.0}, .center = {rail + 0.5, 0.0, -0.5}};
        PairState state;
        state.X_AB = {.R = Eigen::AngleAxisd(yaw, Vector3::UnitZ()).toRotationMatrix(), .p = {0.0, 0.0, height - deep}};
        const auto backend = make_example(pair_of(block, roller));
        const Response r = backend->evaluate(*backend->initial_history(), state);
        const double gap = -deep * height / roller_radius;
        EXPECT_NEAR(r.gap, gap, 0.3 * yaw + 1e-11) << length << " " << yaw << " " << deep;
        double low = 0.0, high = 0.0;
        for (const ContactPoint& point : r.points) {
          EXPECT_NEAR(point.gap, gap, 0.3 * yaw + 1e-11) << length << " " << yaw << " " << deep;
          EXPECT_NEAR((point.n_A - Vector3(-rail, 0.0, height) / roller_radius).norm(), 0.0,
                      10.0 * (yaw + std::abs(deep)) + 1e-7)
              << length << " " << yaw << " " << deep << " " << point.feature;
          if (deep >= 0.0) {
            EXPECT_NEAR(point.curvature_B, 1.0 / roller_radius, 1e-6);
          }
          low = std::min(low, point.p_AC.y());
          high = std::max(high, point.p_AC.y());
        }
        EXPECT_NEAR(high, 0.5 * std::min(length, 0.4), 0.11 * yaw + 1e-9) << length << " " << yaw << " " << deep;
        EXPECT_NEAR(low, -high, 0.11 * yaw + 1e-9) << length << " " << yaw << " " << deep;
      }
    }
  }
}

/// Half planes through the vertical axis that have a point of the response: 4 for support all around.
int supported_sides(const Response& r, const Vector3& center) {
  std::array<bool, 4> sides{};
  for (const ContactPoint& point : r.points) {
    if (point.gap > 1e-9) continue;
    EXPECT_NEAR(point.n_A.z(), 1.0, 1e-9);
    const Vector3 arm = point.p_AC - center;
    sides[0] = sides[0] || arm.x() > 0.005;
    sides[1] = sides[1] || arm.x() < -0.005;
    sides[2] = sides[2] || arm.y() > 0.005;
    sides[3] = sides[3] || arm.y() < -0.005;
  }
  return static_cast<int>(std::ranges::count(sides, true));
}

// Equal cylinders on each other, aligned or not: the rims coincide, and the upper one fell through.
TEST(Rigid, CylinderStandsOnAnEqualOne) {
  for (const double upper : {0.05, 0.049, 0.051}) {
    const auto pair =
        pair_of(CylinderSurface{.radius = 0.05, .length = 0.1}, CylinderSurface{.radius = upper, .length = 0.1});
    for (const double off : {0.0, 1e-17, 1e-12, 1e-9, 1e-7, 1e-6, 1e-4, 0.01, 0.04}) {
      for (const double deep : {-1e-12, 0.0, 1e-15, 1e-12, 1e-9}) {
        const Response r = response_at(pair, {off, 0.0, 0.1 - deep});
        EXPECT_NEAR(r.gap, -deep, 1e-13);
        EXPECT_EQ(supported_sides(r, {0.5 * off, 0.0, 0.0}), 4) << upper << " " << off << " " << deep;
      }
    }
  }
}

// The flat end of a cylinder over an edge of its support is carried up to that edge: at the ends of the chord.
TEST(Rigid, FlatEndIsSupportedUpToAnEdge) {
  const auto pair = pair_of(BlockSurface{.lengths = {0.2, 0.3, 0.1}}, CylinderSurface{.radius = 0.05, .length = 0.1});
  for (const double over : {0.03, 0.0, -0.03}) {
    for (const double deep : {0.0, 1e-15, 1e-12, -1e-12}) {
      const Response r = response_at(pair, {0.1 + over, 0.02, 0.1 - deep});
      double last = -1.0;
      for (const ContactPoint& point : r.points) last = std::max(last, point.p_AC.x());
      EXPECT_NEAR(last, 0.1, 1e-9) << over;
      const double chord = std::sqrt(0.05 * 0.05 - over * over);
      for (const double end : {-chord, chord}) {
        EXPECT_TRUE(std::ranges::any_of(r.points,
                                        [&](const ContactPoint& point) {
                                          return (point.p_AC - Vector3(0.1, 0.02 + end, 0.05)).norm() < 1e-9 &&
                                                 std::abs(point.gap + deep) < 1e-13;
                                        }))
            << over << " " << deep;
      }
    }
  }
}

/// Nearest point of a box or a cylinder, both around the origin.
Vector3 in_block(const Vector3& half, const Vector3& p) {
  return p.cwiseMax(-half).cwiseMin(half);
}
Vector3 in_cylinder(double radius, double half, const Vector3& p) {
  Vector3 near = p;
  const double distance = std::hypot(p.x(), p.y());
  if (distance > radius) near.head<2>() *= radius / distance;
  near.z() = std::clamp(p.z(), -half, half);
  return near;
}

/// [m] distance of two convex bodies by alternating projection. @param of_A, of_B  nearest points, each in its frame
template <class InA, class InB>
double distance_between(const InA& of_A, const InB& of_B, const Pose& X_AB) {
  const Pose X_BA = X_AB.inverse();
  Vector3 a = Vector3::Zero();
  double distance = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 200'000; ++k) {
    const Vector3 b = X_AB * of_B(X_BA * a);
    const double next = (a - b).norm();
    if (distance - next <= 1e-15) break;
    distance = next;
    a = of_A(b);
  }
  return distance;
}

// The gap between a cylinder and a block, or another cylinder, is their distance, in random poses.
TEST(Rigid, GapOfSeparatedCylindersIsTheirDistance) {
  const Vector3 half(0.1, 0.15, 0.05);
  const auto blocks = pair_of(BlockSurface{.lengths = 2.0 * half}, CylinderSurface{.radius = 0.06, .length = 0.2});
  const auto cylinders =
      pair_of(CylinderSurface{.radius = 0.08, .length = 0.16}, CylinderSurface{.radius = 0.06, .length = 0.2});
  std::mt19937 engine(7);
  std::normal_distribution<double> normal;
  int apart = 0;
  for (int i = 0; i < 2000; ++i) {
    const bool is_block = i % 2 == 0;
    PairState state;
    state.X_AB.R = Quaternion(normal(engine), normal(engine), normal(engine), normal(engine)).normalized();
    state.X_AB.p = 0.12 * Vector3(normal(engine), normal(engine), normal(engine));
    const auto of_B = [](const Vector3& p) { return in_cylinder(0.06, 0.1, p); };
    const double expected =
        is_block ? distance_between([&](const Vector3& p) { return in_block(half, p); }, of_B, state.X_AB)
                 : distance_between([](const Vector3& p) { return in_cylinder(0.08, 0.08, p); }, of_B, state.X_AB);
    if (expected < 1e-3) continue;
    ++apart;
    const auto backend = make_example(is_block ? blocks : cylinders);
    const Response r = backend->evaluate(*backend->initial_history(), state);
    // Between two cylinders apart it is a bound.
    EXPECT_LE(r.gap, (1.0 + 1e-5) * expected) << i;
    EXPECT_GE(r.gap, (is_block ? 1.0 - 1e-5 : 0.95) * expected) << i;
  }
  EXPECT_GT(apart, 800);
}

}  // namespace
}  // namespace heelstrike::fem
