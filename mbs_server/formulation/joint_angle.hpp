/// The angle of a joint as a function of the coordinates, with exact derivatives up to the third order.
#pragma once

#include "mbs_server/formulation/affine_vector.hpp"

namespace heelstrike::mbs {

/// x_B . y_A and x_B . x_A: on the constraints the sine and cosine of the angle of side b against side a about the
/// joint's axis, measured from the initial pose.
[[nodiscard]] QuadraticEquation joint_sine(const Joint& joint);
[[nodiscard]] QuadraticEquation joint_cosine(const Joint& joint);
/// z_A . (p_B - p_A): displacement of side b along the joint's axis.
[[nodiscard]] QuadraticEquation joint_displacement(const Joint& joint);

/// phi = atan2(s(q), c(q)) in (-pi, pi], dense in the coordinates of the two bodies.
class JointAngle {
 public:
  explicit JointAngle(const Joint& joint);

  struct Derivatives {
    double angle = 0.0;
    VectorX gradient;         ///< phi_q
    Eigen::MatrixXd hessian;  ///< phi_qq
  };
  /// Global indices of the local coordinates.
  [[nodiscard]] const std::vector<int>& indices() const { return indices_; }
  [[nodiscard]] double angle(const ConstVector& q) const;
  [[nodiscard]] Derivatives derivatives(const ConstVector& q) const;

  /// qd' phi_qq qd and its derivatives with respect to the local coordinates and rates.
  struct Curvature {
    double value = 0.0;
    VectorX by_q;
    VectorX by_qd;
  };
  [[nodiscard]] Curvature curvature(const ConstVector& q, const ConstVector& qd) const;
  [[nodiscard]] VectorX local(const ConstVector& x) const;

 private:
  /// Dense constant + b'x + x'Hx/2 in local coordinates.
  struct Form {
    double constant = 0.0;
    VectorX b;
    Eigen::MatrixXd H;
    [[nodiscard]] double value(const VectorX& x) const { return constant + b.dot(x) + 0.5 * x.dot(H * x); }
    [[nodiscard]] VectorX gradient(const VectorX& x) const { return b + H * x; }
  };
  [[nodiscard]] Form dense(const QuadraticEquation& equation) const;

  std::vector<int> indices_;
  Form sine_, cosine_;
};

}  // namespace heelstrike::mbs
