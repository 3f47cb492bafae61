#include "mbs_server/coupling/contact_states.hpp"

#include <algorithm>
#include <cmath>

namespace heelstrike::mbs {

namespace {

/// The maximum of a course is the minimum of its mirror image.
GapPoint mirrored(const GapPoint& p) {
  return {.t = p.t, .gap = -p.gap, .gap_rate = -p.gap_rate};
}

/// Cubic through gaps and gap rates.
GapPoint gap_at(const GapPoint& a, const GapPoint& b, double t) {
  const double h = b.t - a.t;
  const double s = (t - a.t) / h;
  const double u = 1.0 - s;
  return {.t = t,
          .gap = (1.0 + 2.0 * s) * u * u * a.gap + s * s * (3.0 - 2.0 * s) * b.gap +
                 h * s * u * (u * a.gap_rate - s * b.gap_rate),
          .gap_rate =
              6.0 * s * u * (b.gap - a.gap) / h + u * (1.0 - 3.0 * s) * a.gap_rate - s * (2.0 - 3.0 * s) * b.gap_rate};
}

}  // namespace

GapPoint gap_root(const GapPoint& a, const GapPoint& b) {
  const bool begins_open = a.gap > 0.0;
  double low = a.t;
  double high = b.t;
  constexpr int n_bits = 50;  // of the interval, close to the resolution of the numbers
  for (int i = 0; i < n_bits; ++i) {
    const double middle = 0.5 * (low + high);
    ((gap_at(a, b, middle).gap > 0.0) == begins_open ? low : high) = middle;
  }
  return gap_at(a, b, begins_open ? high : low);
}

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

std::vector<GapPoint> contact_divisions(const GapPoint& a, const GapPoint& b) {
  std::vector<GapPoint> monotonic{a};
  for (const auto& extreme : {lowest_between(a, b), highest_between(a, b)}) {
    if (extreme) monotonic.push_back(*extreme);
  }
  monotonic.push_back(b);
  std::ranges::sort(monotonic, {}, &GapPoint::t);
  std::vector<GapPoint> divisions;
  for (std::size_t k = 0; k + 1 < monotonic.size(); ++k) {
    const GapPoint& from = monotonic[k];
    const GapPoint& to = monotonic[k + 1];
    if (k > 0 && from.gap <= 0.0) divisions.push_back(from);
    if ((from.gap > 0.0) != (to.gap > 0.0)) divisions.push_back(gap_root(from, to));
  }
  return divisions;
}

}  // namespace heelstrike::mbs
