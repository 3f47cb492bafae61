#include "common/motion/scalar_function.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike {
namespace {

class PowerSeries final : public ScalarFunction {
 public:
  explicit PowerSeries(std::vector<double> coefficients) : c_(std::move(coefficients)) {}
  [[nodiscard]] bool is_linear() const override { return c_.size() <= 2; }
  /// Horner's scheme for the value and its Taylor coefficients.
  [[nodiscard]] FunctionValue at(double x) const override {
    double f = 0.0, d1 = 0.0, d2 = 0.0, d3 = 0.0;
    for (std::size_t i = c_.size(); i-- > 0;) {
      d3 = d3 * x + d2;
      d2 = d2 * x + d1;
      d1 = d1 * x + f;
      f = f * x + c_[i];
    }
    return {.f = f, .d1 = d1, .d2 = 2.0 * d2, .d3 = 6.0 * d3};
  }

 private:
  std::vector<double> c_;
};

class Sine final : public ScalarFunction {
 public:
  Sine(double amplitude, double frequency, double phase, double offset)
      : amplitude_(amplitude), frequency_(frequency), phase_(phase), offset_(offset) {}
  [[nodiscard]] FunctionValue at(double x) const override {
    const double s = amplitude_ * std::sin(frequency_ * x + phase_);
    const double c = amplitude_ * std::cos(frequency_ * x + phase_);
    const double w = frequency_;
    return {.f = offset_ + s, .d1 = w * c, .d2 = -w * w * s, .d3 = -w * w * w * c};
  }

 private:
  double amplitude_, frequency_, phase_, offset_;
};

/// Cubics y + b s + c s^2 + d s^3 between points, linear extrapolation.
class CubicPieces final : public ScalarFunction {
 public:
  struct Piece {
    double x, y, b, c, d;
  };
  /// @param pieces  one for each point; of the last one only x, y, b are used
  explicit CubicPieces(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {}
  [[nodiscard]] FunctionValue at(double x) const override {
    const Piece& first = pieces_.front();
    const Piece& last = pieces_.back();
    if (x < first.x) return {.f = first.y + (x - first.x) * first.b, .d1 = first.b};
    if (x >= last.x) return {.f = last.y + (x - last.x) * last.b, .d1 = last.b};
    const auto behind = std::ranges::upper_bound(pieces_, x, {}, &Piece::x);
    const Piece& p = *std::prev(behind);
    const double s = x - p.x;
    return {.f = p.y + s * (p.b + s * (p.c + s * p.d)),
            .d1 = p.b + s * (2.0 * p.c + 3.0 * s * p.d),
            .d2 = 2.0 * p.c + 6.0 * s * p.d,
            .d3 = 6.0 * p.d};
  }

 private:
  std::vector<Piece> pieces_;
};

void check_table(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size()) {
    throw input_error("x", fmt::format("expected as many values as points, found {} and {}", y.size(), x.size()));
  }
  if (x.size() < 2) throw input_error("x", fmt::format("expected at least 2 points, found {}", x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) {
      throw input_error("x", fmt::format("expected finite numbers, found none at entry {}", i + 1));
    }
    if (i > 0 && !(x[i] > x[i - 1])) {
      throw input_error(
          "x", fmt::format("expected increasing points, found {} after {} at entry {}", x[i], x[i - 1], i + 1));
    }
  }
}

/// Second derivatives at the points: a tridiagonal system by elimination, rows lower, diagonal, upper = right.
std::vector<double> second_derivatives(const std::vector<double>& x, const std::vector<double>& y, bool natural) {
  const std::size_t n = x.size();
  std::vector<double> lower(n, 0.0), diagonal(n, 1.0), upper(n, 0.0), m(n, 0.0);
  if (n < 3) return m;
  const auto h = [&](std::size_t i) { return x[i + 1] - x[i]; };
  const auto slope = [&](std::size_t i) { return (y[i + 1] - y[i]) / h(i); };
  for (std::size_t i = 1; i + 1 < n; ++i) {
    lower[i] = h(i - 1);
    diagonal[i] = 2.0 * (h(i - 1) + h(i));
    upper[i] = h(i);
    m[i] = 6.0 * (slope(i) - slope(i - 1));
  }
  if (!natural) {
    // Third divided difference of the points i to i + 3; zero for three points.
    const auto third = [&](std::size_t i) {
      if (n < 4) return 0.0;
      const double a = (slope(i + 1) - slope(i)) / (x[i + 2] - x[i]);
      const double b = (slope(i + 2) - slope(i + 1)) / (x[i + 3] - x[i + 1]);
      return (b - a) / (x[i + 3] - x[i]);
    };
    diagonal[0] = -1.0;
    upper[0] = 1.0;
    m[0] = 6.0 * h(0) * third(0);
    lower[n - 1] = -1.0;
    m[n - 1] = n < 4 ? 0.0 : 6.0 * h(n - 2) * third(n - 4);
  }
  for (std::size_t i = 1; i < n; ++i) {
    const double factor = lower[i] / diagonal[i - 1];
    diagonal[i] -= factor * upper[i - 1];
    m[i] -= factor * m[i - 1];
  }
  m[n - 1] /= diagonal[n - 1];
  for (std::size_t i = n - 1; i-- > 0;) m[i] = (m[i] - upper[i] * m[i + 1]) / diagonal[i];
  return m;
}

}  // namespace

ScalarFunctionPtr make_power_series(std::vector<double> coefficients) {
  return std::make_shared<PowerSeries>(std::move(coefficients));
}

ScalarFunctionPtr make_sine(double amplitude, double frequency, double phase, double offset) {
  return std::make_shared<Sine>(amplitude, frequency, phase, offset);
}

ScalarFunctionPtr make_table(std::vector<double> x, std::vector<double> y, Joining joining) {
  check_table(x, y);
  const std::size_t n = x.size();
  const bool curved = joining == Joining::spline || joining == Joining::natural;
  const std::vector<double> m =
      curved ? second_derivatives(x, y, joining == Joining::natural) : std::vector<double>(n, 0.0);
  std::vector<CubicPieces::Piece> pieces;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const double h = x[i + 1] - x[i];
    const double b = joining == Joining::steps ? 0.0 : (y[i + 1] - y[i]) / h - h * (2.0 * m[i] + m[i + 1]) / 6.0;
    pieces.push_back({x[i], y[i], b, 0.5 * m[i], (m[i + 1] - m[i]) / (6.0 * h)});
  }
  const double h = x[n - 1] - x[n - 2];
  const double b = joining == Joining::steps ? 0.0 : (y[n - 1] - y[n - 2]) / h + h * (m[n - 2] + 2.0 * m[n - 1]) / 6.0;
  pieces.push_back({x[n - 1], y[n - 1], b, 0.0, 0.0});
  return std::make_shared<CubicPieces>(std::move(pieces));
}

}  // namespace heelstrike
