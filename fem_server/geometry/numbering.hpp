/// The order of the nodes of a mesh. The compliance of a surface is stored node by node in that order, and a contact
/// reads the blocks among the nodes that touch: they are read faster where they lie together.
#pragma once

#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Numbers the nodes anew, from the outermost layer along `direction` inwards, in each layer along the longest extent
/// of the body across it: what touches a partner that comes from there are few runs of numbers. Sets follow; elements
/// keep their order.
/// @param direction  any length but zero
/// @param layer      [m] > 0 thickness; about the distance of nodes
void number_from(VolumeMesh& mesh, const Vector3& direction, double layer);

}  // namespace heelstrike::fem
