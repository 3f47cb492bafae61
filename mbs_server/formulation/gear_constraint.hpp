#pragma once

#include "mbs_server/formulation/joint_angle.hpp"

namespace heelstrike::mbs {

/// Two toothed wheels on two revolute or cylindrical joints: n_2 phi_2 = n_1 phi_1 + constant, with whole numbers of
/// teeth (negative: turning the same axis directions against each other). Angles are known up to full turns only, and
/// so is any whole multiple of them: the residual is the difference reduced to (-pi, pi], divided by |n_2|. It needs no
/// memory of turns and is smooth at every configuration near the constraint.
class GearConstraint final : public Constraint {
 public:
  /// The constant is taken from the configuration `q0`.
  GearConstraint(std::string name, const Joint& first, const Joint& second, int teeth_first, int teeth_second,
                 const ConstVector& q0);

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] int rows() const override { return active_ ? 1 : 0; }
  void keep_rows(const std::vector<int>& kept) override { active_ = !kept.empty(); }
  void residual(double t, const ConstVector& q, Eigen::Ref<VectorX> phi) const override;
  void velocity_rhs(double t, const ConstVector& q, Eigen::Ref<VectorX> nu) const override;
  void acceleration_rhs(double t, const ConstVector& q, const ConstVector& qd,
                        Eigen::Ref<VectorX> gamma) const override;
  void add_jacobian(double t, const ConstVector& q, int row0, SparseAssembler& Phi_q) const override;
  void add_velocity_tangent(double t, const ConstVector& q, const ConstVector& qd, int row0,
                            SparseAssembler& V_q) const override;
  void add_force_tangent(double t, const ConstVector& q, const ConstVector& lambda, SparseAssembler& K) const override;
  void add_acceleration_tangents(double t, const ConstVector& q, const ConstVector& qd, const ConstVector& qdd,
                                 int row0, SparseAssembler& G_q, SparseAssembler& G_v) const override;

 private:
  struct Wheel {
    JointAngle angle;
    double factor = 0.0;
  };
  [[nodiscard]] double turned(const ConstVector& q) const;

  std::string name_;
  std::vector<Wheel> wheels_;
  double teeth_ = 1.0;
  double constant_ = 0.0;
  bool active_ = true;
};

}  // namespace heelstrike::mbs
