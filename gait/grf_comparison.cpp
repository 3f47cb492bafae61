#include "gait/grf_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike {
namespace {

/// Both curves at the sample times of the measurement.
struct Curves {
  std::vector<double> times;
  std::vector<double> measured, predicted;
};

/// @param largest_force  [N] of the stance; curves that vary by less than a millionth of it are constant
ComponentError compare(const std::string& name, const Curves& c, double largest_force) {
  ComponentError error{.name = name,
                       .rms = 0.0,
                       .measured_max = {},
                       .predicted_max = {},
                       .measured_min = {},
                       .predicted_min = {},
                       .correlation = 0.0,
                       .mean_curve_rms = {}};
  const auto n = static_cast<double>(c.times.size());
  double mean_m = 0.0, mean_p = 0.0;
  for (std::size_t i = 0; i < c.times.size(); ++i) {
    mean_m += c.measured[i] / n;
    mean_p += c.predicted[i] / n;
    // Equal weights: the rows of a plate are equidistant.
    error.rms += std::pow(c.predicted[i] - c.measured[i], 2) / n;
  }
  error.rms = std::sqrt(error.rms);
  double mm = 0.0, pp = 0.0, mp = 0.0;
  for (std::size_t i = 0; i < c.times.size(); ++i) {
    mm += std::pow(c.measured[i] - mean_m, 2);
    pp += std::pow(c.predicted[i] - mean_p, 2);
    mp += (c.measured[i] - mean_m) * (c.predicted[i] - mean_p);
  }
  // The correlation with a constant is undefined.
  const double least = n * std::pow(1e-6 * largest_force, 2);
  const bool both_vary = mm > least && pp > least;
  error.correlation = both_vary ? mp / std::sqrt(mm * pp) : std::numeric_limits<double>::quiet_NaN();
  for (std::size_t i = 1; i < c.times.size(); ++i) {
    const double h = 0.5 * (c.times[i] - c.times[i - 1]);
    error.measured_impulse += h * (c.measured[i - 1] + c.measured[i]);
    error.predicted_impulse += h * (c.predicted[i - 1] + c.predicted[i]);
  }
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
  StanceComparer(const ForcePlate& measured, const ForcePlate& predicted, const Vector3& up, double threshold,
                 double max_gap)
      : measured_(measured), predicted_(predicted), up_(up), threshold_(threshold), max_gap_(max_gap) {}

  [[nodiscard]] std::optional<StanceComparison> compare_stance(const Stance& stance) const {
    StanceComparison result;
    result.plate = measured_.name;
    result.stance = stance;
    result.from = std::max(stance.start, predicted_.times.front());
    result.to = std::min(stance.end, predicted_.times.back());
    for (std::size_t i = 0; i < measured_.times.size(); ++i) {
      const double t = measured_.times[i];
      if (t < result.from || t > result.to) continue;
      const auto [before, after] = neighbours(t);
      // A frame without solution leaves a gap, which is not interpolated.
      if (predicted_.times[after] - predicted_.times[before] > max_gap_) {
        ++result.n_missing;
      } else {
        result.rows.push_back(row(i, before, after, (t - stance.start) / stance.duration()));
      }
    }
    // Any two rows correlate perfectly.
    if (result.rows.size() < 3) return std::nullopt;
    double largest = 0.0;
    for (const StanceRow& r : result.rows) largest = std::max({largest, r.force[0].norm(), r.force[1].norm()});
    for (int axis = 0; axis < 3; ++axis) {
      result.components.push_back(
          compare(std::string("v") + "xyz"[axis], force_curves(result, Vector3::Unit(axis)), largest));
    }
    result.components.push_back(
        compare("moment", curves(result, [](const StanceRow& r, int k) { return r.moment[k]; }), largest));
    add_halves(result);
    add_centers(result);
    return result;
  }

 private:
  template <typename Value>
  [[nodiscard]] static Curves curves(const StanceComparison& stance, const Value& value) {
    Curves c;
    for (const StanceRow& row : stance.rows) {
      c.times.push_back(row.time);
      c.measured.push_back(value(row, 0));
      c.predicted.push_back(value(row, 1));
    }
    return c;
  }

  [[nodiscard]] static Curves force_curves(const StanceComparison& stance, const Vector3& axis) {
    return curves(stance, [&](const StanceRow& row, int k) { return row.force[k].dot(axis); });
  }

  /// Rows of the prediction before and after a time.
  [[nodiscard]] std::pair<std::size_t, std::size_t> neighbours(double t) const {
    // The last row uses the pair before it.
    const auto next = std::min(std::ranges::upper_bound(predicted_.times, t), predicted_.times.end() - 1);
    const auto after = static_cast<std::size_t>(next - predicted_.times.begin());
    return {after == 0 ? 0 : after - 1, after};
  }

  [[nodiscard]] StanceRow row(std::size_t i, std::size_t before, std::size_t after, double share) const {
    const double t = measured_.times[i];
    StanceRow row{
        .time = t,
        .share = share,
        .force = {measured_.force[i], interpolated(predicted_.times, predicted_.force, t)},
        .moment = {measured_.moment[i].dot(up_), interpolated(predicted_.times, predicted_.moment, t).dot(up_)},
        .center = {}};
    if (measured_.force[i].dot(up_) > threshold_) row.center[0] = measured_.point[i];
    // Only between two loaded rows; the centre of an unloaded row is undefined.
    if (predicted_.force[before].dot(up_) > threshold_ && predicted_.force[after].dot(up_) > threshold_) {
      row.center[1] = interpolated(predicted_.times, predicted_.point, t);
    }
    return row;
  }

  void add_halves(StanceComparison& result) const {
    if (!result.is_whole()) return;
    const Curves c = force_curves(result, up_);
    // The vertical force of walking has two humps, heel and push-off, with a valley near mid stance.
    const double middle = 0.5 * (result.from + result.to);
    result.first_peak[0] = peak_between(c.times, c.measured, result.from, middle);
    result.first_peak[1] = peak_between(c.times, c.predicted, result.from, middle);
    result.second_peak[0] = peak_between(c.times, c.measured, middle, result.to);
    result.second_peak[1] = peak_between(c.times, c.predicted, middle, result.to);
  }

  void add_centers(StanceComparison& result) const {
    double sum = 0.0;
    for (const StanceRow& row : result.rows) {
      // At the ends of stance the centre of pressure is a quotient of two small numbers.
      if (row.share < 0.1 || row.share > 0.9 || !row.center[0] || !row.center[1]) continue;
      Vector3 error = *row.center[1] - *row.center[0];
      error -= error.dot(up_) * up_;
      sum += error.squaredNorm();
      result.cop_max = std::max(result.cop_max, error.norm());
      ++result.cop_samples;
    }
    if (result.cop_samples > 0) result.cop_rms = std::sqrt(sum / static_cast<double>(result.cop_samples));
  }

  const ForcePlate& measured_;
  const ForcePlate& predicted_;
  Vector3 up_;
  double threshold_;
  double max_gap_;
};

}  // namespace

std::vector<StanceComparison> compare_plates(const ForcePlate& measured, const ForcePlate& predicted, const Vector3& up,
                                             double threshold, double max_gap) {
  std::vector<StanceComparison> result;
  const StanceComparer comparer(measured, predicted, up, threshold, max_gap);
  for (const Stance& stance : stances(measured, up, threshold)) {
    if (auto comparison = comparer.compare_stance(stance)) result.push_back(std::move(*comparison));
  }
  return result;
}

namespace {

/// Value of a component in a row; the fourth is the free moment.
double measured_value(const StanceRow& row, std::size_t component) {
  return component < 3 ? row.force[0][static_cast<Eigen::Index>(component)] : row.moment[0];
}

/// Measured value at a share of stance, linear between the rows.
double value_at(const StanceComparison& stance, std::size_t component, double share) {
  const auto& rows = stance.rows;
  const auto next = std::ranges::lower_bound(rows, share, {}, &StanceRow::share);
  if (next == rows.begin()) return measured_value(rows.front(), component);
  if (next == rows.end()) return measured_value(rows.back(), component);
  const StanceRow &a = *(next - 1), &b = *next;
  const double s = (share - a.share) / (b.share - a.share);
  return (1.0 - s) * measured_value(a, component) + s * measured_value(b, component);
}

}  // namespace

void add_mean_curves(std::span<StanceComparison> stances, const std::array<std::string, 3>& directions) {
  for (StanceComparison& stance : stances) {
    if (!stance.is_whole()) continue;
    std::vector<const StanceComparison*> others;
    for (const StanceComparison& other : stances) {
      if (&other != &stance && other.is_whole()) others.push_back(&other);
    }
    if (others.empty()) continue;
    for (std::size_t c = 0; c < stance.components.size(); ++c) {
      const bool mirrors = c >= directions.size() || directions[c] == "mediolateral";
      double sum = 0.0;
      for (const StanceRow& row : stance.rows) {
        double mean = 0.0;
        for (const StanceComparison* other : others) {
          const double sign = mirrors && other->plate != stance.plate ? -1.0 : 1.0;
          mean += sign * value_at(*other, c, row.share) / static_cast<double>(others.size());
        }
        sum += std::pow(mean - measured_value(row, c), 2);
      }
      stance.components[c].mean_curve_rms = std::sqrt(sum / static_cast<double>(stance.rows.size()));
    }
  }
}

PooledComparison pooled(std::span<const StanceComparison> stances) {
  PooledComparison all;
  double rows = 0.0, cop = 0.0;
  for (const StanceComparison& stance : stances) {
    if (!stance.is_whole()) continue;
    ++all.n_stances;
    const auto n = static_cast<double>(stance.rows.size());
    rows += n;
    cop += stance.cop_rms * stance.cop_rms * static_cast<double>(stance.cop_samples);
    all.cop_samples += stance.cop_samples;
    all.cop_max = std::max(all.cop_max, stance.cop_max);
    all.components.resize(stance.components.size());
    for (std::size_t c = 0; c < stance.components.size(); ++c) {
      const ComponentError& e = stance.components[c];
      PooledError& pool = all.components[c];
      pool.name = e.name;
      pool.rms += n * e.rms * e.rms;
      // A component without range, e.g. a moment that is zero, has no relative error.
      pool.rms_of_range += e.range() > 0.0 ? std::pow(e.rms / e.range(), 2) : std::numeric_limits<double>::quiet_NaN();
      pool.correlation += e.correlation;
      if (e.mean_curve_rms)
        pool.mean_curve_rms = pool.mean_curve_rms.value_or(0.0) + n * std::pow(*e.mean_curve_rms, 2);
    }
  }
  if (all.n_stances == 0) return all;
  const auto n_stances = static_cast<double>(all.n_stances);
  for (PooledError& pool : all.components) {
    pool.rms = std::sqrt(pool.rms / rows);
    pool.rms_of_range = std::sqrt(pool.rms_of_range / n_stances);
    pool.correlation /= n_stances;
    if (pool.mean_curve_rms) pool.mean_curve_rms = std::sqrt(*pool.mean_curve_rms / rows);
  }
  if (all.cop_samples > 0) all.cop_rms = std::sqrt(cop / static_cast<double>(all.cop_samples));
  return all;
}

Vector3 vertical_axis(std::span<const ForcePlate> plates) {
  check_forces(plates, "plates");
  Vector3 sum = Vector3::Zero();
  for (const ForcePlate& plate : plates) {
    for (const Vector3& f : plate.force) sum += f;
  }
  Eigen::Index axis = 0;
  if (!(sum.cwiseAbs().maxCoeff(&axis) > 0.0)) {
    throw input_error("plates", "expected force plates with a load, found none: all forces are zero");
  }
  // Reactions point upwards: the sign of the sum is that of the axis.
  return std::copysign(1.0, sum[axis]) * Vector3::Unit(axis);
}

std::array<std::string, 3> direction_names(std::span<const StanceComparison> stances, const Vector3& up) {
  Eigen::Index vertical = 0;
  up.cwiseAbs().maxCoeff(&vertical);
  Vector3 travel = Vector3::Zero();
  for (const StanceComparison& stance : stances) {
    std::optional<Vector3> low, high;
    for (const StanceRow& row : stance.rows) {
      if (!row.center[0]) continue;
      low = low ? Vector3(low->cwiseMin(*row.center[0])) : *row.center[0];
      high = high ? Vector3(high->cwiseMax(*row.center[0])) : *row.center[0];
    }
    if (low) travel += *high - *low;
  }
  travel[vertical] = -1.0;
  Eigen::Index forward = 0;
  travel.maxCoeff(&forward);
  std::array<std::string, 3> names = {"mediolateral", "mediolateral", "mediolateral"};
  names[static_cast<std::size_t>(vertical)] = "vertical";
  names[static_cast<std::size_t>(forward)] = "anterior-posterior";
  return names;
}

}  // namespace heelstrike
