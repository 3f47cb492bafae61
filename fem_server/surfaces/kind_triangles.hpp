/// Triangles of a kind of surface as a mesh.
#pragma once

#include "scenario/surfaces/surface_kind.hpp"
#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// The same vertices and triangles; named sets become groups.
[[nodiscard]] SurfaceMesh surface_mesh(Triangles triangles);

}  // namespace heelstrike::fem
