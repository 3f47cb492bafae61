/// Polynomials in time through up to three samples.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace heelstrike::mbs {

/// Maximum number of samples.
inline constexpr std::size_t max_samples = 3;
/// One factor per sample; those beyond the samples are zero.
using SampleWeights = std::array<double, max_samples>;

/// Value at `t` of the polynomial through all samples.
/// @param times  [s] of one to three samples, all different
[[nodiscard]] SampleWeights lagrange_weights(std::span<const double> times, double t);
/// Its integral from `a` to `b`.
[[nodiscard]] SampleWeights lagrange_integrals(std::span<const double> times, double a, double b);

}  // namespace heelstrike::mbs
