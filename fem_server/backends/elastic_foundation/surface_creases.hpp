/// Normals of a piecewise smooth surface: averaged within smooth parts, separate across creases.
#pragma once

#include <cstdint>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// [-] Cosine of the maximum angle between an averaged normal and a triangle. A spring along the normal is longer by
/// 1 / cos than one along the triangle's own normal, and its force, the derivative of a square, by 1 / cos^2: by a
/// tenth at most, 17.5 degrees. An edge between triangles with more than twice this angle is a crease.
[[nodiscard]] double min_smooth_cosine();

/// [-] With this value every edge is a crease, except those within a plane.
inline constexpr double coplanar_cosine = 1.0 - 1e-9;

/// Vertices on creases are duplicated for each smooth part around them: the first keeps its number, others are
/// appended.
struct SmoothParts {
  std::vector<Vector3> normals;       ///< [-] of each vertex: mean by angle, of unit length
  std::vector<std::uint32_t> origin;  ///< of each appended vertex: the original one
};

/// @param mesh  vertices are appended, corners of triangles renumbered; unchanged without creases
/// @param min_smooth_cosine  [-] as above
[[nodiscard]] SmoothParts split_at_creases(SurfaceMesh& mesh, double min_smooth_cosine);

}  // namespace heelstrike::fem
