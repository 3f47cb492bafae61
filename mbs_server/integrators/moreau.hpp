/// Moreau's time stepping for rigid contacts [moreau1988] with located impacts.
#pragma once

#include <functional>
#include <optional>

#include "mbs_server/integrators/problem.hpp"
#include "mbs_server/integrators/rigid_contacts.hpp"

namespace heelstrike::mbs {

/// Removes overlaps by the minimum change of positions in the mass metric, and projects positions and velocities onto
/// the constraints.
/// @param y       state, changed
/// @param acts    selects the points
/// @param rounds  maximum number of Newton iterations: points change with the pose
void separate(RigidContacts& contacts, Problem& problem, double t, Eigen::VectorXd& y,
              const std::function<bool(const RigidPoint&)>& acts, int rounds);

/// Reports to the contacts the initial forces at t = 0, before the first step: those that prevent closed points without
/// impact from penetrating.
/// @param step  [s] of the scenario; none = default
void note_initial_forces(RigidContacts& contacts, Problem& problem, const Eigen::VectorXd& y,
                         std::optional<double> step);

}  // namespace heelstrike::mbs
