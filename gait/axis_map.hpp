/// Transformation of the axes of a motion file to the world axes, as declared in the scenario.
#pragma once

#include "common/spatial/spatial.hpp"
#include "gait/force_plate.hpp"
#include "gait/marker_file.hpp"
#include "scenario/marker_motion.hpp"

namespace heelstrike {

/// R_WF: p_W = R_WF p_F. @throws Error{invalid_input} for invalid names, a duplicate axis, or a mirror image
[[nodiscard]] Matrix3 axis_map(const AxisNames& names);

/// The recording with positions in world axes.
[[nodiscard]] MarkerTrial turned(MarkerTrial trial, const Matrix3& R_WF);
[[nodiscard]] ForcePlate turned(ForcePlate plate, const Matrix3& R_WF);

}  // namespace heelstrike
