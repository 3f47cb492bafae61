/// Directions and units of the recordings in these tests.
#pragma once

#include <numbers>

#include "common/spatial/spatial.hpp"

namespace heelstrike::test {

inline constexpr double degree = std::numbers::pi / 180.0;  // rad
inline const Vector3 up = Vector3::UnitZ();
inline const Vector3 gravity(0.0, 0.0, -9.80665);  // m/s^2

}  // namespace heelstrike::test
