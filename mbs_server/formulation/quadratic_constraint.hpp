/// Constraints at most quadratic in the coordinates: rigid bodies and almost all joints in fully Cartesian coordinates.
/// Every derivative is exact and follows from the list of terms.
#pragma once

#include <string>
#include <vector>

#include "mbs_server/formulation/constraint.hpp"

namespace heelstrike::mbs {

/// One scalar equation: sum c q_i q_j + sum b q_i + constant = 0.
struct QuadraticEquation {
  struct Quadratic {
    int i = 0;
    int j = 0;
    double c = 0.0;
  };
  struct Linear {
    int i = 0;
    double b = 0.0;
  };
  std::vector<Quadratic> quadratic;
  std::vector<Linear> linear;
  double constant = 0.0;
};

class QuadraticConstraint final : public Constraint {
 public:
  QuadraticConstraint(std::string name, std::vector<QuadraticEquation> equations);

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] int rows() const override { return static_cast<int>(equations_.size()); }
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
  std::vector<QuadraticEquation> equations_;
};

/// The six conditions that keep {v1, v2, v3} orthonormal (Melo 2023, eqs 3.9-3.12), in the order
/// v1.v1 - 1, v2.v2 - 1, v3.v3 - 1, v1.v2, v2.v3, v3.v1.
/// @param first  index of the body's first coordinate
[[nodiscard]] QuadraticConstraint rigid_body_constraint(const std::string& body, int first);

}  // namespace heelstrike::mbs
