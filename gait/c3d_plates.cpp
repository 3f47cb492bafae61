#include "gait/c3d_plates.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "common/errors/error.hpp"
#include "gait/axes_and_units.hpp"

namespace heelstrike {
namespace {

constexpr std::size_t max_channels = 8;

/// Measured load at the centre of the plate surface in plate axes.
struct Load {
  Vector3 force, moment;
};

/// One plate of the file.
class PlateReader {
 public:
  PlateReader(const C3dTrial& trial, std::size_t index, int type, C3dPlates& result)
      : trial_(trial), index_(index), type_(type), result_(result) {
    read_surface();
    read_channels();
    if (type_ != 1) read_origin();
    if (type_ == 4) matrix_ = Eigen::Map<const Matrix6>(part("CAL_MATRIX", 36).data());
    if (type_ == 1 || type_ == 2) read_moment_unit();
  }

  [[nodiscard]] ForcePlate plate() {
    ForcePlate plate{.name = fmt::format("ground_force_{}", index_ + 1),
                     .times = trial_.analog_times(),
                     .force = {},
                     .point = {},
                     .moment = {}};
    const Vector3 up = -X_LP_.R.col(2);
    for (std::size_t i = 0; i < plate.times.size(); ++i) {
      const Load measured = load(i);
      plate.force.emplace_back(X_LP_.R * measured.force);
      plate.moment.emplace_back(X_LP_.R * measured.moment);
    }
    const bool is_on_plate = is_force_on_plate(plate, up);
    for (std::size_t i = 0; i < plate.times.size(); ++i) {
      if (is_on_plate) {
        plate.force[i] *= -1.0;
        plate.moment[i] *= -1.0;
      }
      plate.point.push_back(X_LP_.p);
      if (plate.force[i].dot(up) < stance_threshold) continue;
      const CenterOfPressure center = center_of_pressure(plate.force[i], plate.moment[i], X_LP_.p, up);
      plate.point[i] = center.point;
      plate.moment[i] = center.free_moment * up;
    }
    return plate;
  }

  [[nodiscard]] const std::vector<std::size_t>& channels() const { return channels_; }

 private:
  [[noreturn]] void reject(const std::string& what) const {
    throw input_error("file", fmt::format("force plate {}: {}", index_ + 1, what));
  }
  void note(const std::string& what) { result_.notes.push_back(fmt::format("force plate {}: {}", index_ + 1, what)); }

  /// Entries of this plate in a parameter with `n` entries per plate.
  [[nodiscard]] std::vector<double> part(const std::string& name, std::size_t n) const {
    const auto all = trial_.numbers("FORCE_PLATFORM:" + name);
    if (all.size() < n * (index_ + 1)) {
      reject(
          fmt::format("expected {} numbers for each plate in FORCE_PLATFORM:{}, found {} in all; correct the "
                      "parameter",
                      n, name, all.size()));
    }
    const auto start = all.begin() + static_cast<std::ptrdiff_t>(n * index_);
    return {start, start + static_cast<std::ptrdiff_t>(n)};
  }

  /// Corners are those of the quadrants of the plate's axes: + +, - +, - -, + -.
  void read_surface() {
    const auto corners = part("CORNERS", 12);
    std::array<Vector3, 4> c;
    for (std::size_t i = 0; i < 4; ++i) c[i] = trial_.length * Eigen::Map<const Vector3>(&corners[3 * i]);
    const Vector3 x = c[0] + c[3] - c[1] - c[2], y = c[0] + c[1] - c[2] - c[3], z = x.cross(y);
    if (!(z.norm() > 0.0)) {
      reject(
          "expected corners that span a surface in FORCE_PLATFORM:CORNERS, found collinear corners; correct the "
          "parameter");
    }
    constexpr double max_distance = 1000.0;  // [m]
    if (std::ranges::any_of(c, [](const Vector3& p) { return !(p.norm() < max_distance); })) {
      reject(fmt::format(
          "expected corners within {} m in FORCE_PLATFORM:CORNERS, found corners outside; correct the parameter",
          max_distance));
    }
    X_LP_.p = 0.25 * (c[0] + c[1] + c[2] + c[3]);
    X_LP_.R << x.normalized(), z.cross(x).normalized(), z.normalized();
  }

  void read_channels() {
    const std::size_t needed = type_ == 3 ? 8 : 6;
    const auto found = trial_.parameters.find("FORCE_PLATFORM:CHANNEL");
    const std::size_t stride = found == trial_.parameters.end() || found->second.dimensions.empty()
                                   ? needed
                                   : found->second.dimensions.front();
    const auto numbers = part("CHANNEL", std::max(stride, needed));
    for (std::size_t i = 0; i < needed; ++i) {
      if (!(numbers[i] >= 1.0) || numbers[i] > static_cast<double>(trial_.analog.size())) {
        reject(fmt::format("FORCE_PLATFORM:CHANNEL: expected analog channels from 1 to {}, found {}",
                           trial_.analog.size(), numbers[i]));
      }
      channels_.push_back(static_cast<std::size_t>(numbers[i]) - 1);
    }
  }

  void read_origin() {
    origin_ = trial_.length * Eigen::Map<const Vector3>(part("ORIGIN", 3).data());
    if (type_ == 3 && origin_.head<2>().isZero(0.0)) {
      note(
          "ORIGIN places all sensors at the centre; the point of application is unknown, and the centre is "
          "taken");
    }
    if (!(origin_.z() > 0.0)) return;
    // The vector points from the transducers up to the surface, against z; some programs store its negative. For type 3
    // its x and y are half the sensor distances.
    note(fmt::format("ORIGIN has z = {} m, which is above the surface; its sign is reversed", origin_.z()));
    if (type_ == 3) {
      origin_.z() *= -1.0;
    } else {
      origin_ *= -1.0;
    }
  }

  /// Moments and centre of pressure are in the units of the points unless their channel states others.
  void read_moment_unit() {
    moment_unit_ = trial_.length;
    const std::size_t moment = type_ == 1 ? 5 : 3;
    point_unit_ = length_of_unit(trial_.analog[channels_[3]].unit).value_or(trial_.length);
    std::string unit = trial_.analog[channels_[moment]].unit;
    std::erase_if(unit, [](char c) { return c == '.' || c == '*' || c == '-' || c == ' '; });
    if (unit == "Nm") moment_unit_ = 1.0;
    if (unit == "Ncm") moment_unit_ = 1e-2;
    if (unit == "Nmm") moment_unit_ = 1e-3;
    const std::string force = trial_.analog[channels_[2]].unit;
    const bool known = unit == "Nm" || unit == "Ncm" || unit == "Nmm";
    if (force != "N" || !known) {
      note(fmt::format("the units of its channels are '{}' and '{}'; they are interpreted as N and N times {} m", force,
                       trial_.analog[channels_[moment]].unit, moment_unit_));
    }
  }

  /// Contribution of a unit of each channel to the force normal to the plate.
  [[nodiscard]] std::vector<double> normal_weights() const {
    std::vector<double> weights(channels_.size(), 0.0);
    if (type_ == 3) std::fill(weights.begin() + 4, weights.end(), 1.0);
    if (type_ == 1 || type_ == 2) weights[2] = 1.0;
    if (type_ == 4) {
      for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = matrix_(2, static_cast<Eigen::Index>(i));
    }
    return weights;
  }

  /// Samples whose normal force contains a saturated amplifier: a channel of it remains at its maximum or minimum, with
  /// at least half of the largest contribution of any channel. (The limits of an amplifier are its largest outputs, of
  /// either sign; a failed sensor with an offset and an unloaded plate also remain at one value, which is small.)
  /// Channels of shear forces and moments do not matter to the sign of the load. Peaks clipped by a slow or coarse
  /// converter are shorter than 0.1 s.
  [[nodiscard]] std::vector<bool> saturated() const {
    constexpr double min_time = 0.1;  // [s]
    const auto shortest = static_cast<std::size_t>(std::max(5.0, std::ceil(min_time * trial_.analog_rate)));
    const std::vector<double> weights = normal_weights();
    double largest = 0.0;  // [N]
    for (std::size_t k = 0; k < channels_.size(); ++k) {
      for (const double value : trial_.analog[channels_[k]].values) {
        largest = std::max(largest, std::abs(weights[k] * value));
      }
    }
    std::vector<bool> at_limit(trial_.analog[channels_.front()].values.size(), false);
    for (std::size_t k = 0; k < channels_.size(); ++k) {
      const std::vector<double>& values = trial_.analog[channels_[k]].values;
      const auto [low, high] = std::ranges::minmax(values);
      for (std::size_t i = 0, end = 0; i < values.size(); i = end) {
        for (end = i + 1; end < values.size() && values[end] == values[i];) ++end;
        const double contribution = std::abs(weights[k] * values[i]);
        const bool is_limit = low < high && (values[i] == low || values[i] == high) && contribution > 0.0 &&
                              contribution >= 0.5 * largest;
        if (is_limit && end - i >= shortest)
          std::fill_n(at_limit.begin() + static_cast<std::ptrdiff_t>(i), end - i, true);
      }
    }
    return at_limit;
  }

  /// True if the file contains the force on the plate, decided by the sign of the peak load. (Most samples may be the
  /// offset of an unloaded plate.) Saturated amplifiers produce large loads of either sign; their samples are ignored
  /// where others exist.
  [[nodiscard]] bool is_force_on_plate(const ForcePlate& plate, const Vector3& up) {
    const std::vector<bool> at_limit = saturated();
    std::array<double, 2> largest{};  // [N] of all samples, and of those that are not saturated
    std::size_t n_saturated = 0, first = 0, last = 0;
    for (std::size_t i = 0; i < plate.times.size(); ++i) {
      const double along = plate.force[i].dot(up);
      if (!(std::abs(along) > stance_threshold)) continue;
      for (const std::size_t k : {0, 1}) {
        if ((k == 0 || !at_limit[i]) && std::abs(along) > std::abs(largest[k])) largest[k] = along;
      }
      if (!at_limit[i]) continue;
      if (++n_saturated == 1) first = i;
      last = i;
    }
    const double decisive = largest[1] != 0.0 ? largest[1] : largest[0];
    if (largest[1] != 0.0 && n_saturated > 0) {
      note(
          fmt::format("{} of its loaded samples, from {} to {} s, are saturated: a channel of its normal force remains "
                      "at its maximum or minimum for 0.1 s or longer",
                      n_saturated, plate.times[first], plate.times[last]));
    }
    if (decisive >= 0.0) return false;
    note(fmt::format(
        "its peak load, {:.4g} N, points into the floor: the file contains the force on the plate; force and "
        "moment are reversed",
        -decisive));
    return true;
  }

  [[nodiscard]] Load load(std::size_t sample) const {
    std::array<double, max_channels> c{};
    for (std::size_t i = 0; i < channels_.size(); ++i) c[i] = trial_.analog[channels_[i]].values[sample];
    if (type_ == 1) {
      const Vector3 force(c[0], c[1], c[2]);
      return {force, point_unit_ * Vector3(c[3], c[4], 0.0).cross(force) + Vector3(0.0, 0.0, moment_unit_ * c[5])};
    }
    if (type_ == 3) {
      const double a = origin_.x(), b = origin_.y();
      const Vector3 force(c[0] + c[1], c[2] + c[3], c[4] + c[5] + c[6] + c[7]);
      const Vector3 moment(b * (c[4] + c[5] - c[6] - c[7]), a * (-c[4] + c[5] + c[6] - c[7]),
                           b * (c[1] - c[0]) + a * (c[2] - c[3]));
      return {force, moment + force.cross(Vector3(0.0, 0.0, origin_.z()))};
    }
    Vector6 wrench = Eigen::Map<const Vector6>(c.data());
    if (type_ == 4) wrench = matrix_ * wrench;
    const Vector3 force = wrench.head<3>(), moment = wrench.tail<3>();
    return {force, (type_ == 4 ? trial_.length : moment_unit_) * moment + force.cross(origin_)};
  }

  const C3dTrial& trial_;
  std::size_t index_;
  int type_;
  C3dPlates& result_;
  Pose X_LP_;  ///< pose of the plate axes at the centre of its surface, in the laboratory
  std::vector<std::size_t> channels_;
  Vector3 origin_;
  Matrix6 matrix_ = Matrix6::Identity();
  double moment_unit_ = 1.0;
  double point_unit_ = 1.0;  ///< of the centre of pressure of type 1
};

/// Descriptions of the unsupported plate types.
std::string name_of_type(int type) {
  static const std::map<int, const char*> names{
      {5, "eight sensors behind a matrix of 6 by 8"}, {6, "twelve sensors behind a matrix"},
      {7, "eight sensors behind a matrix of 8 by 8"}, {11, "a treadmill with two belts"},
      {12, "a treadmill of eight vertical sensors"},  {21, "a staircase"}};
  const auto found = names.find(type);
  return found == names.end() ? "" : fmt::format(" ({})", found->second);
}

}  // namespace

C3dPlates c3d_plates(const C3dTrial& trial) {
  C3dPlates result;
  const auto used = trial.numbers("FORCE_PLATFORM:USED"), types = trial.numbers("FORCE_PLATFORM:TYPE");
  constexpr double max_plates = 255.0;  // maximum number of entries of a parameter
  const std::size_t n =
      used.empty() || !(used.front() > 0.0) ? 0 : static_cast<std::size_t>(std::min(used.front(), max_plates));
  if (types.size() < n) {
    result.notes.push_back(
        fmt::format("FORCE_PLATFORM:TYPE: expected the types of {} plates, found {}; the other plates are skipped", n,
                    types.size()));
  }
  for (std::size_t i = 0; i < std::min(n, types.size()); ++i) {
    const int type = types[i] >= 1.0 && types[i] < 1000.0 ? static_cast<int>(types[i]) : 0;
    if (type < 1 || type > 4) {
      result.notes.push_back(
          fmt::format("force plate {}: unsupported type {}{}; types 1 to 4 are supported (its channels are among the "
                      "analog channels)",
                      i + 1, types[i], name_of_type(type)));
      continue;
    }
    // An invalid plate description does not invalidate the trial.
    try {
      PlateReader reader(trial, i, type, result);
      result.plates.push_back(reader.plate());
      result.channels.insert(result.channels.end(), reader.channels().begin(), reader.channels().end());
    } catch (const Error& error) {
      result.notes.push_back(
          fmt::format("{}; the plate is skipped (its channels are among the analog channels)", error.what()));
    }
  }
  const auto zero = trial.numbers("FORCE_PLATFORM:ZERO");
  if (n > 0 && zero.size() >= 2 && zero[0] >= 1.0 && zero[1] >= zero[0]) {
    result.notes.push_back(
        fmt::format("FORCE_PLATFORM:ZERO declares the plates unloaded in frames {} to {}: their mean is not "
                    "subtracted",
                    zero[0], zero[1]));
  }
  return result;
}

}  // namespace heelstrike
