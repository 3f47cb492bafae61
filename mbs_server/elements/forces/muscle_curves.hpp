/// The four curves of a Hill-type muscle, normalised: forces by the largest isometric force, fibre lengths by the
/// optimal one, velocities by the largest one of shortening, tendon lengths by the slack length.
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

/// Pieces of quintic Bezier curves, twice continuously differentiable, with straight ends: the curves of [millard2013],
/// appendix.
class BezierCurve {
 public:
  /// Begins at a point with a slope.
  BezierCurve(double x, double y, double slope);
  /// Adds a piece to a further point, within the corner of both tangents. @param curviness  [-] 0 to 1, of the corner
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

/// Curves of one source. Immutable.
class MuscleCurves {
 public:
  virtual ~MuscleCurves() = default;

  /// Force of the active fibre at full activation, by its length.
  [[nodiscard]] virtual CurvePoint active(double length) const = 0;
  /// Force of the passive fibre, by its length.
  [[nodiscard]] virtual CurvePoint passive(double length) const = 0;
  /// Factor on the active force by the velocity (positive: lengthening), and its derivative by the activation.
  struct Velocity : CurvePoint {
    double by_activation = 0.0;
  };
  [[nodiscard]] virtual Velocity velocity(double velocity, double activation) const = 0;
  /// Force of the tendon by its strain.
  [[nodiscard]] virtual CurvePoint tendon(double strain) const = 0;
  /// Shortest length of a fibre.
  [[nodiscard]] virtual double shortest() const = 0;
};

/// Curves of [millard2013] with the default shapes of OpenSim's Millard2012EquilibriumMuscle, and no active force at
/// the shortest length. @param passive_strain  > 0 of the passive fibre under the largest isometric force
[[nodiscard]] std::shared_ptr<const MuscleCurves> millard_curves(double passive_strain = 0.7);
/// Curves of [thelen2003] with the constants for young adults and the passive strain, tendon strain and largest
/// eccentric force of OpenSim's Thelen2003Muscle.
[[nodiscard]] std::shared_ptr<const MuscleCurves> thelen_curves(double passive_strain = 0.6);

}  // namespace heelstrike::mbs
