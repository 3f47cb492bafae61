/// Access to values of surfaces.
#pragma once

#include <string>
#include <vector>

#include "common/parameters/parameter.hpp"
#include "common/spatial/spatial.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike {

/// Three numbers. @throws Error{internal} when absent or of another kind
[[nodiscard]] Vector3 vector3(const ParameterMap& values, const std::string& name);
[[nodiscard]] const std::vector<double>& numbers(const ParameterMap& values, const std::string& name);
/// The text, or an empty one.
[[nodiscard]] std::string text_or_none(const ParameterMap& values, const std::string& name);
[[nodiscard]] std::vector<double> listed(const Vector3& v);

/// Unit length; vectors of unit length up to rounding are unchanged, so that repetition is bitwise stable.
[[nodiscard]] Vector3 normalised(const Vector3& direction);

/// @throws Error{invalid_input} "KEY: expected ..., found ...; advice"
[[noreturn]] void throw_invalid_value(const std::string& key, const std::string& expected, const std::string& found,
                                      const std::string& advice);

/// @throws Error{invalid_input} unless `v` has unit length to 1e-9
void check_unit_length(const Vector3& v, const std::string& key);

/// Points on circles around z: 48 to a circle.
inline constexpr std::uint32_t points_around = 48;
/// [m] the i-th point of the circle of unit radius, in the plane of x and y.
[[nodiscard]] Vector3 on_circle(std::uint32_t i);
/// Rows of `points_around` vertices joined by triangles; every row is closed.
[[nodiscard]] Triangles joined_rows(std::vector<Vector3> vertices);

}  // namespace heelstrike
