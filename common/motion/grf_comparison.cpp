#include "common/motion/grf_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/errors/error.hpp"

namespace heelstrike {
namespace {

/// Both curves at the rows of the measurement.
struct Curves {
  std::vector<double> times;
  std::vector<double> measured, predicted;
};

ComponentError compare(const std::string& name, const Curves& c) {
  ComponentError error{.name = name,
                       .rms = 0.0,
                       .measured_max = {},
                       .predicted_max = {},
                       .measured_min = {},
                       .predicted_min = {},
                       .correlation = 0.0};
  const auto n = static_cast<double>(c.times.size());
  double mean_m = 0.0, mean_p = 0.0;
  for (std::size_t i = 0; i < c.times.size(); ++i) {
    mean_m += c.measured[i] / n;
    mean_p += c.predicted[i] / n;
    error.rms += std::pow(c.predicted[i] - c.measured[i], 2) / n;
  }
  error.rms = std::sqrt(error.rms);
  double mm = 0.0, pp = 0.0, mp = 0.0;
  for (std::size_t i = 0; i < c.times.size(); ++i) {
    mm += std::pow(c.measured[i] - mean_m, 2);
    pp += std::pow(c.predicted[i] - mean_p, 2);
    mp += (c.measured[i] - mean_m) * (c.predicted[i] - mean_p);
  }
  const bool both_vary = mm > 0.0 && pp > 0.0;
  error.correlation = both_vary ? mp / std::sqrt(mm * pp) : std::numeric_limits<double>::quiet_NaN();
  const auto peak = [&](const std::vector<double>& values, bool largest) {
    const auto at = largest ? std::ranges::max_element(values) : std::ranges::min_element(values);
    return Peak{.value = *at, .time = c.times[static_cast<std::size_t>(at - values.begin())]};
  };
  error.measured_max = peak(c.measured, true);
  error.predicted_max = peak(c.predicted, true);
  error.measured_min = peak(c.measured, false);
  error.predicted_min = peak(c.predicted, false);
  return error;
}

std::optional<Peak> peak_between(const std::vector<double>& times, const std::vector<double>& values, double from,
                                 double to) {
  std::optional<Peak> peak;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] < from || times[i] > to || (peak && values[i] <= peak->value)) continue;
    peak = Peak{.value = values[i], .time = times[i]};
  }
  return peak;
}

class StanceComparer {
 public:
  StanceComparer(const ForcePlate& measured, const ForcePlate& predicted, const Vector3& up, double threshold)
      : measured_(measured), predicted_(predicted), up_(up), threshold_(threshold) {}

  std::optional<StanceComparison> compare_stance(const Stance& stance) {
    StanceComparison result;
    result.plate = measured_.name;
    result.stance = stance;
    result.from = std::max(stance.start, predicted_.times.front());
    result.to = std::min(stance.end, predicted_.times.back());
    rows_.clear();
    for (std::size_t i = 0; i < measured_.times.size(); ++i) {
      if (measured_.times[i] >= result.from && measured_.times[i] <= result.to) rows_.push_back(i);
    }
    if (rows_.size() < 3) return std::nullopt;
    for (int axis = 0; axis < 3; ++axis) {
      const Vector3 e = Vector3::Unit(axis);
      result.components.push_back(compare(std::string("v") + "xyz"[axis], curves(e, false)));
    }
    result.components.push_back(compare("moment", curves(up_, true)));
    add_halves(result);
    add_centers(result);
    return result;
  }

 private:
  [[nodiscard]] Curves curves(const Vector3& axis, bool moment) const {
    Curves c;
    for (const std::size_t i : rows_) {
      const double t = measured_.times[i];
      c.times.push_back(t);
      c.measured.push_back((moment ? measured_.moment[i] : measured_.force[i]).dot(axis));
      c.predicted.push_back(interpolated(predicted_.times, moment ? predicted_.moment : predicted_.force, t).dot(axis));
    }
    return c;
  }

  void add_halves(StanceComparison& result) const {
    const bool whole = result.from == result.stance.start && result.to == result.stance.end;
    if (!whole || !result.stance.complete()) return;
    const Curves c = curves(up_, false);
    const double middle = 0.5 * (result.from + result.to);
    result.first_peak[0] = peak_between(c.times, c.measured, result.from, middle);
    result.first_peak[1] = peak_between(c.times, c.predicted, result.from, middle);
    result.second_peak[0] = peak_between(c.times, c.measured, middle, result.to);
    result.second_peak[1] = peak_between(c.times, c.predicted, middle, result.to);
  }

  void add_centers(StanceComparison& result) const {
    double sum = 0.0;
    for (const std::size_t i : rows_) {
      const double t = measured_.times[i];
      const double share = (t - result.stance.start) / result.stance.duration();
      if (share < 0.1 || share > 0.9 || measured_.force[i].dot(up_) <= threshold_) continue;
      const auto center = predicted_center(t);
      if (!center) continue;
      Vector3 error = *center - measured_.point[i];
      error -= error.dot(up_) * up_;
      sum += error.squaredNorm();
      result.cop_max = std::max(result.cop_max, error.norm());
      ++result.cop_samples;
    }
    if (result.cop_samples > 0) result.cop_rms = std::sqrt(sum / static_cast<double>(result.cop_samples));
  }

  /// Between two loaded rows; a centre next to an unloaded one is none.
  [[nodiscard]] std::optional<Vector3> predicted_center(double t) const {
    const auto next = std::ranges::upper_bound(predicted_.times, t);
    const auto after = static_cast<std::size_t>(std::min(next, predicted_.times.end() - 1) - predicted_.times.begin());
    const std::size_t before = after == 0 ? 0 : after - 1;
    for (const std::size_t i : {before, after}) {
      if (predicted_.force[i].dot(up_) <= threshold_) return std::nullopt;
    }
    return interpolated(predicted_.times, predicted_.point, t);
  }

  const ForcePlate& measured_;
  const ForcePlate& predicted_;
  Vector3 up_;
  double threshold_;
  std::vector<std::size_t> rows_;
};

}  // namespace

std::vector<StanceComparison> compare_plates(const ForcePlate& measured, const ForcePlate& predicted, const Vector3& up,
                                             double threshold) {
  std::vector<StanceComparison> result;
  StanceComparer comparer(measured, predicted, up, threshold);
  for (const Stance& stance : stances(measured, up, threshold)) {
    if (auto comparison = comparer.compare_stance(stance)) result.push_back(std::move(*comparison));
  }
  return result;
}

Vector3 vertical_axis(std::span<const ForcePlate> plates) {
  Vector3 sum = Vector3::Zero();
  for (const ForcePlate& plate : plates) {
    for (const Vector3& f : plate.force) sum += f;
  }
  Eigen::Index axis = 0;
  if (!(sum.cwiseAbs().maxCoeff(&axis) > 0.0)) {
    throw input_error("plates", "expected force plates with a load, found none: all forces are zero");
  }
  return std::copysign(1.0, sum[axis]) * Vector3::Unit(axis);
}

}  // namespace heelstrike
