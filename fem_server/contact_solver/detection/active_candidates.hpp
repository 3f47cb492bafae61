/// Nodes considered in a contact solution, the location of their blocks of the compliance, and a cache of both near a
/// committed state.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "common/contact/contact.hpp"
#include "common/spatial/spatial.hpp"
#include "fem_server/contact_solver/kernels/compliance_product.hpp"
#include "fem_server/fem/condensation.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

/// Nodes that may be in contact, ascending, with gap [m] and normal of the undeformed body at each.
struct ActiveCandidates {
  std::vector<std::uint32_t> nodes;  ///< candidate numbers
  std::vector<double> gaps;
  std::vector<Vector3> normals;
  /// [N] forces of the last commit, zero if there were none, and
  std::vector<Vector3> force_before;
  /// [m] the displacements due to them; valid if `known`.
  std::vector<Vector3> u_before;
  std::vector<bool> known;
  /// [N/m^2] Courant-Beltrami penalty of each node, force = penalty * penetration^2; empty = exact non-penetration.
  std::vector<double> penalty{};
  /// The compliance differs from that of the last commit: the displacements of then give no bounds.
  bool compliance_changed = false;
  /// Blocks cached with the committed state, and their nodes as positions in this list, ascending; null = none.
  std::shared_ptr<const SurfaceCompliance> cached_blocks{};
  std::vector<std::uint32_t> kept{};

  /// @param force  [N] of the last commit; zero = none
  /// @param u      [m] displacement due to the forces of the last commit; none = unknown
  void add(std::uint32_t node, double gap, const Vector3& normal, const Vector3& force = Vector3::Zero(),
           const std::optional<Vector3>& u = std::nullopt);
  /// Candidate numbers at some positions.
  [[nodiscard]] std::vector<std::uint32_t> candidates(std::span<const std::uint32_t> positions) const;
  /// True if a committed state provides a start.
  [[nodiscard]] bool warm() const;
  /// [m] largest penetration of the undeformed body, >= 0.
  [[nodiscard]] double deepest() const;
};

/// Initial working set: nodes with a committed force, and those that would penetrate with the committed displacement;
/// without any committed force, all nodes that penetrate undeformed. Positions in `near`.
[[nodiscard]] std::vector<std::uint32_t> first_working_set(const ActiveCandidates& near);

/// Dense blocks among some near nodes: those cached with the committed state if complete, which are contiguous in
/// memory, otherwise those of the body, to which it refers, or a copy of the blocks of a compressed body.
class NodeBlocks {
 public:
  NodeBlocks(const SurfaceCompliance& body, const ActiveCandidates& near, std::span<const std::uint32_t> positions);

  [[nodiscard]] const SurfaceCompliance& compliance() const { return *compliance_; }
  /// Numbers of the given positions, in their order, within compliance().
  [[nodiscard]] const std::vector<std::uint32_t>& numbers() const { return numbers_; }
  /// Of some of them. @param members  indices into numbers()
  [[nodiscard]] std::vector<std::uint32_t> numbers(std::span<const std::uint32_t> members) const;

 private:
  std::shared_ptr<const SurfaceCompliance> copy_;  ///< of a compressed body
  const SurfaceCompliance* compliance_;
  std::vector<std::uint32_t> numbers_;
};

/// Difference of the forces from a multiple of the committed ones, f = factor f_before + df.
struct LoadChange {
  bool bounded = false;  ///< true: it bounds the motion of nodes since the commit
  double factor = 1.0;   ///< that of minimum work
  double work = 0.0;     ///< [J] df . C df
};

/// @param positions  in `near`: all with a force now or at the commit
/// @param forces     [N] three rows per position
/// @param u          [m] displacements due to these forces
[[nodiscard]] LoadChange change_since_commit(const ActiveCandidates& near, std::span<const std::uint32_t> positions,
                                             const Eigen::VectorXd& forces, const Eigen::VectorXd& u);

/// Near nodes outside the working set whose penetration can only be determined with their rows of the compliance.
///
/// Most nodes need no rows: C is positive semidefinite, so a change of the forces by df moves node i along n by at
/// most sqrt(n . C_ii n) sqrt(df . C df). Proportional forces move it proportionally.
/// @param working  positions in `near`, ascending
/// @param allowed  [m] tolerated penetration
[[nodiscard]] std::vector<std::uint32_t> open_outside(const SurfaceCompliance& compliance, const ActiveCandidates& near,
                                                      std::span<const std::uint32_t> working, const LoadChange& change,
                                                      double allowed);

/// Displacements [m] of some near nodes.
struct NodeMotion {
  std::vector<std::uint32_t> positions;  ///< in `near`
  NodeFields<1> u;
};

/// Positions that penetrate by more than `allowed` [m]. @param deepest [m] out: maximum penetration found, >= 0
[[nodiscard]] std::vector<std::uint32_t> penetrating(const ActiveCandidates& near, const NodeMotion& motion,
                                                     double allowed, double& deepest);

/// Copy of the blocks among some candidates.
[[nodiscard]] SurfaceCompliance copied_blocks(const SurfaceCompliance& compliance,
                                              std::span<const std::uint32_t> candidates);

/// Compliance of nodes without mutual influence. @param yield  [m/N] of each, equal in all directions
[[nodiscard]] SurfaceCompliance diagonal_compliance(std::size_t n_nodes, double yield);

/// The blocks among some candidates as one dense matrix, 3 n square, in A's axes.
[[nodiscard]] Eigen::MatrixXd gathered(const SurfaceCompliance& compliance, std::span<const std::uint32_t> candidates);

class CommittedFriction;

/// Cache for evaluations near a committed state: the candidates that may come near the partner, and the blocks of the
/// compliance among the active ones. Derived from the committed state alone, so it is not saved: a loaded history has
/// the same cache.
struct CandidateCache {
  Pose X_AB;                               ///< committed
  double depth = 0.0;                      ///< [m] distance or depth of the undeformed shapes there, >= 0
  double reach = 0.0;                      ///< [m] all candidates with a gap up to this value
  std::vector<std::uint32_t> candidates;   ///< these candidates, ascending
  std::vector<std::uint32_t> block_nodes;  ///< candidates in contact or close to it, ascending

  /// [m/N] blocks among block_nodes; copied on first use, because many committed states need none. Thread-safe.
  /// @param compliance  of the body; always the same
  [[nodiscard]] std::shared_ptr<const SurfaceCompliance> blocks(const SurfaceCompliance& compliance) const;
  /// Friction data of block_nodes; made on first use. Thread-safe. @param make  always for the same state
  [[nodiscard]] std::shared_ptr<const CommittedFriction> friction(
      const std::function<std::shared_ptr<const CommittedFriction>()>& make) const;

 private:
  mutable std::once_flag copied_;
  mutable std::shared_ptr<const SurfaceCompliance> blocks_;
  mutable std::once_flag factored_;
  mutable std::shared_ptr<const CommittedFriction> friction_;
};

/// Ball around all candidates.
struct CandidateBall {
  Vector3 center = Vector3::Zero();  ///< [m] in A
  double radius = 0.0;               ///< [m]
};
[[nodiscard]] CandidateBall ball_around(const std::vector<Vector3>& points);

/// Bound of the gap after a motion, for a body within the ball; unknown if gaps are no distances.
[[nodiscard]] GapBound gap_bound(const CandidateBall& ball, const SignedDistance& partner);

/// True if at `X_AB` no other candidate can touch or be the closest node: gaps are distances, so none has changed by
/// more than the motion of its node relative to B, which is bounded by that of the ball.
[[nodiscard]] bool covers_contact_candidates(const CandidateCache& candidate_cache, const CandidateBall& ball,
                                             const Pose& X_AB);

}  // namespace heelstrike::fem
