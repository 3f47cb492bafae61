/// New triangles for a surface over which Gmsh stumbles: it lays pieces of the surface flat, and pieces with slivers or
/// of odd topology cannot be laid flat. CGAL works on the surface as it lies (GPL, like Gmsh:
/// docs/developer/licences.md).
#pragma once

#include "fem_server/geometry/size_field.hpp"
#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// Isotropic remeshing [botsch2004]: edges are split, drawn together and turned, vertices slide on the given surface.
/// Where that leaves the surface by more than a tenth of the edge length it is done again with smaller edges there,
/// down to a quarter.
/// @param feature_angle  [rad] edges with a larger angle between normals stay edges; at most 20 degrees are taken,
/// because
///                       what lies between is rounded
/// @throws Error{invalid_input} for triangles that are no closed surface
[[nodiscard]] SurfaceMesh remeshed(const SurfaceMesh& surface, const SizeField& size, double feature_angle);

}  // namespace heelstrike::fem
