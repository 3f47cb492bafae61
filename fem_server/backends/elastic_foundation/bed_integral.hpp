/// The pressure of the bed integrated over one triangle, with exact derivatives.
#pragma once

#include <Eigen/Core>
#include <array>

#include "common/spatial/spatial.hpp"
#include "fem_server/backends/elastic_foundation/bed_law.hpp"

namespace heelstrike::fem {

/// Load of one triangle. Forces are the derivatives of the energy by the compressions, slopes those of the forces:
/// exactly so for the discrete sums, not only in the limit.
struct TriangleLoad {
  double energy = 0.0;               ///< [J]
  Vector3 forces = Vector3::Zero();  ///< [N] of the springs at the corners
  double area = 0.0;                 ///< [m^2] loaded part
  Matrix3 slopes;                    ///< [N/m] symmetric; not written unless requested
};

/// Derivatives by the thickness of one layer, uniform over the triangle: exact derivatives of the same sums.
struct TriangleThickness {
  double slope = 0.0;                ///< [N] dE / dh
  double curvature = 0.0;            ///< [N/m] d^2 E / dh^2
  Vector3 forces = Vector3::Zero();  ///< [N/m] of the forces at the corners
};

/// The compression is linear over the triangle; the loaded part is where it is positive.
/// @param area    [m^2] @param h [m] thickness of the layers @param d [m] compressions at the corners, < 0 = gap
/// @param slopes  true: compute them
[[nodiscard]] TriangleLoad triangle_load(const BedLaw& law, double area, const std::array<double, 2>& h,
                                         const Vector3& d, bool slopes = true);

/// @param layer  0 or 1: the varied layer
[[nodiscard]] TriangleThickness triangle_thickness(const BedLaw& law, double area, const std::array<double, 2>& h,
                                                   const Vector3& d, std::size_t layer);

/// [-] weights of the corners and of the centre of a triangle in the mean of a quadratic function through these four
/// points.
inline constexpr std::array<double, 4> cubature_weights{1.0 / 12.0, 1.0 / 12.0, 1.0 / 12.0, 3.0 / 4.0};

/// Corner values of the plane over a triangle that has this mean. With the centre off the plane through the corners by
/// b, a quadratic function is off by 3/4 b on average.
/// @param four  values at the corners and in the centre, or their derivatives
/// @param centre_weight  fraction of b; 0 = the plane through the corners
template <class Value>
[[nodiscard, gnu::always_inline]] inline std::array<Value, 3> plane_of(const std::array<Value, 4>& four,
                                                                       double centre_weight = cubature_weights[3]) {
  const Value lift = centre_weight * (four[3] - (1.0 / 3.0) * (four[0] + four[1] + four[2]));
  return {four[0] + lift, four[1] + lift, four[2] + lift};
}

/// Derivatives by the four values from those by the corner values of the plane.
template <class Value>
[[nodiscard, gnu::always_inline]] inline std::array<Value, 4> by_four_points(
    const std::array<Value, 3>& by_plane, double centre_weight = cubature_weights[3]) {
  const Value sum = centre_weight * (by_plane[0] + by_plane[1] + by_plane[2]);
  const Value third = (1.0 / 3.0) * sum;
  return {by_plane[0] - third, by_plane[1] - third, by_plane[2] - third, sum};
}

}  // namespace heelstrike::fem
