#pragma once

#include "mbs_server/formulation/equation_constraint.hpp"
#include "mbs_server/formulation/joint_angle.hpp"

namespace heelstrike::mbs {

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
  [[nodiscard]] double turned(const ConstVector& q) const;

  std::vector<Wheel> wheels_;
  double teeth_ = 1.0;
  double constant_ = 0.0;
};

using GearConstraint = EquationConstraint<GearEquation>;

}  // namespace heelstrike::mbs
