/// Poses, twists and wrenches and their transformations.
///
/// Monogram notation (docs/theory/notation.md): X_AB is the pose of frame B in frame A; in `p_AQ = X_AB * p_BQ` the
/// inner letters cancel. V_AB is the twist of B in A, expressed in A, its linear part at B's origin. F_A is a wrench on
/// A about A's origin, expressed in A. Six-vectors are ordered angular, then linear (torque, then force).
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <vector>

namespace heelstrike {

using Vector3 = Eigen::Vector3d;
using Matrix3 = Eigen::Matrix3d;
using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Quaternion = Eigen::Quaterniond;

/// Pose X_AB of frame B in frame A.
struct Pose {
  Matrix3 R = Matrix3::Identity();  ///< [-] rotation R_AB; columns are B's axes in A
  Vector3 p = Vector3::Zero();      ///< [m] p_AB, origin of B measured in A

  /// p_AQ = X_AB * p_BQ
  [[nodiscard]] Vector3 operator*(const Vector3& p_BQ) const { return R * p_BQ + p; }
  /// X_AC = X_AB * X_BC
  [[nodiscard]] Pose operator*(const Pose& X_BC) const { return {.R = R * X_BC.R, .p = R * X_BC.p + p}; }
  /// X_BA
  [[nodiscard]] Pose inverse() const { return {.R = R.transpose(), .p = -(R.transpose() * p)}; }
};

/// Twist V_AB of frame B in frame A, expressed in A.
struct Twist {
  Vector3 w = Vector3::Zero();  ///< [rad/s] w_AB
  Vector3 v = Vector3::Zero();  ///< [m/s] v_AB, velocity of B's origin

  [[nodiscard]] Vector6 vector() const { return (Vector6() << w, v).finished(); }
};

/// Wrench F_A on body A about A's origin, expressed in A.
struct Wrench {
  Vector3 torque = Vector3::Zero();  ///< [N m]
  Vector3 force = Vector3::Zero();   ///< [N]

  [[nodiscard]] Vector6 vector() const { return (Vector6() << torque, force).finished(); }
};

/// Cross-product matrix: skew(a) * b = a x b.
[[nodiscard]] Matrix3 skew(const Vector3& a);

/// Rotation by the rotation vector `theta` [rad] (Rodrigues); exact for any length.
[[nodiscard]] Matrix3 rotation_from_vector(const Vector3& theta);

/// Velocity [m/s] of the point P fixed in B, measured and expressed in A; `p_BP_A` [m] is the arm from B's origin in A.
[[nodiscard]] Vector3 point_velocity(const Twist& V_AB, const Vector3& p_BP_A);

/// The same wrench about another point: from A's origin to a frame A' with origin p_AAp [m] and A's axes.
[[nodiscard]] Wrench shift_wrench(const Wrench& F_A, const Vector3& p_AAp);

/// The wrench on B, about B's origin and expressed in B, that is opposite to the wrench F_A on A.
[[nodiscard]] Wrench opposite_wrench(const Wrench& F_A, const Pose& X_AB);

/// Relative twist V_AB of B in A, expressed in A, from the motions of both in the world W.
/// @param X_WA, X_WB  poses in the world
/// @param V_WA, V_WB  twists in the world, expressed in the world, linear parts at the bodies' origins
[[nodiscard]] Twist relative_twist(const Pose& X_WA, const Twist& V_WA, const Pose& X_WB, const Twist& V_WB);

/// Largest accepted deviation of a unit quaternion's norm from 1 in input data.
inline constexpr double quaternion_norm_tolerance = 1e-6;

/// Rotation nearest to R in the Frobenius norm: polar decomposition by Newton's iteration [higham1986] in
/// docs/references.bib.
/// @pre det R > 0
[[nodiscard]] Matrix3 nearest_rotation(const Matrix3& R);

/// Unit quaternion with w >= 0 of the rotation nearest to R (polar decomposition), so that slightly non-orthogonal
/// matrices of Cartesian coordinates are accepted. Deterministic.
[[nodiscard]] Quaternion quaternion_from_rotation(const Matrix3& R);

/// Normalises and converts.
/// @throws Error{invalid_input} when the norm differs from 1 by more than the tolerance or a component is not finite.
[[nodiscard]] Matrix3 rotation_from_quaternion(const Quaternion& q);

/// The pose after transmission over the wire. Local evaluation applies it, too, so that local and remote runs are
/// bitwise equal.
[[nodiscard]] Pose canonical_pose(const Pose& X_AB);

/// [m] edges of the box around `points` along the axes. @pre not empty
[[nodiscard]] Vector3 extents_of(const std::vector<Vector3>& points);

}  // namespace heelstrike
