/// Sliding speed at a commit and work of Coulomb friction between two commits, shared by all back-ends with stick-slip
/// friction.
#pragma once

#include "common/spatial/spatial.hpp"

namespace heelstrike::fem {

/// Of the points that slid at the last commit: Response::slip_speed.
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

/// Data at both ends of a step of a point that slips at the end of the step.
struct SlipStep {
  Vector3 traction = Vector3::Zero();  ///< [N] at the start
  double limit_before = 0.0;           ///< [N] mu N there, >= |traction| up to rounding
  Vector3 trial = Vector3::Zero();     ///< [N] traction at the end if the point had stuck throughout
  double limit = 0.0;                  ///< [N] mu N at the end
  double slip = 0.0;                   ///< [m] >= 0
};

/// [J] of one point. Trial traction and limit are linear over the step, so the point slips from the time at which the
/// trial traction reaches the limit, against the mean of the limits at that time and at the end. Second order in the
/// step, whether the point slid before, began to slip or lost contact within the step. (The traction at the end alone
/// is first order: the error is half of the force gained or lost in the step, times the slip.)
[[nodiscard]] double slip_work(const SlipStep& step);

}  // namespace heelstrike::fem
