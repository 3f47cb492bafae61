/// The four curves of a Hill-type muscle, normalised: forces by the maximum isometric force, fibre lengths by the
/// optimal length, velocities by the maximum shortening velocity, tendon lengths by the slack length.
///
/// A Hill-type muscle along a line: pennated fibres in a parallelogram of constant height, and a tendon in series.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/motion/scalar_function.hpp"
#include "mbs_server/elements/forces/line_force.hpp"

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

/// Strains > 0 of the passive fibre and of the tendon under the maximum isometric force; none = those of the source.
struct CurveStrains {
  std::optional<double> passive = {}, tendon = {};
};

/// Curves of [millard2013] with the default shapes of OpenSim's Millard2012EquilibriumMuscle, and no active force at
/// the minimum length. Strains: 0.7 and 0.049.
[[nodiscard]] std::shared_ptr<const MuscleCurves> millard_curves(const CurveStrains& strains = {});
/// Curves of [thelen2003] with the constants for young adults and the passive strain, tendon strain and maximum
/// eccentric force of OpenSim's Thelen2003Muscle. Strains: 0.6 and 0.04.
[[nodiscard]] std::shared_ptr<const MuscleCurves> thelen_curves(const CurveStrains& strains = {});
/// Curves of [degroote2016] with the constants of OpenSim's DeGrooteFregly2016Muscle. Strains: 0.6 and 0.049.
[[nodiscard]] std::shared_ptr<const MuscleCurves> degroote_curves(const CurveStrains& strains = {});

/// Curves of a source as tables.
struct CurveTables {
  ScalarFunctionPtr active;
  ScalarFunctionPtr tendon = nullptr;    ///< of an elastic tendon
  ScalarFunctionPtr passive = nullptr;   ///< null = exp(8 (length - 1.5))
  ScalarFunctionPtr velocity = nullptr;  ///< null = the hyperbolas of [schutte1993]
};
[[nodiscard]] std::shared_ptr<const MuscleCurves> schutte_curves(CurveTables tables);

/// Parameters of a muscle. The height of the fibres is l_o sin(pennation) [zajac1989].
struct HillMuscle {
  double max_force = 0.0;       ///< F_o [N] > 0
  double optimal_length = 0.0;  ///< l_o [m] > 0
  double slack_length = 0.0;    ///< l_ts [m] >= 0 of the tendon; > 0 where it is elastic
  double pennation = 0.0;       ///< [rad] at the optimal length
  double max_velocity = 10.0;   ///< [1/s] of shortening, in optimal lengths
  double fiber_damping = 0.1;   ///< [-] force per velocity, both normalised; > 0 with an elastic tendon
  std::shared_ptr<const MuscleCurves> curves = nullptr;

  /// [m] Minimum fibre length; on a shorter path the fibres are slack. It is the larger of the minimum length of the
  /// curves and the length at the maximum pennation, acos(0.1).
  [[nodiscard]] double shortest() const;

  /// Force along the path with a rigid tendon, F_o (a f_l f_v + f_p + b v) cos(angle), never
  /// negative.
  struct RigidTendonState {
    Tension tension;
    double fiber = 0.0;          ///< [m] length
    double by_activation = 0.0;  ///< [N]
  };
  [[nodiscard]] RigidTendonState with_rigid_tendon(double length, double speed, double activation) const;

  /// Tension of an elastic tendon at a length of path and fibre, with its derivatives.
  struct TendonForce {
    double force = 0.0;      ///< [N]
    double by_length = 0.0;  ///< [N/m] by the path length
    double by_fiber = 0.0;   ///< [N] by the normalised length of the fibre
  };
  [[nodiscard]] TendonForce tendon_force(double length, double fiber) const;
  /// Rate of the normalised fibre length with an elastic tendon [1/s], from the balance
  /// (a f_l f_v + f_p + b v) cos(angle) = f_t, solved for v [millard2013] equation (8).
  struct FiberRate {
    double rate = 0.0;
    double by_length = 0.0;  ///< [1/(m s)]
    double by_fiber = 0.0;
    double by_activation = 0.0;
  };
  [[nodiscard]] FiberRate fiber_rate(double length, double fiber, double activation) const;
  /// Normalised fibre length in equilibrium with an elastic tendon.
  [[nodiscard]] double solve_fiber_equilibrium(double length, double activation) const;

 private:
  [[nodiscard]] double height() const;
};

/// da/dt of the activation for an excitation u, [thelen2003] equations (1) and (2).
struct ActivationRate {
  double rate = 0.0;           ///< [1/s]
  double by_activation = 0.0;  ///< [1/s]
};
[[nodiscard]] ActivationRate activation_rate(double excitation, double activation, double activation_time,
                                             double deactivation_time);

/// Activations that excitations between `minimum` and 1 reach from `before` within an interval [s], by the same
/// equations, which have closed solutions for a constant excitation. @pre minimum <= before <= 1
[[nodiscard]] ActivationRange reachable_activations(double before, double interval, double minimum,
                                                    double activation_time, double deactivation_time);

}  // namespace heelstrike::mbs
