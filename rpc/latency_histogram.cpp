#include "rpc/latency_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace heelstrike::rpc {

// A duration of n nanoseconds falls into octave floor(log2 n), split linearly into 16: relative width 1/16 at most.
void LatencyHistogram::record(std::chrono::nanoseconds duration) {
  const auto n = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 1));
  const int octave = static_cast<int>(std::bit_width(n)) - 1;
  const std::uint64_t fraction = octave >= 4 ? (n >> (octave - 4)) & 15U : (n << (4 - octave)) & 15U;
  ++counts_[static_cast<std::size_t>(octave) * buckets_per_octave + fraction];
  ++count_;
}

double LatencyHistogram::quantile_us(double fraction) const {
  if (count_ == 0) return 0.0;
  const auto rank = std::max<std::int64_t>(1, std::llround(std::ceil(fraction * static_cast<double>(count_))));
  std::int64_t below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    if (below < rank) continue;
    const double octave = std::ldexp(1.0, static_cast<int>(i / buckets_per_octave));
    return 1e-3 * octave * (1.0 + (static_cast<double>(i % buckets_per_octave) + 0.5) / buckets_per_octave);
  }
  return 0.0;
}

}  // namespace heelstrike::rpc
