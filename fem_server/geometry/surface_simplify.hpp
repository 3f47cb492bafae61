/// Simplification of surfaces for rendering.
#pragma once

#include <cstddef>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// Simplifies a surface to at most `max_triangles` (> 0) by vertex clustering: all vertices in a grid cell are merged
/// at their mean position, and triangles that lose their area are removed [rossignac1993]. The cells are as small as
/// the limit allows, within a tenth; no point moves farther than a cell diagonal. A surface within the limit is
/// unchanged. Groups and notes are omitted.
[[nodiscard]] SurfaceMesh simplified_surface(const SurfaceMesh& mesh, std::size_t max_triangles);

}  // namespace heelstrike::fem
