/// State of the motion: input of forces and equations of motion.
#pragma once

#include "mbs_server/formulation/constraint.hpp"

namespace heelstrike::mbs {

/// The parts of y = {q, qd, s}, and the time. Refers to vectors that must outlive it.
struct MotionState {
  MotionState(double time, const ConstVector& coordinates, const ConstVector& rates, const ConstVector& states)
      : t(time), q(coordinates), qd(rates), s(states) {}
  /// For a model or element without internal states.
  MotionState(double time, const ConstVector& coordinates, const ConstVector& rates)
      : MotionState(time, coordinates, rates, coordinates.head(0)) {}

  double t;        ///< [s]
  ConstVector q;   ///< coordinates of all bodies
  ConstVector qd;  ///< their rates
  ConstVector s;   ///< internal states: of all force elements in the order of System::forces(), or of one element
  /// Allows expensive forces to return the values of their last evaluation at this time, whose state differs from this
  /// one by no more than the error of a step.
  bool allow_cached_contact = false;
};

}  // namespace heelstrike::mbs
