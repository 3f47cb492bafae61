/// Parts of the casting surface for which loads are told apart, e.g. the two compartments of a knee.
#pragma once

#include <string>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// Regions may overlap.
struct FoundationRegion {
  std::string name;
  std::vector<bool> triangles;  ///< of the casting surface
};

/// @param names   separated by blanks: names of the surface's triangle sets, `sets` for all of these; x- x+ y- y+ z- z+
///                for the triangles on one side of a plane across an axis of the casting body's frame, `halves` for all
///                of these. Empty = no regions
/// @param center  [m] through which the planes go; empty = the middle of the surface's extents
/// @param key     of the names, for messages
/// @throws Error{invalid_input} for a name that the surface does not have, one that comes twice or cannot head a
/// column,
///         and a region without triangles or with all of them
[[nodiscard]] std::vector<FoundationRegion> foundation_regions(const std::string& names,
                                                               const std::vector<double>& center,
                                                               const SurfaceMesh& mesh, const std::string& key);

}  // namespace heelstrike::fem
