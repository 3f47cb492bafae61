/// Cutting a part off a body before anything else is done with it.
#pragma once

#include <vector>

#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Removes all elements whose centre of corners lies outside the box, what then no longer hangs together by faces with
/// the largest part (a hinge would make the stiffness singular), and the nodes that only these use; sets follow.
/// The cut runs along faces of elements: it is as even as they are small.
/// @param box  [m] x, y, z low, then high. @returns how many elements were removed
std::size_t cut_to_box(VolumeMesh& mesh, const std::vector<double>& box);

}  // namespace heelstrike::fem
