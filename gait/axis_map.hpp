/// Axes of a motion file turned into those of the world, as the scenario declares them.
#pragma once

#include "scenario/marker_motion.hpp"
#include "common/spatial/spatial.hpp"
#include "gait/force_plate.hpp"
#include "gait/marker_file.hpp"

namespace heelstrike {

/// R_WF: p_W = R_WF p_F. @throws Error{invalid_input} for other texts, an axis given twice, and a mirror image
[[nodiscard]] Matrix3 axis_map(const AxisNames& names);

/// The same recording with positions in the axes of the world.
[[nodiscard]] MarkerTrial turned(MarkerTrial trial, const Matrix3& R_WF);
[[nodiscard]] ForcePlate turned(ForcePlate plate, const Matrix3& R_WF);

}  // namespace heelstrike
