/// Moreau's time stepping for rigid contacts [moreau1988], with impacts at the instants at which they happen.
#pragma once

#include <functional>
#include <optional>

#include "mbs_server/integrators/integrator.hpp"
#include "mbs_server/integrators/rigid_contacts.hpp"

namespace heelstrike::mbs {

[[nodiscard]] IntegratorEntry moreau();

/// Moves bodies that overlap apart, by the least change of positions in the metric of their masses, and back onto the
/// constraints; velocities are projected, no more.
/// @param y       state, changed
/// @param acts    which points count
/// @param rounds  of Newton's method at most: points change with the pose
void separate(RigidContacts& contacts, Problem& problem, double t, Eigen::VectorXd& y,
              const std::function<bool(const RigidPoint&)>& acts, int rounds);

/// Lets the contacts know of the forces at the start of a motion, at t = 0, which no step has found yet: those that
/// keep points that touch, and do not approach as in an impact, from closing.
/// @param step  [s] of the scenario; none = the default
void note_initial_forces(RigidContacts& contacts, Problem& problem, const Eigen::VectorXd& y, std::optional<double> step);

}  // namespace heelstrike::mbs
