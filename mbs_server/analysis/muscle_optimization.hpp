/// Muscle optimisation: activations of muscles, secondary coordinates and reserve loads that produce a recorded motion,
/// frame by frame on the output grid (muscle_problem.hpp).
///
/// Drivers prescribe the recorded coordinates. The load of those in `primary` must be supplied by muscles and reserves;
/// those in `secondary` have no driver in the scenario and follow from the equilibrium of the frame. Each frame starts
/// from the solution of the last solved one, and is never replaced by it: a frame without solution has no row, and the
/// run is incomplete.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mbs_server/analysis/muscle_problem.hpp"
#include "mbs_server/formulation/model.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

/// A recorded coordinate that is not primary.
struct FollowedCoordinate {
  std::string name;
  std::string unit;  ///< "rad" or "m"
  std::shared_ptr<FrameMotion> motion;
};

/// The scenario's model, with the recorded motion of primary coordinates and drivers of secondary ones that the
/// analysis sets.
struct PreparedModel {
  Model model;
  std::vector<OptimizedCoordinate> coordinates;          ///< primary, then secondary
  std::vector<std::shared_ptr<FrameMotion>> recorded{};  ///< of all driven coordinates except the secondary ones
  std::vector<FollowedCoordinate> followed{};            ///< those among them that are not primary
};

/// @param scenario  with this analysis, checked
[[nodiscard]] PreparedModel prepare_muscle_model(const Scenario& scenario);
/// All forces with an activation, weighted as the scenario states. @param system  of the prepared model
[[nodiscard]] std::vector<OptimizedMuscle> find_muscles(const Scenario& scenario, const System& system);

}  // namespace heelstrike::mbs
