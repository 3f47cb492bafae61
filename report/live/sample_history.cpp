#include "report/live/sample_history.hpp"

#include <algorithm>
#include <cmath>

#include "common/results/thinning.hpp"

namespace heelstrike {

void SampleHistory::add(double time, double value) {
  samples_.push_back({time, value});
  if (samples_.size() >= capacity_) coarsen();
}

void SampleHistory::coarsen() {
  // The newest sample is not grouped: viewers show it as the current value.
  const Sample newest = samples_.back();
  samples_.pop_back();
  std::size_t n = 1;  // the first sample is retained
  for (std::size_t group = 1; group < samples_.size(); group += 4) {
    const auto begin = samples_.begin() + static_cast<std::ptrdiff_t>(group);
    const auto end = samples_.begin() + static_cast<std::ptrdiff_t>(std::min(group + 4, samples_.size()));
    const auto smaller = [](const Sample& a, const Sample& b) { return a.value < b.value; };
    auto [low, high] = std::minmax_element(begin, end, smaller);
    if (high < low) std::swap(low, high);
    const Sample first = *low;
    const Sample second = *high;
    samples_[n++] = first;
    if (low != high) samples_[n++] = second;
  }
  samples_.resize(n);
  samples_.push_back(newest);
}

std::vector<Sample> SampleHistory::thinned(std::size_t budget) const {
  std::vector<double> values;
  values.reserve(samples_.size());
  for (const Sample& sample : samples_) values.push_back(sample.value);
  std::vector<Sample> kept;
  for (const std::size_t row : rows_with_extremes(values, budget)) kept.push_back(samples_[row]);
  return kept;
}

}  // namespace heelstrike
