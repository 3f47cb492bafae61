// Two feet that walk along x on flat soles, with known positions, and loads of plates under them.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "gait/foot_motion.hpp"
#include "gait/foot_template.hpp"
#include "gait/force_plate.hpp"
#include "gait/marker_file.hpp"

namespace heelstrike::testing_gait {

inline const Vector3 up = Vector3::UnitZ();

/// Markers of a right foot in its frame, x forward, y left; the left foot is the mirror image. Heights above the
/// ground.
inline std::vector<std::pair<std::string, Vector3>> foot_points(bool right) {
  std::vector<std::pair<std::string, Vector3>> points = {
      {"Heel", {-0.06, 0.0, 0.05}},    {"Sup", {0.08, 0.03, 0.12}},    {"Lat", {0.06, -0.05, 0.03}},
      {"ToeLat", {0.14, -0.06, 0.03}}, {"ToeMed", {0.16, 0.04, 0.03}}, {"Tip", {0.22, 0.01, 0.04}}};
  for (auto& [name, p] : points) {
    name = (right ? "R_" : "L_") + name;
    if (!right) p.y() = -p.y();
  }
  return points;
}

inline FootMarkers foot_names(bool right) {
  const std::string s = right ? "R_" : "L_";
  return {.hindfoot = {s + "Heel", s + "Sup", s + "Lat", s + "ToeLat", s + "ToeMed"},
          .heel = s + "Heel",
          .toe_tip = s + "Tip",
          .toe_lateral = s + "ToeLat",
          .toe_medial = s + "ToeMed",
          .origin = {s + "Heel", s + "Sup"},
          .stand_in = {}};
}

/// Stances of 0.7 s and swings of 0.5 s; the left foot is half a cycle later, 0.1 s of double stance.
constexpr double cycle = 1.2, stance_time = 0.7, step_length = 0.6;

/// [m] displacement of a foot from its place in the first stance: forward, and up in swing.
inline Vector3 foot_place(bool right, double t) {
  const double phase = (right ? t : t - 0.5 * cycle) / cycle;
  const double n = std::floor(phase), s = (phase - n) * cycle;
  const double start = (2.0 * n + (right ? 0.0 : 1.0)) * step_length;
  const double y = right ? -0.1 : 0.1;
  if (s <= stance_time) return {start, y, 0.0};
  const double share = (s - stance_time) / (cycle - stance_time);
  const double smooth = 0.5 * (1.0 - std::cos(std::numbers::pi * share));
  return {start + 2.0 * step_length * smooth, y, 0.1 * std::sin(std::numbers::pi * share)};
}

/// @param ground  [m/s] added to all velocities: a treadmill
inline MarkerTrial walk(double duration, const Vector3& ground = Vector3::Zero()) {
  MarkerTrial trial;
  trial.file_name = "walk.trc";
  trial.rate = 120.0;
  for (int i = 0; i <= static_cast<int>(std::lround(duration * trial.rate)); ++i) trial.times.push_back(i / trial.rate);
  for (const bool right : {true, false}) {
    for (const auto& [name, p] : foot_points(right)) {
      trial.names.push_back(name);
      auto& series = trial.positions.emplace_back();
      for (const double t : trial.times) series.emplace_back(p + foot_place(right, t) + t * ground);
    }
  }
  return trial;
}

inline MarkerTrial stand() {
  MarkerTrial trial = walk(0.05);
  trial.file_name = "static.trc";
  return trial;
}

/// A plate that carries `force` [N] from one time to another, with the centre of pressure on a straight line.
inline ForcePlate plate(const std::string& name, double duration, double from, double to, const Vector3& first,
                        const Vector3& last, double force = 700.0) {
  ForcePlate p{.name = name, .times = {}, .force = {}, .point = {}, .moment = {}};
  for (int i = 0; i <= static_cast<int>(std::lround(duration * 600.0)); ++i) {
    const double t = i / 600.0;
    const bool on = t >= from && t <= to;
    p.times.push_back(t);
    p.force.emplace_back(0.0, 0.0, on ? force : 0.0);
    p.point.emplace_back(on ? Vector3(first + (t - from) / (to - from) * (last - first)) : Vector3(Vector3::Zero()));
    p.moment.emplace_back(Vector3::Zero());
  }
  return p;
}

}  // namespace heelstrike::testing_gait
