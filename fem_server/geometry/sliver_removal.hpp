/// Triangles that are thinner than the surface is known, as triangulated CAD surfaces have them, are taken out: thin
/// ones with a short edge by drawing its ends together, flat ones by turning their longest edge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

struct SliverOutcome {
  std::size_t n_collapsed = 0;        ///< edges whose ends became one
  std::size_t n_turned = 0;           ///< edges that join the other two corners now
  double moved = 0.0;                 ///< [m] largest distance between the surface before and after, both ways
  std::vector<std::uint32_t> left{};  ///< triangles that are still thinner, in the mesh after
};

/// Removes triangles whose smallest height is below `thickness`. No vertex gets a new place; rims and edges of more
/// than two triangles stay. A change is made only where it keeps the surface manifold, turns no triangle over (by more
/// than 90 degrees from the surface it replaces), and moves no sampled point of the surface by more than `within`.
/// @param thickness  [m] > 0
/// @param within     [m] > 0
/// @pre triangles with three different corners
/// @throws Error{invalid_input} for lengths that are not positive
SliverOutcome remove_slivers(SurfaceMesh& mesh, double thickness, double within);

}  // namespace heelstrike::fem
