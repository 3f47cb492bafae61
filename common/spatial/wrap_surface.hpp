/// Shortest lines over the outside of spheres, ellipsoids and cylinders.
#pragma once

#include <Eigen/Core>
#include <limits>
#include <vector>

#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// A quadric sum (y_i / radii_i)^2 = 1 about the origin of its own frame: a sphere, an ellipsoid, or a cylinder along
/// z.
struct WrapShape {
  Vector3 radii = Vector3::Ones();  ///< [m] > 0; infinite along the axis of a cylinder
  /// Lines pass the centre on this side, even if the other path is shorter; zero = the shorter path. A cylinder holds
  /// on that side a line that passes it on the other; a sphere or an ellipsoid, only lines that cross it, as in
  /// OpenSim.
  Vector3 side = Vector3::Zero();
  /// [m] half length of a cylinder. A line with both tangent points beyond the ends is straight, as in OpenSim; its
  /// length is discontinuous there.
  double half_length = std::numeric_limits<double>::infinity();
  /// A line with an end inside is straight, as in OpenSim, and its length discontinuous there; otherwise it is an
  /// error.
  bool straight_inside = false;
};

/// Level function: < 1 inside, 1 on the surface, > 1 outside. @param y  [m] in the frame of the shape
[[nodiscard]] double wrap_level(const WrapShape& shape, const Vector3& y);

/// True if a segment that touches the shape wraps over it in OpenSim before all other segments of its path: the
/// straight line between its ends crosses the shape, and where `side` restricts a cylinder or a sphere, an end is on
/// that side. A sphere without `side` has no such segments.
[[nodiscard]] bool must_wrap(const WrapShape& shape, const Vector3& y1, const Vector3& y2);

/// False for a line that is certainly straight, without a search for its geodesic.
/// @throws RecoverableError as `wrap`
[[nodiscard]] bool may_touch(const WrapShape& shape, const Vector3& y1, const Vector3& y2);

/// The shortest line between two points that does not enter the shape, and the exact derivatives of its length.
struct WrappedLine {
  bool touches = false;  ///< false: straight; only the length below is set
  double length = 0.0;   ///< [m]
  /// dL/d(y1, y2): minus the direction at the first end, the direction at the last.
  Eigen::Matrix<double, 6, 1> gradient;
  Eigen::Matrix<double, 6, 6> hessian;  ///< [1/m]
  Vector3 first, last;                  ///< [m] tangent points
};

/// @param y1, y2  ends in the frame of the shape [m]
/// @throws RecoverableError for an end inside the shape unless `straight_inside`, and if no geodesic is found
[[nodiscard]] WrappedLine wrap(const WrapShape& shape, const Vector3& y1, const Vector3& y2);

/// Points along that line for pictures: both ends, both tangent points and `between` evenly spaced points on the arc;
/// on a straight line all are evenly spaced.
/// @returns between + 4 points
/// @throws RecoverableError as `wrap`
[[nodiscard]] std::vector<Vector3> wrapped_points(const WrapShape& shape, const Vector3& y1, const Vector3& y2,
                                                  int between);

}  // namespace heelstrike
