/// Normals of a surface that is smooth in parts: averaged over what is smooth, apart across its creases.
#pragma once

#include <cstdint>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// [-] Cosine of how far an averaged normal may lean from a triangle that it stands for. A spring along it is longer by
/// 1 / cos than one along the triangle's own normal, and its force, the derivative of a square, by 1 / cos^2: by a
/// tenth at most, 17.5 degrees. An edge between triangles that are turned by more than twice that is a crease.
[[nodiscard]] double min_smooth_cosine();

/// [-] As if every edge were a crease, but for those within a plane.
inline constexpr double coplanar_cosine = 1.0 - 1e-9;

/// Vertices of creases stand once for each smooth part around them: the first keeps its number, the others are added.
struct SmoothParts {
  std::vector<Vector3> normals;       ///< [-] of each vertex: mean by angle, of unit length
  std::vector<std::uint32_t> origin;  ///< of each vertex that was added: what it was
};

/// @param mesh  vertices are added, corners of triangles renumbered; without a crease it stays as it is
/// @param lean  [-] cosine, as above
[[nodiscard]] SmoothParts split_at_creases(SurfaceMesh& mesh, double min_smooth_cosine);

}  // namespace heelstrike::fem
