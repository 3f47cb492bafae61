/// Remeshing of surfaces that Gmsh cannot process: Gmsh parametrises patches of the surface in the plane, which fails
/// for patches with slivers or of complex topology. CGAL remeshes in space (GPL, like Gmsh:
/// docs/developer/licences.md).
#pragma once

#include "fem_server/geometry/size_field.hpp"
#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// Isotropic remeshing [botsch2004]: edges are split, collapsed and swapped, vertices slide on the input surface. Where
/// the deviation exceeds a tenth of the edge length, remeshing is repeated with locally smaller edges, down to a
/// quarter.
/// @param feature_angle  [rad] edges with a larger angle between normals are kept; limited to 20 degrees, because
///                       smaller angles are rounded off
/// Border edges of open surfaces, and those next to them, are merged only in part.
/// @throws Error{invalid_input} for edges or vertices with more than one sheet around them
[[nodiscard]] SurfaceMesh remeshed(const SurfaceMesh& surface, const SizeField& size, double feature_angle);

}  // namespace heelstrike::fem
