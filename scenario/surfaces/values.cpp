#include "scenario/surfaces/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/errors/error.hpp"

namespace heelstrike {

const std::vector<double>& numbers(const ParameterMap& values, const std::string& name) {
  const auto found = values.find(name);
  const auto* list = found == values.end() ? nullptr : std::get_if<std::vector<double>>(&found->second);
  if (list == nullptr) throw Error(ErrorCode::internal, fmt::format("value '{}' of a surface was not checked", name));
  return *list;
}

Vector3 vector3(const ParameterMap& values, const std::string& name) {
  const std::vector<double>& v = numbers(values, name);
  return {v.at(0), v.at(1), v.at(2)};
}

std::string text_or_none(const ParameterMap& values, const std::string& name) {
  return values.contains(name) ? text(values, name) : std::string();
}

std::vector<double> listed(const Vector3& v) {
  return {v.x(), v.y(), v.z()};
}

Vector3 normalised(const Vector3& direction) {
  const double norm = direction.norm();
  // Unit length up to rounding is unchanged: repetition after the wire must be bitwise stable.
  return std::abs(norm - 1.0) < 1e-14 ? direction : Vector3(direction / norm);
}

void throw_invalid_value(const std::string& key, const std::string& expected, const std::string& found,
                         const std::string& advice) {
  throw input_error(key, fmt::format("{}: expected {}, found {}; {}", key, expected, found, advice));
}

void check_unit_length(const Vector3& v, const std::string& key) {
  if (std::abs(v.norm() - 1.0) <= 1e-9) return;
  throw input_error(
      key, fmt::format("expected a unit vector, found ({}, {}, {}) of length {}", v.x(), v.y(), v.z(), v.norm()));
}

Vector3 on_circle(std::uint32_t i) {
  const double angle = 2.0 * std::numbers::pi * i / points_around;
  return {std::cos(angle), std::sin(angle), 0.0};
}

Triangles joined_rows(std::vector<Vector3> vertices) {
  Triangles mesh{.vertices = std::move(vertices)};
  const auto n_rows = static_cast<std::uint32_t>(mesh.vertices.size() / points_around);
  for (std::uint32_t row = 0; row + 1 < n_rows; ++row) {
    for (std::uint32_t i = 0; i < points_around; ++i) {
      const std::uint32_t a = row * points_around + i;
      const std::uint32_t b = row * points_around + (i + 1) % points_around;
      mesh.triangles.push_back({a, b, b + points_around});
      mesh.triangles.push_back({a, b + points_around, a + points_around});
    }
  }
  return mesh;
}

}  // namespace heelstrike
