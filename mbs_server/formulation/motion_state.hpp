/// A state of the motion as forces and equations of motion see it.
#pragma once

#include "mbs_server/formulation/constraint.hpp"

namespace heelstrike::mbs {

/// What y = {q, qd, s} consists of, and its time. Looks at vectors of others, which outlive it.
struct MotionState {
  MotionState(double time, const ConstVector& coordinates, const ConstVector& rates, const ConstVector& states)
      : t(time), q(coordinates), qd(rates), s(states) {}
  /// Of a model, or an element, without own states.
  MotionState(double time, const ConstVector& coordinates, const ConstVector& rates)
      : MotionState(time, coordinates, rates, coordinates.head(0)) {}

  double t;        ///< [s]
  ConstVector q;   ///< coordinates of all bodies
  ConstVector qd;  ///< their rates
  ConstVector s;   ///< own states of force elements: of all in the order of System::forces(), or of the element asked
  /// Forces that are expensive may be those of the last state of this time that they were asked for, which differs from
  /// this one by no more than the error of a step.
  bool allow_cached_contact = false;
};

}  // namespace heelstrike::mbs
