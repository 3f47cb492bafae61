/// Arithmetic on values with their first two derivatives: exact derivatives of formulas (automatic differentiation).
#pragma once

#include <cmath>

namespace heelstrike {

/// Value and the first two derivatives with respect to time.
struct Jet {
  double f = 0.0;
  double d = 0.0;   ///< f'
  double dd = 0.0;  ///< f''
};

/// g(a) by the chain rule from g, g', g'' at a.f.
[[nodiscard]] inline Jet chain(const Jet& a, double g, double g1, double g2) {
  return {.f = g, .d = g1 * a.d, .dd = g2 * a.d * a.d + g1 * a.dd};
}
[[nodiscard]] inline Jet operator+(const Jet& a, const Jet& b) {
  return {.f = a.f + b.f, .d = a.d + b.d, .dd = a.dd + b.dd};
}
[[nodiscard]] inline Jet operator-(const Jet& a, const Jet& b) {
  return {.f = a.f - b.f, .d = a.d - b.d, .dd = a.dd - b.dd};
}
[[nodiscard]] inline Jet operator-(const Jet& a) {
  return {.f = -a.f, .d = -a.d, .dd = -a.dd};
}
[[nodiscard]] inline Jet operator*(double factor, const Jet& a) {
  return {.f = factor * a.f, .d = factor * a.d, .dd = factor * a.dd};
}
[[nodiscard]] inline Jet operator*(const Jet& a, const Jet& b) {
  return {.f = a.f * b.f, .d = a.d * b.f + a.f * b.d, .dd = a.dd * b.f + 2.0 * a.d * b.d + a.f * b.dd};
}
[[nodiscard]] inline Jet operator/(const Jet& a, const Jet& b) {
  return a * chain(b, 1.0 / b.f, -1.0 / (b.f * b.f), 2.0 / (b.f * b.f * b.f));
}
[[nodiscard]] inline Jet sine(const Jet& a) {
  return chain(a, std::sin(a.f), std::cos(a.f), -std::sin(a.f));
}
[[nodiscard]] inline Jet cosine(const Jet& a) {
  return chain(a, std::cos(a.f), -std::sin(a.f), -std::cos(a.f));
}

}  // namespace heelstrike
