// Profiles compared with the spheres and planes that they represent: gap, normal, contact point and force in closed
// form; derivatives against differences; rejected profiles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numbers>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/profile.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "scenario/surfaces/surface_kind.hpp"
#include "tests/unit/backends/example_pairs.hpp"

namespace heelstrike::fem {
namespace {

using std::numbers::pi;
using testing_support::make_example;

ProfileSurface circle(double radius, int n, const Vector2& center = Vector2::Zero()) {
  ProfileSurface profile{.closed = true};
  for (int i = 0; i < n; ++i) {
    const double angle = 2.0 * pi * i / n;
    profile.points.emplace_back(center + radius * Vector2(std::cos(angle), std::sin(angle)));
  }
  return profile;
}

/// Material below y = 0: it lies to the left of the direction from right to left.
ProfileSurface ground() {
  return {.points = {{0.3, 0}, {0.1, 0}, {-0.1, 0}, {-0.3, 0}}};
}

/// Material outside of the lower half of a circle.
ProfileSurface socket(double radius, int n) {
  ProfileSurface profile;
  for (int i = 0; i <= n; ++i) {
    const double angle = -pi * i / n;
    profile.points.emplace_back(radius * Vector2(std::cos(angle), std::sin(angle)));
  }
  return profile;
}

PairState placed(const Vector3& p, double angle) {
  return {.t = 0.0,
          .X_AB = {.R = rotation_from_vector({0, 0, angle}), .p = p},
          .V_AB = {.w = {0, 0, 0.7}, .v = {0.2, -0.4, 0}}};
}

// The error of a cubic spline is of fourth order in its spacing: half of it leaves a sixteenth. The first numbers are
// those of the printed table, with a factor of 2.
TEST(ProfilePair, CircleOnALineIsASphereOnAPlaneToFourthOrder) {
  const double R = 0.04;
  const PointPair exact(PlaneSurface{.normal = Vector3::UnitY()}, SphereSurface{.radius = R}, "t");
  double before = 0.0;
  std::cout << "points  gap [m]  normal [-]  radius [-]\n";
  for (const int n : {8, 16, 32, 64, 128}) {
    const PointPair pair(ground(), circle(R, n), "t");
    double gap = 0.0;
    double normal = 0.0;
    double radius = 0.0;
    for (int k = 0; k < 50; ++k) {
      const PairState state = placed({0.01, 0.0395, 0.0}, 0.13 * k);
      const PointGeometry g = pair.at(state);
      const PointGeometry e = exact.at(state);
      gap = std::max(gap, std::abs(g.gap - e.gap));
      normal = std::max(normal, (g.n_A - e.n_A).norm());
      radius = std::max(radius, std::abs(g.effective_radius / R - 1.0));
    }
    std::cout << n << "  " << gap << "  " << normal << "  " << radius << "\n";
    if (n > 16) {
      EXPECT_NEAR(before / gap, 16.0, 3.0) << n;
    }
    before = gap;
  }
  EXPECT_LT(before, 1e-9);
}

TEST(ProfilePair, DistanceIsThatOfACylinder) {
  const auto exact = signed_distance(
      CylinderSurface{.radius = 0.04, .axis = Vector3::UnitX(), .center = {0, 0.1, 0.2}, .length = 0.06});
  ProfileSurface round = circle(0.04, 128);
  round.plane = "yz";
  round.center = {0, 0.1, 0.2};
  round.width = 0.06;
  const auto distance = signed_distance(round);
  for (int k = 0; k < 60; ++k) {
    const Vector3 p = round.center + Vector3(0.05 * std::sin(1.7 * k), 0.07 * std::sin(k), 0.07 * std::cos(2.3 * k));
    const SurfacePoint a = distance->closest(p);
    const SurfacePoint e = exact->closest(p);
    EXPECT_NEAR(a.gap, e.gap, 1e-9) << p.transpose();
    // The slope of the spline has an error of third order in the spacing, 5e-7, which grows towards the axis.
    EXPECT_LT((a.normal - e.normal).norm(), 5e-6) << p.transpose();
    EXPECT_LT((a.curvature - e.curvature).norm(), 0.02 * (1.0 + e.curvature.norm())) << p.transpose();
  }
}

TEST(ProfilePair, ForceIsThatOfTheSphere) {
  PairSpec pair;
  pair.name = "example";
  pair.backend = "hertz";
  pair.parameters = {{"stiffness", 1.2e6}};
  pair.main.surface = socket(0.06, 96);
  pair.partner.surface = circle(0.04, 128);
  const auto profiles = make_example(pair);
  pair.main.surface = SphereSurface{.radius = -0.06};
  pair.partner.surface = SphereSurface{.radius = 0.04};
  const auto spheres = make_example(pair);
  // Indented by 0.5 to 1 mm, 20 degrees to both sides of the bottom.
  for (const double angle : {-0.35, 0.0, 0.2}) {
    const double offset = 0.0205 + 0.001 * angle;
    const PairState state = placed({offset * std::sin(angle), -offset * std::cos(angle), 0.0}, 2.0 * angle);
    const Response a = profiles->evaluate(*profiles->initial_history(), state);
    const Response e = spheres->evaluate(*spheres->initial_history(), state);
    const double depth = offset - 0.02;
    EXPECT_NEAR(a.F_A.force.norm(), 1.2e6 * std::pow(depth, 1.5), 1e-5 * a.F_A.force.norm());
    EXPECT_LT((a.F_A.force - e.F_A.force).norm(), 1e-5 * e.F_A.force.norm());
    EXPECT_LT((a.F_A.torque - e.F_A.torque).norm(), 1e-5 * e.F_A.force.norm() * 0.06);
    EXPECT_LT((a.p_ACop - e.p_ACop).norm(), 1e-7);
    EXPECT_NEAR(a.area, pi * depth / (1.0 / 0.04 - 1.0 / 0.06 + depth / (0.04 * 0.06)), 0.01 * a.area);
  }
}

// Curvatures of -25.3 and 25 per metre: their sum is negative, and yet the bottom is where the indentation is deepest.
TEST(ProfilePair, CircleInANarrowerSocketHasFiniteArea) {
  PairSpec pair;
  pair.name = "example";
  pair.backend = "hertz";
  pair.parameters = {{"stiffness", 1.2e6}};
  pair.main.surface = socket(0.0395, 96);
  pair.partner.surface = circle(0.04, 128);
  const auto backend = make_example(pair);
  const Response r = backend->evaluate(*backend->initial_history(), placed({0, -0.0005, 0}, 0.1));
  EXPECT_NEAR(r.gap, -0.001, 1e-7);
  EXPECT_TRUE(std::isfinite(r.area)) << r.area;
}

// Central differences of fourth order with h = 1e-5 over radii of 0.01 m: (1e-3)^4 of the derivative by truncation,
// 1e-16 / 1e-5 by rounding. The third derivative of a spline jumps at its points, none of which is within the step.
TEST(ProfilePair, DerivativesAreExactInThePlane) {
  ProfileSurface condyle{.points = {{0.03, 0.01},
                                    {0.022, 0.03},
                                    {-0.01, 0.035},
                                    {-0.028, 0.01},
                                    {-0.02, -0.015},
                                    {0.002, -0.024},
                                    {0.022, -0.014}},
                         .closed = true,
                         .center = {0.003, -0.002, 0.008}};
  ProfileSurface plateau{.points = {{0.03, 0.004}, {0.015, 0.001}, {0.0, 0.0}, {-0.015, 0.0005}, {-0.03, 0.003}},
                         .center = {0, 0, 0.004}};
  for (const bool swapped : {false, true}) {
    const PointPair pair = swapped ? PointPair(plateau, condyle, "t") : PointPair(condyle, plateau, "t");
    PairState state = swapped ? placed({0.002, 0.0245, 0.01}, 0.3) : placed({0.002, -0.0245, 0.01}, 0.3);
    const PointGeometry g = pair.at(state);
    ASSERT_LT(std::abs(g.gap), 0.01);
    ASSERT_LT(g.effective_radius, 0.2);
    for (int i = 0; i < 6; ++i) {
      const double h = 1e-5;
      const auto at = [&](double k) {
        Vector6 x = Vector6::Zero();
        x[i] = k * h;
        PairState s = state;
        s.X_AB.R = rotation_from_vector(x.head<3>()) * s.X_AB.R;
        s.X_AB.p += x.tail<3>();
        return pair.at(s);
      };
      const PointGeometry p1 = at(1), m1 = at(-1), p2 = at(2), m2 = at(-2);
      const auto slope = [&](auto member) {
        return ((8.0 * (p1.*member - m1.*member) - (p2.*member - m2.*member)) / (12.0 * h));
      };
      EXPECT_NEAR(slope(&PointGeometry::gap), g.dgap_dX[i], 1e-8) << swapped << i;
      EXPECT_NEAR(slope(&PointGeometry::gap_rate), g.dgap_rate_dX[i], 1e-6) << swapped << i;
      EXPECT_LT((Vector3(slope(&PointGeometry::n_A)) - g.dn_dX.col(i)).norm(), 1e-6) << swapped << i;
      EXPECT_LT((Vector3(slope(&PointGeometry::p_AC)) - g.dp_dX.col(i)).norm(), 1e-6) << swapped << i;
    }
  }
}

// Of two lobes the deeper one counts, for poses from either side.
TEST(ProfilePair, DeepestOfTwoCommonNormals) {
  ProfileSurface lobes{.points = {{0.05, 0.03},
                                  {-0.05, 0.03},
                                  {-0.06, 0.0},
                                  {-0.04, -0.02},
                                  {-0.02, -0.005},
                                  {0.0, 0.0},
                                  {0.02, -0.005},
                                  {0.04, -0.02},
                                  {0.06, 0.0}},
                       .closed = true};
  const PointPair pair(ground(), lobes, "t");
  const PointGeometry left = pair.at(placed({0, 0.02, 0}, 0.01));
  const PointGeometry right = pair.at(placed({0, 0.02, 0}, -0.01));
  EXPECT_LT(left.p_AC.x(), -0.03);
  EXPECT_GT(right.p_AC.x(), 0.03);
  EXPECT_NEAR(left.gap, right.gap, 1e-12);
}

std::string rejection_error(const ProfileSurface& profile) {
  try {
    (void)checked_surface(profile, true, "contact.c.main.surface");
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ProfilePair, InvalidProfilesAreReported) {
  using testing::HasSubstr;
  EXPECT_EQ(rejection_error(circle(0.1, 8)), "accepted");
  EXPECT_THAT(rejection_error({.points = {{0, 0}, {1, 0}, {0, 1}}}), HasSubstr("at least 4 points"));
  EXPECT_THAT(rejection_error({.points = {{0, 0}, {1, 0}, {1, 0}, {0, 1}}}), HasSubstr("(1, 0) m twice"));
  EXPECT_THAT(rejection_error({.points = {{0, 0}, {1, 0}, {1, 1}, {0, 0}}, .closed = true}),
              HasSubstr("leave the last one out"));
  EXPECT_THAT(rejection_error({.points = {{0, 0}, {1, 0}, {1, 1}, {0, 0}}}), HasSubstr("closed: true"));
  EXPECT_THAT(rejection_error({.points = {{0, 0}, {1, 1}, {1, 0}, {0, 1}}}), HasSubstr("cross itself"));
  ProfileSurface clockwise = circle(0.1, 8);
  std::ranges::reverse(clockwise.points);
  EXPECT_THAT(rejection_error(clockwise), HasSubstr("reverse the order"));
  ProfileSurface flat = circle(0.1, 8);
  flat.width = -0.01;
  EXPECT_THAT(rejection_error(flat), HasSubstr("profile.width"));
}

TEST(ProfilePair, PosesOutOfThePlaneAreRejected) {
  ProfileSurface thin = circle(0.04, 32);
  thin.width = 0.02;
  ProfileSurface floor = ground();
  floor.width = 0.02;
  const PointPair pair(floor, thin, "t");
  const auto message = [&](PairState state) -> std::string {
    try {
      (void)pair.at(state);
    } catch (const RecoverableError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message(placed({0, 0.039, 0.015}, 0.3)), "accepted");
  EXPECT_THAT(message(placed({0, 0.039, 0.025}, 0.3)), testing::HasSubstr("lateral offset"));
  EXPECT_THAT(message(placed({0.5, 0.039, 0}, 0.3)), testing::HasSubstr("left the end"));
  EXPECT_THAT(message(placed({0, -0.02, 0}, 0.3)), testing::HasSubstr("deep"));
  PairState tilted = placed({0, 0.039, 0}, 0.0);
  tilted.X_AB.R = rotation_from_vector({0.02, 0, 0});
  EXPECT_THAT(message(tilted), testing::HasSubstr("tilted by 0.02 rad"));
}

TEST(ProfilePair, LawsWithOneRadiusAreRejected) {
  PairSpec pair;
  pair.name = "example";
  pair.backend = "hertz";
  pair.main.surface = ground();
  pair.partner.surface = circle(0.04, 32);
  EXPECT_THROW((void)make_example(pair), Error);
  pair.parameters = {{"stiffness", 1e6}, {"friction", 0.1}};
  EXPECT_THROW((void)make_example(pair), Error);
}

}  // namespace
}  // namespace heelstrike::fem
