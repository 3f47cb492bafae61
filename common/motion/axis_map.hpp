/// Axes of a motion file turned into those of the world, as the scenario declares them.
#pragma once

#include <string>

#include "common/motion/force_plate.hpp"
#include "common/motion/marker_file.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// Where the axes of the file point in the world: "x", "-x", "y", ... For a laboratory with y up and z to the right
/// and a world with z up and y to the left this is {x: "x", y: "z", z: "-y"}.
struct AxisNames {
  std::string x = "x";
  std::string y = "y";
  std::string z = "z";
};

/// R_WF: p_W = R_WF p_F. @throws Error{invalid_input} for other texts, an axis given twice, and a mirror image
[[nodiscard]] Matrix3 axis_map(const AxisNames& names);

/// The same recording with positions in the axes of the world.
[[nodiscard]] MarkerTrial turned(MarkerTrial trial, const Matrix3& R_WF);
[[nodiscard]] ForcePlate turned(ForcePlate plate, const Matrix3& R_WF);

}  // namespace heelstrike
