/// Smooth functions of time with exact first and second derivatives, for drivers and time-dependent loads.
#pragma once

#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace heelstrike {

/// Value and the first two derivatives with respect to time. The arithmetic below differentiates formulas exactly
/// (automatic differentiation).
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

/// Immutable; callable from several threads.
class TimeFunction {
 public:
  virtual ~TimeFunction() = default;
  [[nodiscard]] virtual Jet at(double t) const = 0;
  /// Last time at which the function is defined, +inf for formulas.
  [[nodiscard]] virtual double last_time() const;
  /// First time at which the function is defined, -inf for formulas.
  [[nodiscard]] virtual double first_time() const;
  /// [s] Rows of a table, increasing; none for formulas.
  [[nodiscard]] virtual std::vector<double> rows() const { return {}; }
  /// [s] Times at which it may change abruptly: rows of a table, constants of a formula. In no order.
  [[nodiscard]] virtual std::vector<double> marks() const { return rows(); }
};

using TimeFunctionPtr = std::shared_ptr<const TimeFunction>;

/// coefficients[0] + coefficients[1] t + ...
[[nodiscard]] TimeFunctionPtr make_polynomial(std::vector<double> coefficients);

/// Natural interpolating spline of degree 3 (f'' = 0 at both ends) or 5 (f''' = f'''' = 0 at both ends), or of degree
/// 1, which is piecewise linear; outside of the table the end polynomial extrapolates, so that a trial step just beyond
/// the end can be evaluated.
/// @param times  at least 2 (linear, cubic) or 3 (quintic), strictly increasing
/// @throws Error{invalid_input} with the wrong entry
[[nodiscard]] TimeFunctionPtr make_spline(std::vector<double> times, const std::vector<double>& values, int degree);

/// A value of a function outside of the range of its rows.
struct Overshoot {
  double low = 0.0, high = 0.0;  ///< range of the rows
  double value = 0.0;            ///< the one that is farthest from that range
  double time = 0.0;             ///< [s] of this value
};

/// The largest overshoot of a spline through rows (TimeFunction::rows) between two times, if it is larger than 20 % of
/// the range of the rows. A step between rows at equal intervals overshoots by 13 % of its height, a sine with four or
/// more rows per period by 21 % of the range of its rows at most; more results from rows whose intervals are too
/// different, or too few rows.
[[nodiscard]] std::optional<Overshoot> find_overshoot(const TimeFunction& f, double from, double to);

/// Quintic Hermite interpolation of values and derivatives, exact at the given times.
/// @param times  at least 2, strictly increasing @throws Error{invalid_input} with the wrong entry
[[nodiscard]] TimeFunctionPtr make_hermite(std::vector<double> times, std::vector<Jet> jets);

/// Formula in t with + - * / ^ ( ), numbers, pi and the functions sin cos tan exp log sqrt tanh abs step(t, t0, t1).
/// `step` rises from 0 to 1 between t0 and t1 with two continuous derivatives. Derivatives are exact: the formula is
/// evaluated on (f, f', f'').
/// @throws Error{invalid_input} with the position of the error
[[nodiscard]] TimeFunctionPtr make_expression(const std::string& text);

/// scale * f(t) + offset.
[[nodiscard]] TimeFunctionPtr make_scaled(TimeFunctionPtr f, double scale, double offset);

}  // namespace heelstrike
