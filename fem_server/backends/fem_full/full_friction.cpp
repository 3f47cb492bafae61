#include "fem_server/backends/fem_full/full_friction.hpp"

#include <Eigen/LU>
#include <algorithm>

namespace heelstrike::fem {

namespace {

/// Limits the stiffness of a node that hardly slides to rho / (1 - this), about the penalty.
constexpr double max_relaxation = 0.999;

}  // namespace

FullNodeForce::FullNodeForce(const FullNode& node) : node_(node), p_(node.lambda - node.penalty * node.surface.gap) {
  const Vector3& n = node_.surface.normal;
  plane_ = Matrix3::Identity() - n * n.transpose();
  if (!(node_.friction > 0.0) || !active()) return;
  node_.tau = plane_ * node_.tau;
  slip_ = plane_ * node_.off;
  // Return map of Coulomb friction: the trial multiplier v is projected on the disc of radius mu p.
  const Vector3 v = node_.tau - node_.rho * slip_;
  const double bound = node_.friction * p_;
  slides_ = v.norm() > bound;
  if (!slides_) return;
  direction_ = v.normalized();
  share_ = std::min(bound / v.norm(), max_relaxation);
  friction_bound_ = bound * direction_;
  // Away from the solution, tau cut to the disc replaces one v: stable for any iterate [hueber2008, 5].
  const double size = node_.tau.norm();
  const Vector3 on_disc = size > bound ? Vector3(node_.tau / size) : Vector3(node_.tau / bound);
  slope_ = share_ * (plane_ - on_disc * direction_.transpose());
  inverse_ = (Matrix3::Identity() - slope_).inverse();
}

Vector3 FullNodeForce::correction() const {
  return slides_ ? Vector3(inverse_ * (friction_bound_ - node_.tau)) : Vector3(-node_.penalty * slip_);
}

double FullNodeForce::tangential_error() const {
  return slides_ ? (friction_bound_ - node_.tau).norm() / node_.rho : slip_.norm();
}

Matrix3 FullNodeForce::symmetric_stiffness() const {
  const Vector3& n = node_.surface.normal;
  // Of the multiplier only: the penalty force of a remote iterate would make the matrix indefinite.
  Matrix3 K = node_.penalty * n * n.transpose() - node_.lambda * node_.surface.curvature;
  if (!(node_.friction > 0.0)) return K;
  if (!slides_) return K + node_.penalty * plane_;
  return K + node_.rho * share_ / (1.0 - share_) * (plane_ - direction_ * direction_.transpose());
}

Matrix3 FullNodeForce::slip_slope() const {
  return plane_ - node_.surface.normal.dot(node_.off) * node_.surface.curvature;
}

Matrix3 FullNodeForce::stiffness(bool with_rotation) const {
  if (!(node_.friction > 0.0)) return symmetric_stiffness();
  const Vector3& n = node_.surface.normal;
  Matrix3 K = node_.penalty * n * n.transpose() - node_.lambda * node_.surface.curvature;
  if (slides_) {
    K += inverse_ * (node_.rho * slope_ * slip_slope() + node_.friction * node_.penalty * direction_ * n.transpose());
  } else {
    K += node_.penalty * slip_slope();
  }
  if (with_rotation) K += n * (node_.tau.transpose() * node_.surface.curvature);
  return K;
}

Vector3 FullNodeForce::traction_change(double dp, const Vector3& dtau, const Vector3& dw) const {
  if (!(node_.friction > 0.0)) return Vector3::Zero();
  if (!slides_) return plane_ * (dtau - node_.penalty * dw);
  return inverse_ * (node_.friction * dp * direction_ - node_.rho * (slope_ * (plane_ * dw)));
}

}  // namespace heelstrike::fem
