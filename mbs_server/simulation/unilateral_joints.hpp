/// The unilateral joints of a motion: root functions for opening and impact, and resolution of these events.
///
/// At an event the impact of all touching joints is solved under all other constraints (Newton's law), then the forces
/// and accelerations of all touching joints that do not separate: those that push are closed, the others open.
/// docs/theory/rigid_contact.md, "Unilateral joints".
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {

class UnilateralJoints {
 public:
  static constexpr int roots_per_joint = 2;

  /// @param system  outlives this object
  explicit UnilateralJoints(System& system) : system_(system) {}
  /// Errors of coordinates and rates after a few steps: rtol |x| + atol in each step; zero = rounding.
  void set_tolerances(double rtol, double atol) {
    rtol_ = rtol;
    atol_ = atol;
  }

  [[nodiscard]] bool any() const { return !system_.unilaterals().empty(); }
  [[nodiscard]] int n_roots() const { return roots_per_joint * static_cast<int>(system_.unilaterals().size()); }
  /// Per joint: the force of a closed one or the gap of an open one; 1 or the rate of the gap, so that an integrator
  /// detects a dip within a step.
  void roots(const MotionState& at, Eigen::Ref<VectorX> values);
  /// Directions of the roots: forces and gaps fall, rates rise.
  [[nodiscard]] std::vector<int> directions() const;

  /// Joints whose force or gap has a root. @param roots  of one step, indices relative to this object
  [[nodiscard]] std::vector<std::size_t> at_root(std::span<const int> roots) const;
  /// [m] Penetration of an open joint without a root; 0 = none. @param known  joints at a root
  [[nodiscard]] double missed_penetration(const ConstVector& q, std::span<const std::size_t> known) const;

  /// True if the state requires resolve_event() without a root: a closed joint would pull, or an open one penetrates.
  [[nodiscard]] bool needs_event(const MotionState& at);

  struct Event {
    double dissipated = 0.0;     ///< [J] by impacts
    double external_work = 0.0;  ///< [J] of drivers during impacts
  };
  /// Moves touching joints to zero gap, applies impacts, closes joints that push and opens all others.
  /// @param y        {q, qd, s} on the constraints, in place
  /// @param at_root  closed joints that open here, open ones that have an impact
  /// @param touch    [m] joints with smaller gaps also touch
  /// @throws Error{solver_failed} for linearly dependent joints that push; exceptions of force elements
  [[nodiscard]] Event resolve_event(double t, VectorX& y, std::span<const std::size_t> at_root, double touch);
  /// As above, with the error of the gaps as tolerance.
  [[nodiscard]] Event resolve_event(double t, VectorX& y, std::span<const std::size_t> at_root) {
    return resolve_event(t, y, at_root, 2.0 * error(y.head(system_.n_q())));
  }

 private:
  /// Error of a gap or of its rate.
  [[nodiscard]] double error(const ConstVector& x) const;
  [[nodiscard]] double gap(std::size_t joint, const ConstVector& q) const;
  [[nodiscard]] double rate(std::size_t joint, const ConstVector& q, const ConstVector& qd) const;
  [[nodiscard]] std::vector<char> flags(std::span<const std::size_t> joints) const;
  /// Rows of the gradients of the gaps.
  [[nodiscard]] Eigen::MatrixXd gradients(std::span<const std::size_t> joints, const ConstVector& q) const;
  [[nodiscard]] Event apply_impact(std::span<const std::size_t> touching, const Eigen::MatrixXd& X,
                                   const Eigen::MatrixXd& W, const ConstVector& q, Eigen::Ref<VectorX> qd);
  [[nodiscard]] std::vector<std::size_t> pushing(double t, const VectorX& y, std::span<const std::size_t> candidates);

  System& system_;
  double rtol_ = 0.0, atol_ = 0.0;
};

}  // namespace heelstrike::mbs
