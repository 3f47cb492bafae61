/// How fast points that slid at the last commit go on sliding: Response::slip_speed. Shared by all back-ends with
/// friction that sticks.
#pragma once

#include "common/spatial/spatial.hpp"

namespace heelstrike::fem {

class SlipSpeed {
 public:
  /// One point that bore force at the commit.
  /// @param traction  [N] of the friction on A there, turned with the surface to where it is now
  /// @param limit     [N] mu N there
  /// @param velocity  [m/s] of B's point against A's now
  void add(const Vector3& traction, double limit, const Vector3& velocity);
  /// [m/s] 0 unless the points that slid bear more than half of the limits: with the others to hold the bodies there is
  /// a stiffness left, and the motion is that of a spring.
  [[nodiscard]] double value() const { return sliding_ > 0.5 * total_ ? power_ / sliding_ : 0.0; }

 private:
  double total_ = 0.0;    ///< [N] limits of all points
  double sliding_ = 0.0;  ///< [N] of those that slid
  double power_ = 0.0;    ///< [W] of these
};

}  // namespace heelstrike::fem
