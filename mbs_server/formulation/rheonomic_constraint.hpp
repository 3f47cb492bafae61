/// Constraints prescribed in time: sum_k f_k(t) Q_k(q) = 0 with Q_k at most quadratic.
#pragma once

#include <functional>

#include "common/motion/time_function.hpp"
#include "mbs_server/formulation/quadratic_constraint.hpp"

namespace heelstrike::mbs {

/// Phi = sum_k f_k(t) Q_k(q). Everything follows exactly from f, f', f'' and the terms of Q:
///   Phi_q = sum f Q_q,  nu = -sum f' Q,
///   gamma = -sum ( f qd' Q_qq qd + 2 f' Q_q qd + f'' Q ).
struct RheonomicEquation {
  struct Term {
    std::function<Jet(double)> factor;
    QuadraticEquation form;
  };
  std::vector<Term> terms;
};

class RheonomicConstraint final : public Constraint {
 public:
  RheonomicConstraint(std::string name, std::vector<RheonomicEquation> equations);

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] int rows() const override { return static_cast<int>(equations_.size()); }
  [[nodiscard]] bool depends_on_time() const override { return true; }
  void keep_rows(const std::vector<int>& kept) override;
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
  std::string name_;
  std::vector<RheonomicEquation> equations_;
};

}  // namespace heelstrike::mbs
