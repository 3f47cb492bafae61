/// The stabilised index-2 form of the equations of motion ([gear1985] in docs/references.bib): position and velocity
/// constraints are both satisfied, the former by an additional multiplier mu in the kinematic equation.
///
///   qd  = v - Phi_q' mu          Phi(q, t)         = 0
///   M vd = g - Phi_q' lambda     Phi_q v - nu(q,t) = 0
///
/// and ds/dt = f(t, q, v, s) for the internal states of force elements. Unknowns x = {q, v, s, lambda, mu}. In exact
/// arithmetic mu = 0.
#pragma once

#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {

class GglForm {
 public:
  /// @param system  complete: constraints and forces added later are ignored; outlives this object
  explicit GglForm(System& system);

  [[nodiscard]] int size() const { return n_y_ + 2 * m_; }

  /// r(t, x, xd) of size(), in the order of the equations: q, v, s, lambda (Phi), mu (Phi_q v - nu).
  void residual(double t, const ConstVector& x, const ConstVector& xd, Eigen::Ref<VectorX> r);

  /// Factors dr/dx + c dr/dxd at (t, x).
  /// @throws RecoverableError for a singular configuration; exceptions of the force elements
  void factor(double t, const ConstVector& x, double c);
  /// Solves with the last factors, in place.
  void solve(Eigen::Ref<VectorX> b) const;

  void reset_factorisation() { lu_.reset_factorisation(); }

 private:
  template <typename Fill>
  void for_each_block(Fill fill) const;
  void assemble_jacobian(double t, const ConstVector& q);

  System& system_;
  int n_ = 0;
  int n_y_ = 0;  ///< {q, v, s}
  int m_ = 0;
  SparseAssembler Phi_q_, K_, C_, K_mu_, velocity_;
  SparseAssembler matrix_;
  SparseLu lu_;
  double c_ = 1.0;     ///< [1/s] of the last factor()
  double mass_ = 1.0;  ///< [kg] largest of the last factor()
  VectorX g_, inertia_;
};

}  // namespace heelstrike::mbs
