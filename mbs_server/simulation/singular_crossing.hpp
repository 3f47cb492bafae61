/// Continues a motion across singular poses, where the equations of the joints are linearly dependent.
///
/// The motion is smooth there, but quantities computed from the constraints are not: with the smallest singular value s
/// of Phi_q a rounding error e of Phi changes positions by e / s, velocities by e / s^2, accelerations by e / s^3.
/// Methods with error control stall before the pose or leave the branch. The neighbourhood is therefore skipped: when s
/// approaches zero within two steps, the state at the same distance beyond the pose is extrapolated from the last
/// accepted state and one at equal distance before it, with their accelerations (quintic Hermite polynomial), projected
/// onto the constraints, and accepted if its accelerations agree with the extrapolated ones.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "mbs_server/formulation/system.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

/// States q and qd between two times, from q, qd and qdd at both ends.
class QuinticMotion {
 public:
  struct Node {
    double t = 0.0;
    VectorX q, qd, qdd;
  };
  QuinticMotion(const Node& from, const Node& to);
  /// Evaluates the polynomial, also beyond the ends.
  void at(double t, VectorX& q, VectorX& qd, VectorX& qdd) const;

 private:
  std::vector<TimeFunctionPtr> coordinates_;
};

class SingularCrossing {
 public:
  /// @param index2  the integrator uses the index-2 form, which is more sensitive to singular poses
  SingularCrossing(System& system, const IntegratorSpec& spec, bool index2)
      : system_(system), spec_(spec), before_step_(index2 ? before_index2_step : before_index1_step) {}

  /// Discards the last states; called at restarts of the integration.
  void forget() { history_.clear(); }
  /// An extrapolation from the last recorded state across a pose.
  struct Crossing {
    double t_singular = 0.0;  ///< [s] estimate
    double t = 0.0;           ///< [s] beyond the pose
    VectorX y;                ///< {q, qd, s} there, on the constraints
    QuinticMotion motion;     ///< from the last recorded state to this one
  };
  /// Records an accepted state {q, qd, s}.
  void record(double t, const VectorX& y);
  /// The crossing if the integrator's next step could reach a singular pose, and it ends before `t_end`.
  [[nodiscard]] std::optional<Crossing> find_before_step(double t_end) { return find(before_step_, t_end); }
  /// As find_before_step(), after a failure of the integrator.
  [[nodiscard]] std::optional<Crossing> find_after_failure(double t_end) { return find(after_failure, t_end); }

 private:
  using Node = QuinticMotion::Node;
  /// Distance of the pose in steps, and required agreement of the positions on the far side in units of the tolerance
  /// per step.
  struct Criterion {
    double steps;
    double tolerance;
  };
  static constexpr Criterion before_index1_step{.steps = 2.0, .tolerance = 1.0};
  /// The multipliers of the index-2 form lose accuracy earlier, and its restarts need a larger distance.
  static constexpr Criterion before_index2_step{.steps = 6.0, .tolerance = 100.0};
  /// The alternative is the end of the run.
  static constexpr Criterion after_failure{.steps = 1e6, .tolerance = 1e4};

  [[nodiscard]] std::optional<Crossing> find(const Criterion& criterion, double t_end);
  [[nodiscard]] std::optional<Crossing> cross(double ahead, double tolerance);
  [[nodiscard]] const Node& base(double distance) const;
  [[nodiscard]] Node node_at(const MotionState& at);

  System& system_;
  IntegratorSpec spec_;
  Criterion before_step_;
  struct StateSample {
    Node node;
    VectorX s;          ///< internal states of force elements
    double size = 0.0;  ///< smallest singular value
  };
  static constexpr std::size_t history_length = 40;
  std::deque<StateSample> history_;  ///< since the last restart, latest last
};

}  // namespace heelstrike::mbs
