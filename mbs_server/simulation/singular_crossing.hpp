/// Takes a motion across singular poses, where the equations of the joints depend on each other.
///
/// The motion itself is smooth there, but everything that is computed from the constraints is not: with the smallest
/// singular value s of Phi_q a rounding error e of Phi moves positions by e / s, velocities by e / s^2, accelerations
/// by e / s^3. Methods that shorten their steps when errors grow get stuck before the pose or leave the branch. So the
/// neighbourhood is not computed at all: when s heads for zero within two steps, the state at the same distance behind
/// the pose is extrapolated from the last accepted state and one as far before it, with their accelerations (quintic
/// Hermite polynomial), projected onto the constraints, and accepted if its accelerations agree with the extrapolated
/// ones.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "scenario/scenario.hpp"
#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {

/// States q and qd between two times, from q, qd and qdd at both ends.
class QuinticMotion {
 public:
  struct Node {
    double t = 0.0;
    VectorX q, qd, qdd;
  };
  QuinticMotion(const Node& from, const Node& to);
  /// Also beyond the ends.
  void at(double t, VectorX& q, VectorX& qd, VectorX& qdd) const;

 private:
  std::vector<TimeFunctionPtr> coordinates_;
};

class SingularCrossing {
 public:
  SingularCrossing(System& system, const IntegratorSpec& spec) : system_(system), spec_(spec) {}

  /// Forgets the last states; at restarts of the integration.
  void forget() { history_.clear(); }

  struct Crossing {
    double t_singular = 0.0;  ///< [s] estimate
    double t = 0.0;           ///< [s] behind the pose
    VectorX y;                ///< {q, qd, s} there, on the constraints
    QuinticMotion motion;     ///< from the state given to look() to this one
  };
  /// Looks at an accepted state {q, qd, s}.
  void record(double t, const VectorX& y);
  /// Where to go on when a singular pose lies less than `steps` of the last step ahead, with everything before `t_end`.
  /// @param tolerance  of the positions behind it, in units of the integrator's tolerance per step
  [[nodiscard]] std::optional<Crossing> crossing(double steps, double tolerance, double t_end);

 private:
  using Node = QuinticMotion::Node;
  [[nodiscard]] std::optional<Crossing> cross(double ahead, double tolerance);
  [[nodiscard]] const Node& base(double distance) const;
  [[nodiscard]] Node node_at(const MotionState& at);

  System& system_;
  IntegratorSpec spec_;
  struct StateSample {
    Node node;
    VectorX s;          ///< own states of force elements
    double size = 0.0;  ///< smallest singular value
  };
  static constexpr std::size_t history_length = 40;
  std::deque<StateSample> history_;  ///< since the last restart, latest last
};

}  // namespace heelstrike::mbs
