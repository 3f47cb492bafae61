#include "mbs_server/coupling/contact_states.hpp"

#include <algorithm>
#include <cmath>

namespace heelstrike::mbs {

namespace {

/// The maximum of a course is the minimum of its mirror image.
GapPoint mirrored(const GapPoint& p) {
  return {.t = p.t, .gap = -p.gap, .gap_rate = -p.gap_rate};
}

}  // namespace

std::optional<GapPoint> lowest_between(const GapPoint& a, const GapPoint& b) {
  // The derivative on s in [0, 1] is the quadratic A s^2 + B s + m0; at a minimum it has a root with positive slope.
  const double h = b.t - a.t;
  const double m0 = h * a.gap_rate;
  const double m1 = h * b.gap_rate;
  const double d = b.gap - a.gap;
  const double A = 3.0 * (m0 + m1 - 2.0 * d);
  const double B = 2.0 * (3.0 * d - 2.0 * m0 - m1);
  // Without two real roots, or with a double one, the rate keeps its sign.
  const double discriminant = B * B - 4.0 * A * m0;
  if (!(discriminant > 0.0)) return {};
  // The root of A s^2 + B s + m0 with slope +sqrt(discriminant), in the form without cancellation: the first form is
  // safe for A = 0, the second for a course that starts with zero rate, m0 = 0, and falls.
  const double root = std::sqrt(discriminant);
  const double s = B >= 0.0 ? -2.0 * m0 / (B + root) : (root - B) / (2.0 * A);
  if (!(s > 0.0 && s < 1.0)) return {};
  return GapPoint{.t = a.t + s * h, .gap = a.gap + s * (m0 + s * (0.5 * B + s * A / 3.0)), .gap_rate = 0.0};
}

std::optional<GapPoint> highest_between(const GapPoint& a, const GapPoint& b) {
  const auto lowest = lowest_between(mirrored(a), mirrored(b));
  if (!lowest) return {};
  return mirrored(*lowest);
}

}  // namespace heelstrike::mbs
