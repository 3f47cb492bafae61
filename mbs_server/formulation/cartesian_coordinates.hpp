/// Fully Cartesian coordinates of one body: q = {r_O, v1, v2, v3}, the origin and the three unit vectors of the body
/// frame in the world, 12 numbers (Melo 2023, eq. 3.8; Jalon and Bayo 1994).
///
/// A small motion of a rigid body is (theta, r): rotation vector [rad] and displacement of the origin [m], in the
/// world. It follows from a coordinate change by theta = 1/2 sum_k v_k x dv_k, the angular velocity from qd by the
/// same formula. The transpose of that map converts a wrench to generalised forces: force on r_O, 1/2 torque x v_k on
/// v_k. The omitted symmetric part only changes the multipliers of the rigid-body constraints.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "mbs_server/formulation/sparse_matrix.hpp"

namespace heelstrike::mbs {

using Vector12 = Eigen::Matrix<double, 12, 1>;
using Matrix6x12 = Eigen::Matrix<double, 6, 12>;
using Matrix12 = Eigen::Matrix<double, 12, 12>;
using ConstSegment = Eigen::Ref<const Vector12>;

inline constexpr int coordinates_per_body = 12;
inline constexpr int rigid_constraints_per_body = 6;

[[nodiscard]] Vector12 coordinates_from_pose(const Pose& X_WB);
/// dq/dt of a body with the twist V_WB.
[[nodiscard]] Vector12 rates_from_twist(const Pose& X_WB, const Twist& V_WB);

/// Pose with the unmodified matrix [v1 v2 v3], orthonormal to the accuracy to which q satisfies its constraints.
[[nodiscard]] Pose pose_from_coordinates(const ConstSegment& q);
[[nodiscard]] Twist twist_from_rates(const ConstSegment& q, const ConstSegment& qd);
/// Angular acceleration and acceleration of the origin from q, qd, qdd:
/// alpha = 1/2 sum_k v_k x (vdd_k - w x (w x v_k)).
[[nodiscard]] Twist acceleration_from_rates(const ConstSegment& q, const ConstSegment& qd, const ConstSegment& qdd);

/// (theta, r) = B(q) dq; also V = B(q) qd.
[[nodiscard]] Matrix6x12 motion_map(const ConstSegment& q);

/// Generalised forces B(q)' W of the wrench (torque about r_O, force), both in the world.
[[nodiscard]] Vector12 generalized_force(const ConstSegment& q, const Wrench& F_W);
/// d(B(q)' W)/dq at constant W.
[[nodiscard]] Matrix12 generalized_force_tangent(const Wrench& F_W);

/// dV/dq at constant qd: derivative of the angular velocity 1/2 sum v_k x vd_k by v_k.
[[nodiscard]] Matrix6x12 twist_tangent(const ConstSegment& qd);

using Matrix4 = Eigen::Matrix4d;

struct MassProperties {
  double mass = 0.0;                         ///< [kg]
  Vector3 center_of_mass = Vector3::Zero();  ///< [m] in the body frame
  Matrix3 inertia = Matrix3::Zero();         ///< [kg m^2] about the centre of mass, in body axes

  /// @throws Error{invalid_input} unless mass > 0 and the inertia is symmetric, positive definite and satisfies the
  /// triangle
  ///         inequality of its principal values
  void check(const std::string& body) const;

  /// The 4x4 matrix m that gives the constant 12x12 mass matrix M = m (x) I3 for q = {r_O, v1, v2, v3}:
  ///   m = [ mass, mass s' ; mass s, J ],  J = integral of rho p p' dV about the body origin = tr(I_O)/2 - I_O,
  /// with s the centre of mass; follows from M = integral rho C'C dV (Melo 2023, section 3.4 of the working notes).
  [[nodiscard]] Matrix4 cartesian_mass() const;
};

/// Adds scale * A at (row0, col0), or its transpose.
inline void add_scaled(SparseAssembler& target, const SparseMatrix& A, int row0, int col0, double scale,
                       bool transposed) {
  for (int j = 0; j < A.outerSize(); ++j) {
    for (SparseMatrix::InnerIterator it(A, j); it; ++it) {
      const int r = static_cast<int>(transposed ? it.col() : it.row());
      const int c = static_cast<int>(transposed ? it.row() : it.col());
      target.add(row0 + r, col0 + c, scale * it.value());
    }
  }
}

/// Adds scale * M at (row0, col0), M = mass (x) I3 per body.
inline void add_mass(SparseAssembler& target, const std::vector<Matrix4>& mass, int row0 = 0, int col0 = 0,
                     double scale = 1.0) {
  for (std::size_t body = 0; body < mass.size(); ++body) {
    const int first = coordinates_per_body * static_cast<int>(body);
    for (int k = 0; k < 4; ++k) {
      for (int l = 0; l < 4; ++l) {
        for (int c = 0; c < 3; ++c) {
          target.add(row0 + first + 3 * k + c, col0 + first + 3 * l + c, scale * mass[body](k, l));
        }
      }
    }
  }
}

}  // namespace heelstrike::mbs
