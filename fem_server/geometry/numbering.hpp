/// Node numbering of a mesh. The surface compliance is stored node by node in this order, and a contact evaluation
/// reads the blocks of the contact nodes; contiguous storage makes this faster.
#pragma once

#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Renumbers the nodes from the outermost layer along `direction` inwards, in each layer along the longest extent of
/// the body normal to it, so that nodes in contact with a partner on that side form few contiguous runs. Sets are
/// updated; elements keep their order.
/// @param direction  any nonzero length
/// @param layer      [m] > 0 thickness, approximately the node spacing
void number_from(VolumeMesh& mesh, const Vector3& direction, double layer);

}  // namespace heelstrike::fem
