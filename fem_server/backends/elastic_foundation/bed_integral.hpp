/// The pressure of the bed integrated over one triangle, with exact derivatives.
#pragma once

#include <Eigen/Core>
#include <array>

#include "common/spatial/spatial.hpp"
#include "fem_server/backends/elastic_foundation/bed_law.hpp"

namespace heelstrike::fem {

/// Of one triangle. Forces are the derivatives of the energy by the compressions, slopes those of the forces: exactly
/// so for the sums that stand for the integrals, not only in the limit.
struct TriangleLoad {
  double energy = 0.0;               ///< [J]
  Vector3 forces = Vector3::Zero();  ///< [N] of the springs at the corners
  Matrix3 slopes = Matrix3::Zero();  ///< [N/m] symmetric
  double area = 0.0;                 ///< [m^2] loaded part
};

/// The compression is linear over the triangle and the load covers the part where it is positive.
/// @param area  [m^2] @param h [m] thickness of the layers @param d [m] compressions at the corners, < 0 = gap
[[nodiscard]] TriangleLoad triangle_load(const BedLaw& law, double area, const std::array<double, 2>& h,
                                         const Vector3& d);

}  // namespace heelstrike::fem
