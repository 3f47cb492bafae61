// Lines over smooth surfaces: lengths compared with closed forms, derivatives with differences, and the onset of
// lift-off.
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "common/spatial/wrap_surface.hpp"
#include "mbs_server/formulation/cartesian_coordinates.hpp"
#include "mbs_server/formulation/line_path.hpp"

namespace heelstrike::mbs {
namespace {

using Vector6 = Eigen::Matrix<double, 6, 1>;
constexpr double infinite = std::numeric_limits<double>::infinity();

struct Ends {
  Vector3 y1, y2;
};

/// Ends around a shape, most of them on different sides of it.
std::vector<Ends> some_ends(const WrapShape& shape, int n) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> u(-1.0, 1.0);
  std::vector<Ends> all;
  const double size = shape.radii.x();
  while (static_cast<int>(all.size()) < n) {
    const Ends ends{{-2.0 * size + 0.5 * size * u(random), size * u(random), size * u(random)},
                    {2.0 * size + 0.5 * size * u(random), size * u(random), size * u(random)}};
    if (wrap_level(shape, ends.y1) > 1.05 && wrap_level(shape, ends.y2) > 1.05) all.push_back(ends);
  }
  return all;
}

/// Two tangents and the arc of a circle, in its plane; <= 0 for the arc of a straight line.
struct Circle {
  double before, arc, after;
};
Circle around_circle(double r, double r1, double r2, double angle) {
  return {std::sqrt(r1 * r1 - r * r), r * (angle - std::acos(r / r1) - std::acos(r / r2)), std::sqrt(r2 * r2 - r * r)};
}

TEST(Wrapping, SphereFollowsItsClosedForm) {
  const WrapShape sphere{.radii = Vector3::Constant(0.03)};
  int wrapped = 0;
  for (const auto& [y1, y2] : some_ends(sphere, 200)) {
    const double angle = std::atan2(y1.cross(y2).norm(), y1.dot(y2));
    const Circle c = around_circle(0.03, y1.norm(), y2.norm(), angle);
    const auto line = wrap(sphere, y1, y2);
    ASSERT_EQ(line.touches, c.arc > 0.0);
    if (!line.touches) continue;
    ++wrapped;
    // The integration's own bound, see wrap().
    EXPECT_NEAR(line.length, c.before + c.arc + c.after, 1e-8 * 0.03);
    EXPECT_NEAR(line.first.norm(), 0.03, 1e-12);
    EXPECT_NEAR(line.last.norm(), 0.03, 1e-9);
  }
  EXPECT_GT(wrapped, 100);
}

// Unrolled, the path over a cylinder is a straight line.
TEST(Wrapping, CylinderFollowsItsClosedForm) {
  const WrapShape cylinder{.radii = {0.02, 0.02, infinite}};
  int wrapped = 0;
  for (const auto& [y1, y2] : some_ends(cylinder, 200)) {
    const Eigen::Vector2d a = y1.head<2>(), b = y2.head<2>();
    const double angle = std::atan2(std::abs(a.x() * b.y() - a.y() * b.x()), a.dot(b));
    const Circle c = around_circle(0.02, a.norm(), b.norm(), angle);
    const auto line = wrap(cylinder, y1, y2);
    ASSERT_EQ(line.touches, c.arc > 0.0);
    if (!line.touches) continue;
    ++wrapped;
    EXPECT_NEAR(line.length, std::hypot(c.before + c.arc + c.after, y2.z() - y1.z()), 1e-8 * 0.02);
  }
  EXPECT_GT(wrapped, 100);
}

// A line that reaches and leaves a cylinder beyond its ends passes it, as in OpenSim; one of both within is enough.
TEST(Wrapping, CylinderHasFiniteLength) {
  const double h = 0.05;
  const auto path = [&](double z1, double z2) {
    return wrap({.radii = {0.02, 0.02, infinite}, .half_length = h}, {-0.04, 0.001, z1}, {0.04, 0.001, z2}).touches;
  };
  EXPECT_TRUE(path(0.0, 0.0));
  EXPECT_TRUE(path(-0.9 * h, -0.9 * h));
  EXPECT_FALSE(path(1.1 * h, 1.1 * h));
  EXPECT_FALSE(path(-1.1 * h, -1.1 * h));
  EXPECT_TRUE(path(0.6 * h, 1.5 * h));
  // Between both points on the surface, but not at either.
  EXPECT_FALSE(path(-9.0 * h, 9.0 * h));
}

// In a plane of symmetry the path over an ellipsoid is an arc of that ellipse, whose length is an integral.
TEST(Wrapping, EllipsoidEqualsTheArcOfItsEllipse) {
  const WrapShape egg{.radii = {0.03, 0.018, 0.012}};
  const Vector3 y1(-0.04, 0.004, 0.0), y2(0.035, 0.002, 0.0);
  const auto line = wrap(egg, y1, y2);
  ASSERT_TRUE(line.touches);
  const auto parameter = [&](const Vector3& P) { return std::atan2(P.y() / 0.018, P.x() / 0.03); };
  const double begin = parameter(line.last), end = parameter(line.first);
  double arc = 0.0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double phi = begin + (end - begin) * (i + 0.5) / n;
    arc += std::hypot(0.03 * std::sin(phi), 0.018 * std::cos(phi)) * (end - begin) / n;
  }
  // The straight parts are tangential: normal (x / a^2, y / b^2) at right angles to them.
  const auto touch = [&](const Vector3& P, const Vector3& y) {
    return (P - y).normalized().dot(P.cwiseQuotient(egg.radii.cwiseAbs2()).normalized());
  };
  EXPECT_NEAR(touch(line.first, y1), 0.0, 1e-9);
  EXPECT_NEAR(touch(line.last, y2), 0.0, 1e-7);
  EXPECT_NEAR(line.length, (line.first - y1).norm() + arc + (line.last - y2).norm(), 1e-8 * 0.03);
}

TEST(Wrapping, DerivativesEqualDifferences) {
  for (const Vector3& radii : {Vector3(0.03, 0.03, 0.03), Vector3(0.03, 0.03, infinite), Vector3(0.03, 0.018, 0.012),
                               Vector3(0.02, 0.05, 0.03)}) {
    const WrapShape shape{.radii = radii};
    for (const auto& [y1, y2] : some_ends(shape, 20)) {
      const auto line = wrap(shape, y1, y2);
      if (!line.touches) continue;
      EXPECT_NEAR(line.gradient.head<3>().norm(), 1.0, 1e-7);
      const double h = 1e-5 * 0.03;
      for (int i = 0; i < 6; ++i) {
        Vector6 plus, minus;
        plus << y1, y2;
        minus = plus;
        plus[i] += h;
        minus[i] -= h;
        const auto a = wrap(shape, plus.head<3>(), plus.tail<3>());
        const auto b = wrap(shape, minus.head<3>(), minus.tail<3>());
        if (!a.touches || !b.touches) continue;
        // Errors of h^2 relative to the length, of rounding over h, and of the integration.
        EXPECT_NEAR(line.gradient[i], (a.length - b.length) / (2.0 * h), 1e-6);
        EXPECT_LT((line.hessian.col(i) - (a.gradient - b.gradient) / (2.0 * h)).norm() * 0.03, 1e-5);
      }
    }
  }
}

// Length and force are continuous where a line lifts off: just before, its excess over the straight line is of second
// order in the depth, and its direction of first.
TEST(Wrapping, LiftsOffContinuously) {
  for (const Vector3& radii : {Vector3(0.03, 0.03, 0.03), Vector3(0.03, 0.03, infinite), Vector3(0.05, 0.03, 0.02)}) {
    const WrapShape shape{.radii = radii};
    for (const double depth : {1e-4, 1e-5, 1e-6}) {
      const Vector3 y1(-0.08, 0.03 * (1.0 - depth), 0.0), y2(0.09, 0.03 * (1.0 - depth), 0.0);
      const auto line = wrap(shape, y1, y2);
      ASSERT_TRUE(line.touches);
      const Vector3 u = (y2 - y1).normalized();
      EXPECT_LT(std::abs(line.length - (y2 - y1).norm()), 2e-9 * 0.03 + 10.0 * 0.03 * depth * depth);
      EXPECT_LT((line.gradient.tail<3>() - u).norm(), 10.0 * depth);
      EXPECT_FALSE(wrap(shape, {-0.08, 0.0301, 0.001}, {0.09, 0.0301, -0.001}).touches);
    }
  }
}

TEST(Wrapping, SideSelectsTheDirection) {
  const Vector3 y1(-0.08, -0.01, 0.0), y2(0.08, -0.01, 0.0);
  const WrapShape below{.radii = {0.03, 0.03, infinite}};
  const WrapShape above{.radii = {0.03, 0.03, infinite}, .side = Vector3::UnitY()};
  EXPECT_LT(wrap(below, y1, y2).first.y(), 0.0);
  EXPECT_GT(wrap(above, y1, y2).first.y(), 0.0);
  EXPECT_GT(wrap(above, y1, y2).length, wrap(below, y1, y2).length);
  // Beyond the surface on the other side the line is supported by it, on its own side it is free.
  EXPECT_TRUE(wrap(above, {-0.08, -0.05, 0.0}, {0.08, -0.05, 0.0}).touches);
  EXPECT_FALSE(wrap(above, {-0.08, 0.05, 0.0}, {0.08, 0.05, 0.0}).touches);
}

// Slender shapes and ends all around them: a line is found for every pair, and never one shorter than the straight
// line.
TEST(Wrapping, FindsALineForAllEndPoints) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> u(-1.0, 1.0);
  const auto point = [&](double size) { return Vector3(size * u(random), size * u(random), size * u(random)); };
  for (const Vector3& radii : {Vector3(0.3, 0.2, 0.15), Vector3(0.139, 0.028, 0.023)}) {
    const WrapShape shape{.radii = radii};
    int wrapped = 0;
    for (int i = 0; i < 2000; ++i) {
      const Vector3 y1 = point(2.5 * radii.x()), y2 = point(2.5 * radii.x());
      if (wrap_level(shape, y1) < 1.02 || wrap_level(shape, y2) < 1.02) continue;
      const auto line = wrap(shape, y1, y2);
      if (!line.touches) continue;
      ++wrapped;
      EXPECT_GE(line.length, (y2 - y1).norm() - 1e-8);
    }
    EXPECT_GT(wrapped, 50);
  }
}

// Drawn lines: chords of a curve on the surface, which converge to its length with the square of their number.
TEST(Wrapping, PointsOnTheLineFollowIt) {
  const Vector3 y1(-0.08, 0.004, 0.003), y2(0.09, 0.001, -0.004);
  for (const Vector3& radii : {Vector3(0.03, 0.03, 0.03), Vector3(0.03, 0.03, infinite), Vector3(0.03, 0.018, 0.012)}) {
    const WrapShape shape{.radii = radii};
    const auto line = wrap(shape, y1, y2);
    ASSERT_TRUE(line.touches);
    const auto missing = [&](int between) {
      const auto points = wrapped_points(shape, y1, y2, between);
      EXPECT_EQ(points.size(), static_cast<std::size_t>(between) + 4);
      EXPECT_TRUE(points.front() == y1 && points.back() == y2);
      EXPECT_LT((points[1] - line.first).norm() + (points[points.size() - 2] - line.last).norm(), 1e-12);
      double chords = 0.0;
      for (std::size_t k = 0; k + 1 < points.size(); ++k) {
        chords += (points[k + 1] - points[k]).norm();
        const double outside = wrap_level(shape, points[std::max<std::size_t>(k, 1)]);
        EXPECT_NEAR(outside, 1.0, 1e-7);
      }
      return line.length - chords;
    };
    const double ratio = missing(9) / missing(19);
    EXPECT_NEAR(ratio, 4.0, 0.2) << "order 2";
  }
  const auto straight = wrapped_points({.radii = Vector3::Constant(0.03)}, {-0.08, 0.05, 0.0}, {0.08, 0.05, 0.0}, 2);
  ASSERT_EQ(straight.size(), 6u);
  EXPECT_NEAR(straight[2].x(), -0.08 + 2.0 * 0.16 / 5.0, 1e-15);
}

TEST(Wrapping, EndPointInsideIsRejected) {
  EXPECT_THROW((void)wrap({.radii = Vector3::Constant(0.03)}, {0.01, 0.0, 0.0}, {0.1, 0.0, 0.0}), RecoverableError);
}

TEST(Wrapping, EndPointInsideIsStraightOnRequest) {
  const WrapShape shape{.radii = Vector3::Constant(0.03), .straight_inside = true};
  const Vector3 end(-0.1, 0.001, 0.0);
  EXPECT_FALSE(wrap(shape, {0.0299, 0.0, 0.0}, end).touches);
  EXPECT_TRUE(wrap(shape, {0.0301, 0.0, 0.0}, end).touches);
  const auto points = wrapped_points(shape, {0.01, 0.0, 0.0}, end, 2);
  ASSERT_EQ(points.size(), 6u);
  EXPECT_NEAR(points[1].x(), 0.01 - 0.11 / 5.0, 1e-15);
}

// On a spheroid x = a cos(b), z = c sin(b) the product of the distance from the axis and the sine of the angle to the
// meridian is constant (Clairaut), k; length and longitude between two latitudes are integrals. With the substitution
// sin(b) = A sin(w), A^2 = 1 - (k / a)^2, the integrand ds/dw = sqrt(a^2 sin(b)^2 + c^2 cos(b)^2) is smooth.
TEST(Wrapping, SpheroidFollowsItsClosedForm) {
  const double a = 0.03, c = 0.05;
  const WrapShape egg{.radii = {a, a, c}};
  const Vector3 y1(-0.05, 0.012, -0.03), y2(0.045, 0.02, 0.04);
  const auto line = wrap(egg, y1, y2);
  ASSERT_TRUE(line.touches);
  const auto clairaut = [](const Vector3& x, const Vector3& t) { return x.x() * t.y() - x.y() * t.x(); };
  const double k = clairaut(line.first, -line.gradient.head<3>());
  EXPECT_NEAR(clairaut(line.last, line.gradient.tail<3>()), k, 1e-9);
  const double amplitude = std::sqrt(1.0 - k * k / (a * a));
  const auto w_of = [&](const Vector3& P) { return std::asin(P.z() / c / amplitude); };
  const double from = w_of(line.first), to = w_of(line.last);
  double arc = 0.0, longitude = 0.0;
  const int n = 20000;
  for (int i = 0; i < n; ++i) {
    const double sine = amplitude * std::sin(from + (to - from) * (i + 0.5) / n);
    const double ds = std::sqrt(a * a * sine * sine + c * c * (1.0 - sine * sine)) * (to - from) / n;
    arc += ds;
    longitude += std::abs(k) * ds / (a * a * (1.0 - sine * sine));
  }
  const double turned = std::atan2(std::abs(line.first.x() * line.last.y() - line.first.y() * line.last.x()),
                                   line.first.head<2>().dot(line.last.head<2>()));
  EXPECT_NEAR(longitude, turned, 1e-8);
  EXPECT_NEAR(line.length, (line.first - y1).norm() + arc + (line.last - y2).norm(), 1e-8 * a);
}

const WrapShape cylinder_of_3_cm{.radii = {0.03, 0.03, infinite}};

MovingPoint fixed(const Vector3& p, std::vector<std::size_t> wraps = {}) {
  return {.point = {.body = ground, .p_BP = p, .wrap = {}}, .wraps = std::move(wraps)};
}

PathWrap on_ground(const WrapShape& shape, const Vector3& p = Vector3::Zero(), bool one_segment = false) {
  return {.body = ground, .X_BS = {.R = Matrix3::Identity(), .p = p}, .shape = shape, .one_segment = one_segment};
}

double length_of(std::vector<MovingPoint> points, std::vector<PathWrap> surfaces) {
  const MovingPath path(std::move(points), std::move(surfaces));
  PathLength length;
  path.at(Eigen::VectorXd(), false, length);
  return length.length;
}

// Both the second and the third segment cross. OpenSim lets the first of them wrap over a cylinder, and over a sphere
// the one that becomes longer by less, here the one farther from the centre.
TEST(Wrapping, OnRequestOneSegmentWraps) {
  const std::array<Vector3, 4> p = {{{0.0, 0.1, 0.1}, {-0.1, 0.001, 0.0}, {0.1, 0.001, 0.0}, {-0.1, 0.01, 0.0}}};
  for (const bool is_sphere : {true, false}) {
    const WrapShape shape = is_sphere ? WrapShape{.radii = Vector3::Constant(0.03)} : cylinder_of_3_cm;
    const auto length_with = [&](bool one_segment) {
      return length_of({fixed(p[0], {0}), fixed(p[1], {0}), fixed(p[2], {0}), fixed(p[3])},
                       {on_ground(shape, Vector3::Zero(), one_segment)});
    };
    const double lead = (p[1] - p[0]).norm();
    const double first = wrap(shape, p[1], p[2]).length, second = wrap(shape, p[2], p[3]).length;
    EXPECT_NEAR(length_with(false), lead + first + second, 1e-15);
    EXPECT_NEAR(length_with(true),
                is_sphere ? lead + (p[2] - p[1]).norm() + second : lead + first + (p[3] - p[2]).norm(), 1e-15);
  }
}

// Both segments pass the cylinder on the wrong side without crossing it, and the second becomes longer by less.
TEST(Wrapping, OfSegmentsBesideACylinderTheOneWithTheLeastIncreaseWraps) {
  WrapShape above = cylinder_of_3_cm;
  above.side = Vector3::UnitY();
  const std::array<Vector3, 3> p = {{{-0.1, -0.08, 0.0}, {0.1, -0.08, 0.0}, {-0.1, -0.031, 0.0}}};
  const double first = wrap(above, p[0], p[1]).length, second = wrap(above, p[1], p[2]).length;
  ASSERT_LT(second - (p[2] - p[1]).norm(), first - (p[1] - p[0]).norm());
  EXPECT_NEAR(length_of({fixed(p[0], {0}), fixed(p[1], {0}), fixed(p[2])}, {on_ground(above, Vector3::Zero(), true)}),
              (p[1] - p[0]).norm() + second, 1e-15);
}

// One segment over two parallel cylinders: in their plane two tangents, two arcs and the common tangent of both
// circles, whose angle to the line of centres has the sine (r2 - r1) / d; unrolled, the path is straight along the
// axes.
TEST(Wrapping, TwoCylindersFollowTheirClosedForm) {
  const double r1 = 0.03, r2 = 0.02, d = 0.09;
  const Vector3 y1(-0.05, -0.02, 0.01), y2(0.16, -0.03, -0.02);
  const double tilt = std::asin((r2 - r1) / d);
  // Angles of the tangent points about the centres, from the x axis; both circles are passed above.
  const double common = std::numbers::pi / 2.0 + tilt;
  const double first = std::atan2(y1.y(), y1.x()) + 2.0 * std::numbers::pi - std::acos(r1 / y1.head<2>().norm());
  const Eigen::Vector2d b = y2.head<2>() - Eigen::Vector2d(d, 0.0);
  const double last = std::atan2(b.y(), b.x()) + std::acos(r2 / b.norm());
  const double flat = std::sqrt(y1.head<2>().squaredNorm() - r1 * r1) + r1 * (first - common) +
                      std::sqrt(d * d - (r2 - r1) * (r2 - r1)) + r2 * (common - last) +
                      std::sqrt(b.squaredNorm() - r2 * r2);
  ASSERT_GT(first, common);
  ASSERT_GT(common, last);
  const Vector3 above = Vector3::UnitY();
  const std::vector<PathWrap> surfaces = {on_ground({.radii = {r1, r1, infinite}, .side = above}),
                                          on_ground({.radii = {r2, r2, infinite}, .side = above}, {d, 0.0, 0.0})};
  EXPECT_NEAR(length_of({fixed(y1, {0, 1}), fixed(y2)}, surfaces), std::hypot(flat, y2.z() - y1.z()), 1e-8 * r1);
  // In either order: the surfaces take the place along the path that they have in space.
  EXPECT_NEAR(length_of({fixed(y1, {0, 1}), fixed(y2)}, {surfaces[1], surfaces[0]}), std::hypot(flat, y2.z() - y1.z()),
              1e-8 * r1);
}

// An ellipsoid in the ground and a sphere in a body, in one segment from the ground to the body.
TEST(Wrapping, DerivativesOverTwoSurfacesEqualDifferences) {
  PathWrap ball = on_ground({.radii = Vector3::Constant(0.02)}, {0.0, -0.025, 0.0});
  ball.body = 0;
  MovingPoint end = fixed({0.07, -0.03, 0.01});
  end.point.body = 0;
  const PathWrap ellipsoid = on_ground({.radii = {0.03, 0.025, 0.04}});
  const MovingPath path({fixed({-0.07, -0.02, 0.0}, {0, 1}), end}, {ellipsoid, ball});
  const Matrix3 R = Eigen::AngleAxisd(0.3, Vector3(0.2, 1.0, 0.4).normalized()).toRotationMatrix();
  const auto moved = [&](int direction, double by) -> Vector12 {
    const Vector3 e = Vector3::Unit(direction % 3);
    const Vector3 p(0.08, 0.01, 0.005);
    if (direction < 3) return coordinates_from_pose({.R = R, .p = p + by * e});
    return coordinates_from_pose({.R = Eigen::AngleAxisd(by, e).toRotationMatrix() * R, .p = p});
  };
  const Vector12 q0 = moved(0, 0.0);
  PathLength at, plus, minus;
  path.at(q0, true, at);
  ASSERT_EQ(path.coordinates().size(), 12U);
  for (const PathWrap& surface : {ellipsoid, ball}) {
    MovingPath({fixed({-0.07, -0.02, 0.0}, {0}), end}, {surface}).at(q0, false, plus);
    EXPECT_GT(at.length, plus.length + 1e-4) << "both surfaces bend the path";
  }
  // Along rigid motions: where a junction is on its line has no effect on them, but on derivatives by axes that change
  // their lengths, which the constraints of the body prevent.
  const double h = 1e-4;
  for (int direction = 0; direction < 6; ++direction) {
    const Vector12 q_plus = moved(direction, h), q_minus = moved(direction, -h);
    path.at(q_plus, false, plus);
    path.at(q_minus, false, minus);
    const Vector12 by_s = (q_plus - q_minus) / (2.0 * h), by_ss = (q_plus - 2.0 * q0 + q_minus) / (h * h);
    // Errors of h^2, and of rounding over h^2.
    EXPECT_NEAR(at.gradient.dot(by_s), (plus.length - minus.length) / (2.0 * h), 1e-5) << direction;
    EXPECT_NEAR(by_s.dot(at.hessian * by_s) + at.gradient.dot(by_ss),
                (plus.length - 2.0 * at.length + minus.length) / (h * h), 1e-4 * at.hessian.norm())
        << direction;
  }
}

// Lines that pass two surfaces almost centrally, where some stationary lines are no minima and slip off.
TEST(Wrapping, FindsALineOverTwoSurfacesForAllPoses) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> u(-1.0, 1.0);
  const PathWrap ellipsoid = on_ground({.radii = {0.03, 0.025, 0.04}, .straight_inside = true});
  int over_both = 0;
  for (int i = 0; i < 500; ++i) {
    const PathWrap ball = on_ground({.radii = Vector3::Constant(0.02), .straight_inside = true},
                                    {0.08 + 0.02 * u(random), 0.02 * u(random), 0.02 * u(random)});
    const Vector3 from(-0.07, 0.02 * u(random), 0.02 * u(random)), to(0.16, 0.02 * u(random), 0.02 * u(random));
    const double length = length_of({fixed(from, {0, 1}), fixed(to)}, {ellipsoid, ball});
    EXPECT_GE(length, (to - from).norm()) << i;
    const double over_ball = length_of({fixed(from, {0}), fixed(to)}, {ball});
    const double over_ellipsoid = length_of({fixed(from, {0}), fixed(to)}, {ellipsoid});
    over_both += length > over_ball + 1e-9 && length > over_ellipsoid + 1e-9 ? 1 : 0;
  }
  EXPECT_GT(over_both, 100);
}

}  // namespace
}  // namespace heelstrike::mbs
