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

/// How that changes with the thickness of one layer, the same over the triangle: exact derivatives of the same sums.
struct TriangleThickness {
  double slope = 0.0;                ///< [N] dE / dh
  double curvature = 0.0;            ///< [N/m] d^2 E / dh^2
  Vector3 forces = Vector3::Zero();  ///< [N/m] of the forces at the corners
};

/// The compression is linear over the triangle and the load covers the part where it is positive.
/// @param area  [m^2] @param h [m] thickness of the layers @param d [m] compressions at the corners, < 0 = gap
[[nodiscard]] TriangleLoad triangle_load(const BedLaw& law, double area, const std::array<double, 2>& h,
                                         const Vector3& d);

/// @param layer  0 or 1: whose thickness changes
[[nodiscard]] TriangleThickness triangle_thickness(const BedLaw& law, double area, const std::array<double, 2>& h,
                                                   const Vector3& d, std::size_t layer);

/// How far the compressions of corners and centre move a plane over the triangle whose mean is that of every quadratic
/// function through the four: row k gives the plane's compression at corner k.
using FourToPlane = Eigen::Matrix<double, 3, 4>;
[[nodiscard]] FourToPlane four_to_plane();
/// [-] shares of the corners and of the centre in that mean.
inline constexpr std::array<double, 4> four_shares{1.0 / 12.0, 1.0 / 12.0, 1.0 / 12.0, 3.0 / 4.0};

}  // namespace heelstrike::fem
