/// Static equilibrium in the unknowns x = {q, lambda}:
///
///   F(x) = { Phi_q' lambda - g(q, 0, s(q), t);  Phi(q, t) } = 0,
///
/// with the internal states s of force elements in steady state, f(t, q, 0, s) = 0, at every pose: their contribution
/// to the tangent is -g_s f_s^-1 f_q (ElementStates with rate 0).
///
/// The Newton matrix [-(g - Phi_q' lambda)_q, Phi_q'; Phi_q, 0] is symmetric where the forces have a potential; it is
/// solved with the rigid-body constraints eliminated.
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
  /// @param shift  [1/s^2] > 0 if a motion without resistance exists; raised above the rounding error of the stiffest
  ///               force element
  /// @throws RecoverableError when the matrix is singular; exceptions of the force elements
  void factor(double t, const ConstVector& x, double shift);
  /// Solves with the last factors, in place.
  void solve(Eigen::Ref<VectorX> b);

  /// [N, N m] scale of the residual: the largest generalised force, including forces that cancel.
  [[nodiscard]] double force_scale(double t, const ConstVector& x);
  /// Internal states of force elements at the last residual().
  [[nodiscard]] const VectorX& states() const { return s_; }
  /// Initial guess of the states for the next residual().
  void set_states(const ConstVector& s) { s_ = s; }
  /// [N/m] largest entry of the tangent at the last factor().
  [[nodiscard]] double max_stiffness() const { return max_stiffness_; }

 private:
  System& system_;
  int n_ = 0;
  int m_ = 0;
  /// The state with internal states in steady state. @throws RecoverableError with the element that has none
  [[nodiscard]] MotionState at_rest(double t, const ConstVector& x);

  SparseAssembler K_, unused_C_;
  RigidElimination matrix_;
  SparseMatrix joint_Phi_q_;
  VectorX g_, zero_, s_;
  double max_stiffness_ = 0.0;
};

}  // namespace heelstrike::mbs
