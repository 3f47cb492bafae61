/// The angle of a joint as a function of the coordinates, with exact derivatives up to the third order.
#pragma once

#include "mbs_server/formulation/joint_equations.hpp"
#include "mbs_server/formulation/quadratic_constraint.hpp"
#include "mbs_server/formulation/turn_reference.hpp"

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

/// The angle of a joint with its full turns since the initial pose, where it is zero.
class CountedAngle final : public TurnReference {
 public:
  explicit CountedAngle(const Joint& joint) : angle_(joint) {}

  /// The functions of JointAngle. @{
  [[nodiscard]] const std::vector<int>& indices() const { return angle_.indices(); }
  [[nodiscard]] JointAngle::Derivatives derivatives(const ConstVector& q) const;
  [[nodiscard]] VectorX local(const ConstVector& x) const { return angle_.local(x); }
  /// @}

  [[nodiscard]] const VectorX& reference() const override { return reference_; }
  void set_reference(const ConstVector& values) override { reference_ = values; }
  [[nodiscard]] VectorX reference_at(const ConstVector& q) const override;
  [[nodiscard]] VectorX reference_rates(const ConstVector& q, const ConstVector& qd) const override;

 private:
  [[nodiscard]] double counted(double angle) const;

  JointAngle angle_;
  VectorX reference_ = VectorX::Zero(1);  ///< [rad]
};

/// Two gear wheels on two revolute or cylindrical joints: n_2 phi_2 = n_1 phi_1 + constant, with whole numbers of
/// teeth (negative: opposite rotation about equal axis directions). Angles and their whole multiples are defined up to
/// full turns: the residual is the difference reduced to (-pi, pi], divided by |n_2|. It does not depend on the number
/// of turns and is smooth at every configuration near the constraint.
class GearEquation {
 public:
  /// The constant follows from the configuration `q0`.
  GearEquation(const Joint& first, const Joint& second, int teeth_first, int teeth_second, const ConstVector& q0);

  static constexpr bool prescribed_in_time = false;

  [[nodiscard]] double residual(double t, const ConstVector& q) const;
  [[nodiscard]] static bool on_intended_branch(double /*t*/, const ConstVector& /*q*/) { return true; }
  [[nodiscard]] double velocity_rhs(double t, const ConstVector& q) const;
  [[nodiscard]] double acceleration_rhs(double t, const ConstVector& q, const ConstVector& qd) const;
  void add_jacobian(double t, const ConstVector& q, int row, SparseAssembler& Phi_q) const;
  void add_velocity_tangent(double t, const ConstVector& q, const ConstVector& qd, int row, SparseAssembler& V_q) const;
  void add_force_tangent(double t, const ConstVector& q, double lambda, SparseAssembler& K) const;
  void add_acceleration_tangents(double t, const ConstVector& q, const ConstVector& qd, const ConstVector& qdd, int row,
                                 SparseAssembler& G_q, SparseAssembler& G_v) const;

 private:
  struct Wheel {
    JointAngle angle;
    double factor = 0.0;
  };
  [[nodiscard]] double rotated(const ConstVector& q) const;

  std::vector<Wheel> wheels_;
  double teeth_ = 1.0;
  double constant_ = 0.0;
};

using GearConstraint = EquationConstraint<GearEquation>;

}  // namespace heelstrike::mbs
