/// The four curves of a Hill-type muscle, normalised: forces by the maximum isometric force, fibre lengths by the
/// optimal length, velocities by the maximum shortening velocity, tendon lengths by the slack length.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace heelstrike::mbs {

/// Value and slope of a curve.
struct CurvePoint {
  double value = 0.0;
  double slope = 0.0;
};

/// Piecewise quintic Bezier curves, twice continuously differentiable, with straight ends: the curves of [millard2013],
/// appendix.
class BezierCurve {
 public:
  /// Starts the curve at a point with a slope.
  BezierCurve(double x, double y, double slope);
  /// Adds a piece to the next point, inside the corner of both tangents. @param curviness  [-] 0 to 1, of the corner
  BezierCurve& to(double x, double y, double slope, double curviness);
  [[nodiscard]] CurvePoint at(double x) const;

 private:
  struct Piece {
    std::array<double, 6> x, y;
  };
  struct End {
    double x, y, slope;
  };
  End first_, last_;
  std::vector<Piece> pieces_;
};

/// The curves of one source. Immutable.
class MuscleCurves {
 public:
  virtual ~MuscleCurves() = default;

  /// Force of the active fibre at full activation as a function of its length.
  [[nodiscard]] virtual CurvePoint active(double length) const = 0;
  /// Force of the passive fibre as a function of its length.
  [[nodiscard]] virtual CurvePoint passive(double length) const = 0;
  /// Force-velocity factor of the active force (positive: lengthening), and its derivative by the activation.
  struct Velocity : CurvePoint {
    double by_activation = 0.0;
  };
  [[nodiscard]] virtual Velocity velocity(double velocity, double activation) const = 0;
  /// Force of the tendon as a function of its strain.
  [[nodiscard]] virtual CurvePoint tendon(double strain) const = 0;
  /// Minimum length of a fibre.
  [[nodiscard]] virtual double shortest() const = 0;
};

/// Curves of [millard2013] with the default shapes of OpenSim's Millard2012EquilibriumMuscle, and no active force at
/// the minimum length. @param passive_strain  > 0 of the passive fibre under the maximum isometric force
[[nodiscard]] std::shared_ptr<const MuscleCurves> millard_curves(double passive_strain = 0.7);
/// Curves of [thelen2003] with the constants for young adults and the passive strain, tendon strain and maximum
/// eccentric force of OpenSim's Thelen2003Muscle.
[[nodiscard]] std::shared_ptr<const MuscleCurves> thelen_curves(double passive_strain = 0.6);

}  // namespace heelstrike::mbs
