/// Functions of one variable with exact derivatives up to the third, for joints and their coordinates.
#pragma once

#include <memory>
#include <vector>

namespace heelstrike {

/// f and its derivatives.
struct FunctionValue {
  double f = 0.0, d1 = 0.0, d2 = 0.0, d3 = 0.0;
};

/// Immutable; callable from several threads.
class ScalarFunction {
 public:
  virtual ~ScalarFunction() = default;
  [[nodiscard]] virtual FunctionValue at(double x) const = 0;
  [[nodiscard]] virtual bool is_linear() const { return false; }
};

using ScalarFunctionPtr = std::shared_ptr<const ScalarFunction>;

/// coefficients[0] + coefficients[1] x + ...
[[nodiscard]] ScalarFunctionPtr make_power_series(std::vector<double> coefficients);

/// Interpolation of a table. Extrapolation is linear, for `steps` constant.
enum class Joining {
  spline,   ///< cubic; f''' in the first and in the last interval is that of the cubic through the four points there
            ///< (Forsythe, Malcolm, Moler 1977), as in OpenSim's SimmSpline
  natural,  ///< cubic with f'' = 0 at both ends
  lines,    ///< piecewise linear
  steps     ///< value of the preceding point
};
/// @param x  at least two, strictly increasing. @throws Error{invalid_input} with the wrong entry
[[nodiscard]] ScalarFunctionPtr make_table(std::vector<double> x, std::vector<double> y, Joining joining);

/// offset + amplitude sin(frequency x + phase), angles in rad.
[[nodiscard]] ScalarFunctionPtr make_sine(double amplitude, double frequency, double phase, double offset);

}  // namespace heelstrike
