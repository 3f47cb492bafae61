#include "gait/foot_flat.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <string>

#include "common/errors/error.hpp"

namespace heelstrike {
namespace {

constexpr double rest_speed = 0.05;             // [m/s] markers of 0.3 mm noise over 1/30 s move by 0.013 m/s
constexpr double difference_time = 1.0 / 30.0;  // [s]
constexpr double min_rest = 0.08;               // [s]
constexpr double heel_tolerance = 0.003;        // [m] less than one degree of pitch of a foot

std::vector<std::string> names_of(const FootMarkers& markers) {
  std::vector<std::string> names = markers.hindfoot;
  names.insert(names.end(), {markers.heel, markers.toe_tip, markers.toe_lateral, markers.toe_medial});
  names.insert(names.end(), markers.origin.begin(), markers.origin.end());
  names.insert(names.end(), markers.stand_in.begin(), markers.stand_in.end());
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return names;
}

/// Frames in which all of these markers are at rest on the ground.
std::vector<char> resting_frames(const MarkerTrial& trial, const std::vector<std::string>& names,
                                 const Vector3& ground_velocity) {
  const auto half = static_cast<std::size_t>(std::max(1.0, std::round(0.5 * difference_time * trial.rate)));
  std::vector<char> rests(trial.frames(), 0);
  for (std::size_t i = half; i + half < trial.frames(); ++i) {
    const double duration = trial.times[i + half] - trial.times[i - half];
    rests[i] = std::ranges::all_of(names, [&](const std::string& name) {
      const auto& p = trial.marker(name);
      // A comparison with NaN is false: a marker that is not seen is not at rest.
      return is_seen(p[i]) && ((p[i + half] - p[i - half]) / duration - ground_velocity).norm() < rest_speed;
    });
  }
  return rests;
}

/// True if gap filling has copied one of the markers to the place of another one.
bool has_copies(const MarkerTrial& trial, const std::vector<std::string>& names, std::size_t frame) {
  constexpr double copied = 0.001;  // [m]
  for (std::size_t a = 0; a < names.size(); ++a) {
    for (std::size_t b = a + 1; b < names.size(); ++b) {
      if ((trial.marker(names[a])[frame] - trial.marker(names[b])[frame]).norm() < copied) return true;
    }
  }
  return false;
}

/// Runs of marked frames of at least the minimum duration.
std::vector<std::pair<std::size_t, std::size_t>> long_runs(const MarkerTrial& trial, const std::vector<char>& marked) {
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  for (std::size_t i = 0; i < marked.size(); ++i) {
    if (!marked[i]) continue;
    const std::size_t first = i;
    while (i + 1 < marked.size() && marked[i + 1]) ++i;
    if (trial.times[i] - trial.times[first] >= min_rest) runs.emplace_back(first, i);
  }
  return runs;
}

/// Horizontal unit vector; any direction serves.
Vector3 some_horizontal(const Vector3& up) {
  Eigen::Index axis = 0;
  up.cwiseAbs().minCoeff(&axis);
  const Vector3 along = Vector3::Unit(axis);
  return (along - along.dot(up) * up).normalized();
}

/// Turn about the vertical and shift in the ground that bring the foot of a frame to the common place.
Pose to_common_place(const Vector3& heel, const Vector3& tip, const Vector3& up, const Vector3& direction) {
  const Vector3 forward = (tip - heel - (tip - heel).dot(up) * up).normalized();
  const double angle = std::atan2(forward.cross(direction).dot(up), forward.dot(direction));
  const Vector3 middle = 0.5 * (heel + tip);
  Pose X;
  X.R = rotation_from_vector(angle * up);
  X.p = -(X.R * (middle - middle.dot(up) * up));
  return X;
}

double deviation(const std::vector<double>& values) {
  double mean = 0.0, sum = 0.0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (const double v : values) sum += (v - mean) * (v - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

double slope(const Vector3& from, const Vector3& to, const Vector3& up) {
  return std::asin(std::clamp((to - from).normalized().dot(up), -1.0, 1.0));
}

}  // namespace

FootFlatFrames foot_flat_frames(const MarkerTrial& walking, const FootMarkers& markers, const Vector3& up,
                                const Vector3& ground_velocity) {
  const std::vector<std::string> criteria = {markers.heel, markers.toe_tip, markers.toe_lateral, markers.toe_medial};
  const auto& heel = walking.marker(markers.heel);
  const auto& tip = walking.marker(markers.toe_tip);
  std::vector<char> rests = resting_frames(walking, criteria, ground_velocity);
  for (std::size_t i = 0; i < rests.size(); ++i) {
    if (rests[i] && has_copies(walking, names_of(markers), i)) rests[i] = 0;
  }
  const auto runs = long_runs(walking, rests);
  double lowest = std::numeric_limits<double>::infinity();
  for (const auto& [first, last] : runs) {
    for (std::size_t i = first; i <= last; ++i) lowest = std::min(lowest, heel[i].dot(up));
  }
  FootFlatFrames flat;
  flat.standing.file_name = walking.file_name;
  flat.standing.rate = walking.rate;
  flat.standing.names = names_of(markers);
  flat.standing.positions.resize(flat.standing.names.size());
  const Vector3 direction = some_horizontal(up);
  std::vector<double> pitch, roll;
  for (const auto& [first, last] : runs) {
    bool is_new = true;
    for (std::size_t i = first; i <= last; ++i) {
      if (heel[i].dot(up) > lowest + heel_tolerance) continue;
      if (is_new) flat.intervals.emplace_back(walking.times[i], walking.times[i]);
      is_new = false;
      flat.intervals.back().second = walking.times[i];
      const Pose X = to_common_place(heel[i], tip[i], up, direction);
      flat.standing.times.push_back(walking.times[i]);
      for (std::size_t m = 0; m < flat.standing.names.size(); ++m) {
        const Vector3& p = walking.marker(flat.standing.names[m])[i];
        flat.standing.positions[m].push_back(is_seen(p) ? Vector3(X * p) : p);
      }
      pitch.push_back(slope(heel[i], tip[i], up));
      roll.push_back(slope(walking.marker(markers.toe_lateral)[i], walking.marker(markers.toe_medial)[i], up));
    }
  }
  if (flat.intervals.empty()) {
    throw input_error(
        "foot_flat",
        fmt::format("{}: expected frames in which '{}', '{}', '{}' and '{}' rest on the ground for {} s, found none "
                    "with a ground velocity of [{:.3g}, {:.3g}, {:.3g}] m/s; on a treadmill specify ground_velocity, "
                    "otherwise use a static trial",
                    walking.file_name, markers.heel, markers.toe_tip, markers.toe_lateral, markers.toe_medial, min_rest,
                    ground_velocity.x(), ground_velocity.y(), ground_velocity.z()));
  }
  flat.pitch_deviation = deviation(pitch);
  flat.roll_deviation = deviation(roll);
  return flat;
}

}  // namespace heelstrike
