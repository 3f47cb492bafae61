/// OpenSim storage files (.sto) from a time series.
#pragma once

#include <span>
#include <string>

#include "common/results/run_folder.hpp"

namespace heelstrike {

/// True for forces and torques: unit N or N m.
[[nodiscard]] bool is_load(const Column& column);
/// True for positions, rotations (quaternions have no unit) and their rates.
[[nodiscard]] bool is_motion(const Column& column);

/// Text of a storage with the time and the columns for which `wanted` is true; SI units, angles in radians
/// (inDegrees=no). Of several rows at one time (an event) only the last is kept, because OpenSim requires increasing
/// times.
/// @param columns  of `series`, in its order; the first is time
[[nodiscard]] std::string storage_text(const std::string& name, std::span<const Column> columns,
                                       const TimeSeries& series, bool (*wanted)(const Column&));

}  // namespace heelstrike
