/// Course of a pair's gap between two states: the cubic through gap and gap rate at both.
#pragma once

#include <optional>

namespace heelstrike::mbs {

struct GapPoint {
  double t = 0.0;         ///< [s]
  double gap = 0.0;       ///< [m] negative in penetration
  double gap_rate = 0.0;  ///< [m/s] negative while approaching
};

/// Minimum and maximum strictly between `a` and `b`, where the rate vanishes; none = the ends are the extremes.
/// @pre a.t < b.t
[[nodiscard]] std::optional<GapPoint> lowest_between(const GapPoint& a, const GapPoint& b);
[[nodiscard]] std::optional<GapPoint> highest_between(const GapPoint& a, const GapPoint& b);

}  // namespace heelstrike::mbs
