#include "fem_server/backends/elastic_foundation/bed_friction.hpp"

#include "fem_server/backend_interface/slip.hpp"

namespace heelstrike::fem {

namespace {

Vector3 across(const Vector3& n, const Vector3& v) {
  return v - n.dot(v) * n;
}

}  // namespace

SpringStickPoint transform_stick_point(const StickSpring& stored, const Pose& X_CT_committed, const Pose& X_CT) {
  SpringStickPoint point{
      .p_C = X_CT * stored.p_TStick, .transported = X_CT_committed * stored.p_TStick, .limit_before = stored.limit};
  point.dX << -skew(point.p_C - X_CT.p), Matrix3::Identity();
  return point;
}

SpringStickPoint onset_point(const Spring& spring, double gap_before, double d, const Vector6& dd,
                             const Pose& X_CT_committed, const Pose& X_CT) {
  const Vector3 before = X_CT * (X_CT_committed.inverse() * spring.point);
  SpringStickPoint point{.transported = spring.point};
  // 1 - fraction of the step before onset; a spring without initial gap has only just come into contact with T.
  double since = 1.0;
  RowVector6 dsince = RowVector6::Zero();
  if (gap_before > 0.0) {
    since = d > 0.0 ? d / (gap_before + d) : 0.0;
    if (d > 0.0) dsince = gap_before / ((gap_before + d) * (gap_before + d)) * dd.transpose();
  }
  const Vector3 displacement = before - spring.point;
  point.p_C = spring.point + since * displacement;
  Matrix36 transported;
  transported << -skew(before - X_CT.p), Matrix3::Identity();
  point.dX = since * transported + displacement * dsince;
  return point;
}

BedTraction bed_traction(const Spring& spring, double stiffness, double friction, const NormalForce& normal,
                         const SpringStickPoint& stored) {
  BedTraction t;
  t.point = stored.p_C;
  t.dpoint = stored.dX;
  t.limit = friction * normal.value;
  const Vector3 stretch = across(spring.normal, stored.p_C - spring.point);
  const Matrix36 dstretch = stored.dX - spring.normal * (spring.normal.transpose() * stored.dX);
  const double length = stretch.norm();
  // Return map of Coulomb friction: the trial force is projected on the disc of radius `limit`.
  if (stiffness * length <= t.limit) {
    t.force = stiffness * stretch;
    t.dX = stiffness * dstretch;
    t.stored = stored.p_C;
    t.stored_energy = 0.5 * stiffness * stretch.squaredNorm();
    return t;
  }
  t.slips = true;
  const Vector3 direction = stretch / length;
  t.force = t.limit * direction;
  t.dX =
      friction * direction * normal.dX + t.limit / length * (dstretch - direction * (direction.transpose() * dstretch));
  t.dV = friction * direction * normal.dV;
  const double slip = length - t.limit / stiffness;
  t.stored = stored.p_C - slip * direction;
  t.stored_energy = 0.5 * t.limit * t.limit / stiffness;
  t.slip_work = slip_work({.traction = stiffness * across(spring.normal, stored.transported - spring.point),
                           .limit_before = stored.limit_before,
                           .trial = stiffness * stretch,
                           .limit = t.limit,
                           .slip = slip});
  return t;
}

double released_slip_work(const Spring& spring, double stiffness, const SpringStickPoint& stored) {
  const Vector3 stretch = across(spring.normal, stored.p_C - spring.point);
  return slip_work({.traction = stiffness * across(spring.normal, stored.transported - spring.point),
                    .limit_before = stored.limit_before,
                    .trial = stiffness * stretch,
                    .limit = 0.0,
                    .slip = stretch.norm()});
}

}  // namespace heelstrike::fem
