/// A unilateral constraint: a gap Phi(q) >= 0 whose force pushes and never pulls.
///
/// Closed, it is the equation Phi = 0 with the force N = -lambda >= 0 along Phi_q; open, it has no rows. The stepping
/// algorithm switches between both: docs/theory/rigid_contact.md, "Unilateral joints".
#pragma once

#include <string>
#include <utility>

#include "mbs_server/formulation/quadratic_constraint.hpp"

namespace heelstrike::mbs {

/// Impact law at closure of the gap.
struct ImpactAtGap {
  double restitution = 0.0;            ///< [-] in [0, 1], Newton's law
  double restitution_threshold = 0.0;  ///< [m/s] slower approaches end without rebound
};

class UnilateralConstraint final : public QuadraticConstraint {
 public:
  /// Initially open. @param gap  [m], with a gradient of unit norm at the constrained points
  UnilateralConstraint(std::string name, QuadraticEquation gap, const ImpactAtGap& impact)
      : QuadraticConstraint(std::move(name), {}), gap_(std::move(gap)), impact_(impact) {}

  [[nodiscard]] UnilateralConstraint* unilateral() override { return this; }
  [[nodiscard]] const ImpactAtGap& impact() const { return impact_; }
  [[nodiscard]] bool closed() const { return !equations_.empty(); }
  /// Called by System, which counts rows.
  void set_closed(bool closed) {
    equations_.clear();
    if (closed) equations_.push_back(gap_);
  }
  /// The gap [m] and its derivatives, whether closed or open.
  [[nodiscard]] const QuadraticEquation& gap() const { return gap_; }

 private:
  QuadraticEquation gap_;
  ImpactAtGap impact_;
};

}  // namespace heelstrike::mbs
