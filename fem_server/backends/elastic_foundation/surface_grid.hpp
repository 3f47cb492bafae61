/// A casting surface cut anew by a rectangular grid, as in Bei and Fregly's model [bei2004]: a grid in a plane,
/// projected on the surface.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// A grid across an axis of the body's frame, over the whole surface.
struct SurfaceGrid {
  Eigen::Index axis = 2;                   ///< 0 to 2 for x to z
  double side = 1.0;                       ///< 1 or -1: the surface is looked at from this end of the axis
  std::array<std::size_t, 2> cells{1, 1};  ///< along the next axis of x, y, z (cyclic), and along the one after it
};

/// Two triangles for each cell whose corners and centre meet the surface when they are projected along the axis; a cell
/// over the rim or over a gap has none. Where several parts lie behind each other the first one counts. Sets of
/// triangles are those met by the centres.
/// @param where  key, for messages
/// @throws Error{invalid_input} when no cell meets the surface
[[nodiscard]] SurfaceMesh over_grid(const SurfaceMesh& surface, const SurfaceGrid& grid, const std::string& where);

}  // namespace heelstrike::fem
