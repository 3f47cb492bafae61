/// What a GapBound says of the gap at another state than the one it came with.
#pragma once

#include "common/contact/contact.hpp"

namespace heelstrike {

struct GapInterval {
  double lower = 0.0;    ///< [m]
  double upper = 0.0;    ///< [m]
  double falling = 0.0;  ///< [m/s] the rate of `lower` with the motion's twist lies between this
  double rising = 0.0;   ///< [m/s] and this
};

/// Rounding included: the gap that the back-end would compute lies in the range, not only the true one.
/// @param gap   [m] that came with `bound`
/// @param asked  where it came from
/// @pre bound.known
[[nodiscard]] GapInterval gap_interval(const GapBound& bound, double gap, const Pose& asked, const PairState& state);

}  // namespace heelstrike
