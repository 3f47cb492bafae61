#include "fem_server/surfaces/point_pair.hpp"

#include <fmt/format.h>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/errors/error.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/sphere.hpp"

namespace heelstrike::fem {

namespace {

void check_sphere(const SphereSurface& sphere, const std::string& where) {
  if (!std::isfinite(sphere.radius) || sphere.radius == 0.0 || !sphere.center.allFinite()) {
    throw input_error(where,
                      fmt::format("{}: expected a sphere with finite centre and radius [m], > 0 or < 0 for a socket; "
                                  "found radius {} m, centre ({}, {}, {}) m",
                                  where, sphere.radius, sphere.center.x(), sphere.center.y(), sphere.center.z()));
  }
}

/// A normal of unit length is returned unchanged, so that the function is idempotent to the bit.
Vector3 checked_normal(const Vector3& normal, const std::string& where) {
  const double norm = normal.norm();
  if (!(std::abs(norm - 1.0) <= 1e-6)) {
    throw input_error(where, fmt::format("{}: expected a plane normal of unit length, found ({}, {}, {}) of length {}; "
                                         "normalise it",
                                         where, normal.x(), normal.y(), normal.z(), norm));
  }
  return std::abs(norm - 1.0) <= 1e-14 ? normal : Vector3(normal / norm);
}

}  // namespace

PointPair::PointPair(const Surface& main, const Surface& partner, const std::string& where) {
  const auto sphere_A = SphereSurface::of(main);
  const auto sphere_B = SphereSurface::of(partner);
  const auto plane_A = PlaneSurface::of(main);
  const auto plane_B = PlaneSurface::of(partner);
  if (sphere_A) check_sphere(*sphere_A, where + ".main.surface.sphere");
  if (sphere_B) check_sphere(*sphere_B, where + ".partner.surface.sphere");
  if (sphere_A && plane_B) {
    kind_ = Kind::sphere_on_plane;
    center_A_ = sphere_A->center;
    radius_A_ = sphere_A->radius;
    read_plane(*plane_B, *sphere_A, where + ".partner.surface.plane");
  } else if (plane_A && sphere_B) {
    kind_ = Kind::plane_under_sphere;
    center_B_ = sphere_B->center;
    radius_B_ = sphere_B->radius;
    read_plane(*plane_A, *sphere_B, where + ".main.surface.plane");
  } else if (sphere_A && sphere_B) {
    read_spheres(*sphere_A, *sphere_B, where);
  } else if (main.kind == ProfileSurface::kind && partner.kind == ProfileSurface::kind) {
    kind_ = Kind::profiles;
    profiles_ = std::make_shared<ProfilePair>(*ProfileSurface::of(main), *ProfileSurface::of(partner));
  } else {
    throw input_error(
        where, fmt::format("{}: expected sphere-plane, plane-sphere, sphere-sphere or profile-profile, found {}-{}",
                           where, main.kind, partner.kind));
  }
}

void PointPair::read_plane(const PlaneSurface& plane, const SphereSurface& sphere, const std::string& where) {
  if (sphere.radius < 0.0) {
    throw input_error(where,
                      fmt::format("{}: expected a convex sphere (radius > 0 m) on a plane, found a socket of radius "
                                  "{} m; a socket needs a smaller sphere as its partner",
                                  where, sphere.radius));
  }
  if (!plane.point.allFinite()) {
    throw input_error(where, fmt::format("{}: expected a finite point of the plane [m], found ({}, {}, {})", where,
                                         plane.point.x(), plane.point.y(), plane.point.z()));
  }
  normal_ = checked_normal(plane.normal, where);
  point_ = plane.point;
  effective_radius_ = sphere.radius;
  max_penetration_ = sphere.radius;
}

void PointPair::read_spheres(const SphereSurface& main, const SphereSurface& partner, const std::string& where) {
  const double convex = std::max(main.radius, partner.radius);
  const double other = std::min(main.radius, partner.radius);
  if (convex < 0.0 || (other < 0.0 && -other <= convex)) {
    throw input_error(where,
                      fmt::format("{}: expected two convex spheres, or a socket (radius < 0) wider than the convex "
                                  "sphere in it; found radii {} m (main) and {} m (partner)",
                                  where, main.radius, partner.radius));
  }
  kind_ = Kind::spheres;
  center_A_ = main.center;
  center_B_ = partner.center;
  radius_A_ = main.radius;
  radius_B_ = partner.radius;
  // 1/R = 1/R_A + 1/R_B with signed radii, positive in a socket wider than the sphere in it.
  effective_radius_ = main.radius * partner.radius / (main.radius + partner.radius);
  max_penetration_ = other > 0.0 ? other : convex;
}

void PointPair::locate(const PairState& state, PointGeometry& g) const {
  const Pose& X = state.X_AB;
  switch (kind_) {
    case Kind::sphere_on_plane: {
      g.n_A = -(X.R * normal_);
      g.gap = g.n_A.dot(X * point_ - center_A_) - radius_A_;
      // The plane rotates with B: theta x n = -skew(n) theta. A translation of B does not change the normal.
      g.dn_dX.leftCols<3>() = -skew(g.n_A);
      // The contact point lies at the midpoint of the overlap or gap, symmetric in A and B.
      g.p_AC = center_A_ + (radius_A_ + 0.5 * g.gap) * g.n_A;
      break;
    }
    case Kind::plane_under_sphere: {
      const Vector3 center = X * center_B_;
      g.n_A = normal_;
      g.gap = g.n_A.dot(center - point_) - radius_B_;
      g.p_AC = center - (radius_B_ + 0.5 * g.gap) * g.n_A;
      break;
    }
    case Kind::spheres: {
      const Vector3 center = X * center_B_;
      const Vector3 arm = center - X.p;
      const Vector3 d = center - center_A_;
      const double distance = d.norm();
      // Inside a socket the normal points against the line of centres; one formula with signed radii serves both.
      const double sign = radius_A_ * radius_B_ > 0.0 ? 1.0 : -1.0;
      g.gap = sign * distance - (radius_A_ + radius_B_);
      if (distance > 1e-12 * max_penetration_) {
        g.n_A = (sign / distance) * d;
        // A change normal to the line of centres rotates the normal by that change over the distance.
        const Matrix3 dn = (sign / distance) * (Matrix3::Identity() - g.n_A * g.n_A.transpose());
        g.dn_dX << -dn * skew(arm), dn;
      } else {
        // Concentric in a socket, far from contact: all directions are equally close, and the direction of motion leads
        // to first contact.
        const Vector3 v = point_velocity(state.V_AB, arm);
        g.n_A = v.norm() > 0.0 ? Vector3(sign * v / v.norm()) : Vector3(Vector3::UnitZ());
      }
      g.p_AC = center_A_ + (radius_A_ + 0.5 * g.gap) * g.n_A;
      break;
    }
    case Kind::profiles:
      profiles_->locate(state, g);
      break;
  }
}

GapBound PointPair::gap_bound(const Pose& X_AB) const {
  if (kind_ == Kind::profiles) return {};
  GapBound bound{.known = true, .on_partner = kind_ == Kind::plane_under_sphere};
  bound.p_C = bound.on_partner ? center_B_ : center_A_;
  if (kind_ != Kind::spheres) {
    bound.normal = normal_;
    bound.flat = true;
  } else if (radius_A_ > 0.0 && radius_B_ > 0.0) {
    const Vector3 d = X_AB.R.transpose() * (center_A_ - X_AB.p) - center_B_;
    const double distance = d.norm();
    if (distance > max_penetration_) bound.normal = d / distance;
  }
  return bound;
}

PointGeometry PointPair::at(const PairState& state) const {
  PointGeometry g;
  g.effective_radius = effective_radius_;
  locate(state, g);
  if (kind_ != Kind::profiles && !(-g.gap <= max_penetration_)) {
    throw RecoverableError(
        fmt::format("too deep at t = {} s: penetration {} m, expected at most {} m (the radius of the "
                    "convex sphere); use a smaller step or a stiffer contact",
                    state.t, -g.gap, max_penetration_));
  }
  const Vector3 arm = g.p_AC - state.X_AB.p;
  const Vector3 v_C = point_velocity(state.V_AB, arm);
  g.gap_rate = g.n_A.dot(v_C);
  // The gap changes as the contact point of B moves along the normal, n . (theta x arm + u).
  g.dgap_dX << arm.cross(g.n_A).transpose(), g.n_A.transpose();

  if (kind_ == Kind::plane_under_sphere) {
    const Vector3 arm_center = state.X_AB.R * center_B_;
    g.dp_dX << -skew(arm_center), Matrix3::Identity();
    g.dp_dX -= 0.5 * g.n_A * g.dgap_dX;
  } else if (kind_ != Kind::profiles) {
    g.dp_dX = (radius_A_ + 0.5 * g.gap) * g.dn_dX + 0.5 * g.n_A * g.dgap_dX;
  }
  Matrix36 darm_dX = g.dp_dX;
  // The arm from Bo to the contact point: Bo itself moves with u.
  darm_dX.rightCols<3>() -= Matrix3::Identity();
  // d(n . v_C): the normal rotates, and the contact point moves on B, n . (w x darm) = (n x w) . darm.
  g.dgap_rate_dX = v_C.transpose() * g.dn_dX + g.n_A.cross(state.V_AB.w).transpose() * darm_dX;
  return g;
}

namespace {

/// [rad] Lengths of a profile projected to the plane of the other shrink by half the squared tilt, here 5e-5, which is
/// below the accuracy of profiles.
constexpr double max_tilt = 0.01;
/// Newton's method safeguarded by bisection: 60 halvings reduce the interval to rounding.
constexpr int halvings = 60;

[[noreturn]] void reject_pose(const PairState& state, const std::string& what) {
  throw RecoverableError(fmt::format("profiles at t = {} s: {}", state.t, what));
}

}  // namespace

ProfilePair::ProfilePair(const ProfileSurface& main, const ProfileSurface& partner)
    : A_(main.points, main.closed),
      B_(partner.points, partner.closed),
      axes_A_(main.axes()),
      axes_B_(partner.axes()),
      center_A_(main.center),
      center_B_(partner.center),
      reach_(0.5 * (main.width + partner.width)) {}

ProfilePair::FootPoints ProfilePair::contact_parameters_at(const Placed& B, double on_B) const {
  const Vector2 q = B.R * B_.at(on_B).p + B.p;
  FootPoints foot_points{.on_A = A_.closest(q), .on_B = on_B};
  const CurvePoint a = A_.at(foot_points.on_A);
  foot_points.gap = a.normal.dot(q - a.p);
  return foot_points;
}

/// d'(r) and d''(r): the normal of A rotates by the curvature of the level curve through the point.
double ProfilePair::rise(const Placed& B, const FootPoints& foot_points, double* slope) const {
  const CurvePoint a = A_.at(foot_points.on_A);
  const CurvePoint b = B_.at(foot_points.on_B);
  const Vector2 dp = B.R * b.dp;
  const double across = a.tangent.dot(dp);
  *slope = a.normal.dot(B.R * b.ddp) + a.curvature / (1.0 + a.curvature * foot_points.gap) * across * across;
  return a.normal.dot(dp);
}

ProfilePair::FootPoints ProfilePair::refined(const Placed& B, double low, double high) const {
  double slope = 0.0;
  FootPoints foot_points = contact_parameters_at(B, low);
  // Still decreasing outwards at an end of an open profile: the end is closest.
  if (rise(B, foot_points, &slope) >= 0.0) {
    foot_points.at_end = true;
    return foot_points;
  }
  foot_points = contact_parameters_at(B, high);
  if (rise(B, foot_points, &slope) <= 0.0) {
    foot_points.at_end = true;
    return foot_points;
  }
  double u = 0.5 * (low + high);
  for (int step = 0; step < halvings; ++step) {
    foot_points = contact_parameters_at(B, u);
    const double f = rise(B, foot_points, &slope);
    (f > 0.0 ? high : low) = u;
    double next = u - f / slope;
    if (!(slope > 0.0) || next < low || next > high) next = 0.5 * (low + high);
    if (std::abs(next - u) <= 4.0 * std::numeric_limits<double>::epsilon() * B_.length()) break;
    u = next;
  }
  return foot_points;
}

ProfilePair::FootPoints ProfilePair::search(const Placed& B) const {
  const std::vector<double>& samples = B_.samples();
  const std::size_t n = samples.size();
  std::vector<double> gaps;
  gaps.reserve(n);
  for (const Vector2& p : B_.sampled()) gaps.push_back(A_.gap(B.R * p + B.p));
  FootPoints best{.gap = INFINITY};
  for (std::size_t i = 0; i < n; ++i) {
    const bool first = i == 0;
    const bool last = i + 1 == n;
    const double before = !first ? gaps[i - 1] : B_.closed() ? gaps[n - 1] : INFINITY;
    const double after = !last ? gaps[i + 1] : B_.closed() ? gaps[0] : INFINITY;
    if (gaps[i] > before || gaps[i] > after) continue;
    const double low = !first ? samples[i - 1] : B_.closed() ? samples[n - 1] - B_.length() : samples[0];
    const double high = !last ? samples[i + 1] : B_.length();
    const FootPoints foot_points = refined(B, low, high);
    if (foot_points.gap < best.gap) best = foot_points;
  }
  return best;
}

void ProfilePair::locate(const PairState& state, PointGeometry& g) const {
  const Pose& X = state.X_AB;
  const Matrix3 turn = axes_A_.transpose() * X.R * axes_B_;
  const double tilt = std::atan2(turn.col(2).head<2>().norm(), turn(2, 2));
  if (!(tilt <= max_tilt)) {
    reject_pose(
        state,
        fmt::format(
            "their planes are tilted by {:.3g} rad, expected at most {} rad; constrain the bodies to a plane with "
            "joints, and orient both profiles alike (key `plane`)",
            tilt, max_tilt));
  }
  const Vector3 origin = axes_A_.transpose() * (X * center_B_ - center_A_);
  if (!(std::abs(origin.z()) <= reach_)) {
    reject_pose(state, fmt::format("{:.6g} m lateral offset, expected at most {:.6g} m, half the sum of both widths",
                                   std::abs(origin.z()), reach_));
  }
  const double angle = std::atan2(turn(1, 0) - turn(0, 1), turn(0, 0) + turn(1, 1));
  const Placed B{.R = Eigen::Rotation2Dd(angle).toRotationMatrix(), .p = origin.head<2>()};
  const FootPoints foot_points = search(B);
  const CurvePoint a = A_.at(foot_points.on_A);
  const CurvePoint b = B_.at(foot_points.on_B);
  g.gap = foot_points.gap;
  if (g.gap <= 0.0 && (foot_points.at_end || A_.beyond(foot_points.on_A))) {
    reject_pose(state,
                fmt::format("contact {:.3g} m deep has left the end of an open profile; add points there", -g.gap));
  }
  const double stretch = 1.0 + a.curvature * g.gap;
  // 1 / R of the equivalent sphere on a plane, for the parallel curves in grazing contact; positive at every local
  // minimum of the gap, also for a profile inside one that is not wider.
  const double sum = a.curvature + b.curvature + a.curvature * b.curvature * g.gap;
  if (g.gap <= 0.0 &&
      !(stretch > 0.0 && 1.0 + b.curvature * g.gap > 0.0 && sum > 0.0 && a.normal.dot(B.R * b.normal) < 0.0)) {
    reject_pose(
        state, fmt::format(
                   "{:.3g} m deep, down to a centre of curvature or through the other profile; use a smaller step or a "
                   "stiffer contact",
                   -g.gap));
  }
  const Vector3 axis = axes_A_.col(2);
  const Vector3 tangent = axes_A_.leftCols<2>() * a.tangent;
  g.n_A = axes_A_.leftCols<2>() * a.normal;
  const Vector3 p_on_B = X * (center_B_ + axes_B_.leftCols<2>() * b.p);
  const Vector2 foot = a.p + 0.5 * g.gap * a.normal;
  g.p_AC = center_A_ + axes_A_.leftCols<2>() * foot + axis * axis.dot(p_on_B - center_A_);
  g.effective_radius = sum > 0.0 ? 1.0 / sum : INFINITY;

  // Derivatives of the two conditions, T.(B - A) = 0 and N_A + N_B = 0, by arc length on A, s: the contact moves by
  // (turn + curvature_B slip) / sum; at an end of B the first condition alone moves it.
  RowVector6 slip;  // of the point of B along the tangent
  slip << (p_on_B - X.p).cross(tangent).transpose(), tangent.transpose();
  RowVector6 rotated = RowVector6::Zero();
  rotated.head<3>() = axis.transpose();
  // If both are flat, all points are equally close and the contact point does not move.
  RowVector6 ds = RowVector6::Zero();
  if (foot_points.at_end) {
    ds = slip / stretch;
  } else if (sum > 0.0) {
    ds = (rotated + b.curvature * slip) / sum;
  }
  RowVector6 dgap;
  dgap << (p_on_B - X.p).cross(g.n_A).transpose(), g.n_A.transpose();
  RowVector6 rises;
  rises << (p_on_B - X.p).cross(axis).transpose(), axis.transpose();
  g.dn_dX = a.curvature * tangent * ds;
  g.dp_dX = (1.0 + 0.5 * a.curvature * g.gap) * tangent * ds + 0.5 * g.n_A * dgap + axis * rises;
}

}  // namespace heelstrike::fem
