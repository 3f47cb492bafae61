/// Signed distance to a triangle mesh, closed or open.
#pragma once

#include <memory>

#include "fem_server/geometry/surface_mesh.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

/// Bounding-volume tree; sign by angle-weighted pseudonormals [baerentzen2005].
///
/// The outside of an open surface, e.g. an articular surface of an implant or of cartilage, is the side of its normals.
/// For points beyond its rim the gap is the unsigned distance, so that no contact force acts there. The gap is
/// discontinuous at this transition; is_distance() is false.
/// @throws Error{invalid_input} for a mesh that is empty, inverted or has defects other than open edges
[[nodiscard]] std::unique_ptr<SignedDistance> mesh_distance(SurfaceMesh mesh);

}  // namespace heelstrike::fem
