#include "mbs_server/formulation/cartesian_coordinates.hpp"

#include <fmt/format.h>
#include <Eigen/Eigenvalues>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {

Vector12 coordinates_from_pose(const Pose& X_WB) {
  Vector12 q;
  q << X_WB.p, X_WB.R.col(0), X_WB.R.col(1), X_WB.R.col(2);
  return q;
}

/// The axes of a rigid body have the rates w x v_k.
Vector12 rates_from_twist(const Pose& X_WB, const Twist& V_WB) {
  Vector12 qd;
  qd << V_WB.v, V_WB.w.cross(X_WB.R.col(0)), V_WB.w.cross(X_WB.R.col(1)), V_WB.w.cross(X_WB.R.col(2));
  return qd;
}

Pose pose_from_coordinates(const ConstSegment& q) {
  Pose X_WB;
  X_WB.p = q.segment<3>(0);
  X_WB.R << q.segment<3>(3), q.segment<3>(6), q.segment<3>(9);
  return X_WB;
}

Twist twist_from_rates(const ConstSegment& q, const ConstSegment& qd) {
  Twist V_WB{.w = Vector3::Zero(), .v = qd.segment<3>(0)};
  // sum_k v_k x (w x v_k) = 2 w for orthonormal v_k. If qd violates the constraints, this uses its antisymmetric part.
  for (int k = 3; k < 12; k += 3) V_WB.w += 0.5 * q.segment<3>(k).cross(qd.segment<3>(k));
  return V_WB;
}

Twist acceleration_from_rates(const ConstSegment& q, const ConstSegment& qd, const ConstSegment& qdd) {
  const Vector3 w = twist_from_rates(q, qd).w;
  Twist A_WB{.w = Vector3::Zero(), .v = qdd.segment<3>(0)};
  // vdd_k = alpha x v_k + w x (w x v_k); the centripetal part is subtracted before forming the same sum.
  for (int k = 3; k < 12; k += 3) {
    const Vector3 v_k = q.segment<3>(k);
    A_WB.w += 0.5 * v_k.cross(qdd.segment<3>(k) - w.cross(w.cross(v_k)));
  }
  return A_WB;
}

Matrix6x12 motion_map(const ConstSegment& q) {
  Matrix6x12 B = Matrix6x12::Zero();
  B.block<3, 3>(3, 0).setIdentity();
  // theta = 1/2 sum_k v_k x dv_k, rows of the rotation first as in every six-vector.
  for (int k = 3; k < 12; k += 3) B.block<3, 3>(0, k) = 0.5 * skew(q.segment<3>(k));
  return B;
}

Vector12 generalized_force(const ConstSegment& q, const Wrench& F_W) {
  Vector12 g;
  g.segment<3>(0) = F_W.force;
  for (int k = 3; k < 12; k += 3) g.segment<3>(k) = 0.5 * F_W.torque.cross(q.segment<3>(k));
  return g;
}

/// 1/2 T x v_k depends on v_k alone: three equal blocks on the diagonal, none for the force.
Matrix12 generalized_force_tangent(const Wrench& F_W) {
  Matrix12 K = Matrix12::Zero();
  const Matrix3 half_torque = 0.5 * skew(F_W.torque);
  for (int k = 3; k < 12; k += 3) K.block<3, 3>(k, k) = half_torque;
  return K;
}

Matrix6x12 twist_tangent(const ConstSegment& qd) {
  Matrix6x12 D = Matrix6x12::Zero();
  for (int k = 3; k < 12; k += 3) D.block<3, 3>(0, k) = -0.5 * skew(qd.segment<3>(k));
  return D;
}

void MassProperties::check(const std::string& body) const {
  const std::string field = "bodies." + body;
  if (!(mass > 0.0) || !std::isfinite(mass)) {
    throw input_error(field + ".mass",
                      fmt::format("{}.mass: expected a finite number > 0 [kg], found {}", field, mass));
  }
  if (!inertia.allFinite() || !center_of_mass.allFinite()) {
    throw input_error(field, fmt::format("{}: inertia and center_of_mass must be finite", field));
  }
  const double scale = inertia.cwiseAbs().maxCoeff();
  if ((inertia - inertia.transpose()).cwiseAbs().maxCoeff() > 1e-12 * scale) {
    throw input_error(field + ".inertia", fmt::format("{}.inertia: expected a symmetric tensor", field));
  }
  const Vector3 I = Eigen::SelfAdjointEigenSolver<Matrix3>(inertia, Eigen::EigenvaluesOnly).eigenvalues();
  if (!(I.x() > 0.0)) {
    throw input_error(
        field + ".inertia",
        fmt::format("{}.inertia: expected a positive definite tensor [kg m^2], found principal values {}, "
                    "{}, {}",
                    field, I.x(), I.y(), I.z()));
  }
  // Every mass distribution satisfies I_max <= I_1 + I_2, with equality for a flat body. The factor admits rounding of
  // input digits.
  if (I.z() > (I.x() + I.y()) * (1.0 + 1e-9)) {
    throw input_error(field + ".inertia",
                      fmt::format("{}.inertia: no mass distribution has the principal values {}, {}, {} kg m^2: the "
                                  "largest must not exceed the sum of the others",
                                  field, I.x(), I.y(), I.z()));
  }
}

Matrix4 MassProperties::cartesian_mass() const {
  const Vector3& s = center_of_mass;
  // J about the centre of mass, then Steiner for second moments: J_O = J_C + m s s'.
  const Matrix3 J = 0.5 * inertia.trace() * Matrix3::Identity() - inertia + mass * s * s.transpose();
  Matrix4 m;
  m(0, 0) = mass;
  m.block<1, 3>(0, 1) = mass * s.transpose();
  m.block<3, 1>(1, 0) = mass * s;
  m.block<3, 3>(1, 1) = J;
  return m;
}

}  // namespace heelstrike::mbs
