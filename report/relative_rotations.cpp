#include "report/relative_rotations.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "report/pressure_map.hpp"

namespace heelstrike::report {
namespace {

constexpr double min_rotation = std::numbers::pi / 180.0;  // [rad] smaller rotations are not plotted

std::vector<Quaternion> relative_rotations(const TimeSeries& series, const std::string& a, const std::string& b) {
  std::vector<Quaternion> rotations;
  const std::size_t n = series.columns.size();
  for (std::size_t r = 0; r < series.rows(); ++r) {
    const auto row = std::span(series.values).subspan(r * n, n);
    const Matrix3 R = pose_in_row(series.columns, row, a).R.transpose() * pose_in_row(series.columns, row, b).R;
    rotations.push_back(quaternion_from_rotation(R));
  }
  return rotations;
}

/// Rotation vector of the largest rotation relative to the first row [rad].
Vector3 find_max_rotation(const std::vector<Quaternion>& rotations) {
  Vector3 largest = Vector3::Zero();
  for (const Quaternion& q : rotations) {
    const Eigen::AngleAxisd rotation(q * rotations.front().inverse());
    if (rotation.angle() > largest.norm()) largest = rotation.angle() * rotation.axis();
  }
  return largest;
}

/// Angles about the axis, unwrapped to be continuous from row to row.
std::vector<double> twists(const std::vector<Quaternion>& rotations, const Vector3& axis) {
  std::vector<double> angles;
  for (const Quaternion& q : rotations) {
    const double angle = 2.0 * std::atan2(q.vec().dot(axis), q.w());
    const double before = angles.empty() ? 0.0 : angles.back();
    angles.push_back(before + std::remainder(angle - before, 2.0 * std::numbers::pi));
  }
  return angles;
}

/// At most `budget` evenly spaced of n indices, including the last one.
std::vector<std::size_t> spread(std::size_t n, std::size_t budget) {
  const std::size_t stride = std::max<std::size_t>(1, (n + budget - 1) / budget);
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < n; i += stride) indices.push_back(i);
  if (n > 0 && indices.back() != n - 1) indices.push_back(n - 1);
  return indices;
}

Json rotation_json(const RelativeRotation& rotation, const TimeSeries& series, std::size_t budget) {
  std::vector<double> times;
  std::vector<double> angles;
  for (const std::size_t r : spread(series.rows(), budget)) {
    times.push_back(series.values[r * series.columns.size()]);
    angles.push_back(rotation.angle[r]);
  }
  return {{"name", fmt::format("{} in {}", rotation.b, rotation.a)},
          {"axis", {rotation.axis.x(), rotation.axis.y(), rotation.axis.z()}},
          {"times", packed(times)},
          {"angle", packed(angles)}};
}

Json path_json(const CopPath& path, std::size_t budget) {
  std::vector<double> times;
  std::vector<double> force;
  std::vector<double> coordinates[3];
  const auto add = [&](double time, double size, const Vector3& p) {
    times.push_back(time);
    force.push_back(size);
    for (int k = 0; k < 3; ++k) coordinates[k].push_back(p[k]);
  };
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  std::size_t contact = path.contacts.empty() ? 0 : path.contacts.front();
  for (const std::size_t i : spread(path.times.size(), budget)) {
    if (path.contacts[i] != contact) add(path.times[i], none, Vector3::Constant(none));
    contact = path.contacts[i];
    add(path.times[i], path.forces[i], path.points[i]);
  }
  return {{"times", packed(times)},
          {"x", packed(coordinates[0])},
          {"y", packed(coordinates[1])},
          {"z", packed(coordinates[2])},
          {"force", packed(force)}};
}

}  // namespace

std::vector<RelativeRotation> relative_rotations(const Scenario& scenario, const TimeSeries& series) {
  std::vector<RelativeRotation> found;
  const auto add = [&](const std::string& a, const std::string& b) {
    if (std::ranges::any_of(found, [&](const RelativeRotation& known) { return known.a == a && known.b == b; })) return;
    const auto rotations = relative_rotations(series, a, b);
    const Vector3 largest = find_max_rotation(rotations);
    if (largest.norm() < min_rotation) return;
    const Vector3 axis = largest.normalized();
    found.push_back({.a = a, .b = b, .axis = axis, .angle = twists(rotations, axis)});
  };
  if (series.rows() == 0) return found;
  for (const PairModel& pair : scenario.pairs) add(pair.main_body, pair.partner_body);
  for (const JointSpec& joint : scenario.joints) {
    if (joint.ends) add(joint.ends->bodies[0], joint.ends->bodies[1]);
  }
  return found;
}

Json relative_rotations_json(const Scenario& scenario, const TimeSeries& series, std::size_t budget) {
  Json json = {{"turns", Json::array()}, {"paths", Json::array()}};
  const auto rotations = relative_rotations(scenario, series);
  for (std::size_t t = 0; t < rotations.size(); ++t) {
    json["turns"].push_back(rotation_json(rotations[t], series, budget));
    for (const PairModel& pair : scenario.pairs) {
      if (pair.main_body != rotations[t].a || pair.partner_body != rotations[t].b) continue;
      const CopPath path = cop_path(series, pair.spec.name, pair.main_body);
      if (path.times.empty()) continue;
      Json entry = {{"pair", pair.spec.name}, {"turn", t}};
      entry.update(path_json(path, budget));
      json["paths"].push_back(std::move(entry));
    }
  }
  return json;
}

}  // namespace heelstrike::report
