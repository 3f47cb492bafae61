/// Initial poses of links by the coordinates of their joints.
#pragma once

#include <cstddef>

#include "importers/robots/tree_model.hpp"

namespace heelstrike::models {

/// Moves a link, at its initial pose, by one of its degrees of freedom.
/// @param q  [rad] or [m] change of its coordinate; spherical: unit quaternion w, x, y, z; free: the pose in the world,
/// position and quaternion
void displace(Link& link, std::size_t dof, const double* q);

/// Moves coupled joints to the positions that their couplings require. Couplings to a constant become welds; those of
/// missing joints, of joints with several coordinates, and all but the first of a joint are removed and reported.
void follow_couplings(TreeModel& model);

}  // namespace heelstrike::models
