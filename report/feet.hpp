/// Grouping of contact pairs: the parts of a foot cut at its joints are one foot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gait/force_plate.hpp"
#include "report/pressure_map.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::report {

/// A unit of load: a foot with all its parts, or the main body of any other pair.
struct Foot {
  std::string name;               ///< MOTION.FOOT of a recording, else the first pair
  std::string label;              ///< short: the foot's name in its recording, else the first body
  std::vector<LoadedPart> parts;  ///< in the frame of the first part's body
};

/// True if this pair uses a cut part of a body.
[[nodiscard]] bool is_cut(const PairModel& pair);

/// Pose of the shape of a surface in its body.
[[nodiscard]] Pose surface_placement(const Surface& surface);

/// Feet in file order; every pair belongs to exactly one. Pairs whose main bodies follow one recorded foot, or are cut
/// from one shape, form one foot; the joint between two parts is assumed straight.
[[nodiscard]] std::vector<Foot> feet_of(const Scenario& scenario);

/// Force on a foot over time, in the world: vertical and along the other two axes.
struct FootForce {
  std::string label;                   ///< of the foot
  std::vector<double> times;           ///< [s] of the run
  std::vector<Vector3> force;          ///< [N]
  std::vector<double> measured_times;  ///< [s] of the run; empty when no plate measured this foot
  std::vector<Vector3> measured;       ///< [N]
};

/// Forces of feet with several parts or a plate; for other feet, the force of the pair suffices.
/// @param measured  plates in the axes and time base of the recording, as in measured_reactions.mot
[[nodiscard]] std::vector<FootForce> foot_forces(const Scenario& scenario, const TimeSeries& series,
                                                 const std::vector<ForcePlate>& measured);

}  // namespace heelstrike::report
