/// Closed triangulated surface of a body defined by an implicit function.
#pragma once

#include <functional>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

struct ImplicitBody {
  std::function<double(const Vector3&)> value;  ///< [m] signed distance, approximate: negative inside, C1 near its zero
  Vector3 low = Vector3::Zero();   ///< [m] corner of a box that contains the body with a margin of one `size`
  Vector3 high = Vector3::Zero();  ///< [m] opposite corner; the body is cut by the plane z = high.z()
};

/// Marching tetrahedra on a regular grid [treece1999], vertices near grid points are snapped to them, then smoothed
/// along the surface. The body is cut by the plane z = high.z(); the cut is closed by a flat cap with a sharp edge.
/// Groups: "skin" and, when the plane cuts the body, "cap".
/// @param size  [m] grid spacing, approximately the edge length
/// @throws Error{limit} for more than 50 million grid points
[[nodiscard]] SurfaceMesh triangulate(const ImplicitBody& body, double size);

}  // namespace heelstrike::fem
