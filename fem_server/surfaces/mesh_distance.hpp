/// Signed distance to a triangle mesh, closed or open.
#pragma once

#include <memory>

#include "scenario/surfaces/signed_distance.hpp"
#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// By a tree of bounding boxes; sign by angle-weighted pseudonormals [baerentzen2005].
///
/// An open surface, such as the articular one of an implant or of cartilage, has an outside where its normals point to
/// and an inside behind them. What looks past its rim is beside it: there the gap is the plain distance, so that
/// nothing beyond the rim is pushed. The gap jumps there; is_distance() is false.
/// @throws Error{invalid_input} for a mesh that is empty, inside out or has other defects than open edges
[[nodiscard]] std::unique_ptr<SignedDistance> mesh_distance(SurfaceMesh mesh);

}  // namespace heelstrike::fem
