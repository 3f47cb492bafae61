/// Smooth functions of time with exact first and second derivatives, for drivers and time-dependent loads.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/motion/jet.hpp"

namespace heelstrike {

/// Immutable; callable from several threads.
class TimeFunction {
 public:
  virtual ~TimeFunction() = default;
  [[nodiscard]] virtual Jet at(double t) const = 0;
  /// Last time at which the function is defined, +inf for formulas.
  [[nodiscard]] virtual double last_time() const;
  /// First time at which the function is defined, -inf for formulas.
  [[nodiscard]] virtual double first_time() const;
};

using TimeFunctionPtr = std::shared_ptr<const TimeFunction>;

/// coefficients[0] + coefficients[1] t + ...
[[nodiscard]] TimeFunctionPtr make_polynomial(std::vector<double> coefficients);

/// Natural interpolating spline of degree 3 (f'' = 0 at both ends) or 5 (f''' = f'''' = 0 at both ends); outside of the
/// table the end polynomial extrapolates, so that a trial step just beyond the end can be evaluated.
/// @param times  at least 2 (cubic) or 3 (quintic), strictly increasing
/// @throws Error{invalid_input} with the wrong entry
[[nodiscard]] TimeFunctionPtr make_spline(std::vector<double> times, const std::vector<double>& values, int degree);

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
