#include "gait/force_plate.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <string_view>

#include "common/errors/error.hpp"
#include "common/text/storage_header.hpp"

namespace heelstrike {

namespace {

std::vector<Vector3> vectors(const MotionTable& table, const std::string& stem) {
  const auto& x = table.column(stem + "x");
  const auto& y = table.column(stem + "y");
  const auto& z = table.column(stem + "z");
  std::vector<Vector3> result;
  result.reserve(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) result.emplace_back(x[i], y[i], z[i]);
  return result;
}

std::string torque_stem(std::string stem) {
  const std::string force = "ground_force";
  return stem.replace(stem.find(force), force.size(), "ground_torque");
}

}  // namespace

std::string plates_text(std::span<const ForcePlate> plates, std::span<const double> times, const std::string& name) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < times.size(); ++i) {
    // Of several rows at one time (an event) the last is used: OpenSim requires increasing times.
    if (i + 1 == times.size() || times[i + 1] > times[i]) rows.push_back(i);
  }
  std::string text = storage_header(name, rows.size(), 1 + 9 * plates.size());
  for (const ForcePlate& plate : plates) {
    for (const char* c : {"_vx", "_vy", "_vz", "_px", "_py", "_pz"}) text += "\t" + plate.name + c;
    for (const char* c : {"_x", "_y", "_z"}) text += "\t" + torque_stem(plate.name) + c;
  }
  text += '\n';
  for (const std::size_t i : rows) {
    text += fmt::format("{}", times[i]);
    for (const ForcePlate& plate : plates) {
      for (const Vector3& v : {plate.force[i], plate.point[i], plate.moment[i]}) {
        text += fmt::format("\t{}\t{}\t{}", v.x(), v.y(), v.z());
      }
    }
    text += '\n';
  }
  return text;
}

std::vector<ForcePlate> read_force_plates(const MotionTable& table) {
  constexpr std::string_view force = "ground_force_";
  std::vector<ForcePlate> plates;
  for (const std::string& heading : table.headings) {
    const auto at = heading.find(force);
    if (at == std::string::npos || !heading.ends_with("vx")) continue;
    const std::string prefix = heading.substr(0, at);
    const std::string number = heading.substr(at + force.size(), heading.size() - at - force.size() - 2);
    std::string name = prefix + std::string(force) + number;
    name.pop_back();  // the last underscore
    plates.push_back({.name = name,
                      .times = table.times(),
                      .force = vectors(table, prefix + std::string(force) + number + "v"),
                      .point = vectors(table, prefix + std::string(force) + number + "p"),
                      .moment = vectors(table, prefix + "ground_torque_" + number)});
  }
  if (plates.empty()) {
    throw input_error("file",
                      fmt::format("{}: expected columns ground_force_vx, ground_force_vy, ..., ground_torque_z "
                                  "of at least one force plate, found none; check that the file contains ground forces",
                                  table.file_name));
  }
  return plates;
}

void check_forces(std::span<const ForcePlate> plates, const std::string& file_name) {
  for (const ForcePlate& plate : plates) {
    const auto is_wrong = [](const Vector3& f) { return !f.allFinite(); };
    const auto wrong = std::ranges::find_if(plate.force, is_wrong);
    if (wrong == plate.force.end()) continue;
    throw input_error(
        "plates", fmt::format("{}: {}: expected finite forces, found {}, {}, {} N at t = {:.6g} s ({} of {} rows are "
                              "like that); fill or remove these rows",
                              file_name, plate.name, wrong->x(), wrong->y(), wrong->z(),
                              plate.times[static_cast<std::size_t>(wrong - plate.force.begin())],
                              std::ranges::count_if(plate.force, is_wrong), plate.force.size()));
  }
}

std::vector<std::string> reverse_loads_on_plates(std::span<ForcePlate> plates, const Vector3& up, double threshold) {
  std::vector<std::string> notes;
  for (ForcePlate& plate : plates) {
    double sum = 0.0, lowest = 0.0;
    for (const Vector3& f : plate.force) {
      sum += f.dot(up);
      lowest = std::min(lowest, f.dot(up));
    }
    if (!(sum < 0.0 && lowest < -threshold)) continue;
    for (Vector3& f : plate.force) f = -f;
    for (Vector3& m : plate.moment) m = -m;
    notes.push_back(
        fmt::format("{}: its peak load, {:.4g} N, points into the floor, against that of the run: the file "
                    "contains the force on the plate; force and moment are reversed",
                    plate.name, -lowest));
  }
  return notes;
}

std::vector<Stance> stances(const ForcePlate& plate, const Vector3& up, double threshold, double min_duration) {
  std::vector<Stance> found;
  Stance current;
  bool loaded = false;
  const auto crossing = [&](std::size_t row) {
    const double before = plate.force[row - 1].dot(up), now = plate.force[row].dot(up);
    // One value is above the threshold and one is not, so that the denominator is not zero.
    const double share = (threshold - before) / (now - before);
    return plate.times[row - 1] + share * (plate.times[row] - plate.times[row - 1]);
  };
  const auto finish = [&] {
    if (current.duration() >= min_duration) found.push_back(current);
    loaded = false;
  };
  for (std::size_t row = 0; row < plate.times.size(); ++row) {
    const bool above = plate.force[row].dot(up) > threshold;
    if (above && !loaded) {
      current = {.start = row == 0 ? plate.times[0] : crossing(row), .end = 0.0, .has_start = row > 0, .has_end = true};
      loaded = true;
    } else if (!above && loaded) {
      current.end = crossing(row);
      finish();
    }
  }
  if (loaded) {
    current.end = plate.times.back();
    current.has_end = false;
    finish();
  }
  return found;
}

/// Trapezoidal rule with the sample intervals: rows need not be equidistant.
double body_mass(std::span<const ForcePlate> plates, const Vector3& up, double from, double to) {
  constexpr double standard_gravity = 9.80665;
  double impulse = 0.0, duration = 0.0;
  if (plates.empty()) throw input_error("plates", "expected at least one force plate, found none");
  const auto& times = plates.front().times;
  for (const ForcePlate& plate : plates) {
    if (plate.times.size() != times.size()) {
      throw input_error("plates", fmt::format("expected force plates with the same times, found {} and {} rows",
                                              times.size(), plate.times.size()));
    }
  }
  for (std::size_t row = 1; row < times.size(); ++row) {
    if (times[row - 1] < from || times[row] > to) continue;
    const double h = times[row] - times[row - 1];
    for (const ForcePlate& plate : plates) impulse += 0.5 * h * (plate.force[row - 1] + plate.force[row]).dot(up);
    duration += h;
  }
  if (!(duration > 0.0)) {
    throw input_error("plates",
                      fmt::format("expected rows of the force plates between {} and {} s, found none", from, to));
  }
  return impulse / duration / standard_gravity;
}

CenterOfPressure center_of_pressure(const Vector3& force, const Vector3& moment, const Vector3& origin,
                                    const Vector3& normal) {
  const double load = normal.dot(force);
  // Without a load the line of action is undefined.
  if (!(load > 0.0)) return {.point = origin, .free_moment = normal.dot(moment)};
  // Point r of the plane about which the moment has no in-plane component: n x (M - r x F) = 0 with n . r = 0 gives r =
  // n x M / (n . F).
  const Vector3 arm = normal.cross(moment) / load;
  return {.point = origin + arm, .free_moment = normal.dot(moment - arm.cross(force))};
}

Vector3 interpolated(std::span<const double> times, std::span<const Vector3> values, double t) {
  const auto next = std::ranges::upper_bound(times, t);
  // `upper_bound` makes t lie in [times[i - 1], times[i]), whose length is not zero.
  if (next == times.begin()) return values.front();
  if (next == times.end()) return values.back();
  const auto i = static_cast<std::size_t>(next - times.begin());
  const double share = (t - times[i - 1]) / (times[i] - times[i - 1]);
  return (1.0 - share) * values[i - 1] + share * values[i];
}

std::optional<double> plate_height(const ForcePlate& plate, const Vector3& up) {
  double height = 0.0, n = 0.0;
  for (std::size_t i = 0; i < plate.times.size(); ++i) {
    if (plate.force[i].dot(up) < stance_threshold) continue;
    height += plate.point[i].dot(up);
    n += 1.0;
  }
  return n > 0.0 ? std::optional(height / n) : std::nullopt;
}

}  // namespace heelstrike
