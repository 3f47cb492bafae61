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
  /// A sum that is positive on the intended branch, e.g. the cosine for a sine; none = always.
  std::vector<Term> positive = {};

  static constexpr bool prescribed_in_time = true;

  [[nodiscard]] double residual(double t, const ConstVector& q) const;
  [[nodiscard]] bool on_intended_branch(double t, const ConstVector& q) const;
  [[nodiscard]] double velocity_rhs(double t, const ConstVector& q) const;
  [[nodiscard]] double acceleration_rhs(double t, const ConstVector& q, const ConstVector& qd) const;
  void add_jacobian(double t, const ConstVector& q, int row, SparseAssembler& Phi_q) const;
  void add_velocity_tangent(double t, const ConstVector& q, const ConstVector& qd, int row, SparseAssembler& V_q) const;
  void add_force_tangent(double t, const ConstVector& q, double lambda, SparseAssembler& K) const;
  void add_acceleration_tangents(double t, const ConstVector& q, const ConstVector& qd, const ConstVector& qdd, int row,
                                 SparseAssembler& G_q, SparseAssembler& G_v) const;
};

using RheonomicConstraint = EquationConstraint<RheonomicEquation>;

}  // namespace heelstrike::mbs
