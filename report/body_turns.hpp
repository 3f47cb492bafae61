/// How bodies turn against each other, and the ways of their contacts over that: contact path and forces of ligaments
/// over the flexion of a knee.
#pragma once

#include <string>
#include <vector>

#include "common/results/run_folder.hpp"
#include "report/packing.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::report {

/// Of body B in body A, from row to row of a series.
struct RelativeRotation {
  std::string a, b;  ///< main body and partner of a pair, or the bodies of a joint in its order
  /// Unit vector in A, about which B turns between the first row and that in which it has turned the most.
  Vector3 axis = Vector3::UnitX();
  /// [rad] per row: the twist of R_AB about the axis, 0 where the axes of both bodies are parallel; it does not jump at
  /// half a turn. Of a knee whose bodies' axes agree in extension that is the flexion.
  std::vector<double> angle;
};

/// Of all couples of bodies with a pair or a joint, each once; without those where B does not turn by a degree in A.
[[nodiscard]] std::vector<RelativeRotation> relative_rotations(const Scenario& scenario, const TimeSeries& series);

/// {turns: [{name, axis, times, angle}], paths: [{pair, turn, times, x, y, z, force}]}: angles in rad; centres of
/// pressure of the pairs of these bodies in the frame of A while they are loaded, a NaN between two contacts.
/// @param budget  values kept of one quantity, evenly spread
[[nodiscard]] Json relative_rotations_json(const Scenario& scenario, const TimeSeries& series, std::size_t budget);

}  // namespace heelstrike::report
