#include "fem_server/surfaces/contact_path.hpp"

#include <algorithm>
#include <cmath>

namespace heelstrike::fem {

namespace {

/// Angle between two unit vectors over its sine, and the derivative with respect to the cosine.
struct AngleOverSine {
  double value;
  double by_cosine;
};

AngleOverSine angle_over_sine(const Vector3& from, const Vector3& to) {
  const double cosine = from.dot(to);
  const double sine = from.cross(to).norm();
  const double angle = std::atan2(sine, cosine);
  // The series avoids cancellation at small angles; omitted terms are of order angle^4, 1e-12.
  if (angle < 1e-3) return {1.0 + angle * angle / 6.0, -1.0 / 3.0 - 2.0 / 15.0 * angle * angle};
  const double g = angle / std::max(sine, 1e-12);  // antipodal points: the path is arbitrary
  return {g, (cosine * g - 1.0) / std::max(sine * sine, 1e-24)};
}

/// Radius on which the contact point moves, and its derivative with respect to the pose of B.
struct MovingRadius {
  double value;
  RowVector6 dX;
};

/// The contact point lies at the midpoint of the overlap, gap / 2 from the surface: on this radius the slip is
/// work-conjugate to the force at that point. (On the undeformed radius a fraction depth / (2 R) of the rotation would
/// produce spurious work.) The mean of start and end, without the time before contact.
MovingRadius path_radius(double radius, const ContactPointPosition& before, const PointGeometry& now) {
  return {.value = radius + 0.25 * (std::min(before.geometry.gap, 0.0) + std::min(now.gap, 0.0)),
          .dX = 0.25 * now.dgap_dX};
}

/// Path of the contact point over a sphere of signed radius r while its normal rotates from m0 to m, as a tangent
/// vector at m0.
MovingVector slip_path_at_start(const MovingRadius& r, const MovingVector& m0, const MovingVector& m) {
  const auto [g, dg] = angle_over_sine(m0.value, m.value);
  const double c = m0.value.dot(m.value);
  const RowVector6 dc = m0.value.transpose() * m.dX + m.value.transpose() * m0.dX;
  const Vector3 direction = m.value - c * m0.value;
  return {.value = r.value * g * direction,
          .dX = g * direction * r.dX + r.value * (direction * (dg * dc) + g * (m.dX - m0.value * dc - c * m0.dX))};
}

/// The same path as a tangent vector at m.
MovingVector slip_path_at_end(const MovingRadius& r, const MovingVector& m0, const MovingVector& m) {
  const auto [g, dg] = angle_over_sine(m0.value, m.value);
  const double c = m0.value.dot(m.value);
  const RowVector6 dc = m0.value.transpose() * m.dX + m.value.transpose() * m0.dX;
  const Vector3 direction = c * m.value - m0.value;
  return {.value = r.value * g * direction,
          .dX = g * direction * r.dX + r.value * (direction * (dg * dc) + g * (m.value * dc + c * m.dX - m0.dX))};
}

/// Projection of a vector onto the plane with normal n.
MovingVector tangential(const MovingVector& x, const Vector3& n, const Matrix36& dn) {
  const double normal = n.dot(x.value);
  return {.value = x.value - normal * n,
          .dX = x.dX - n * (n.transpose() * x.dX) - n * (x.value.transpose() * dn) - normal * dn};
}

/// Derivative of R^T v for a vector with derivative dv when R rotates with B.
Matrix36 rotate_back(const Matrix3& R, const Vector3& v, const Matrix36& dv) {
  Matrix36 d = dv;
  d.leftCols<3>() += skew(v);
  return R.transpose() * d;
}

/// Parallel transport of a tangent vector from n0 to n along the great circle.
MovingVector transported(const MovingVector& w, const Vector3& n0, const Vector3& n, const Matrix36& dn) {
  const double d = std::max(1.0 + n0.dot(n), 1e-12);
  const double along = w.value.dot(n) / d;
  const Vector3 sum = n0 + n;
  const RowVector6 dtangential = (n.transpose() * w.dX + w.value.transpose() * dn - along * (n0.transpose() * dn)) / d;
  return {.value = w.value - along * sum, .dX = w.dX - sum * dtangential - along * dn};
}

struct SlipPaths {
  MovingVector start;  ///< tangent at the earlier contact point
  MovingVector end;    ///< tangent at the current contact point
};

SlipPaths slip_path_on_A(double radius, const ContactPointPosition& before, const PointGeometry& now) {
  if (radius == 0.0) {
    const MovingVector lever =
        tangential({.value = now.p_AC - before.geometry.p_AC, .dX = now.dp_dX}, now.n_A, now.dn_dX);
    return {lever, lever};
  }
  const MovingRadius r = path_radius(radius, before, now);
  const MovingVector m0{.value = before.geometry.n_A};
  const MovingVector m{.value = now.n_A, .dX = now.dn_dX};
  return {slip_path_at_start(r, m0, m), slip_path_at_end(r, m0, m)};
}

/// Expressed in A: the start with the earlier pose of B, the end with the current one.
SlipPaths slip_path_on_B(double radius, const ContactPointPosition& before, const PointGeometry& now,
                         const Pose& X_AB) {
  const Matrix3 rotation = X_AB.R * before.X_AB.R.transpose();
  if (radius == 0.0) {
    const Vector3 arm = rotation * (before.geometry.p_AC - before.X_AB.p);
    MovingVector lever{.value = now.p_AC - X_AB.p - arm, .dX = now.dp_dX};
    lever.dX.leftCols<3>() += skew(arm);
    lever.dX.rightCols<3>() -= Matrix3::Identity();
    lever = tangential(lever, now.n_A, now.dn_dX);
    return {{.value = rotation.transpose() * lever.value, .dX = rotate_back(rotation, lever.value, lever.dX)}, lever};
  }
  const MovingVector normal_at_start{.value = -before.geometry.n_A};
  const MovingVector end_before{.value = -(rotation.transpose() * now.n_A),
                                .dX = -rotate_back(rotation, now.n_A, now.dn_dX)};
  MovingVector rotated_start_normal{.value = -(rotation * before.geometry.n_A)};
  rotated_start_normal.dX.leftCols<3>() = -skew(rotated_start_normal.value);
  const MovingVector normal_at_end{.value = -now.n_A, .dX = -now.dn_dX};
  const MovingRadius r = path_radius(radius, before, now);
  return {slip_path_at_start(r, normal_at_start, end_before), slip_path_at_end(r, rotated_start_normal, normal_at_end)};
}

}  // namespace

TransportedSlip slip_after(const PointPair& pair, const ContactPointPosition& before, const Vector3& carried,
                           const PointGeometry& now, const Pose& X_AB) {
  const SlipPaths A = slip_path_on_A(pair.radius_A(), before, now);
  const SlipPaths B = slip_path_on_B(pair.radius_B(), before, now, X_AB);
  double share = 1.0;
  RowVector6 dshare = RowVector6::Zero();
  if (before.geometry.gap > 0.0) {
    const double travel = before.geometry.gap - now.gap;
    share = -now.gap / travel;
    dshare = -before.geometry.gap / (travel * travel) * now.dgap_dX;
  } else if (now.gap > 0.0) {
    share = before.geometry.gap / (before.geometry.gap - now.gap);
  }
  // Average of the slip at start and end: second order for spinning bodies.
  const Vector3 at_start = A.start.value - B.start.value;
  const Vector3 at_end = A.end.value - B.end.value;
  const MovingVector first{.value = carried + 0.5 * share * at_start,
                           .dX = 0.5 * (share * (A.start.dX - B.start.dX) + at_start * dshare)};
  TransportedSlip slip{transported(first, before.geometry.n_A, now.n_A, now.dn_dX)};
  slip.carried = transported({.value = carried}, before.geometry.n_A, now.n_A, now.dn_dX).value;
  slip.value += 0.5 * share * at_end;
  slip.dX += 0.5 * (share * (A.end.dX - B.end.dX) + at_end * dshare);
  return slip;
}

}  // namespace heelstrike::fem
