/// The multibody system with its contacts as an initial value problem. State y = {q, qd, s}, see System; quadratures =
/// {dissipated energy, work of external loads}; roots = those of all pairs (ContactRoot), unless the
/// coupling scheme has macro steps, and those of unilateral joints.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

#include "mbs_server/coupling/contact_states.hpp"
#include "mbs_server/coupling/coupling_scheme.hpp"
#include "mbs_server/formulation/ggl_form.hpp"
#include "mbs_server/integrators/problem.hpp"
#include "mbs_server/simulation/rigid_contact_set.hpp"
#include "mbs_server/simulation/unilateral_joints.hpp"

namespace heelstrike::mbs {

/// Entries of the quadratures, stored besides the state.
struct EnergyQuadrature {
  static constexpr Eigen::Index dissipated = 0;     ///< [J] by rate-dependent terms
  static constexpr Eigen::Index external_work = 1;  ///< [J] by loads and drivers
  static constexpr Eigen::Index n = 2;
};

/// [m] Rounding error of a gap: a difference of coordinates and lengths of bodies after some dozens of operations.
/// @param q  [m, -] coordinates of all bodies
[[nodiscard]] double gap_rounding(const ConstVector& q);

/// [m/s] Likewise its rate. @param qd  [m/s, 1/s] rates of all coordinates
[[nodiscard]] double gap_rate_rounding(const ConstVector& qd);

class RunProblem final : public Problem {
 public:
  /// @param system           complete: no joints or forces are added later
  /// @param scheme, states   of the contact force of `system`
  /// @param stop             checked in every evaluation, which then throws Error{cancelled}
  /// @param max_evaluations  of the equations of motion; the next one throws Error{limit}
  /// @param rigid            rigid contacts of `system`
  RunProblem(System& system, CouplingScheme& scheme, const ContactStates& states, RigidContactSet& rigid,
             std::stop_token stop, std::int64_t max_evaluations);

  [[nodiscard]] int size() const override { return system_.n_y(); }
  [[nodiscard]] int n_positions() const override { return system_.n_q(); }
  void rhs(double t, const ConstRef& y, MutableRef yd) override;
  void stabilized_rhs(double t, const ConstRef& y, double alpha, double beta, MutableRef yd) override;
  [[nodiscard]] int n_quadratures() const override { return EnergyQuadrature::n; }
  void quadrature_rhs(double t, const ConstRef& y, MutableRef integrands) override;
  void project(double t, MutableRef y) override;
  void restore_rigid_bodies(MutableRef y) override;
  void linearize(double t, const ConstRef& y) override;
  void factor_newton(double gamma) override { system_.factor_newton(gamma); }
  void solve_newton(MutableRef b) override { system_.solve_newton(b); }
  [[nodiscard]] int n_multipliers() const override { return system_.n_constraints(); }
  void multipliers(double t, const ConstRef& y, MutableRef lambda) override;
  void index2_residual(double t, const ConstRef& x, const ConstRef& xd, MutableRef r) override;
  void factor_index2(double t, const ConstRef& x, double c) override { ggl_->factor(t, x, c); }
  void solve_index2(MutableRef b) override { ggl_->solve(b); }

  [[nodiscard]] int n_roots() const override { return n_pair_roots() + unilateral_.n_roots(); }
  /// Number of roots of pairs, which precede those of unilateral joints.
  [[nodiscard]] int n_pair_roots() const {
    return scheme_.has_macro_steps() ? 0 : ContactRoot::per_pair * static_cast<int>(states_.n_pairs());
  }
  [[nodiscard]] RigidContacts* rigid_contacts() override { return rigid_.any() ? &rigid_ : nullptr; }
  void roots(double t, const ConstRef& y, MutableRef values) override;
  [[nodiscard]] bool no_roots(double t, const ConstRef& y, double t_end, const ConstRef& y_end) const override;
  /// Directions of the roots: falling gap and rising rate for open pairs, rising gap and end of sliding for closed
  /// ones.
  [[nodiscard]] std::vector<int> root_directions() const;

  [[nodiscard]] UnilateralJoints& unilateral_joints() { return unilateral_; }

  /// Evaluations of the equations of motion so far, which the budget limits.
  [[nodiscard]] std::int64_t n_evaluations() const { return n_evaluations_; }
  void set_evaluations(std::int64_t n) { n_evaluations_ = n; }

  /// Makes later results independent of earlier ones; called at restarts of the integration.
  void reset_factorisation();
  /// Must be called when the bodies of a force element or the rows of the system change.
  void reset_force_patterns();

 private:
  void count_evaluation();
  void set_rates(const MotionState& at, const Accelerations& at_state, MutableRef yd);

  System& system_;
  CouplingScheme& scheme_;
  const ContactStates& states_;
  RigidContactSet& rigid_;
  UnilateralJoints unilateral_;
  std::stop_token stop_;
  std::int64_t max_evaluations_;
  std::int64_t n_evaluations_ = 0;
  std::optional<GglForm> ggl_;
};

}  // namespace heelstrike::mbs
