#include "common/motion/stop_times.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace heelstrike {

namespace {

/// Samples between marks: a part of a formula is found if it is longer than the interval over this number.
constexpr int n_samples = 4000;
/// [-] of the range of a function: smaller deviations are left to the error control.
constexpr double tolerance = 0.01;
/// [-] of the longest part: at a ratio above it, the step that resolves one part also resolves the other.
constexpr double short_part = 0.25;

struct Sample {
  double t = 0.0;
  Jet jet;
};

std::vector<Sample> samples_of(const TimeFunction& f, double from, double to) {
  std::vector<double> times;
  for (int i = 0; i <= n_samples; ++i) times.push_back(from + (to - from) * i / n_samples);
  for (const double mark : f.marks()) {
    if (mark > from && mark < to) times.push_back(mark);
  }
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::vector<Sample> samples;
  samples.reserve(times.size());
  for (const double t : times) samples.push_back({.t = t, .jet = f.at(t)});
  return samples;
}

/// True if the samples between i and j lie on the line, or on the cubic with the derivatives, between those two.
bool is_part(const std::vector<Sample>& samples, std::size_t i, std::size_t j, double deviation) {
  const Sample &a = samples[i], &b = samples[j];
  const double h = b.t - a.t;
  bool is_line = true, is_cubic = true;
  for (std::size_t k = i + 1; k < j && (is_line || is_cubic); ++k) {
    const double s = (samples[k].t - a.t) / h;
    const double line = a.jet.f + s * (b.jet.f - a.jet.f);
    const double da = h * a.jet.d - (b.jet.f - a.jet.f), db = (b.jet.f - a.jet.f) - h * b.jet.d;
    const double cubic = line + s * (1.0 - s) * ((1.0 - s) * da + s * db);
    is_line = is_line && std::abs(samples[k].jet.f - line) <= deviation;
    is_cubic = is_cubic && std::abs(samples[k].jet.f - cubic) <= deviation;
  }
  return is_line || is_cubic;
}

/// The last sample of the longest part that starts at i: doubled, then halved.
std::size_t end_of_part(const std::vector<Sample>& samples, std::size_t i, double deviation) {
  const std::size_t last = samples.size() - 1;
  std::size_t inside = i + 1, length = 1;
  while (inside < last && is_part(samples, i, std::min(last, i + 2 * length), deviation)) {
    length *= 2;
    inside = std::min(last, i + length);
  }
  std::size_t outside = std::min(last + 1, i + 2 * length + 1);
  while (outside - inside > 1) {
    const std::size_t middle = inside + (outside - inside) / 2;
    (is_part(samples, i, middle, deviation) ? inside : outside) = middle;
  }
  return inside;
}

/// True if the first derivative jumps at t: its difference does not decrease with the distance of two times.
bool is_kink(const TimeFunction& f, double t, double length, double max_rate) {
  const auto jump = [&](double distance) { return std::abs(f.at(t + distance).d - f.at(t - distance).d); };
  const double near = 1e-9 * length;
  return jump(near) > 1e-6 * max_rate && jump(0.25 * near) > 0.9 * jump(near);
}

}  // namespace

std::vector<double> stop_times(const TimeFunction& f, double from, double to) {
  const std::vector<Sample> samples = samples_of(f, from, to);
  double low = samples.front().jet.f, high = low, max_rate = 0.0;
  for (const Sample& s : samples) {
    low = std::min(low, s.jet.f);
    high = std::max(high, s.jet.f);
    max_rate = std::max(max_rate, std::abs(s.jet.d));
  }
  // A constant has no parts; where a formula is undefined, the run reports it.
  if (!(high > low) || !std::isfinite(high - low)) return {};
  std::vector<std::size_t> ends{0};
  while (ends.back() + 1 < samples.size()) {
    ends.push_back(end_of_part(samples, ends.back(), tolerance * (high - low)));
  }
  const auto length = [&](std::size_t part) { return samples[ends[part + 1]].t - samples[ends[part]].t; };
  double longest = 0.0;
  for (std::size_t part = 0; part + 1 < ends.size(); ++part) longest = std::max(longest, length(part));
  std::vector<double> stops;
  for (std::size_t part = 0; part + 1 < ends.size(); ++part) {
    if (!(length(part) < short_part * longest)) continue;
    // Between two rows of zero a spline may be anything: a method that evaluates step ends needs the middle.
    const double begin = samples[ends[part]].t, end = samples[ends[part + 1]].t;
    for (const double stop : {begin, 0.5 * (begin + end), end}) {
      if (stop > from && stop < to) stops.push_back(stop);
    }
  }
  for (const double mark : f.marks()) {
    if (mark > from && mark < to && is_kink(f, mark, to - from, max_rate)) stops.push_back(mark);
  }
  std::ranges::sort(stops);
  stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
  return stops;
}

}  // namespace heelstrike
