#include "fem_server/backends/elastic_foundation/bed_friction.hpp"

#include "fem_server/backend_interface/slip.hpp"

namespace heelstrike::fem {

namespace {

/// Size of a vector and its direction, with their derivatives by pose and twist.
struct Polar {
  double size;
  Vector3 direction;
  RowVector6 dsize_X, dsize_V;
  Matrix36 ddirection_X, ddirection_V;
  explicit Polar(const FrictionLoad& load) : size(load.force.norm()), direction(load.force / size) {
    dsize_X = direction.transpose() * load.dX;
    dsize_V = direction.transpose() * load.dV;
    ddirection_X = (load.dX - direction * dsize_X) / size;
    ddirection_V = (load.dV - direction * dsize_V) / size;
  }
};

/// Change of along_surface(e, v) by that of e.
Matrix36 change_by_normal(const Vector3& e, const Matrix36& de, const Vector3& v) {
  return -e.dot(v) * de - e * (v.transpose() * de);
}

}  // namespace

Vector3 along_surface(const Vector3& normal, const Vector3& displacement) {
  return displacement - normal.dot(displacement) * normal;
}

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

BedTraction bed_traction(const Spring& spring, double stiffness, double friction, const FrictionLoad& load,
                         const SpringStickPoint& stored) {
  const Polar normal(load);
  const Vector3& e = normal.direction;
  const Vector3 displacement = stored.p_C - spring.point;
  const Vector3 stretch = along_surface(e, displacement);
  const Matrix36 dstretch_X =
      stored.dX - e * (e.transpose() * stored.dX) + change_by_normal(e, normal.ddirection_X, displacement);
  const Matrix36 dstretch_V = change_by_normal(e, normal.ddirection_V, displacement);
  BedTraction t{.normal = e, .limit = friction * normal.size};
  const double length = stretch.norm();
  // Return map of Coulomb friction: the trial force is projected on the disc of radius `limit`.
  if (stiffness * length <= t.limit) {
    t.force = stiffness * stretch;
    t.dX = stiffness * dstretch_X;
    t.dV = stiffness * dstretch_V;
    t.stored = spring.point + stretch;
    t.stored_energy = 0.5 * stiffness * stretch.squaredNorm();
    return t;
  }
  t.slips = true;
  const Vector3 direction = stretch / length;
  t.force = t.limit * direction;
  const auto change = [&](const RowVector6& dsize, const Matrix36& dstretch) -> Matrix36 {
    return friction * direction * dsize +
           t.limit / length * (dstretch - direction * (direction.transpose() * dstretch));
  };
  t.dX = change(normal.dsize_X, dstretch_X);
  t.dV = change(normal.dsize_V, dstretch_V);
  t.stored = spring.point + t.limit / stiffness * direction;
  t.stored_energy = 0.5 * t.limit * t.limit / stiffness;
  t.slip_work = slip_work({.traction = stiffness * along_surface(e, stored.transported - spring.point),
                           .limit_before = stored.limit_before,
                           .trial = stiffness * stretch,
                           .limit = t.limit,
                           .slip = length - t.limit / stiffness});
  return t;
}

double released_slip_work(const Spring& spring, double stiffness, const Vector3& normal,
                          const SpringStickPoint& stored) {
  const Vector3 stretch = along_surface(normal, stored.p_C - spring.point);
  return slip_work({.traction = stiffness * along_surface(normal, stored.transported - spring.point),
                    .limit_before = stored.limit_before,
                    .trial = stiffness * stretch,
                    .limit = 0.0,
                    .slip = stretch.norm()});
}

}  // namespace heelstrike::fem
