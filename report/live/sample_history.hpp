/// A curve of unbounded length in bounded memory.
#pragma once

#include <cstddef>
#include <vector>

namespace heelstrike {

struct Sample {
  double time = 0.0;  ///< [s]
  double value = 0.0;
};

/// Stores every sample up to `capacity`, then the minimum and the maximum of every four, repeatedly: old parts become
/// coarser, extremes are preserved.
class SampleHistory {
 public:
  explicit SampleHistory(std::size_t capacity = 4096) : capacity_(capacity) {}

  void add(double time, double value);
  /// At most about `budget` samples in order of time, including the extremes and the last one.
  [[nodiscard]] std::vector<Sample> thinned(std::size_t budget) const;
  [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }

 private:
  void coarsen();

  std::size_t capacity_;
  std::vector<Sample> samples_;
};

}  // namespace heelstrike
