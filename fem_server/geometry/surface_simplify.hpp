/// Surfaces with fewer triangles, for pictures.
#pragma once

#include <cstddef>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// A surface of at most `max_triangles` (> 0) that looks alike: all vertices in a cell of a grid become one, in the
/// middle of them, and triangles that lose their area go [rossignac1993]. The cells are as small as the number allows,
/// within a tenth; no point moves farther than the diagonal of one. A surface that is small enough stays as it is.
/// Groups and notes are left out.
[[nodiscard]] SurfaceMesh simplified_surface(const SurfaceMesh& mesh, std::size_t max_triangles);

}  // namespace heelstrike::fem
