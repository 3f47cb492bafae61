/// Transformation of the axes of a motion file to the world axes, as declared in the scenario.
///
/// Names of length units in recordings.
#pragma once

#include <optional>
#include <string_view>

#include "common/spatial/spatial.hpp"
#include "gait/force_plate.hpp"
#include "gait/marker_file.hpp"
#include "scenario/marker_motion.hpp"

namespace heelstrike {

/// R_WF: p_W = R_WF p_F. @throws Error{invalid_input} for invalid names, a duplicate axis, or a mirror image
[[nodiscard]] Matrix3 axis_map(const AxisNames& names);

/// The recording with positions in world axes.
[[nodiscard]] MarkerTrial rotated(MarkerTrial trial, const Matrix3& R_WF);
[[nodiscard]] ForcePlate rotated(ForcePlate plate, const Matrix3& R_WF);

/// [m] of mm, cm, m and their full names (millimeters, metres, ...), in upper or lower case, singular or plural; a name
/// may be truncated after its fourth letter, as in fields of fixed width. None for other units.
[[nodiscard]] std::optional<double> length_of_unit(std::string_view name);

}  // namespace heelstrike
