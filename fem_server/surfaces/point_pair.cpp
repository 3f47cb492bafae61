#include "fem_server/surfaces/point_pair.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/surfaces/profile_pair.hpp"
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

}  // namespace heelstrike::fem
