#include "common/spatial/spatial.hpp"

#include <fmt/format.h>
#include <cmath>

#include "common/errors/error.hpp"

namespace heelstrike {

Matrix3 skew(const Vector3& a) {
  Matrix3 m;
  m << 0.0, -a.z(), a.y(),  //
      a.z(), 0.0, -a.x(),   //
      -a.y(), a.x(), 0.0;
  return m;
}

Matrix3 rotation_from_vector(const Vector3& theta) {
  const double angle = theta.norm();
  const Matrix3 K = skew(theta);
  // sin(x)/x and (1-cos x)/x^2 by their series where the quotients lose digits: the next terms are below 1e-17 there.
  const double a2 = angle * angle;
  const double s = angle < 1e-4 ? 1.0 - a2 / 6.0 : std::sin(angle) / angle;
  const double half_sinc = angle < 1e-4 ? 1.0 - a2 / 24.0 : std::sin(angle / 2.0) / (angle / 2.0);
  return Matrix3::Identity() + s * K + 0.5 * half_sinc * half_sinc * K * K;
}

Vector3 point_velocity(const Twist& V_AB, const Vector3& p_BP_A) {
  return V_AB.v + V_AB.w.cross(p_BP_A);
}

Wrench shift_wrench(const Wrench& F_A, const Vector3& p_AAp) {
  return {.torque = F_A.torque - p_AAp.cross(F_A.force), .force = F_A.force};
}

Wrench opposite_wrench(const Wrench& F_A, const Pose& X_AB) {
  const Wrench about_B = shift_wrench(F_A, X_AB.p);
  return {.torque = -(X_AB.R.transpose() * about_B.torque), .force = -(X_AB.R.transpose() * about_B.force)};
}

Twist relative_twist(const Pose& X_WA, const Twist& V_WA, const Pose& X_WB, const Twist& V_WB) {
  const Vector3 p_AB_W = X_WB.p - X_WA.p;
  return {.w = X_WA.R.transpose() * (V_WB.w - V_WA.w),
          .v = X_WA.R.transpose() * (V_WB.v - V_WA.v - V_WA.w.cross(p_AB_W))};
}

Matrix3 nearest_rotation(const Matrix3& R) {
  // Matrices within solver tolerance of a rotation need two or three iterations; 20 suffice for every reasonable
  // matrix.
  Matrix3 Q = R;
  for (int i = 0; i < 20; ++i) {
    const Matrix3 next = 0.5 * (Q + Q.inverse().transpose());
    const double change = (next - Q).cwiseAbs().maxCoeff();
    Q = next;
    if (change < 1e-15) break;
  }
  return Q;
}

Quaternion quaternion_from_rotation(const Matrix3& R) {
  Quaternion q(nearest_rotation(R));
  q.normalize();
  if (q.w() < 0.0) q.coeffs() = -q.coeffs();
  return q;
}

Matrix3 rotation_from_quaternion(const Quaternion& q) {
  const double norm = q.norm();
  if (!(std::abs(norm - 1.0) <= quaternion_norm_tolerance)) {
    throw input_error("rotation",
                      fmt::format("expected a unit quaternion (norm within {:g} of 1), found ({}, {}, {}, {}) "
                                  "of norm {}; normalise it",
                                  quaternion_norm_tolerance, q.w(), q.x(), q.y(), q.z(), norm));
  }
  return q.normalized().toRotationMatrix();
}

Pose canonical_pose(const Pose& X_AB) {
  return {.R = rotation_from_quaternion(quaternion_from_rotation(X_AB.R)), .p = X_AB.p};
}

Vector3 extents_of(const std::vector<Vector3>& points) {
  Vector3 low = points.front();
  Vector3 high = low;
  for (const Vector3& p : points) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  return high - low;
}

}  // namespace heelstrike
