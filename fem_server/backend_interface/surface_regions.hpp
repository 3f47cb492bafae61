/// Parts of a surface for which loads are told apart, e.g. the two compartments of a knee.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/parameters/parameter.hpp"
#include "common/spatial/spatial.hpp"
#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// A surface as far as regions are cut from it.
struct RegionSurface {
  std::string name;                                               ///< "casting surface", for messages
  Vector3 middle;                                                 ///< [m] of its extents
  std::vector<Vector3> centers;                                   ///< [m] of its triangles
  std::vector<std::pair<std::string, std::vector<bool>>> sets{};  ///< named ones, per triangle; they may overlap
};

/// @param name  see RegionSurface
[[nodiscard]] RegionSurface cut_surface(std::string name, const SurfaceMesh& mesh);

/// Regions may overlap.
struct SurfaceRegion {
  std::string name;
  std::vector<bool> triangles;
};

/// `regions` and `region_center`.
/// @param surface  "the casting surface"
/// @param body     "the casting body", in whose frame planes are
[[nodiscard]] std::vector<ParameterSchema> region_parameters(const std::string& surface, const std::string& body);

/// @param where  what keys begin with, "contact.NAME.parameters."
/// @throws Error{invalid_input} unless region_center is a point or not given
void check_region_center(const ParameterMap& parameters, const std::string& where);

/// @param names   separated by blanks: names of the surface's sets, `sets` for all of these; x- x+ y- y+ z- z+ for the
///                triangles on one side of a plane across an axis of the body's frame, `halves` for all of these.
///                Empty = no regions
/// @param center  [m] through which the planes go; empty = the middle of the surface
/// @param key     of the names, for messages
/// @throws Error{invalid_input} for a name that the surface does not have, one that comes twice or cannot head a
/// column,
///         and a region without triangles or with all of them
[[nodiscard]] std::vector<SurfaceRegion> surface_regions(const std::string& names, const std::vector<double>& center,
                                                         const RegionSurface& surface, const std::string& key);

/// Names of regions of any kind.
template <typename Regions>
[[nodiscard]] std::vector<std::string> region_names(const Regions& regions) {
  std::vector<std::string> names;
  for (const auto& region : regions) names.push_back(region.name);
  return names;
}

}  // namespace heelstrike::fem
