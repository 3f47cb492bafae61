/// Planar curve through points: a cubic spline with continuous curvature over the chord length.
#pragma once

#include <vector>

#include <Eigen/Core>

namespace heelstrike {

using Vector2 = Eigen::Vector2d;

/// A point of the curve. Material lies on the left of the direction of travel.
struct CurvePoint {
  Vector2 p = Vector2::Zero();         ///< [m]
  Vector2 tangent = Vector2::UnitX();  ///< [-] unit, in the direction of travel
  Vector2 normal = -Vector2::UnitY();  ///< [-] unit, out of the material
  double curvature = 0.0;              ///< [1/m] > 0 where the material is convex
  Vector2 dp = Vector2::UnitX();       ///< [-] derivative of p by the parameter
  Vector2 ddp = Vector2::Zero();       ///< [1/m] second derivative
};

/// Parameter u in [0, length()], the chord length. A closed curve is periodic. An open one has zero curvature at its
/// ends (natural spline) and is extended straight, so that it divides the plane and is twice differentiable.
class ProfileCurve {
 public:
  /// @param points  [m] at least 4, distinct neighbours; for a closed curve the first one is not repeated
  ProfileCurve(std::vector<Vector2> points, bool closed);

  [[nodiscard]] CurvePoint at(double u) const;
  /// Parameter of the point closest to q; beyond [0, length()] on the straight ends of an open curve.
  [[nodiscard]] double closest(const Vector2& q) const;
  /// N . (q - p) at the closest point p [m]: negative in the material.
  [[nodiscard]] double gap(const Vector2& q) const;
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] double length() const { return knots_.back(); }
  /// True on a straight end beyond the points.
  [[nodiscard]] bool beyond(double u) const { return !closed_ && (u < 0.0 || u > length()); }
  /// Initial parameters of searches, ascending; for a closed curve without the end.
  [[nodiscard]] const std::vector<double>& samples() const { return samples_; }
  [[nodiscard]] const std::vector<Vector2>& sampled() const { return sampled_; }

 private:
  [[nodiscard]] double refined(const Vector2& q, double low, double start, double high) const;

  bool closed_ = false;
  std::vector<double> knots_;     ///< one more than spans
  std::vector<Vector2> points_;   ///< at the knots
  std::vector<Vector2> moments_;  ///< second derivatives at the knots
  std::vector<double> samples_;
  std::vector<Vector2> sampled_;
};

}  // namespace heelstrike
