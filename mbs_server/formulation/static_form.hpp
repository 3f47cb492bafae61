/// Balance of forces at rest, in the unknowns x = {q, lambda}:
///
///   F(x) = { Phi_q' lambda - g(q, 0, t);  Phi(q, t) } = 0.
///
/// The Newton matrix [-(g - Phi_q' lambda)_q, Phi_q'; Phi_q, 0] is symmetric where the forces have a potential; it is
/// solved with the rigid-body constraints eliminated, as everywhere.
#pragma once

#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {

class StaticForm {
 public:
  /// @param system  complete; outlives this object
  explicit StaticForm(System& system);

  [[nodiscard]] int size() const { return n_ + m_; }
  void residual(double t, const ConstVector& x, Eigen::Ref<VectorX> F);
  /// Factors dF/dx + shift [M 0; 0 0] at (t, x).
  /// @param shift  [1/s^2] > 0 where something is free to move without resistance; raised to what the rounding of the
  ///               stiffest force element asks for
  /// @throws RecoverableError when the matrix is singular; whatever the force elements throw
  void factor(double t, const ConstVector& x, double shift);
  /// Solves with the last factors, in place.
  void solve(Eigen::Ref<VectorX> b);

  /// [N, N m] the largest generalised force at work, by which imbalance is measured. Forces that cancel count too.
  [[nodiscard]] double force_scale(double t, const ConstVector& x);
  /// [N/m] largest entry of the tangent at the last factor().
  [[nodiscard]] double stiffest() const { return stiffest_; }

 private:
  System& system_;
  int n_ = 0;
  int m_ = 0;
  SparseAssembler K_;
  RigidElimination matrix_;
  SparseMatrix joint_Phi_q_;
  VectorX g_, zero_;
  double stiffest_ = 0.0;
};

}  // namespace heelstrike::mbs
