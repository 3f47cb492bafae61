/// Sliding speed of the points that slid at the last commit: Response::slip_speed. Shared by all back-ends with
/// stick-slip friction.
#pragma once

#include "common/spatial/spatial.hpp"

namespace heelstrike::fem {

class SlipSpeed {
 public:
  /// Adds one point that carried force at the commit.
  /// @param traction  [N] of the friction on A there, rotated with the surface to its current pose
  /// @param limit     [N] mu N there
  /// @param velocity  [m/s] current, of B's point relative to A's
  void add(const Vector3& traction, double limit, const Vector3& velocity);
  /// [m/s] 0 unless the points that slid carry more than half of the limits: otherwise the sticking points still
  /// provide stiffness, and the motion is that of a spring.
  [[nodiscard]] double value() const { return sliding_ > 0.5 * total_ ? power_ / sliding_ : 0.0; }

 private:
  double total_ = 0.0;    ///< [N] limits of all points
  double sliding_ = 0.0;  ///< [N] of those that slid
  double power_ = 0.0;    ///< [W] of these
};

}  // namespace heelstrike::fem
