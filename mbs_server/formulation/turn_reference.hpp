/// Reference of angles that count full turns.
#pragma once

#include "mbs_server/formulation/constraint.hpp"

namespace heelstrike::mbs {

/// Angles that poses determine up to full turns only. Of the equivalent values the one closest to a reference is taken,
/// the value at an accepted state less than half a turn ago: angles are continuous along the motion for any number of
/// turns. The reference is part of the accepted state. Evaluations do not change it, so that neither iterations nor
/// rejected steps can.
class TurnReference {
 public:
  virtual ~TurnReference() = default;

  /// Values of the last accepted state at which they had changed; always the same number.
  [[nodiscard]] virtual const VectorX& reference() const = 0;
  virtual void set_reference(const ConstVector& values) = 0;
  /// The values at a pose. @throws RecoverableError where they are undefined
  [[nodiscard]] virtual VectorX reference_at(const ConstVector& q) const = 0;
  /// Their rates.
  [[nodiscard]] virtual VectorX reference_rates(const ConstVector& q, const ConstVector& qd) const = 0;
};

}  // namespace heelstrike::mbs
