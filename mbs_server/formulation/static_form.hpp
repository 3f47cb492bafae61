/// Balance of forces at rest, in the unknowns x = {q, lambda}:
///
///   F(x) = { Phi_q' lambda - g(q, 0, s(q), t);  Phi(q, t) } = 0,
///
/// with the own states s of force elements in equilibrium, f(t, q, 0, s) = 0, wherever the bodies are: what they change
/// in the tangent is -g_s f_s^-1 f_q (ElementStates with rate 0).
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
  /// Own states of force elements at the last residual().
  [[nodiscard]] const VectorX& states() const { return s_; }
  /// From which those of the next residual() are found.
  void set_states(const ConstVector& s) { s_ = s; }
  /// [N/m] largest entry of the tangent at the last factor().
  [[nodiscard]] double max_stiffness() const { return max_stiffness_; }

 private:
  System& system_;
  int n_ = 0;
  int m_ = 0;
  /// With the states in equilibrium. @throws RecoverableError that names the element that has none
  [[nodiscard]] MotionState initial_displacements(double t, const ConstVector& x);

  SparseAssembler K_, unused_C_;
  RigidElimination matrix_;
  SparseMatrix joint_Phi_q_;
  VectorX g_, zero_, s_;
  double max_stiffness_ = 0.0;
};

}  // namespace heelstrike::mbs
