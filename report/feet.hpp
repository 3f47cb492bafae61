/// Which contact pairs belong together: the parts of a foot that a scenario cuts at its joints are one foot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gait/force_plate.hpp"
#include "report/pressure_map.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::report {

/// What is loaded as one: a foot with all its parts, or the main body of any other pair.
struct Foot {
  std::string name;               ///< MOTION.FOOT of a recording, else the first pair
  std::string label;              ///< short: the foot's name in its recording, else the first body
  std::vector<LoadedPart> parts;  ///< their common frame is that of the first one's body
};

/// Whether a part of a body is cut off for this pair.
[[nodiscard]] bool is_cut(const PairModel& pair);

/// Pose of the shape of a surface in its body.
[[nodiscard]] Pose surface_placement(const Surface& surface);

/// Every pair in exactly one of them, in file order. Pairs whose main bodies follow one recorded foot are one foot, and
/// so are those whose main bodies are cut from one shape; the joint between two parts is taken as straight.
[[nodiscard]] std::vector<Foot> feet_of(const Scenario& scenario);

/// Curves of a foot over time, in the world: force on the foot, vertical and along both other axes.
struct FootForce {
  std::string label;                   ///< of the foot
  std::vector<double> times;           ///< [s] of the run
  std::vector<Vector3> force;          ///< [N]
  std::vector<double> measured_times;  ///< [s] of the run; empty when no plate measured this foot
  std::vector<Vector3> measured;       ///< [N]
};

/// Of feet that have several parts or a plate; others have the force of their pair.
/// @param measured  plates in the axes and clock of the recording, as measured_reactions.mot has them
[[nodiscard]] std::vector<FootForce> foot_forces(const Scenario& scenario, const TimeSeries& series,
                                                 const std::vector<ForcePlate>& measured);

}  // namespace heelstrike::report
