/// Parametric foot: a smooth closed surface from anthropometric dimensions.
///
/// Frame: origin at the ankle joint centre, x forward, y to the left, z up. The left foot has its big toe at negative
/// y. The sole lies at z = -ankle_height; the leg is cut by the plane z = cut_height.
#pragma once

#include <string>

#include "common/contact/surface.hpp"
#include "fem_server/geometry/surface_mesh.hpp"
#include "scenario/surfaces/foot.hpp"

namespace heelstrike::fem {

enum class FootSide { left, right };

/// Closed surface with the groups "skin" and "cap". Sections normal to x are superellipses whose breadth, height, sole
/// and centre line are C1 functions of x; they blend smoothly into an elliptic leg. The right foot is the mirror image,
/// vertex by vertex. Length, ball breadth and the heights of sole and cut are reproduced within 1 mm, the others within
/// 3 mm.
/// @param size  [m] edge length of the triangles, in [0.0005, 0.02]
/// @throws Error{invalid_input} for dimensions outside the range of human feet (each names its range)
[[nodiscard]] SurfaceMesh make_foot(const FootDimensions& dimensions, double size, FootSide side = FootSide::left);

/// Dimensions measured on a left foot as made above, for tests and reports.
struct FootMeasures {
  double length = 0.0;         ///< [m]
  double ball_breadth = 0.0;   ///< [m] maximum extent in y for x in the front half
  double heel_breadth = 0.0;   ///< [m] maximum extent in y in the rear fifth below the ankle's half height
  double arch_height = 0.0;    ///< [m] lowest point of the inner quarter of the section at 45 % of the length
  double instep_height = 0.0;  ///< [m] at half the length
  double toe_height = 0.0;     ///< [m] maximum height in the front 10 %
  double volume = 0.0;         ///< [m^3]
  double sole_area = 0.0;      ///< [m^2] projected area of the downward-facing skin within 5 mm of the ground
};
[[nodiscard]] FootMeasures measure_foot(const SurfaceMesh& foot, const FootDimensions& dimensions);

}  // namespace heelstrike::fem
