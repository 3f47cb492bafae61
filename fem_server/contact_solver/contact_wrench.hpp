/// Wrench on A and its tangents from nodal contact forces.
///
/// Each active node has the linearised gap gamma(X, u) = g(x; X) + n(x; X) . u with the reference position x, so that
/// the frictionless problem is a convex quadratic programme whose optimal value is the stored energy: the wrench is its
/// exact derivative with respect to the pose, and energy is conserved. On a plane this is the sum of the nodal forces
/// at the deformed positions; on a curved partner the force rotates by the curvature times u, to first order the normal
/// at the deformed position. Wrench and pose coordinates are about B's origin here and are moved to A's at the end.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "common/contact/contact.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

/// One active node.
struct ContactNodeState {
  Vector3 x = Vector3::Zero();         ///< [m] reference position in A
  SurfacePoint surface;                ///< gap, normal, curvature at x, in A
  Vector3 u = Vector3::Zero();         ///< [m] displacement, relative to B's surface if B is deformable
  Vector3 u_B = Vector3::Zero();       ///< [m] displacement of B's surface, in A; zero for a rigid B
  double lambda = 0.0;                 ///< [N] normal force of the elastic solution
  Vector3 traction = Vector3::Zero();  ///< [N] tangential force on A
  double area = 0.0;                   ///< [m^2]

  [[nodiscard]] Vector3 force() const { return lambda * surface.normal + traction; }  ///< [N] on A
};

/// Surface of B nearest to a point of A, in A.
[[nodiscard]] SurfacePoint surface_in_A(const SignedDistance& partner, const Pose& X_AB, const Vector3& p_AQ);

using Matrix36 = Eigen::Matrix<double, 3, 6>;

/// - d gamma / d X at fixed u: unit normal force as a wrench about B's origin, when B is rigid.
[[nodiscard]] Vector6 gap_wrench(const ContactNodeState& node, const Vector3& p_AB);

/// d n / d X.
[[nodiscard]] Matrix36 normal_rotation(const ContactNodeState& node, const Vector3& p_AB);

/// d (lambda n + traction) / d X at fixed lambda and fixed components of the traction in axes that rotate with B.
[[nodiscard]] Matrix36 force_rotation(const ContactNodeState& node, const Vector3& p_AB);

/// Hysteresis of the pressure: factor 1 + H rate / v0 per node, cut at 0.
struct Hysteresis {
  double factor = 0.0;                 ///< [-] H >= 0
  double speed = 1.0;                  ///< [m/s] v0 > 0
  bool follows = false;                ///< v0 is the current closing velocity, not a latched one
  Vector6 approach = Vector6::Zero();  ///< d v0 / d V_AB if it follows
};

/// Derivatives of the solution with respect to the pose, one entry per active node; all empty unless tangents are
/// requested.
struct NodeDerivatives {
  std::vector<Eigen::Matrix<double, 1, 6>> lambda;
  std::vector<Matrix36> traction;           ///< including the rotation with B
  std::vector<Matrix36> u;                  ///< empty for a frictionless contact without hysteresis, and then
  Matrix6 rotation_work = Matrix6::Zero();  ///< sum of lambda (d n / d X)^T d u / d X
  std::vector<Matrix36> u_B{};              ///< empty for a rigid B
  std::vector<Matrix36> normal{};           ///< rotation of the normals in addition to normal_rotation; empty = none
};

/// Sets wrench, tangents (if there are derivatives), centre of pressure, energies.
/// @param normal_forces  [N] out: of each active node, including hysteresis
void fill_wrench(const std::vector<ContactNodeState>& nodes, const NodeDerivatives& derivatives, const PairState& state,
                 const Hysteresis& hysteresis, Response& response, std::vector<double>& normal_forces);

}  // namespace heelstrike::fem
