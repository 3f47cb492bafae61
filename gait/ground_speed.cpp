#include "gait/ground_speed.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "common/errors/error.hpp"

namespace heelstrike {
namespace {

constexpr double flat_angle = 5.0 * std::numbers::pi / 180.0;
constexpr double flat_height = 0.010;           // [m]
constexpr double min_interval = 0.2;            // [s]
constexpr double ground_speed_tolerance = 0.2;  // [m/s]

bool is_flat(const FootTemplate& foot, const FootMotion& motion, std::size_t frame, const Vector3& up) {
  const Pose& X_WH = motion.X_WH[frame];
  const double tilt = std::acos(std::clamp(X_WH.R.col(2).dot(up), -1.0, 1.0));
  const double height = (X_WH.p - foot.X_WH.p).dot(up);
  return tilt < flat_angle && std::abs(motion.toe_angle[frame]) < flat_angle && std::abs(height) < flat_height;
}

/// Slope of the least-squares line through frames [first, last].
Vector3 slope(const MarkerTrial& trial, const std::vector<Vector3>& marker, std::size_t first, std::size_t last) {
  const double n = static_cast<double>(last - first + 1);
  double t_mean = 0.0, tt = 0.0;
  Vector3 p_mean = Vector3::Zero(), tp = Vector3::Zero();
  for (std::size_t i = first; i <= last; ++i) {
    t_mean += trial.times[i] / n;
    p_mean += marker[i] / n;
  }
  for (std::size_t i = first; i <= last; ++i) {
    tt += std::pow(trial.times[i] - t_mean, 2);
    tp += (trial.times[i] - t_mean) * (marker[i] - p_mean);
  }
  // Centred sums avoid cancellation at large times.
  return tp / tt;
}

bool is_free_of_outliers(const FootMotion& motion, const MarkerTrial& trial, std::size_t marker, std::size_t index,
                         std::size_t first, std::size_t last) {
  for (std::size_t i = first; i <= last; ++i) {
    const auto& excluded = motion.fits[i].excluded;
    if (std::ranges::find(excluded, index) != excluded.end() || !is_seen(trial.positions[marker][i])) return false;
  }
  return true;
}

void add_slopes(const MarkerTrial& trial, const FootTemplate& foot, const FootMotion& motion, std::size_t first,
                std::size_t last, const Vector3& up, std::vector<Vector3>& slopes) {
  for (std::size_t m = 0; m < foot.markers.hindfoot.size(); ++m) {
    const std::size_t marker = trial.index(foot.markers.hindfoot[m]);
    if (!is_free_of_outliers(motion, trial, marker, m, first, last)) continue;
    const Vector3 v = slope(trial, trial.positions[marker], first, last);
    // The ground moves in its plane; vertical motion of markers is motion of the foot.
    slopes.push_back(v - v.dot(up) * up);
  }
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Vector3 median(const std::vector<Vector3>& vectors) {
  Vector3 result;
  for (int c = 0; c < 3; ++c) {
    std::vector<double> values;
    for (const Vector3& v : vectors) values.push_back(v[c]);
    result[c] = median(std::move(values));
  }
  return result;
}

}  // namespace

GroundSpeed find_ground_speed(const MarkerTrial& trial, std::span<const FootTemplate> feet,
                              std::span<const FootMotion> motions, const Vector3& up) {
  std::vector<Vector3> slopes;
  for (std::size_t f = 0; f < feet.size(); ++f) {
    for (std::size_t i = 0; i < trial.frames(); ++i) {
      if (!is_flat(feet[f], motions[f], i, up)) continue;
      const std::size_t first = i;
      while (i + 1 < trial.frames() && is_flat(feet[f], motions[f], i + 1, up)) ++i;
      if (trial.times[i] - trial.times[first] < min_interval) continue;
      // The heel is still sinking at the beginning and already rising at the end.
      const std::size_t margin = (i - first) / 4;
      add_slopes(trial, feet[f], motions[f], first + margin, i - margin, up, slopes);
    }
  }
  if (slopes.empty()) {
    throw input_error("ground", trial.file_name +
                                    ": expected a foot that is flat for 0.2 s to determine the ground velocity, found "
                                    "none; specify the velocity");
  }
  // A foot that swings level is flat by the rule above and moves in the opposite direction: the median is robust
  // against it while stances prevail, the mean is not.
  const Vector3 middle = median(slopes);
  std::erase_if(slopes, [&](const Vector3& v) { return (v - middle).norm() > ground_speed_tolerance; });
  GroundSpeed ground{.velocity = Vector3::Zero(), .deviation = 0.0, .n_slopes = slopes.size()};
  for (const Vector3& v : slopes) ground.velocity += v / static_cast<double>(slopes.size());
  for (const Vector3& v : slopes) ground.deviation += (v - ground.velocity).squaredNorm();
  ground.deviation = std::sqrt(ground.deviation / static_cast<double>(slopes.size()));
  return ground;
}

}  // namespace heelstrike
