/// A block of constraint equations Phi(q, t) = 0 with the exact derivatives that the integrators need.
///
/// Velocity level: Phi_q qd = nu. Acceleration level: Phi_q qdd = gamma, gamma = nu_t - (Phi_q qd)_q qd
/// (Melo 2023, eqs 3.3, 3.4 with the missing -2 Phi_qt qd restored).
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "mbs_server/formulation/sparse_matrix.hpp"

namespace heelstrike::mbs {

using VectorX = Eigen::VectorXd;
using ConstVector = Eigen::Ref<const Eigen::VectorXd>;

class UnilateralConstraint;

class Constraint {
 public:
  virtual ~Constraint() = default;

  /// For messages, e.g. "ball: rigid body".
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual int rows() const = 0;
  /// True for prescribed motion, which does work on the system.
  [[nodiscard]] virtual bool depends_on_time() const { return false; }
  /// This constraint if it is unilateral, else null.
  [[nodiscard]] virtual UnilateralConstraint* unilateral() { return nullptr; }
  /// Removes all rows except `kept` (increasing): the others depend on earlier constraints.
  virtual void keep_rows(const std::vector<int>& kept) = 0;

  /// Phi(q, t), written to `phi` (rows() entries).
  virtual void residual(double t, const ConstVector& q, Eigen::Ref<VectorX> phi) const = 0;
  /// True if a pose that satisfies the equations is on the intended branch: the sine of an angle also vanishes half a
  /// turn away.
  [[nodiscard]] virtual bool on_intended_branch(double /*t*/, const ConstVector& /*q*/) const { return true; }
  /// nu = -Phi_t.
  virtual void velocity_rhs(double t, const ConstVector& q, Eigen::Ref<VectorX> nu) const = 0;
  /// gamma.
  virtual void acceleration_rhs(double t, const ConstVector& q, const ConstVector& qd,
                                Eigen::Ref<VectorX> gamma) const = 0;

  /// Adds Phi_q at rows `row0`...
  virtual void add_jacobian(double t, const ConstVector& q, int row0, SparseAssembler& Phi_q) const = 0;
  /// Adds (Phi_q qd - nu)_q at rows `row0`...
  virtual void add_velocity_tangent(double t, const ConstVector& q, const ConstVector& qd, int row0,
                                    SparseAssembler& V_q) const = 0;
  /// Adds -(Phi_q' lambda)_q to the force tangent K; `lambda` holds this block's rows() multipliers.
  virtual void add_force_tangent(double t, const ConstVector& q, const ConstVector& lambda,
                                 SparseAssembler& K) const = 0;
  /// Adds G_q = (gamma - Phi_q qdd)_q and G_v = gamma_qd at rows `row0`...
  virtual void add_acceleration_tangents(double t, const ConstVector& q, const ConstVector& qd, const ConstVector& qdd,
                                         int row0, SparseAssembler& G_q, SparseAssembler& G_v) const = 0;
};

}  // namespace heelstrike::mbs
