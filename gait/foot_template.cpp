#include "gait/foot_template.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/errors/error.hpp"

namespace heelstrike {

namespace {

constexpr double degree = std::numbers::pi / 180.0;

struct Mean {
  Vector3 position = Vector3::Zero();
  double deviation = 0.0;
};

Mean mean_of(const MarkerTrial& trial, const std::string& name) {
  Mean mean;
  double n = 0.0;
  for (const Vector3& p : trial.marker(name)) {
    if (!is_seen(p)) continue;
    mean.position += p;
    n += 1.0;
  }
  if (n == 0.0) {
    throw input_error("markers", fmt::format("{}: marker '{}': expected positions, found gaps in all {} frames; omit "
                                             "the marker or use another static trial",
                                             trial.file_name, name, trial.frames()));
  }
  mean.position /= n;
  double sum = 0.0;
  for (const Vector3& p : trial.marker(name)) {
    if (is_seen(p)) sum += (p - mean.position).squaredNorm();
  }
  mean.deviation = std::sqrt(sum / n);
  return mean;
}

void check_length(const MarkerTrial& trial, const FootMarkers& markers, double length) {
  if (length >= 0.1 && length <= 0.45) return;
  throw input_error("markers", fmt::format("{}: expected a foot 0.1 to 0.45 m long from '{}' to '{}', found {:.4g} m; "
                                           "check the units in the file's header and the marker names",
                                           trial.file_name, markers.heel, markers.toe_tip, length));
}

/// The plane of the markers of a standing foot is close to the ground plane.
void check_attitude(const MarkerTrial& trial, const FootMarkers& markers, const Vector3& heel, const Vector3& tip,
                    const std::vector<Vector3>& points, const Vector3& up) {
  Matrix3 spread = Matrix3::Zero();
  Vector3 center = Vector3::Zero();
  for (const Vector3& p : points) center += p / static_cast<double>(points.size());
  for (const Vector3& p : points) spread += (p - center) * (p - center).transpose();
  // Direction of the smallest spread of the markers, of either sign.
  const Vector3 normal = Eigen::JacobiSVD<Matrix3>(spread, Eigen::ComputeFullU).matrixU().col(2);
  const double tilt = std::acos(std::min(1.0, std::abs(normal.dot(up)))) / degree;
  const double pitch = std::asin(std::clamp((tip - heel).normalized().dot(up), -1.0, 1.0)) / degree;
  if (tilt > 45.0) {
    throw input_error("axes", fmt::format("{}: expected a foot that stands on the ground, found the plane of its "
                                          "markers {:.0f} degrees from it (a foot on the wall); check `axes` and the "
                                          "direction of gravity",
                                          trial.file_name, tilt));
  }
  if (std::abs(pitch) > 15.0) {
    throw input_error("static", fmt::format("{}: expected a static trial with the foot flat, found the line from '{}' "
                                            "to '{}' {:.1f} degrees {}; use another static trial or frames of it",
                                            trial.file_name, markers.heel, markers.toe_tip, std::abs(pitch),
                                            pitch > 0.0 ? "upwards" : "downwards"));
  }
}

/// The malleoli of a foot that stands lie above its toe tip.
void check_upright(const MarkerTrial& trial, const FootMarkers& markers, const Vector3& origin, const Vector3& toes,
                   const Vector3& up) {
  if (markers.origin.empty() || (origin - toes).dot(up) > 0.0) return;
  throw input_error("axes", fmt::format("{}: expected {} above '{}', found them {:.0f} mm below (a foot upside down); "
                                        "check `axes` and the direction of gravity",
                                        trial.file_name, fmt::join(markers.origin, ", "), markers.toe_tip,
                                        -1e3 * (origin - toes).dot(up)));
}

}  // namespace

FootTemplate make_foot_template(const MarkerTrial& standing, const FootMarkers& markers, const Vector3& up) {
  FootTemplate foot;
  foot.markers = markers;
  const auto mean = [&](const std::string& name) {
    const Mean m = mean_of(standing, name);
    foot.sway = std::max(foot.sway, m.deviation);
    return m.position;
  };
  const Vector3 heel = mean(markers.heel), tip = mean(markers.toe_tip);
  const Vector3 lateral = mean(markers.toe_lateral), medial = mean(markers.toe_medial);
  std::vector<Vector3> points;
  for (const auto& name : markers.hindfoot) points.push_back(mean(name));
  foot.length = (tip - heel).norm();
  check_length(standing, markers, foot.length);
  check_attitude(standing, markers, heel, tip, points, up);

  Vector3 origin = markers.origin.empty() ? heel : Vector3(Vector3::Zero());
  for (const auto& name : markers.origin) origin += mean(name) / static_cast<double>(markers.origin.size());
  check_upright(standing, markers, origin, tip, up);
  if (foot.sway > 0.010) {
    throw input_error("static", fmt::format("{}: expected a static trial in which the foot stands still, found a "
                                            "marker that moves by {:.1f} mm (standard deviation); use another trial",
                                            standing.file_name, 1e3 * foot.sway));
  }
  // In the ground plane: the markers may differ in height although the sole is level.
  const Vector3 forward = (tip - heel - (tip - heel).dot(up) * up).normalized();
  foot.X_WH = {.R = (Matrix3() << forward, up.cross(forward), up).finished(), .p = origin};
  const Pose X_HW = foot.X_WH.inverse();
  for (const Vector3& p : points) foot.hindfoot_H.push_back(X_HW * p);
  for (const auto& name : markers.stand_in) foot.stand_in_H.push_back(X_HW * mean(name));
  foot.toe_tip_H = X_HW * tip;
  // The joint lies below the markers on top of the foot (docs/theory/gait.md, section 4, "Height of the rolling axis").
  foot.p_HT = X_HW * Vector3(0.5 * (lateral + medial) - markers.toe_axis_depth * up);
  const Vector3 axis = (X_HW.R * (medial - lateral)).normalized();
  // The axis points to the left on one foot and to the right on the other; its sense makes extension positive on both.
  const bool lifts = axis.cross(foot.toe_tip_H - foot.p_HT).z() > 0.0;
  foot.toe_axis_H = lifts ? axis : Vector3(-axis);
  return foot;
}

namespace {

constexpr double loaded = 100.0;       // [N] below it the measured centre of pressure is inaccurate
constexpr double beyond_ends = 0.02;   // [-] of the length
constexpr double beside = 0.08;        // [m] half the width of a broad foot plus a margin
constexpr double min_fraction = 0.85;  // [-] the last loaded samples of a rolling foot lie in front of the toe tip

struct Counts {
  std::size_t inside = 0, all = 0;
  [[nodiscard]] double share() const { return all == 0 ? 0.0 : static_cast<double>(inside) / static_cast<double>(all); }
};

Counts count(const MarkerTrial& trial, const FootMarkers& foot, const ForcePlate& plate, const Vector3& up,
             double shift) {
  const auto& heel = trial.marker(foot.heel);
  const auto& tip = trial.marker(foot.toe_tip);
  Counts counts;
  for (std::size_t row = 0; row < plate.times.size(); ++row) {
    const double t = plate.times[row] + shift;
    if (plate.force[row].dot(up) < loaded || t < trial.times.front() || t > trial.times.back()) continue;
    const Vector3 back = interpolated(trial.times, heel, t);
    Vector3 along = interpolated(trial.times, tip, t) - back;
    if (!along.allFinite()) continue;
    along -= along.dot(up) * up;
    const Vector3 arm = plate.point[row] - back;
    const double s = arm.dot(along) / along.squaredNorm();
    const double side = arm.dot(up.cross(along).normalized());
    counts.all += 1;
    counts.inside += s > -beyond_ends && s < 1.0 + beyond_ends && std::abs(side) < beside ? 1 : 0;
  }
  return counts;
}

}  // namespace

Synchrony synchrony(const MarkerTrial& trial, const FootMarkers& foot, const ForcePlate& plate, const Vector3& up) {
  const Counts now = count(trial, foot, plate, up, 0.0);
  Synchrony result{.n_samples = now.all, .share = now.share(), .best_time_shift = 0.0, .best_fraction = now.share()};
  double sum = 0.0, n = 0.0;
  for (int i = -30; i <= 30; ++i) {
    const Counts counts = count(trial, foot, plate, up, 0.01 * i);
    // A shift that moves most of the record out of the trial is not significant.
    if (2 * counts.all < now.all || counts.share() < result.best_fraction) continue;
    if (counts.share() > result.best_fraction) sum = n = 0.0;
    result.best_fraction = counts.share();
    sum += 0.01 * i;
    n += 1.0;
  }
  if (n > 0.0 && result.best_fraction > result.share) result.best_time_shift = sum / n;
  return result;
}

void check_synchrony(const MarkerTrial& trial, const FootMarkers& foot, const ForcePlate& plate, const Vector3& up) {
  const Synchrony found = synchrony(trial, foot, plate, up);
  if (found.n_samples == 0) {
    throw input_error("plates", fmt::format("{}: expected samples of the plate '{}' above {} N during the trial, found "
                                            "none; check plate, times and axes",
                                            trial.file_name, plate.name, loaded));
  }
  if (found.share >= min_fraction) return;
  throw input_error(
      "plates",
      fmt::format(
          "{}: expected the centre of pressure of the plate '{}' under the foot ('{}' to '{}'), found it there in "
          "{:.0f} % of {} loaded samples: force plate and motion are not synchronous; {}",
          trial.file_name, plate.name, foot.heel, foot.toe_tip, 100.0 * found.share, found.n_samples,
          found.best_fraction >= min_fraction
              ? fmt::format("with {:+.2f} s added to the plate's times it would be {:.0f} %", found.best_time_shift,
                            100.0 * found.best_fraction)
              : std::string("no time shift up to 0.3 s helps: check whether the plate is that of the other foot, the "
                            "axes and the units")));
}

}  // namespace heelstrike
