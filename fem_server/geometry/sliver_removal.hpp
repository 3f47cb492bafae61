/// Removal of slivers, triangles thinner than the accuracy of the surface, which are common in triangulated CAD
/// surfaces: needles by collapsing the short edge, caps by swapping the longest edge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

struct SliverOutcome {
  std::size_t n_collapsed = 0;        ///< collapsed edges
  std::size_t n_swapped = 0;          ///< swapped edges
  double moved = 0.0;                 ///< [m] maximum distance between old and new surface, in both directions
  std::vector<std::uint32_t> left{};  ///< remaining slivers, as indices of the resulting mesh
};

/// Removes triangles whose smallest height is below `thickness`. No vertex is moved; rims and edges of more than two
/// triangles are kept. A change is applied only if it keeps the surface manifold, rotates no normal by more than 90
/// degrees from the replaced surface, and moves no sampled point of the surface by more than `within`.
/// @param thickness  [m] > 0
/// @param within     [m] > 0
/// @pre triangles with three different corners
/// @throws Error{invalid_input} for lengths that are not positive
SliverOutcome remove_slivers(SurfaceMesh& mesh, double thickness, double within);

}  // namespace heelstrike::fem
