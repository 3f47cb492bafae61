/// A curve that grows without bound in bounded memory.
#pragma once

#include <cstddef>
#include <vector>

namespace heelstrike {

struct Sample {
  double time = 0.0;  ///< [s]
  double value = 0.0;
};

/// Keeps every sample until there are `capacity`, then of every four the smallest and the largest, and so on: old parts
/// become coarser, no extreme is ever lost.
class SampleHistory {
 public:
  explicit SampleHistory(std::size_t capacity = 4096) : capacity_(capacity) {}

  void add(double time, double value);
  /// At most about `budget` samples with the extremes kept, in the order of time; the last one among them.
  [[nodiscard]] std::vector<Sample> thinned(std::size_t budget) const;
  [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }

 private:
  void coarsen();

  std::size_t capacity_;
  std::vector<Sample> samples_;
};

}  // namespace heelstrike
