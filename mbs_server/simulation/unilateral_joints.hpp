/// The unilateral joints of a motion: how an integrator finds where they let go or are struck, and what happens there.
///
/// At an event the impact of all joints that touch is solved with every other constraint in place (Newton's law), then
/// the forces and accelerations of all that touch and do not part: those that push are closed, the others open.
/// docs/theory/rigid_contact.md, "Joints that let go".
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
  /// What coordinates and rates are known to behind a few steps: x to rtol |x| + atol in each; zero = to rounding.
  void set_tolerances(double rtol, double atol) {
    rtol_ = rtol;
    atol_ = atol;
  }

  [[nodiscard]] bool any() const { return !system_.unilaterals().empty(); }
  [[nodiscard]] int n_roots() const { return roots_per_joint * static_cast<int>(system_.unilaterals().size()); }
  /// Of each joint in turn: the force of a closed one or the gap of an open one; 1 or the rate of the gap, so that an
  /// integrator looks into a dip that begins and ends within a step.
  void roots(const MotionState& at, Eigen::Ref<VectorX> values);
  /// Directions in which they matter: forces and gaps fall, rates rise.
  [[nodiscard]] std::vector<int> directions() const;

  /// Joints whose force or gap has a root. @param roots  of one step, counted from those of this object
  [[nodiscard]] std::vector<std::size_t> at_root(std::span<const int> roots) const;
  /// [m] How deep an open joint that no root tells of is beyond its gap; 0 = none is. @param told  joints at a root
  [[nodiscard]] double missed_penetration(const ConstVector& q, std::span<const std::size_t> told) const;

  /// Whether the state asks for settle() without any root: a closed joint would pull, an open one sinks.
  [[nodiscard]] bool needs_event(const MotionState& at);

  struct Event {
    double dissipated = 0.0;     ///< [J] by impacts
    double external_work = 0.0;  ///< [J] of drivers during impacts
  };
  /// Moves touching joints onto their gaps, lets them strike, closes those that push and opens all others.
  /// @param y        {q, qd, s} on the constraints, in place
  /// @param at_root  closed joints that let go here, open ones that are struck
  /// @param touch    [m] joints with smaller gaps touch, too
  /// @throws Error{solver_failed} for joints that push and depend on each other; what forces throw
  [[nodiscard]] Event resolve_event(double t, VectorX& y, std::span<const std::size_t> at_root, double touch);
  /// The same for joints that touch as far as is known.
  [[nodiscard]] Event resolve_event(double t, VectorX& y, std::span<const std::size_t> at_root) {
    return resolve_event(t, y, at_root, 2.0 * error(y.head(system_.n_q())));
  }

 private:
  /// What a gap, or its rates, are known to.
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
