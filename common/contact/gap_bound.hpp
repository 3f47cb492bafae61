/// Bounds of the gap at states other than that of a GapBound.
#pragma once

#include "common/contact/contact.hpp"

namespace heelstrike {

struct GapInterval {
  double lower = 0.0;    ///< [m]
  double upper = 0.0;    ///< [m]
  double falling = 0.0;  ///< [m/s] lower bound of the rate of `lower` with the twist of the motion
  double rising = 0.0;   ///< [m/s] upper bound of that rate
};

/// Includes rounding: both the true gap and the one that the back-end would compute lie in the interval.
/// @param gap  [m] gap that belongs to `bound`
/// @param X_evaluated  pose of that gap
/// @pre bound.known
[[nodiscard]] GapInterval gap_interval(const GapBound& bound, double gap, const Pose& X_evaluated,
                                       const PairState& state);

}  // namespace heelstrike
