/// Conversion of the triangles of a surface kind to a mesh.
#pragma once

#include "scenario/surfaces/surface_kind.hpp"
#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// Keeps vertices and triangles; named sets become groups.
[[nodiscard]] SurfaceMesh surface_mesh(Triangles triangles);

}  // namespace heelstrike::fem
