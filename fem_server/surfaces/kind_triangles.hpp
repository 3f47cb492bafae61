/// Conversion of the triangles of a surface kind to a mesh.
#pragma once

#include "fem_server/geometry/surface_mesh.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

/// Keeps vertices and triangles; named sets become groups.
[[nodiscard]] SurfaceMesh surface_mesh(Triangles triangles);

}  // namespace heelstrike::fem
