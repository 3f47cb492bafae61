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
  Vector3 radii = Vector3::Ones();  ///< [m] > 0; that along the axis of a cylinder is infinite
  /// Lines pass on this side of the centre, also where the shorter way is the other one; zero = the shorter way.
  Vector3 side = Vector3::Zero();
  /// [m] of a cylinder from its centre to its ends. A line that would meet it and leave it beyond its ends is straight,
  /// as in OpenSim; its length jumps there.
  double half_length = std::numeric_limits<double>::infinity();
};

/// How far outside a point is: < 1 inside, 1 on the surface. @param y  [m] in the frame of the shape
[[nodiscard]] double wrap_level(const WrapShape& shape, const Vector3& y);

/// The shortest line between two points that does not enter the shape, and the exact derivatives of its length.
struct WrappedLine {
  bool touches = false;  ///< false: it is straight, and nothing below is set
  double length = 0.0;   ///< [m]
  /// dL/d(y1, y2): minus the direction at the first end, the direction at the last.
  Eigen::Matrix<double, 6, 1> gradient;
  Eigen::Matrix<double, 6, 6> hessian;  ///< [1/m]
  Vector3 first, last;                  ///< [m] where it meets the surface and leaves it
};

/// @param y1, y2  ends in the frame of the shape [m]
/// @throws RecoverableError for an end inside the shape, and where no geodesic joins the ends
[[nodiscard]] WrappedLine wrap(const WrapShape& shape, const Vector3& y1, const Vector3& y2);

/// Points along that line for pictures: both ends, the points where it meets and leaves the shape, and `between` more
/// on the arc, evenly; on a line that does not touch all are spread evenly. @returns between + 4 points
/// @throws RecoverableError as `wrap`
[[nodiscard]] std::vector<Vector3> wrapped_points(const WrapShape& shape, const Vector3& y1, const Vector3& y2,
                                                  int between);

}  // namespace heelstrike
