/// Constraints at most quadratic in the coordinates: rigid bodies and almost all joints in fully Cartesian coordinates.
/// Every derivative is exact and follows from the list of terms.
#pragma once

#include <string>
#include <vector>

#include "mbs_server/formulation/equation_constraint.hpp"

namespace heelstrike::mbs {

/// One scalar equation: Q(q) = sum c q_i q_j + sum b q_i + constant = 0.
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

  /// Q_q x
  [[nodiscard]] double slope(const ConstVector& q, const ConstVector& x) const;
  /// x' Q_qq x
  [[nodiscard]] double curvature(const ConstVector& x) const;
  /// factor * Q_q into `row`
  void add_gradient(double factor, const ConstVector& q, int row, SparseAssembler& target) const;
  /// factor * (Q_qq x) into `row`
  void add_hessian_product(double factor, const ConstVector& x, int row, SparseAssembler& target) const;
};

using QuadraticConstraint = EquationConstraint<QuadraticEquation>;

/// The six conditions that keep {v1, v2, v3} orthonormal (Melo 2023, eqs 3.9-3.12), in the order
/// v1.v1 - 1, v2.v2 - 1, v3.v3 - 1, v1.v2, v2.v3, v3.v1.
/// @param first  index of the body's first coordinate
[[nodiscard]] QuadraticConstraint rigid_body_constraint(const std::string& body, int first);

}  // namespace heelstrike::mbs
