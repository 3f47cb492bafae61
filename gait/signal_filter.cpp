#include "gait/signal_filter.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/errors/error.hpp"
#include "common/motion/time_function.hpp"

namespace heelstrike {
namespace {

/// y_i = b0 x_i + b1 x_i-1 + b2 x_i-2 - a1 y_i-1 - a2 y_i-2 with gain 1 at frequency 0.
struct Section {
  double b0, b1, b2, a1, a2;
};

/// Frequency variable of one pass such that two passes attenuate by 3 dB at the cut-off.
double corrected_cutoff(const LowPass& filter) {
  const double n = filter.order;
  return std::tan(std::numbers::pi * filter.cutoff / filter.rate) / std::pow(std::numbers::sqrt2 - 1.0, 1.0 / n);
}

std::vector<Section> sections_of(const LowPass& filter) {
  const double k = corrected_cutoff(filter);
  const int n = filter.order / 2;
  std::vector<Section> sections;
  for (int i = 0; i < n / 2; ++i) {
    // Poles of the Butterworth polynomial in pairs on the unit circle; the bilinear transform s = (1 - z^-1) / (1 +
    // z^-1) / k [oppenheim2010] makes each a section of second order.
    const double damping = 2.0 * std::sin((2 * i + 1) * std::numbers::pi / (2.0 * n));
    const double a0 = 1.0 + damping * k + k * k;
    sections.push_back({.b0 = k * k / a0,
                        .b1 = 2.0 * k * k / a0,
                        .b2 = k * k / a0,
                        .a1 = 2.0 * (k * k - 1.0) / a0,
                        .a2 = (1.0 - damping * k + k * k) / a0});
  }
  if (n % 2 == 1) {
    sections.push_back({.b0 = k / (1.0 + k), .b1 = k / (1.0 + k), .b2 = 0.0, .a1 = (k - 1.0) / (k + 1.0), .a2 = 0.0});
  }
  return sections;
}

void filter_pass(std::vector<double>& x, const std::vector<Section>& sections) {
  for (const Section& s : sections) {
    // Transposed direct form II, with the steady-state delays of a signal constant at its first value.
    double z1 = (1.0 - s.b0) * x.front();
    double z2 = (s.b2 - s.a2) * x.front();
    for (double& value : x) {
      const double y = s.b0 * value + z1;
      z1 = s.b1 * value - s.a1 * y + z2;
      z2 = s.b2 * value - s.a2 * y;
      value = y;
    }
  }
}

void check(std::span<const double> signal, const LowPass& filter) {
  if (filter.order < 2 || filter.order % 2 != 0 || filter.order > 16) {
    throw input_error("filter.order", fmt::format("filter.order: expected an even number from 2 to 16 (two passes), "
                                                  "found {}",
                                                  filter.order));
  }
  if (!(filter.cutoff > 0.0 && filter.cutoff < 0.5 * filter.rate)) {
    throw input_error("filter.cutoff",
                      fmt::format("filter.cutoff: expected a frequency between 0 and half the sampling "
                                  "rate ({} Hz), found {} Hz",
                                  0.5 * filter.rate, filter.cutoff));
  }
  if (signal.size() < 2) {
    throw input_error("signal", fmt::format("expected at least 2 samples to filter, found {}", signal.size()));
  }
  const auto gap = std::ranges::find_if(signal, [](double x) { return !std::isfinite(x); });
  if (gap != signal.end()) {
    throw input_error("signal",
                      fmt::format("expected a signal without gaps to filter, found a gap at sample {}; fill it",
                                  gap - signal.begin()));
  }
}

}  // namespace

std::vector<Gap> fill_gaps(std::span<const double> times, std::span<double> values, double max_gap) {
  std::vector<Gap> gaps;
  std::vector<double> known_times, known_values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) {
      known_times.push_back(times[i]);
      known_values.push_back(values[i]);
    } else if (!gaps.empty() && gaps.back().last + 1 == i) {
      gaps.back().last = i;
    } else {
      gaps.push_back({.first = i, .last = i});
    }
  }
  if (gaps.empty() || known_times.size() < 2) return gaps;
  // One spline through all samples: slopes and curvatures continue from both sides of a gap.
  const TimeFunctionPtr spline = make_spline(known_times, known_values, 3);
  for (Gap& gap : gaps) {
    const bool inside = gap.first > 0 && gap.last + 1 < values.size();
    // Recorded times are rounded: the slack accepts a gap of exactly max_gap.
    gap.filled = inside && times[gap.last + 1] - times[gap.first - 1] <= max_gap * (1.0 + 1e-9) + 1e-9;
    if (!gap.filled) continue;
    for (std::size_t i = gap.first; i <= gap.last; ++i) values[i] = spline->at(times[i]).f;
  }
  return gaps;
}

/// Two passes of order / 2 each: the square of the Butterworth amplitude.
double low_pass_gain(const LowPass& filter, double frequency) {
  const double w = std::tan(std::numbers::pi * frequency / filter.rate) / corrected_cutoff(filter);
  return 1.0 / (1.0 + std::pow(w, filter.order));
}

std::vector<double> low_pass(std::span<const double> signal, const LowPass& filter) {
  check(signal, filter);
  const std::size_t n = signal.size();
  // Three periods of the cut-off, after which the start-up transient has decayed. Point reflection continues value and
  // slope.
  const auto padding = std::min(n - 1, static_cast<std::size_t>(std::ceil(3.0 * filter.rate / filter.cutoff)));
  std::vector<double> x;
  x.reserve(n + 2 * padding);
  for (std::size_t i = padding; i > 0; --i) x.push_back(2.0 * signal.front() - signal[i]);
  x.insert(x.end(), signal.begin(), signal.end());
  for (std::size_t i = 1; i <= padding; ++i) x.push_back(2.0 * signal.back() - signal[n - 1 - i]);
  const auto sections = sections_of(filter);
  filter_pass(x, sections);
  std::ranges::reverse(x);
  filter_pass(x, sections);
  std::ranges::reverse(x);
  const auto first = x.begin() + static_cast<std::ptrdiff_t>(padding);
  return {first, first + static_cast<std::ptrdiff_t>(n)};
}

}  // namespace heelstrike
