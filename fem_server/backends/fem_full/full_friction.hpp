/// Contact force of one node of the full-order body and its derivatives: augmented Lagrangian [alart1991].
///
///     p = lambda - k g,    v = P (tau - rho w)          normal force max(0, p)
///     sticks where |v| <= mu p:   traction tau - k w
///     slides elsewhere:           tau = mu p v / |v|, linearised in tau as well
///
/// with P the projection on the tangent plane of the partner and w the slip from the stick point. During the iteration
/// the multipliers lambda and tau replace the penalty forces. rho is the node's own stiffness: if it were the penalty,
/// the smallest slip would change sticking nodes to sliding ones, and the iteration would cycle.
#pragma once

#include "fem_server/contact_solver/stick_point.hpp"

namespace heelstrike::fem {

/// One contact node at an iterate.
struct FullNode {
  SurfacePoint surface;           ///< of B at the deformed position, in A
  double penalty = 0.0;           ///< [N/m] k
  double rho = 0.0;               ///< [N/m]
  double lambda = 0.0;            ///< [N] multiplier, normal
  Vector3 tau = Vector3::Zero();  ///< [N] multiplier, tangential
  Vector3 off = Vector3::Zero();  ///< [m] from the stick point to the deformed node
  double friction = 0.0;          ///< [-] mu
};

/// Force law of a node in contact.
class FullNodeForce {
 public:
  explicit FullNodeForce(const FullNode& node);

  [[nodiscard]] bool active() const { return p_ > 0.0; }
  [[nodiscard]] bool slides() const { return slides_; }
  [[nodiscard]] const Vector3& slip() const { return slip_; }
  /// [N] tau, projected on the tangent plane.
  [[nodiscard]] const Vector3& multiplier() const { return node_.tau; }
  /// [N] correction of tau by the law.
  [[nodiscard]] Vector3 correction() const;
  /// [m] error of the tangential equation: slip of a sticking node, distance from the cone over rho for a sliding one.
  [[nodiscard]] double tangential_error() const;
  /// - d force / d u [N/m]: the part that is symmetric and positive semidefinite for any iterate,
  [[nodiscard]] Matrix3 symmetric_stiffness() const;
  /// and the complete matrix, optionally with the rotation of the traction on a curved partner.
  [[nodiscard]] Matrix3 stiffness(bool with_rotation) const;
  /// d slip / d u, in axes that rotate with the tangent plane of a curved partner.
  [[nodiscard]] Matrix3 slip_slope() const;
  /// Change of the traction when p changes by `dp`, tau by `dtau` and the slip by `dw`, to first order.
  [[nodiscard]] Vector3 traction_change(double dp, const Vector3& dtau, const Vector3& dw) const;

 private:
  FullNode node_;
  Matrix3 plane_;  ///< P
  double p_;
  bool slides_ = false;
  Vector3 slip_ = Vector3::Zero();
  Vector3 direction_ = Vector3::Zero();       ///< v / |v|
  double share_ = 0.0;                        ///< mu p / |v|, limited to less than 1
  Vector3 friction_bound_ = Vector3::Zero();  ///< [N] mu p v / |v|
  Matrix3 slope_ = Matrix3::Zero();           ///< d aim / d v
  Matrix3 inverse_ = Matrix3::Identity();     ///< (1 - slope)^-1: tau is part of v
};

}  // namespace heelstrike::fem
