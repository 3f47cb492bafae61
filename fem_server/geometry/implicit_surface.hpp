/// Closed triangulated surface of a body given by a function.
#pragma once

#include <functional>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

struct ImplicitBody {
  std::function<double(const Vector3&)> value;  ///< [m] about the distance: negative inside, C1 near its zero
  Vector3 low = Vector3::Zero();   ///< [m] corner of a box that holds the body, with a margin of one `size`
  Vector3 high = Vector3::Zero();  ///< [m] opposite corner; the body is cut flat at high.z()
};

/// Marching tetrahedra on a regular grid [treece1999], vertices near grid points moved onto them, then smoothed along
/// the surface. The body is cut by the plane z = high.z(); the cut becomes a flat cap whose rim is a sharp edge.
/// Groups: "skin" and, when the plane cuts the body, "cap".
/// @param size  [m] distance of grid points, about the edge length
/// @throws Error{limit} for more than 50 million grid points
[[nodiscard]] SurfaceMesh triangulate(const ImplicitBody& body, double size);

}  // namespace heelstrike::fem
