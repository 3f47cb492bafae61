/// Signed distance to a closed triangle mesh.
#pragma once

#include <memory>

#include "common/surfaces/signed_distance.hpp"
#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// By a tree of bounding boxes; sign by angle-weighted pseudonormals [baerentzen2005].
/// @throws Error{invalid_input} for an empty, open or inside-out mesh
[[nodiscard]] std::unique_ptr<SignedDistance> mesh_distance(SurfaceMesh mesh);

}  // namespace heelstrike::fem
