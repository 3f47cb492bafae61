/// Relative rotations of bodies, and contact paths as functions of them: contact path and ligament forces over the
/// flexion of a knee.
#pragma once

#include <string>
#include <vector>

#include "common/results/run_folder.hpp"
#include "report/packing.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::report {

/// Rotation of body B in body A for every row of a series.
struct RelativeRotation {
  std::string a, b;  ///< main body and partner of a pair, or the bodies of a joint in its order
  /// Unit vector in A: axis of the rotation of B from the first row to the row with the largest rotation.
  Vector3 axis = Vector3::UnitX();
  /// [rad] per row: the twist of R_AB about the axis, 0 where the axes of both bodies are parallel, continuous at half
  /// a turn. It is the flexion of a knee whose bodies' axes are parallel in extension.
  std::vector<double> angle;
};

/// All pairs of bodies with a contact pair or a joint, each once, except those with less than one degree of relative
/// rotation.
[[nodiscard]] std::vector<RelativeRotation> relative_rotations(const Scenario& scenario, const TimeSeries& series);

/// {turns: [{name, axis, times, angle}], paths: [{pair, turn, times, x, y, z, force}]}: angles in rad; centres of
/// pressure of the pairs of these bodies in the frame of A while they are loaded, with NaN between two contacts.
/// @param budget  maximum number of values per quantity, evenly spaced
[[nodiscard]] Json relative_rotations_json(const Scenario& scenario, const TimeSeries& series, std::size_t budget);

}  // namespace heelstrike::report
