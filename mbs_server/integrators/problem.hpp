/// The initial value problem of the integrators: y' = f(t, y) on the constraint manifold, y = {q, qd, s}: positions,
/// their rates, and first-order states; with exact Newton systems, quadratures, and root functions.
#pragma once

#include <Eigen/Core>

namespace heelstrike::mbs {

class RigidContacts;

class Problem {
 public:
  using Vector = Eigen::VectorXd;
  using ConstRef = Eigen::Ref<const Eigen::VectorXd>;
  using MutableRef = Eigen::Ref<Eigen::VectorXd>;

  virtual ~Problem() = default;

  /// Entries of y.
  [[nodiscard]] virtual int size() const = 0;
  /// Entries of q.
  [[nodiscard]] virtual int n_positions() const = 0;
  /// f(t, y). May throw RecoverableError (a smaller step may succeed) or Error.
  virtual void rhs(double t, const ConstRef& y, MutableRef yd) = 0;
  /// f(t, y) with Baumgarte's stabilisation of the constraints: gamma - 2 alpha Phid - beta^2 Phi.
  /// @param alpha, beta  [1/s]
  virtual void stabilized_rhs(double t, const ConstRef& y, double alpha, double beta, MutableRef yd) = 0;

  [[nodiscard]] virtual int n_quadratures() const = 0;
  /// Integrands of quadratures, which do not affect y.
  virtual void quadrature_rhs(double t, const ConstRef& y, MutableRef integrands) = 0;

  /// Moves y onto the constraints.
  virtual void project(double t, MutableRef y) = 0;

  /// Makes the axes of bodies unit vectors again, normal to each other, without a change of momentum and angular
  /// momentum of any body, of which project() would preserve the velocities instead.
  virtual void restore_rigid_bodies(MutableRef /*y*/) {}

  /// Linearises f at (t, y), prepares (1 - gamma J), solves (1 - gamma J) x = b in place.
  virtual void linearize(double t, const ConstRef& y) = 0;
  virtual void factor_newton(double gamma) = 0;
  virtual void solve_newton(MutableRef b) = 0;

  /// The stabilised index-2 form r(t, x, xd) = 0, x = {y, lambda, mu} with n_multipliers() entries in lambda and in
  /// mu.
  [[nodiscard]] virtual int n_multipliers() const = 0;
  /// lambda corresponding to f(t, y).
  virtual void multipliers(double t, const ConstRef& y, MutableRef lambda) = 0;
  virtual void index2_residual(double t, const ConstRef& x, const ConstRef& xd, MutableRef r) = 0;
  /// Factors dr/dx + c dr/dxd; solves with the last factors in place.
  virtual void factor_index2(double t, const ConstRef& x, double c) = 0;
  virtual void solve_index2(MutableRef b) = 0;

  /// Contacts of rigid bodies, which act by impulses; null = none.
  [[nodiscard]] virtual RigidContacts* rigid_contacts() { return nullptr; }

  [[nodiscard]] virtual int n_roots() const = 0;
  virtual void roots(double t, const ConstRef& y, MutableRef values) = 0;
  /// True if an inexpensive bound excludes relevant roots between two states of a step.
  [[nodiscard]] virtual bool no_roots(double /*t*/, const ConstRef& /*y*/, double /*t_end*/,
                                      const ConstRef& /*y_end*/) const {
    return false;
  }
};

}  // namespace heelstrike::mbs
