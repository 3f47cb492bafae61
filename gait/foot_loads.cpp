#include "gait/foot_loads.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "common/errors/error.hpp"

namespace heelstrike {
namespace {

constexpr double step_load = 100.0;       // [N] below it the measured centre of pressure is inaccurate
constexpr double end_margin = 0.02;       // [-] of the length of the foot
constexpr double half_width = 0.08;       // [m] half the width of a broad foot plus a margin
constexpr double min_share = 0.85;        // [-] the last loaded samples of a rolling foot lie in front of the toe tip
constexpr double max_shared_load = 0.05;  // [-] of the samples
constexpr double max_unseen = 0.10;       // [-] of the samples
constexpr double reach = 0.45;            // [m] between a centre of pressure and a foot that shares the load
constexpr double max_height = 0.05;       // [m] deformation of shoes and errors of markers are below 20 mm
constexpr double on_ground = 0.03;        // [m] above its height with the foot flat

/// A foot at one time, in the ground plane.
struct Outline {
  Vector3 heel, tip;    ///< [m] in the world
  double lowest = 0.0;  ///< [m] of heel and toe tip above their heights in the template
};

class FootPlaces {
 public:
  FootPlaces(const SteppingFoot& foot, const Vector3& up) : foot_(foot), up_(up) {
    const FootTemplate& shape = *foot.shape;
    const auto heel = std::ranges::find(shape.markers.hindfoot, shape.markers.heel);
    // The heel may be a marker that is not part of the cluster; then the origin of the foot stands for it.
    heel_H_ = heel == shape.markers.hindfoot.end()
                  ? Vector3(shape.toe_tip_H - shape.length * Vector3::UnitX())
                  : shape.hindfoot_H[static_cast<std::size_t>(heel - shape.markers.hindfoot.begin())];
  }

  /// None while the markers are missing.
  [[nodiscard]] std::optional<Outline> at(double t) const {
    const FootMotion& motion = *foot_.motion;
    if (t < motion.times.front() || t > motion.times.back()) return std::nullopt;
    const auto next = std::ranges::lower_bound(motion.times, t);
    auto i = static_cast<std::size_t>(next - motion.times.begin());
    if (i > 0 && t - motion.times[i - 1] < motion.times[i] - t) --i;
    if (!motion.unseen.empty() && motion.unseen[i]) return std::nullopt;
    const FootTemplate& shape = *foot_.shape;
    const Vector3 heel = motion.X_WH[i] * heel_H_;
    const Vector3 tip_T = toe_pose(shape, 0.0).inverse() * shape.toe_tip_H;
    const Vector3 tip = motion.X_WT[i] * tip_T;
    const Pose& X_WH = shape.X_WH;
    return Outline{.heel = heel,
                   .tip = tip,
                   .lowest = std::min((heel - X_WH * heel_H_).dot(up_), (tip - X_WH * shape.toe_tip_H).dot(up_))};
  }

 private:
  SteppingFoot foot_;
  Vector3 up_;
  Vector3 heel_H_;
};

bool is_under(const Outline& foot, const Vector3& point, const Vector3& up) {
  Vector3 along = foot.tip - foot.heel;
  along -= along.dot(up) * up;
  const Vector3 arm = point - foot.heel;
  const double s = arm.dot(along) / along.squaredNorm();
  return s > -end_margin && s < 1.0 + end_margin && std::abs(arm.dot(up.cross(along).normalized())) < half_width;
}

/// [m] in the ground, to the nearer of both ends.
double distance(const Outline& foot, const Vector3& point, const Vector3& up) {
  const auto to = [&](const Vector3& end) {
    const Vector3 arm = point - end;
    return (arm - arm.dot(up) * up).norm();
  };
  return std::min(to(foot.heel), to(foot.tip));
}

/// StepCounts of the samples of one step for one foot.
struct StepCounts {
  double under = 0.0;   ///< centre of pressure under the foot
  double seen = 0.0;    ///< markers seen
  double height = 0.0;  ///< [m] sum of the heights of the loaded foot above its template
};

class StepFinder {
 public:
  StepFinder(std::span<const SteppingFoot> feet, const Vector3& up) : feet_(feet), up_(up) {
    for (const SteppingFoot& foot : feet) places_.emplace_back(foot, up);
  }

  [[nodiscard]] PlateStep find(const ForcePlate& plate, const Stance& stance) const {
    PlateStep step;
    step.plate = plate.name;
    step.stance = stance;
    std::vector<StepCounts> counts(feet_.size());
    double all = 0.0;
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < plate.times.size(); ++row) {
      if (plate.times[row] < stance.start || plate.times[row] > stance.end) continue;
      const double force = plate.force[row].dot(up_);
      step.peak = std::max(step.peak, force);
      if (force < step_load || !within_motion(plate.times[row])) continue;
      rows.push_back(row);
      all += 1.0;
      for (std::size_t f = 0; f < feet_.size(); ++f) count(plate, row, f, counts[f]);
    }
    if (all == 0.0) return step;
    const auto best = std::ranges::max_element(counts, {}, &StepCounts::under);
    const auto index = static_cast<std::size_t>(best - counts.begin());
    step.share = best->under / all;
    judge(step, plate, rows, counts, index);
    return step;
  }

 private:
  [[nodiscard]] bool within_motion(double t) const {
    return std::ranges::all_of(feet_, [&](const SteppingFoot& foot) {
      return t >= foot.motion->times.front() && t <= foot.motion->times.back();
    });
  }

  void count(const ForcePlate& plate, std::size_t row, std::size_t f, StepCounts& counts) const {
    const auto outline = places_[f].at(plate.times[row]);
    if (!outline) return;
    counts.seen += 1.0;
    if (!is_under(*outline, plate.point[row], up_)) return;
    counts.under += 1.0;
    counts.height += outline->lowest;
  }

  void judge(PlateStep& step, const ForcePlate& plate, const std::vector<std::size_t>& rows,
             const std::vector<StepCounts>& counts, std::size_t best) const {
    const auto all = static_cast<double>(rows.size());
    const std::string& name = feet_[best].name;
    std::string unseen;
    for (std::size_t f = 0; f < feet_.size(); ++f) {
      const double missing = 1.0 - counts[f].seen / all;
      // A foot whose markers are missing may be the one on the plate; the other foot can still be found there.
      if (missing > max_unseen && (f == best || step.share < min_share)) {
        unseen += fmt::format("{}the markers of foot '{}' are missing in {:.0f} % of the step",
                              unseen.empty() ? "" : ", ", feet_[f].name, 100.0 * missing);
      }
    }
    if (step.share > 0.0) step.foot = name;
    if (const double shared = shared_load(plate, rows, best); shared > max_shared_load) {
      step.finding = fmt::format(
          "both feet load the plate: in {:.0f} % of the samples the centre of pressure lies "
          "outside of foot '{}' while the other foot is on the ground half_width it",
          100.0 * shared, name);
    } else if (!unseen.empty()) {
      step.finding = unseen;
    } else if (step.share < 0.05) {
      step.foot.clear();
      step.finding = "no foot is over the plate";
    } else if (step.share < min_share) {
      step.finding = fmt::format(
          "only {:.0f} % of the centres of pressure lie under foot '{}' (expected {:.0f} %): plate "
          "and markers are not synchronous, or something else loads the plate",
          100.0 * step.share, name, 100.0 * min_share);
    } else if (const double height = counts[best].height / counts[best].under; std::abs(height) > max_height) {
      step.finding = fmt::format(
          "foot '{}' stands {:.0f} mm {} its height in the static trial: a step, a ramp or another "
          "level of the static trial",
          name, 1e3 * std::abs(height), height > 0.0 ? "above" : "below");
    }
  }

  /// Share of the samples in which the centre of pressure has left the foot while another one is on the ground there.
  [[nodiscard]] double shared_load(const ForcePlate& plate, const std::vector<std::size_t>& rows,
                                   std::size_t best) const {
    double shared = 0.0;
    for (const std::size_t row : rows) {
      const auto own = places_[best].at(plate.times[row]);
      if (!own || is_under(*own, plate.point[row], up_)) continue;
      for (std::size_t f = 0; f < places_.size(); ++f) {
        const auto other = f == best ? std::nullopt : places_[f].at(plate.times[row]);
        if (!other || other->lowest > on_ground || distance(*other, plate.point[row], up_) > reach) continue;
        shared += 1.0;
        break;
      }
    }
    return shared / static_cast<double>(rows.size());
  }

  std::span<const SteppingFoot> feet_;
  Vector3 up_;
  std::vector<FootPlaces> places_;
};

void check_times(std::span<const ForcePlate> plates) {
  for (const ForcePlate& plate : plates) {
    if (plate.times == plates.front().times) continue;
    throw input_error("plates",
                      fmt::format("expected plates with equal times, found {} rows in '{}' and {} in '{}'",
                                  plates.front().times.size(), plates.front().name, plate.times.size(), plate.name));
  }
}

/// The step that a row of a plate belongs to: the nearest in time.
const PlateStep* step_at(std::span<const PlateStep> steps, const std::string& plate, double t) {
  const PlateStep* nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const PlateStep& step : steps) {
    if (step.plate != plate) continue;
    const double away = std::max({step.stance.start - t, t - step.stance.end, 0.0});
    if (away >= least) continue;
    least = away;
    nearest = &step;
  }
  return nearest;
}

}  // namespace

std::vector<PlateStep> find_plate_steps(std::span<const ForcePlate> plates, std::span<const SteppingFoot> feet,
                                        const Vector3& up) {
  std::vector<PlateStep> steps;
  if (feet.empty()) return steps;
  const StepFinder finder(feet, up);
  for (const ForcePlate& plate : plates) {
    for (const Stance& stance : stances(plate, up)) {
      if (stance.end < feet.front().motion->times.front() || stance.start > feet.front().motion->times.back()) continue;
      PlateStep step = finder.find(plate, stance);
      // Noise and touches of less than the load that locates a centre of pressure are no steps.
      if (step.peak >= step_load) steps.push_back(std::move(step));
    }
  }
  std::ranges::stable_sort(steps, {}, [](const PlateStep& step) { return step.stance.start; });
  return steps;
}

ForcePlate foot_load(std::span<const ForcePlate> plates, std::span<const PlateStep> steps, const std::string& foot,
                     const std::string& name, const Vector3& up) {
  check_times(plates);
  ForcePlate load{.name = name, .times = {}, .force = {}, .point = {}, .moment = {}};
  if (plates.empty()) return load;
  load.times = plates.front().times;
  for (std::size_t row = 0; row < load.times.size(); ++row) {
    Vector3 force = Vector3::Zero(), moment = Vector3::Zero(), point = Vector3::Zero(), own_moment = Vector3::Zero();
    double height = 0.0, total = 0.0;
    int loaded_plates = 0;
    for (const ForcePlate& plate : plates) {
      const PlateStep* step = step_at(steps, plate.name, load.times[row]);
      const double vertical = plate.force[row].dot(up);
      if (step == nullptr || !step->is_used() || step->foot != foot || !(vertical > 0.0)) continue;
      force += plate.force[row];
      moment += plate.point[row].cross(plate.force[row]) + plate.moment[row];
      height += vertical * plate.point[row].dot(up);
      total += vertical;
      point = plate.point[row];
      own_moment = plate.moment[row];
      ++loaded_plates;
    }
    if (loaded_plates > 1) {
      const Vector3 origin = height / total * up;
      const auto center = center_of_pressure(force, moment - origin.cross(force), origin, up);
      point = center.point;
      own_moment = center.free_moment * up;
    }
    load.force.push_back(force);
    load.point.push_back(point);
    load.moment.push_back(own_moment);
  }
  return load;
}

std::string plate_steps_text(std::span<const PlateStep> steps) {
  std::string text = "plate,start_s,end_s,has_start,has_end,peak_N,foot,share,finding\n";
  for (const PlateStep& step : steps) {
    // Findings are sentences with commas; the last column is the rest of the line.
    text += fmt::format("{},{},{},{},{},{},{},{},{}\n", step.plate, step.stance.start, step.stance.end,
                        step.stance.has_start ? 1 : 0, step.stance.has_end ? 1 : 0, step.peak, step.foot, step.share,
                        step.finding);
  }
  return text;
}

std::vector<PlateStep> read_plate_steps(std::string_view text, const std::string& file_name) {
  std::vector<PlateStep> steps;
  std::size_t number = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (++number == 1 || line.empty()) continue;
    std::array<std::string, 9> cells;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const auto comma = c + 1 == cells.size() ? line.size() : std::min(line.find(','), line.size());
      cells[c] = line.substr(0, comma);
      line.remove_prefix(std::min(comma + 1, line.size()));
    }
    const auto number_in = [&](std::size_t c) {
      try {
        return std::stod(cells[c]);
      } catch (const std::exception&) {
        throw input_error("file", fmt::format("{}:{}: expected a number in column {}, found '{}'; repeat the run",
                                              file_name, number, c + 1, cells[c]));
      }
    };
    steps.push_back({.plate = cells[0],
                     .stance = {.start = number_in(1),
                                .end = number_in(2),
                                .has_start = cells[3] == "1",
                                .has_end = cells[4] == "1"},
                     .peak = number_in(5),
                     .foot = cells[6],
                     .share = number_in(7),
                     .finding = cells[8]});
  }
  return steps;
}

std::optional<MassEstimate> estimate_body_mass(std::span<const ForcePlate> plates, const Vector3& up) {
  if (plates.empty() || plates.front().times.size() < 2) return std::nullopt;
  check_times(plates);
  const auto& times = plates.front().times;
  std::size_t unloaded = 0;
  for (std::size_t row = 0; row < times.size(); ++row) {
    double force = 0.0;
    for (const ForcePlate& plate : plates) force += plate.force[row].dot(up);
    if (force < stance_threshold) ++unloaded;
  }
  // On a treadmill a foot is always on a plate; a walkway is unloaded before and after the plates.
  if (20 * unloaded < times.size()) {
    return MassEstimate{.mass = body_mass(plates, up), .deviation = 0.0, .n_steps = 0};
  }
  std::vector<Stance> steps;
  for (const ForcePlate& plate : plates) {
    for (const Stance& stance : stances(plate, up)) {
      if (stance.complete()) steps.push_back(stance);
    }
  }
  std::ranges::sort(steps, {}, &Stance::start);
  std::vector<double> masses;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const Stance& a = steps[i];
    const Stance& b = steps[i + 1];
    // Overlap = double stance with both feet on plates; steps of one foot on two plates have nearly equal middles.
    const double from = 0.5 * (a.start + a.end), to = 0.5 * (b.start + b.end);
    if (b.start >= a.end || to - from < 0.5 * std::min(a.duration(), b.duration())) continue;
    masses.push_back(body_mass(plates, up, from, to));
  }
  if (masses.empty()) return std::nullopt;
  MassEstimate found{.mass = 0.0, .deviation = 0.0, .n_steps = masses.size()};
  const auto n = static_cast<double>(masses.size());
  for (const double m : masses) found.mass += m / n;
  for (const double m : masses) found.deviation += (m - found.mass) * (m - found.mass) / n;
  found.deviation = std::sqrt(found.deviation);
  return found;
}

}  // namespace heelstrike
