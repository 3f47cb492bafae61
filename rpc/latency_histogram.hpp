/// Round-trip times in logarithmic buckets: recording is one increment, memory is fixed.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace heelstrike::rpc {

class LatencyHistogram {
 public:
  void record(std::chrono::nanoseconds duration);
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// @param fraction  in (0, 1], 0.5 = median
  /// @return [us] middle of the bucket of the quantile, within 3.2 % of the true value; 0 when empty
  [[nodiscard]] double quantile_us(double fraction) const;

 private:
  static constexpr int buckets_per_octave = 16;
  std::array<std::int64_t, 64 * buckets_per_octave> counts_{};
  std::int64_t count_ = 0;
};

}  // namespace heelstrike::rpc
