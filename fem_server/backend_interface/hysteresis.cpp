#include "fem_server/backend_interface/hysteresis.hpp"

#include <cmath>

namespace heelstrike::fem {

namespace {

/// Root of an increasing function in [low, high] by bisection, which is robust; it runs only once per pair.
template <typename Function>
double bisect(const Function& f, double low, double high) {
  for (int i = 0; i < 200; ++i) {
    const double middle = 0.5 * (low + high);
    (f(middle) < 0.0 ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

double gonthier_factor(double c_r) {
  // d from the second- and third-order terms of the logarithms; the fourth changes d by a relative O(d).
  const double d_small = 1.5 * c_r * (1.0 - c_r) * (1.0 + c_r) / (1.0 + c_r * c_r * c_r);
  if (1.0 - c_r < 1e-6) return d_small / c_r;
  // In t = -ln(1 - d) the root remains representable as d tends to 1, i.e. for small c_r.
  const double slope = 1.0 + 1.0 / c_r;
  const auto residual = [&](double t) {
    const double d = -std::expm1(-t);
    return std::log1p(d / c_r) + t - d * slope;
  };
  const double t = bisect(residual, 0.1 * d_small, slope);
  return -std::expm1(-t) / c_r;
}

double flores_factor(double c_r) {
  return 8.0 * (1.0 - c_r) / (5.0 * c_r);
}

double effective_restitution(double hysteresis_factor) {
  const double H = hysteresis_factor;
  if (H < 1e-6) return 1.0 - 2.0 * H / 3.0;
  // In s = -ln(1 - H e): the residual is H e + H - ln(1 + H) - s, negated so that it increases through the root.
  const auto residual = [&](double s) { return std::log1p(H) - H + s + std::expm1(-s); };
  const double s = bisect(residual, 0.0, H + 2.0);
  return -std::expm1(-s) / H;
}

}  // namespace heelstrike::fem
