#include "gait/axes_and_units.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <string_view>

#include "common/errors/error.hpp"

namespace heelstrike {

namespace {

Vector3 direction_of(const std::string& name, char axis) {
  const bool minus = !name.empty() && name.front() == '-';
  const std::string_view letter = std::string_view(name).substr(minus ? 1 : 0);
  const auto component = letter.size() == 1 ? std::string_view("xyz").find(letter) : std::string_view::npos;
  if (component == std::string_view::npos) {
    throw input_error("axes", fmt::format("axes.{}: expected one of x, y, z, -x, -y, -z, found '{}'; set it to the "
                                          "world direction of the file's {} axis",
                                          axis, name, axis));
  }
  return (minus ? -1.0 : 1.0) * Vector3::Unit(static_cast<Eigen::Index>(component));
}

}  // namespace

Matrix3 axis_map(const AxisNames& names) {
  Matrix3 R =
      // R_WF: its columns are the axes of the file in the world.
      (Matrix3() << direction_of(names.x, 'x'), direction_of(names.y, 'y'), direction_of(names.z, 'z')).finished();
  const std::string found = fmt::format("x: {}, y: {}, z: {}", names.x, names.y, names.z);
  const double det = R.determinant();
  // Columns are unit vectors along the axes: the determinant is 1, -1 (a mirror image) or 0.
  if (std::abs(det) < 0.5) {
    throw input_error(
        "axes",
        fmt::format("axes: expected three different directions, found {}; use each of the world's x, y and z once",
                    found));
  }
  if (det < 0.0) {
    throw input_error("axes", fmt::format("axes: expected a right-handed set, found the mirror image {}; reverse one "
                                          "sign",
                                          found));
  }
  return R;
}

MarkerTrial rotated(MarkerTrial trial, const Matrix3& R_WF) {
  for (auto& marker : trial.positions) {
    // Rotation preserves gaps (NaN).
    for (Vector3& p : marker) p = R_WF * p;
  }
  return trial;
}

ForcePlate rotated(ForcePlate plate, const Matrix3& R_WF) {
  for (auto* series : {&plate.force, &plate.point, &plate.moment}) {
    for (Vector3& v : *series) v = R_WF * v;
  }
  return plate;
}

std::optional<double> length_of_unit(std::string_view name) {
  struct Unit {
    std::string_view symbol;
    std::string_view word, other_word;
    double length;
  };
  static constexpr Unit units[] = {{"mm", "millimeters", "millimetres", 1e-3},
                                   {"cm", "centimeters", "centimetres", 1e-2},
                                   {"m", "meters", "metres", 1.0}};
  constexpr std::size_t min_word_length = 4;
  std::string small(name);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Unit& unit : units) {
    const bool is_word =
        small.size() >= min_word_length && (unit.word.starts_with(small) || unit.other_word.starts_with(small));
    if (small == unit.symbol || is_word) return unit.length;
  }
  return std::nullopt;
}

}  // namespace heelstrike
