/// Rigid contacts for the integrators: contact points with gaps at one state, and the effect of impulses at them.
///
/// Components of a point are stored in sequence: along its normal, positive for opening, then two tangents. Impulses
/// act on B, their opposites on A; joints and drivers remain satisfied.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "common/friction/impact.hpp"

namespace heelstrike::mbs {

/// A point of a pair at a state.
struct RigidPoint {
  std::size_t pair = 0;
  std::int64_t feature = 0;
  double gap = 0.0;     ///< [m]
  double rate = 0.0;    ///< [m/s] of the gap
  bool curved = false;  ///< a surface is curved: the gap is nonlinear in the positions, even for small motion
  Eigen::Vector3d n_W = Eigen::Vector3d::Zero();  ///< [-] outward normal of A
  /// [-] directions of the second and third component of velocities and impulses.
  Eigen::Matrix<double, 3, 2> tangents_W = Eigen::Matrix<double, 3, 2>::Zero();
  Eigen::Vector3d slip_W = Eigen::Vector3d::Zero();  ///< [m/s] of B relative to A, normal to n_W
  [[nodiscard]] bool same_as(const RigidPoint& other) const { return pair == other.pair && feature == other.feature; }
};

class RigidContacts {
 public:
  using Vector = Eigen::VectorXd;
  using ConstRef = Eigen::Ref<const Eigen::VectorXd>;
  using MutableRef = Eigen::Ref<Eigen::VectorXd>;

  virtual ~RigidContacts() = default;

  /// Evaluates the points of all rigid pairs at a state, to which the functions below refer.
  /// @throws exceptions of the partner
  virtual std::span<const RigidPoint> evaluate_points(double t, const ConstRef& q, const ConstRef& qd) = 0;
  /// [m] rounding error of a gap at the last evaluation.
  [[nodiscard]] virtual double rounding() const = 0;
  /// [m/s] Slower approaches of a point are not impacts.
  [[nodiscard]] virtual double restitution_threshold(const RigidPoint& point) const = 0;
  /// True for sequential impacts at the point (ImpactLaw::sequential).
  [[nodiscard]] virtual bool is_sequential(const RigidPoint& point) const = 0;

  /// The impact problem of a subset of the points of evaluate_points(): Delassus matrix and coefficients; velocities
  /// are zero.
  virtual const friction::ImpactProblem& select_points(std::span<const std::size_t> points) = 0;
  /// Relative velocities of the selected points.
  [[nodiscard]] virtual Vector velocities(const ConstRef& qd) const = 0;
  /// Adds to `qd` the effect of impulses at the selected points (or to `q` that of lengths instead of impulses).
  virtual void apply(const ConstRef& impulses, MutableRef qd) const = 0;
  /// [J] Work of drivers while impulses act at the selected points: they keep driven bodies on their motion.
  /// @param qd  rates of all coordinates, mean of those before and after the impulses
  [[nodiscard]] virtual double driver_work(const ConstRef& impulses, const ConstRef& qd) const = 0;

  /// Reports a step for rows and summaries: its start at `t`, optionally with an impact at the selected points; contact
  /// over the step, of which the last report is valid; its end at `t`. @{
  /// @param nominal  [s] length of steps without impact
  virtual void begin_step(double t, double nominal) = 0;
  /// @param at_rest  no point approaches faster than bodies rest: what the last step has left, part of its force
  virtual void note_impact(const friction::ImpactSolution& impact, const ConstRef& before, bool at_rest) = 0;
  /// Sequential impacts at the start of the step were terminated after `impacts` of them; `points` of the last
  /// evaluation still approach, the fastest at `approach` [m/s] > 0, and are resolved by a simultaneous impact.
  virtual void note_unfinished_impacts(std::span<const std::size_t> points, int impacts, double approach) = 0;
  virtual void reset_contact() = 0;
  virtual void note_contact(const friction::ImpactSolution& contact) = 0;
  virtual void end_step(double t) = 0;
  /// @}
};

}  // namespace heelstrike::mbs
