/// Contacts of rigid bodies as an integrator sees them: points with gaps at one state, and what impulses at them do.
///
/// Components of a point follow each other: along its normal, positive where it opens, then two tangents. Impulses act
/// on B, their opposite on A; joints and drivers keep what they prescribe.
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
  bool curved = false;  ///< one of the surfaces is: the gap is no linear function of the places, even at small motion
  Eigen::Vector3d n_W = Eigen::Vector3d::Zero();  ///< [-] out of A
  [[nodiscard]] bool same_as(const RigidPoint& other) const { return pair == other.pair && feature == other.feature; }
};

class RigidContacts {
 public:
  using Vector = Eigen::VectorXd;
  using ConstRef = Eigen::Ref<const Eigen::VectorXd>;
  using MutableRef = Eigen::Ref<Eigen::VectorXd>;

  virtual ~RigidContacts() = default;

  /// Points of all rigid pairs at a state, which the functions below refer to, asked of the partner.
  /// @throws whatever the partner throws
  virtual std::span<const RigidPoint> evaluate_points(double t, const ConstRef& q, const ConstRef& qd) = 0;
  /// [m] that a gap at the last look is rounded by.
  [[nodiscard]] virtual double rounding() const = 0;
  /// [m/s] Approaches of a point that are slower are no impacts.
  [[nodiscard]] virtual double restitution_threshold(const RigidPoint& point) const = 0;
  /// Impacts at the point follow those that cause them (ImpactLaw::sequential).
  [[nodiscard]] virtual bool is_sequential(const RigidPoint& point) const = 0;

  /// The impact problem of some of the points that look() returned: Delassus matrix and coefficients; velocities are
  /// left zero.
  virtual const friction::ImpactProblem& select_points(std::span<const std::size_t> points) = 0;
  /// Relative velocities of the chosen points.
  [[nodiscard]] virtual Vector velocities(const ConstRef& qd) const = 0;
  /// Adds to `qd` (or, of lengths instead of impulses, to `q`) what impulses at the chosen points cause.
  virtual void apply(const ConstRef& impulses, MutableRef qd) const = 0;

  /// What rows and summaries tell of a step: it begins at `t`, perhaps with an impact at the chosen points; contact
  /// acts over it, of which the last that is told counts; it ends at `t`. @{
  /// @param nominal  [s] length of steps that no impact ends
  virtual void begin_step(double t, double nominal) = 0;
  /// @param at_rest  no point approaches faster than bodies rest: what the last step has left, part of its force
  virtual void note_impact(const friction::ImpactSolution& impact, const ConstRef& before, bool at_rest) = 0;
  /// Impacts in turn at the start of the step were broken off after `impacts` of them; `points` of the last look still
  /// approach, the fastest of them at `approach` [m/s] > 0, and strike at once instead.
  virtual void note_unfinished_impacts(std::span<const std::size_t> points, int impacts, double approach) = 0;
  virtual void reset_contact() = 0;
  virtual void note_contact(const friction::ImpactSolution& contact) = 0;
  virtual void end_step(double t) = 0;
  /// @}
};

}  // namespace heelstrike::mbs
