#include "gait/plate_synchrony.hpp"

#include <fmt/format.h>
#include <cmath>

#include "common/errors/error.hpp"

namespace heelstrike {
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
