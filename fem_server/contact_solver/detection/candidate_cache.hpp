/// Cache for evaluations near a committed state: the candidates that may come near the partner, and the blocks of the
/// compliance among the active ones. Derived from the committed state alone, so it is not saved: a loaded history has
/// the same cache.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "common/contact/contact.hpp"
#include "common/spatial/spatial.hpp"
#include "fem_server/fem/condensation.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

class CommittedFriction;

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
