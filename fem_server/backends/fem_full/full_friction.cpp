#include "fem_server/backends/fem_full/full_friction.hpp"

namespace heelstrike::fem {

FullNodeForce::FullNodeForce(const FullNode& node) : node_(node), p_(node.lambda - node.penalty * node.surface.gap) {
  const Vector3& n = node_.surface.normal;
  plane_ = Matrix3::Identity() - n * n.transpose();
  if (!(node_.friction > 0.0) || !active()) return;
  node_.tau = plane_ * node_.tau;
  slip_ = plane_ * node_.off;
  v_ = node_.tau - node_.penalty * slip_;
  const double bound = node_.friction * p_;
  slides_ = v_.norm() > bound;
  traction_ = slides_ ? Vector3(bound / v_.norm() * v_) : v_;
}

double FullNodeForce::tangential_error() const {
  return slides_ ? (traction_ - node_.tau).norm() / node_.penalty : slip_.norm();
}

// d traction / d v, on the tangent plane; times k it is the stiffness against slip.
Matrix3 FullNodeForce::tangential_stiffness(bool exact) const {
  if (!slides_) return plane_;
  const double bound = node_.friction * p_;
  const double length = v_.norm();
  Vector3 on_disc = traction_;
  if (!exact) {
    const double size = node_.tau.norm();
    on_disc = size > bound ? Vector3(bound / size * node_.tau) : node_.tau;
  }
  return (bound * plane_ - on_disc * v_.transpose() / length) / length;
}

Matrix3 FullNodeForce::stiffness(bool exact) const {
  const Vector3& n = node_.surface.normal;
  // Of the multiplier alone: the penalty force of an iterate that is far off would make the matrix indefinite.
  Matrix3 K = node_.penalty * n * n.transpose() - node_.lambda * node_.surface.curvature;
  if (!(node_.friction > 0.0)) return K;
  K += node_.penalty * tangential_stiffness(exact);
  if (slides_) K += node_.friction * node_.penalty * v_.normalized() * n.transpose();
  if (exact) K += n * (traction_.transpose() * node_.surface.curvature);
  return K;
}

Vector3 FullNodeForce::traction_change(double dp, const Vector3& dtau, const Vector3& du, bool exact) const {
  if (!(node_.friction > 0.0)) return Vector3::Zero();
  Vector3 change = tangential_stiffness(exact) * (plane_ * (dtau - node_.penalty * du));
  if (slides_) change += node_.friction * dp * v_.normalized();
  return change;
}

}  // namespace heelstrike::fem
