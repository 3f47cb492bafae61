#include "common/spatial/wrap_surface.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "common/errors/error.hpp"

namespace heelstrike {
namespace {

using Vector5 = Eigen::Matrix<double, 5, 1>;
using Matrix5 = Eigen::Matrix<double, 5, 5>;
using Matrix5x6 = Eigen::Matrix<double, 5, 6>;
using Matrix63 = Eigen::Matrix<double, 6, 3>;

Vector3 curvatures(const WrapShape& shape) {
  return shape.radii.array().square().inverse().matrix();
}

/// A point that moves along a geodesic with unit speed, and its dependence on initial position and direction.
struct Flow {
  Vector3 x, t;
  Matrix6 by_start;  ///< d(x, t)/d(x0, t0)
};

/// Geodesics of x'Dx = 1: the acceleration is normal to the surface and keeps the point on it,
///   x'' = -(t'Dt) / (x'D^2x) Dx.
class GeodesicFlow {
 public:
  explicit GeodesicFlow(Vector3 d) : d_(std::move(d)) {}

  [[nodiscard]] Vector3 acceleration(const Vector3& x, const Vector3& t) const {
    const Vector3 Dx = d_.cwiseProduct(x);
    return -t.dot(d_.cwiseProduct(t)) / Dx.squaredNorm() * Dx;
  }

  /// Runge-Kutta method of fourth order, with the derivatives of its steps.
  [[nodiscard]] Flow run(const Vector3& x0, const Vector3& t0, double arc, int steps) const {
    Flow flow{x0, t0, Matrix6::Identity()};
    const double h = arc / steps;
    for (int i = 0; i < steps; ++i) {
      const Flow k1 = rate(flow);
      const Flow k2 = rate(moved(flow, k1, 0.5 * h));
      const Flow k3 = rate(moved(flow, k2, 0.5 * h));
      const Flow k4 = rate(moved(flow, k3, h));
      flow = moved(moved(moved(moved(flow, k1, h / 6.0), k2, h / 3.0), k3, h / 3.0), k4, h / 6.0);
    }
    return flow;
  }

 private:
  [[nodiscard]] Flow rate(const Flow& at) const {
    const Vector3 Dx = d_.cwiseProduct(at.x);
    const Vector3 Dt = d_.cwiseProduct(at.t);
    const double a = at.t.dot(Dt);
    const double b = Dx.squaredNorm();
    const Matrix3 by_x = -a / b * Matrix3(d_.asDiagonal()) + 2.0 * a / (b * b) * Dx * d_.cwiseProduct(Dx).transpose();
    const Matrix3 by_t = -2.0 / b * Dx * Dt.transpose();
    Flow k{at.t, -a / b * Dx, {}};
    k.by_start.topRows<3>() = at.by_start.bottomRows<3>();
    k.by_start.bottomRows<3>() = by_x * at.by_start.topRows<3>() + by_t * at.by_start.bottomRows<3>();
    return k;
  }
  [[nodiscard]] static Flow moved(const Flow& at, const Flow& k, double h) {
    return {at.x + h * k.x, at.t + h * k.t, at.by_start + h * k.by_start};
  }

  Vector3 d_;
};

/// Unknowns of the line: first tangent point, arc length on the surface, and length of the straight part to the second
/// end.
struct Unknowns {
  Vector3 P;
  double arc = 0.0;
  double rest = 0.0;
};

/// Five equations for the five unknowns: P lies on the surface, the line from y1 is tangent there (P lies in the polar
/// plane of y1), and the tangent at the end of the geodesic passes through y2.
struct Equations {
  Vector5 residual;
  Matrix5 jacobian;
  Matrix5x6 by_ends;
  Vector3 t0;           ///< direction of the first straight part
  double before = 0.0;  ///< its length
  Flow end;
  Vector3 bend;     ///< curvature vector at the end of the geodesic
  Matrix3 dt0_dP;   ///< dt0/dP = -dt0/dy1
  Matrix63 end_P;   ///< d(x, t)/dP at the end
  Matrix63 end_y1;  ///< d(x, t)/dy1
};

Equations equations(const Vector3& d, const Vector3& y1, const Vector3& y2, const Unknowns& u, int steps) {
  Equations e;
  const GeodesicFlow flow(d);
  e.before = (u.P - y1).norm();
  e.t0 = (u.P - y1) / e.before;
  e.end = flow.run(u.P, e.t0, u.arc, steps);
  e.bend = flow.acceleration(e.end.x, e.end.t);
  e.dt0_dP = (Matrix3::Identity() - e.t0 * e.t0.transpose()) / e.before;
  e.end_y1 = -e.end.by_start.rightCols<3>() * e.dt0_dP;
  e.end_P = e.end.by_start.leftCols<3>() - e.end_y1;
  const Vector3 DP = d.cwiseProduct(u.P);
  const Vector3 Dy1 = d.cwiseProduct(y1);
  e.residual << u.P.dot(DP) - 1.0, 1.0 - y1.dot(DP), e.end.x + u.rest * e.end.t - y2;
  e.jacobian.setZero();
  e.jacobian.block<1, 3>(0, 0) = 2.0 * DP.transpose();
  e.jacobian.block<1, 3>(1, 0) = -Dy1.transpose();
  e.jacobian.block<3, 3>(2, 0) = e.end_P.topRows<3>() + u.rest * e.end_P.bottomRows<3>();
  e.jacobian.block<3, 1>(2, 3) = e.end.t + u.rest * e.bend;
  e.jacobian.block<3, 1>(2, 4) = e.end.t;
  e.by_ends.setZero();
  e.by_ends.block<1, 3>(1, 0) = -DP.transpose();
  e.by_ends.block<3, 3>(2, 0) = e.end_y1.topRows<3>() + u.rest * e.end_y1.bottomRows<3>();
  e.by_ends.block<3, 3>(2, 3) = -Matrix3::Identity();
  return e;
}

Unknowns moved(Unknowns u, const Vector5& step) {
  u.P += step.head<3>();
  u.arc += step[3];
  u.rest += step[4];
  return u;
}

/// Newton's method with a line search on the residual.
std::optional<Unknowns> solved(const Vector3& d, const Vector3& y1, const Vector3& y2, Unknowns u, int steps) {
  // Lengths are of order one here. Rounding over some hundred steps of the geodesic amounts to about 1e-14.
  constexpr double tolerance = 1e-12;
  Equations e = equations(d, y1, y2, u, steps);
  for (int iteration = 0; iteration < 60; ++iteration) {
    const double before = e.residual.norm();
    const Vector5 step = -e.jacobian.fullPivLu().solve(e.residual);
    if (!step.allFinite()) return std::nullopt;
    double fraction = 1.0;
    for (;; fraction *= 0.5) {
      const Unknowns trial = moved(u, fraction * step);
      Equations there = equations(d, y1, y2, trial, steps);
      if (there.residual.norm() < before || (before < tolerance && fraction == 1.0)) {
        u = trial;
        e = std::move(there);
        break;
      }
      // The residual no longer decreases: near convergence because of rounding, otherwise the iteration failed.
      if (fraction < 1e-4) return before < 1e-9 ? std::optional(u) : std::nullopt;
    }
    if (before < tolerance) return u;
  }
  return std::nullopt;
}

/// The line over the unit sphere to which division of each axis by its radius maps the shape. Straight lines and
/// tangents are preserved; the arc lies in the plane of the ends and the centre. It approximates a geodesic of an
/// ellipsoid and is exact for a sphere and a cylinder.
struct PlaneArc {
  Vector3 P, Q;        ///< tangent points, scaled back
  double angle = 0.0;  ///< of the arc on the sphere, <= 0 where the line is straight
};

bool is_cylinder(const WrapShape& shape) {
  return !shape.radii.allFinite();
}

/// The point of the straight line next to the centre, where the shape is the unit sphere, and whether it is between the
/// ends and inside.
struct Nearest {
  Vector3 z;
  bool crosses = false;
};
Nearest nearest_to_center(const Vector3& z1, const Vector3& z2) {
  const Vector3 along = z2 - z1;
  const double t = -z1.dot(along) / along.squaredNorm();
  const Vector3 z = z1 + t * along;
  return {.z = z, .crosses = t > 0.0 && t < 1.0 && z.norm() < 1.0};
}

/// True if `side` lets a line pass on the longer way. A sphere or an ellipsoid: if the middle of the shorter one is on
/// the other side. A cylinder, as in OpenSim: a line that crosses it has its tangent points on that side, the first
/// before the last; one beside it is held if both ends, or one of them and the point next to the axis, are on the other
/// side.
bool goes_far(const WrapShape& shape, const Vector3& z1, const Vector3& z2, const PlaneArc& near, const PlaneArc& far) {
  if (shape.side.isZero(0.0)) return false;
  const auto is_active = [&](const Vector3& z) { return shape.side.dot(z) >= 0.0; };
  if (!is_cylinder(shape)) return !is_active(near.P + near.Q);
  const Nearest nearest = nearest_to_center(z1, z2);
  if (!nearest.crosses) {
    return is_active(z1) == is_active(z2) ? !is_active(z1) : !is_active(nearest.z);
  }
  if (is_active(near.P) != is_active(far.P)) return is_active(far.P);
  return !is_active(near.Q) && is_active(far.Q);
}

PlaneArc on_unit_sphere(const WrapShape& shape, const Vector3& y1, const Vector3& y2) {
  // For a cylinder the axial coordinate is divided by infinity, which leaves its circle.
  const Vector3 z1 = y1.cwiseQuotient(shape.radii);
  const Vector3 z2 = y2.cwiseQuotient(shape.radii);
  const double r1 = z1.norm();
  const double r2 = z2.norm();
  const Vector3 e1 = z1 / r1;
  Vector3 across = z2 - z2.dot(e1) * e1;
  // Ends on opposite sides of the centre do not determine the plane: `side` does, or else an axis not parallel to them.
  if (across.norm() < 1e-12 * r2) {
    Vector3 other = shape.side;
    if (!(other.cross(e1).norm() > 0.0)) other = std::abs(e1.x()) < 0.9 ? Vector3::UnitX() : Vector3::UnitY();
    across = other - other.dot(e1) * e1;
  }
  const Vector3 e2 = across.normalized();
  const double theta = std::abs(std::atan2(z2.dot(e2), z2.dot(e1)));
  const double a1 = std::acos(std::min(1.0, 1.0 / r1));
  const double a2 = std::acos(std::min(1.0, 1.0 / r2));
  const auto arc = [&](double turn, const Vector3& e) {
    return PlaneArc{.P = std::cos(a1) * e1 + std::sin(a1) * e,
                    .Q = std::cos(turn - a2) * e1 + std::sin(turn - a2) * e,
                    .angle = turn - a1 - a2};
  };
  const PlaneArc near = arc(theta, e2);
  const PlaneArc far = arc(2.0 * std::numbers::pi - theta, -e2);
  return goes_far(shape, z1, z2, near, far) ? far : near;
}

/// Initial guess of the unknowns, in units of `unit`.
Unknowns first_guess(const WrapShape& shape, const PlaneArc& start, const Vector3& y1, const Vector3& y2) {
  Vector3 P, Q;
  for (int i = 0; i < 3; ++i) {
    P[i] = std::isfinite(shape.radii[i]) ? start.P[i] * shape.radii[i] : 0.0;
    Q[i] = std::isfinite(shape.radii[i]) ? start.Q[i] * shape.radii[i] : 0.0;
  }
  // The arc of an ellipse is approximated by its chord and the ratio of arc to chord of the sphere.
  const double chord_ratio = start.angle > 1e-6 ? 0.5 * start.angle / std::sin(std::min(0.5 * start.angle, 1.5)) : 1.0;
  double arc = (Q - P).norm() * chord_ratio;
  for (int i = 0; i < 3; ++i) {
    if (std::isfinite(shape.radii[i])) continue;
    // On the developed cylinder the line is straight: its height is linear in the path length in the plane.
    const double radius = shape.radii[(i + 1) % 3];
    Vector3 flat1 = P - y1, flat2 = y2 - Q;
    flat1[i] = flat2[i] = 0.0;
    const double path_length = flat1.norm() + radius * start.angle + flat2.norm();
    const double rise = y2[i] - y1[i];
    P[i] = y1[i] + rise * flat1.norm() / path_length;
    Q[i] = y2[i] - rise * flat2.norm() / path_length;
    arc = radius * start.angle * std::hypot(path_length, rise) / path_length;
  }
  return {.P = P, .arc = arc, .rest = (y2 - Q).norm()};
}

/// Continuation for ends from which Newton's method does not converge: the surface is inflated from the inscribed
/// sphere, and the line follows. It begins as a straight line, for which every initial guess is exact.
std::optional<Unknowns> solved_by_inflation(const WrapShape& shape, const Vector3& y1, const Vector3& y2, int steps,
                                            int sizes) {
  const double smallest = shape.radii.minCoeff();
  std::optional<Unknowns> u;
  for (int k = 1; k <= sizes; ++k) {
    WrapShape small = shape;
    for (double& r : small.radii) {
      if (std::isfinite(r)) r = smallest + (r - smallest) * k / sizes;
    }
    const PlaneArc arc = on_unit_sphere(small, y1, y2);
    if (!u && !(arc.angle > 0.0)) continue;
    const Vector3 d = curvatures(small);
    if (u) u = solved(d, y1, y2, *u, steps);
    if (!u) u = solved(d, y1, y2, first_guess(small, arc, y1, y2), steps);
  }
  return u;
}

WrappedLine with_derivatives(const Vector3& d, const Vector3& y1, const Vector3& y2, const Unknowns& u, int steps,
                             double unit) {
  const Equations e = equations(d, y1, y2, u, steps);
  // Implicit function theorem: derivative of the unknowns by the ends.
  const Matrix5x6 du = -e.jacobian.fullPivLu().solve(e.by_ends);
  WrappedLine line;
  line.touches = true;
  line.length = unit * (e.before + u.arc + u.rest);
  line.first = unit * u.P;
  line.last = unit * e.end.x;
  // A motion of the line on the surface does not change the shortest length to first order; only the ends contribute.
  line.gradient << -e.t0, e.end.t;
  Eigen::Matrix<double, 3, 6> dt0 = e.dt0_dP * du.topRows<3>();
  dt0.leftCols<3>() -= e.dt0_dP;
  Eigen::Matrix<double, 3, 6> dt = e.end_P.bottomRows<3>() * du.topRows<3>() + e.bend * du.row(3);
  dt.leftCols<3>() += e.end_y1.bottomRows<3>();
  Matrix6 hessian;
  hessian << -dt0, dt;
  // Symmetric but for the error of the integration along the geodesic.
  line.hessian = (0.5 / unit) * (hessian + hessian.transpose());
  return line;
}

}  // namespace

double wrap_level(const WrapShape& shape, const Vector3& y) {
  return y.cwiseQuotient(shape.radii).norm();
}

namespace {

/// True if the straight line between two points outside passes through the shape.
bool crosses(const WrapShape& shape, const Vector3& y1, const Vector3& y2) {
  return nearest_to_center(y1.cwiseQuotient(shape.radii), y2.cwiseQuotient(shape.radii)).crosses;
}

/// The plane arc over the sphere of a line that may touch; none for a straight line.
std::optional<PlaneArc> arc_over(const WrapShape& shape, const Vector3& y1, const Vector3& y2) {
  if (!(wrap_level(shape, y1) >= 1.0 && wrap_level(shape, y2) >= 1.0)) {
    if (shape.straight_inside) return std::nullopt;
    throw RecoverableError("an end of the line lies inside its wrap surface");
  }
  if (!is_cylinder(shape) && !crosses(shape, y1, y2)) return std::nullopt;
  const PlaneArc arc = on_unit_sphere(shape, y1, y2);
  return arc.angle > 0.0 ? std::optional(arc) : std::nullopt;
}

}  // namespace

bool must_wrap(const WrapShape& shape, const Vector3& y1, const Vector3& y2) {
  if (!crosses(shape, y1, y2)) return false;
  const bool is_sphere = shape.radii == Vector3::Constant(shape.radii.x());
  if (shape.side.isZero(0.0)) return !is_sphere;
  return !(is_sphere || is_cylinder(shape)) || shape.side.dot(y1) >= 0.0 || shape.side.dot(y2) >= 0.0;
}

bool may_touch(const WrapShape& shape, const Vector3& y1, const Vector3& y2) {
  return arc_over(shape, y1, y2).has_value();
}

namespace {

/// The line in units of the smallest radius; none if it is straight.
struct Solution {
  Unknowns u;
  Vector3 d, y1, y2;
  int steps = 0;
  double unit = 0.0;
};

std::optional<Solution> solution(const WrapShape& shape, const Vector3& y1, const Vector3& y2) {
  const auto arc = arc_over(shape, y1, y2);
  if (!arc) return std::nullopt;
  const PlaneArc& start = *arc;
  // In units of the smallest radius all numbers are near one.
  const double unit = shape.radii.minCoeff();
  const WrapShape scaled{.radii = shape.radii / unit, .side = shape.side};
  const Vector3 d = curvatures(scaled);
  const Unknowns guess = first_guess(scaled, start, y1 / unit, y2 / unit);
  // The error of fourth order, arc step^4 / 120 relative to the radius of curvature, is below 1e-8 for the arcs of a
  // sphere; along an ellipsoid the curvature changes faster by its ratio of radii.
  double largest = 1.0;
  for (int i = 0; i < 3; ++i) {
    if (std::isfinite(scaled.radii[i])) largest = std::max(largest, scaled.radii[i]);
  }
  const int steps = 8 + static_cast<int>(std::ceil(std::min(start.angle * std::min(largest, 8.0) / 0.03, 2000.0)));
  auto u = solved(d, y1 / unit, y2 / unit, guess, steps);
  for (const int sizes : {4, 16, 64}) {
    if (u && u->rest >= 0.0) break;
    u = solved_by_inflation(scaled, y1 / unit, y2 / unit, steps, sizes);
  }
  if (!u || u->rest < 0.0) throw RecoverableError("the shortest line over the wrap surface was not found");
  // The line over an ellipsoid may miss the surface although the plane arc touches it.
  if (u->arc <= 0.0) return std::nullopt;
  if (std::isfinite(shape.half_length)) {
    // On the developed cylinder the line is straight.
    const double first = u->P.z();
    const double last = first + (u->P - y1 / unit).normalized().z() * u->arc;
    if (std::min(std::abs(first), std::abs(last)) > shape.half_length / unit) return std::nullopt;
  }
  return Solution{.u = *u, .d = d, .y1 = y1 / unit, .y2 = y2 / unit, .steps = steps, .unit = unit};
}

}  // namespace

WrappedLine wrap(const WrapShape& shape, const Vector3& y1, const Vector3& y2) {
  const auto found = solution(shape, y1, y2);
  if (!found) return {};
  return with_derivatives(found->d, found->y1, found->y2, found->u, found->steps, found->unit);
}

std::vector<Vector3> wrapped_points(const WrapShape& shape, const Vector3& y1, const Vector3& y2, int between) {
  std::vector<Vector3> points = {y1};
  const auto found = solution(shape, y1, y2);
  for (int i = 0; i < between + 2; ++i) {
    if (!found) {
      points.emplace_back(y1 + (y2 - y1) * (i + 1) / (between + 3));
      continue;
    }
    const Vector3 t0 = (found->u.P - found->y1).normalized();
    const double arc = found->u.arc * i / (between + 1);
    points.emplace_back(found->unit * GeodesicFlow(found->d).run(found->u.P, t0, arc, found->steps).x);
  }
  points.push_back(y2);
  return points;
}

}  // namespace heelstrike
