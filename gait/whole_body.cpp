#include "gait/whole_body.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

#include "common/errors/error.hpp"
#include "gait/signal_filter.hpp"

namespace heelstrike {
namespace {

constexpr double min_contact = 0.1;  // [s] shorter ones are crossings of the speed in swing

/// A marker with its gaps bridged by straight lines and its ends held.
std::vector<Vector3> bridged(const MarkerTrial& trial, const std::string& name) {
  std::vector<Vector3> series = trial.marker(name);
  const std::size_t n = series.size();
  std::size_t before = n;
  for (std::size_t i = 0; i < n; ++i) {
    if (!is_seen(series[i])) continue;
    if (before == n) std::fill(series.begin(), series.begin() + static_cast<std::ptrdiff_t>(i), series[i]);
    for (std::size_t k = before + 1; before < n && k < i; ++k) {
      const double share = static_cast<double>(k - before) / static_cast<double>(i - before);
      series[k] = (1.0 - share) * series[before] + share * series[i];
    }
    before = i;
  }
  if (before == n) {
    throw input_error("segments", fmt::format("{}: marker '{}': expected positions, found gaps in all {} frames; name "
                                              "another marker of the segment",
                                              trial.file_name, name, n));
  }
  std::fill(series.begin() + static_cast<std::ptrdiff_t>(before) + 1, series.end(), series[before]);
  return series;
}

void smooth_series(std::vector<Vector3>& series, double cutoff, double rate) {
  for (int c = 0; c < 3; ++c) {
    std::vector<double> values;
    for (const Vector3& p : series) values.push_back(p[c]);
    values = low_pass(values, {.order = 4, .cutoff = cutoff, .rate = rate});
    for (std::size_t i = 0; i < series.size(); ++i) series[i][c] = values[i];
  }
}

/// The markers of one end of a segment that are seen at all.
std::vector<std::vector<Vector3>> seen_markers(const MarkerTrial& trial, const std::vector<std::string>& names) {
  std::vector<std::vector<Vector3>> seen;
  for (const std::string& name : names) {
    const auto& series = trial.marker(name);
    if (std::ranges::any_of(series, is_seen)) seen.push_back(series);
  }
  return seen;
}

/// Bridges the gap [first, last] of one marker by the others that are seen in all of it, with the offset from their
/// mean interpolated between the frames before and after; by a straight line where there is none.
void bridge_gap(const std::vector<std::vector<Vector3>>& raw, std::size_t m, std::size_t first, std::size_t last,
                std::vector<Vector3>& series) {
  const std::size_t n = series.size();
  const std::size_t before = first == 0 ? last + 1 : first - 1, after = last + 1 < n ? last + 1 : first - 1;
  std::vector<std::size_t> others;
  for (std::size_t k = 0; k < raw.size(); ++k) {
    const auto from = raw[k].begin() + static_cast<std::ptrdiff_t>(std::min(before, first));
    const auto to = raw[k].begin() + static_cast<std::ptrdiff_t>(std::max(after, last)) + 1;
    if (k != m && std::all_of(from, to, is_seen)) others.push_back(k);
  }
  const auto reference = [&](std::size_t i) {
    Vector3 mean = Vector3::Zero();
    for (const std::size_t k : others) mean += raw[k][i] / static_cast<double>(others.size());
    return mean;
  };
  const Vector3 offset_before = raw[m][before] - reference(before), offset_after = raw[m][after] - reference(after);
  for (std::size_t i = first; i <= last; ++i) {
    const double share = static_cast<double>(i - first + 1) / static_cast<double>(last - first + 2);
    series[i] = reference(i) + (1.0 - share) * offset_before + share * offset_after;
  }
}

/// Mean of the markers of one end of a segment. Markers that are never seen are left out: an offset has no
/// acceleration. None if no marker is seen.
std::optional<std::vector<Vector3>> mean_marker(const MarkerTrial& trial, const std::vector<std::string>& names) {
  const auto raw = seen_markers(trial, names);
  if (raw.empty()) return std::nullopt;
  std::vector<Vector3> mean(trial.frames(), Vector3::Zero());
  for (std::size_t m = 0; m < raw.size(); ++m) {
    std::vector<Vector3> series = raw[m];
    for (std::size_t i = 0; i < series.size(); ++i) {
      if (is_seen(raw[m][i])) continue;
      const std::size_t first = i;
      while (i + 1 < series.size() && !is_seen(raw[m][i + 1])) ++i;
      bridge_gap(raw, m, first, i, series);
    }
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += series[i] / static_cast<double>(raw.size());
  }
  return mean;
}

/// Central differences; one-sided at the ends.
std::vector<Vector3> rate_of(const std::vector<double>& times, const std::vector<Vector3>& series) {
  std::vector<Vector3> rates;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::size_t a = i == 0 ? 0 : i - 1, b = std::min(i + 1, series.size() - 1);
    rates.emplace_back((series[b] - series[a]) / (times[b] - times[a]));
  }
  return rates;
}

/// Second differences over three frames; the ends repeat their neighbours.
std::vector<Vector3> acceleration_of(const std::vector<double>& times, const std::vector<Vector3>& series) {
  std::vector<Vector3> result(series.size(), Vector3::Zero());
  for (std::size_t i = 1; i + 1 < series.size(); ++i) {
    const double before = times[i] - times[i - 1], after = times[i + 1] - times[i];
    result[i] = 2.0 / (before + after) * ((series[i + 1] - series[i]) / after - (series[i] - series[i - 1]) / before);
  }
  if (result.size() > 2) {
    result.front() = result[1];
    result.back() = result[result.size() - 2];
  }
  return result;
}

/// Total force on the feet, centre of mass and axes of the walk.
struct WholeBody {
  std::vector<double> times;
  std::vector<Vector3> force;   ///< [N]
  std::vector<Vector3> center;  ///< [m] less the motion of the ground
  Vector3 up, along;

  [[nodiscard]] Vector3 force_at(double t) const { return interpolated(times, force, t); }
};

WholeBody whole_body(const MarkerTrial& trial, std::span<const BodySegmentSpec> segments, double mass,
                     const Vector3& gravity, const Vector3& ground_velocity, const WholeBodyOptions& options) {
  WholeBody body;
  body.times = trial.times;
  body.up = -gravity.normalized();
  body.center = center_of_mass(trial, segments, options.forward_cutoff);
  const auto forward = acceleration_of(trial.times, body.center);
  const auto lateral = acceleration_of(trial.times, center_of_mass(trial, segments, options.lateral_cutoff));
  const auto vertical = acceleration_of(trial.times, center_of_mass(trial, segments, options.vertical_cutoff));
  for (std::size_t i = 0; i < trial.frames(); ++i)
    body.center[i] -= (trial.times[i] - trial.times[0]) * ground_velocity;
  Vector3 walk = body.center.back() - body.center.front();
  walk -= walk.dot(body.up) * body.up;
  // A body that stays in place has no direction of its own; the first axis of the world is forward in all scenarios.
  constexpr double travel = 0.5;  // [m]
  body.along = walk.norm() > travel ? Vector3(walk.normalized()) : Vector3(Vector3::UnitX());
  const Vector3 across = body.up.cross(body.along);
  for (std::size_t i = 0; i < trial.frames(); ++i) {
    body.force.emplace_back(mass * (forward[i].dot(body.along) * body.along + lateral[i].dot(across) * across +
                                    (vertical[i] - gravity).dot(body.up) * body.up));
  }
  return body;
}

/// Double stance from the contact of the leading foot to the toe-off of the trailing one.
struct DoubleStance {
  double start = 0.0, end = 0.0;
};

/// Force on the trailing foot by the published smooth transition.
Vector3 smooth_transition(const WholeBody& body, const DoubleStance& both, double s) {
  const double tau = 2.0 * s;
  const double k1 = std::exp(4.0 / 9.0), k2 = 0.5 * k1 * std::exp(-16.0 / 9.0);
  const Vector3 F_0 = body.force_at(both.start);
  const Vector3 along = F_0.dot(body.along) * body.along;
  return (k1 * std::exp(-(tau - 2.0 / 3.0) * (tau - 2.0 / 3.0)) - k2 * tau) * along +
         std::exp(-tau * tau * tau) * (F_0 - along);
}

/// Force on the trailing foot in the direction that it had at the contact of the other foot.
/// @param load  [N] measured vertical force on it, if any @param ground  [m] height of the ground
Vector3 continued_direction(const WholeBody& body, const DoubleStance& both, double t, double s,
                            std::optional<double> load, double ground, double quarter_period) {
  const Vector3 F_0 = body.force_at(both.start);
  const double N_0 = F_0.dot(body.up);
  // In the air at the contact of the other foot: running has no double stance.
  if (!(N_0 > 0.0)) return Vector3::Zero();
  const double unloaded = 0.5 * (1.0 + std::cos(std::numbers::pi * s)) *
                          std::max(0.0, body.force_at(both.start - quarter_period).dot(body.up));
  const double N = load.value_or(unloaded);
  const Vector3 c_0 = interpolated(body.times, body.center, both.start), c = interpolated(body.times, body.center, t);
  const double lean = (c - c_0).dot(body.along) / (c.dot(body.up) - ground);
  return N * (F_0 / N_0 + lean * body.along);
}

const Stance* contact_at(const FootContacts& foot, double t) {
  const auto found = std::ranges::find_if(foot.contacts, [&](const Stance& c) { return t >= c.start && t <= c.end; });
  return found == foot.contacts.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Vector3> center_of_mass(const MarkerTrial& trial, std::span<const BodySegmentSpec> segments,
                                    double cutoff) {
  std::vector<Vector3> center(trial.frames(), Vector3::Zero());
  double total = 0.0;
  for (const BodySegmentSpec& segment : segments) total += segment.mass_fraction;
  for (const BodySegmentSpec& segment : segments) {
    auto proximal = mean_marker(trial, segment.proximal), distal = mean_marker(trial, segment.distal);
    if (!proximal && !distal) {
      throw input_error("segments", fmt::format("{}: segment '{}': expected positions of a marker, found gaps in all "
                                                "frames; name other markers",
                                                trial.file_name, segment.name));
    }
    // A segment of which one end is hidden moves with the other end.
    if (!proximal) proximal = distal;
    if (!distal) distal = proximal;
    const double mass = segment.mass_fraction / total;
    for (std::size_t i = 0; i < center.size(); ++i) {
      center[i] += mass * ((*proximal)[i] + segment.center_fraction * ((*distal)[i] - (*proximal)[i]));
    }
  }
  smooth_series(center, cutoff, trial.rate);
  return center;
}

FootContacts foot_contacts(const MarkerTrial& trial, const FootSpec& foot, const Vector3& up,
                           const Vector3& ground_velocity, const WholeBodyOptions& options) {
  constexpr double cutoff = 12.0;  // [Hz] heel strikes need 10
  std::vector<std::vector<Vector3>> velocities;
  for (const std::string& name : {foot.markers.heel, foot.markers.toe_tip}) {
    auto series = bridged(trial, name);
    smooth_series(series, cutoff, trial.rate);
    velocities.push_back(rate_of(trial.times, series));
  }
  FootContacts result{.foot = foot.name, .contacts = {}, .ground = std::numeric_limits<double>::infinity()};
  for (const std::string& name : {foot.markers.heel, foot.markers.toe_tip}) {
    for (const Vector3& p : trial.marker(name)) {
      if (is_seen(p)) result.ground = std::min(result.ground, p.dot(up));
    }
  }
  const auto speed = [&](std::size_t i) {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& v : velocities) {
      const Vector3 relative = v[i] - ground_velocity;
      least = std::min(least, (relative - relative.dot(up) * up).norm());
    }
    return least;
  };
  for (std::size_t i = 0; i < trial.frames(); ++i) {
    if (speed(i) >= options.contact_speed) continue;
    const std::size_t first = i;
    while (i + 1 < trial.frames() && speed(i + 1) < options.contact_speed) ++i;
    if (trial.times[i] - trial.times[first] < min_contact) continue;
    result.contacts.push_back({.start = trial.times[first],
                               .end = trial.times[i],
                               .has_start = first > 0,
                               .has_end = i + 1 < trial.frames()});
  }
  return result;
}

void use_measured_contacts(FootContacts& contacts, std::span<const Stance> measured) {
  for (const Stance& step : measured) {
    std::erase_if(contacts.contacts, [&](const Stance& c) { return c.start < step.end && c.end > step.start; });
    contacts.contacts.push_back(step);
  }
  std::ranges::sort(contacts.contacts, {}, &Stance::start);
}

std::vector<ForcePlate> forces_from_motion(const MarkerTrial& trial, std::span<const BodySegmentSpec> segments,
                                           double mass, const Vector3& gravity, const Vector3& ground_velocity,
                                           std::span<const FootContacts> feet, std::span<const ForcePlate> measured,
                                           const WholeBodyOptions& options) {
  const WholeBody body = whole_body(trial, segments, mass, gravity, ground_velocity, options);
  std::vector<ForcePlate> forces;
  for (const FootContacts& foot : feet) {
    forces.push_back({.name = foot.foot,
                      .times = trial.times,
                      .force = std::vector<Vector3>(trial.frames(), Vector3::Zero()),
                      .point = std::vector<Vector3>(trial.frames(), Vector3::Zero()),
                      .moment = std::vector<Vector3>(trial.frames(), Vector3::Zero())});
  }
  for (std::size_t i = 0; i < trial.frames(); ++i) {
    const double t = trial.times[i];
    std::vector<std::pair<const Stance*, std::size_t>> loaded;
    for (std::size_t f = 0; f < feet.size(); ++f) {
      if (const Stance* contact = contact_at(feet[f], t)) loaded.emplace_back(contact, f);
    }
    if (loaded.empty()) continue;
    std::ranges::sort(loaded, {}, [](const auto& entry) { return entry.first->start; });
    const auto [trailing, trailing_foot] = loaded.front();
    if (loaded.size() == 1) {
      forces[trailing_foot].force[i] = body.force[i];
      continue;
    }
    const auto [leading, leading_foot] = loaded.back();
    const DoubleStance both{.start = leading->start, .end = std::min(trailing->end, leading->end)};
    const double s = both.end > both.start ? std::clamp((t - both.start) / (both.end - both.start), 0.0, 1.0) : 1.0;
    std::optional<double> load;
    const auto plate = std::ranges::find(measured, feet[trailing_foot].foot, &ForcePlate::name);
    if (plate != measured.end()) {
      const double vertical = interpolated(plate->times, plate->force, t).dot(body.up);
      // A contact beside the plates has no measured load.
      if (interpolated(plate->times, plate->force, both.start).dot(body.up) > stance_threshold) load = vertical;
    }
    Vector3 force =
        options.division == DoubleStanceDivision::smooth_transition
            ? smooth_transition(body, both, s)
            : continued_direction(body, both, t, s, load, feet[trailing_foot].ground, 0.25 / options.vertical_cutoff);
    // The trailing foot carries no more than the whole load.
    if (const double whole = std::max(0.0, body.force[i].dot(body.up)); force.dot(body.up) > whole) {
      force *= whole / force.dot(body.up);
    }
    forces[trailing_foot].force[i] = force;
    forces[leading_foot].force[i] = body.force[i] - force;
  }
  return forces;
}

}  // namespace heelstrike
