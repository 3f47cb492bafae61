/// Spline filling of gaps and zero-lag low-pass filtering of recorded signals.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace heelstrike {

/// Entries [first, last] of a signal that were not recorded.
struct Gap {
  std::size_t first = 0;
  std::size_t last = 0;
  bool filled = false;
};

/// Fills the gaps (NaN) of a signal with the natural cubic spline through all recorded values. A gap longer than
/// `max_gap`, measured from the value before to the value after it, and a gap at either end stay: nothing is
/// extrapolated. The error of a filled gap is at most about 5/384 max_gap^4 |f''''|.
/// @param times    [s] strictly increasing
/// @param values  same number; NaN = gap; replaced where filled
/// @param max_gap  [s]
/// @returns every gap, in order, with its outcome
std::vector<Gap> fill_gaps(std::span<const double> times, std::span<double> values, double max_gap);

/// A low-pass filter that is applied forwards and backwards.
struct LowPass {
  int order = 4;        ///< total order, even; each pass is a Butterworth filter of half this order
  double cutoff = 6.0;  ///< [Hz] total attenuation of 3 dB (amplitude 1/sqrt(2)); the cut-off of each pass is corrected
  double rate = 0.0;    ///< [Hz] of the samples; above twice the cut-off
};

/// Amplitude of a sinusoid of `frequency` [Hz] after the filter: with W = tan(pi f / rate) / tan(pi cutoff / rate)
///   gain = 1 / (1 + (sqrt(2) - 1) W^order)
/// which is the square of the Butterworth amplitude with its cut-off moved by (sqrt(2) - 1)^(-1/order) for the two
/// passes [winter2009] and mapped by the bilinear transform [oppenheim2010].
[[nodiscard]] double low_pass_gain(const LowPass& filter, double frequency);

/// Zero-lag Butterworth low-pass. Before filtering the signal is extended at both ends by its point reflection (2 x_0 -
/// x_i) over three periods of the cut-off (at most the signal's length), and each pass starts in the steady state of
/// its first value, so that constants and straight lines are preserved.
/// @throws Error{invalid_input} for an odd order, a cut-off not below half the rate, fewer than 2 samples, or a gap
[[nodiscard]] std::vector<double> low_pass(std::span<const double> signal, const LowPass& filter);

}  // namespace heelstrike
