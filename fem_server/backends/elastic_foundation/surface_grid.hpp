/// Remeshing of a casting surface by a rectangular grid, as in Bei and Fregly's model [bei2004]: a grid in a plane,
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
  double side = 1.0;                       ///< 1 or -1: the end of the axis from which the surface is projected
  std::array<std::size_t, 2> cells{1, 1};  ///< along the next axis of x, y, z (cyclic), and along the one after it
};

/// Two triangles for each cell whose corners and centre hit the surface when projected along the axis; a cell over the
/// rim or over a gap has none. Of several parts behind each other the first one is used. Sets of triangles are those at
/// the centres.
/// @param where  key, for messages
/// @throws Error{invalid_input} when no cell hits the surface
[[nodiscard]] SurfaceMesh over_grid(const SurfaceMesh& surface, const SurfaceGrid& grid, const std::string& where);

}  // namespace heelstrike::fem
