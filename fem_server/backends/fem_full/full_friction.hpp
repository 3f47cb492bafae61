/// Contact force of one node of the full-order body and its derivatives: augmented Lagrangian, normal and tangential
/// [alart1991].
///
///     p = lambda - k g,    v = P (tau - k w),    force = p n + v          sticks: |v| <= mu p
///                                                force = p n + mu p v / |v|   slides
///
/// with P the projection on the tangent plane of the partner and w the slip from the anchor. Multipliers lambda and tau
/// take the place of the penalty as the iteration goes on.
#pragma once

#include "fem_server/backends/fem_condensed/anchor.hpp"

namespace heelstrike::fem {

/// One contact node at an iterate.
struct FullNode {
  SurfacePoint surface;           ///< of B at the deformed place, in A
  double penalty = 0.0;           ///< [N/m] k
  double lambda = 0.0;            ///< [N] multiplier, normal
  Vector3 tau = Vector3::Zero();  ///< [N] multiplier, tangential
  Vector3 off = Vector3::Zero();  ///< [m] from the anchor to the deformed node
  double friction = 0.0;          ///< [-] mu
};

/// Force law of a node in contact.
class FullNodeForce {
 public:
  explicit FullNodeForce(const FullNode& node);

  [[nodiscard]] bool active() const { return p_ > 0.0; }
  [[nodiscard]] bool slides() const { return slides_; }
  [[nodiscard]] Vector3 slip() const { return slip_; }
  /// [N] tau, projected on the tangent plane.
  [[nodiscard]] const Vector3& multiplier() const { return node_.tau; }
  /// [N] tangential part.
  [[nodiscard]] const Vector3& traction() const { return traction_; }
  /// [m] error of the tangential equation: slip of a sticking node, distance from the cone by k of a sliding one.
  [[nodiscard]] double tangential_error() const;
  /// - d force / d u [N/m]; near the solution when `exact`, else kept stable for any iterate [hueber2008, section 5].
  [[nodiscard]] Matrix3 stiffness(bool exact) const;
  /// Traction after the node has moved by `du` [m] and the multiplier by `dtau` [N], to first order; exact form.
  /// @param dp  [N] change of p
  [[nodiscard]] Vector3 traction_change(double dp, const Vector3& dtau, const Vector3& du, bool exact) const;

 private:
  [[nodiscard]] Matrix3 tangential_stiffness(bool exact) const;

  FullNode node_;
  Matrix3 plane_;  ///< P
  double p_;
  bool slides_ = false;
  Vector3 v_ = Vector3::Zero();
  Vector3 slip_ = Vector3::Zero();
  Vector3 traction_ = Vector3::Zero();
};

}  // namespace heelstrike::fem
