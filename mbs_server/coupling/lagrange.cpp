#include "mbs_server/coupling/lagrange.hpp"

#include <cmath>

namespace heelstrike::mbs {

SampleWeights lagrange_weights(std::span<const double> times, double t) {
  SampleWeights weights{};
  for (std::size_t i = 0; i < times.size(); ++i) {
    weights[i] = 1.0;
    for (std::size_t j = 0; j < times.size(); ++j) {
      if (j != i) weights[i] *= (t - times[j]) / (times[i] - times[j]);
    }
  }
  return weights;
}

SampleWeights lagrange_integrals(std::span<const double> times, double a, double b) {
  // The two-point Gauss rule is exact up to degree 3.
  const double half = 0.5 * (b - a);
  const double offset = half / std::sqrt(3.0);
  const SampleWeights before = lagrange_weights(times, a + half - offset);
  const SampleWeights behind = lagrange_weights(times, a + half + offset);
  SampleWeights weights{};
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = half * (before[i] + behind[i]);
  return weights;
}

}  // namespace heelstrike::mbs
