/// What an evaluation near a committed state need not find again: the candidates that may come near the partner, and
/// the blocks of the compliance among those that touch. Derived from the committed state alone, so it is not saved: a
/// loaded history has the same.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

class CommittedFriction;

struct CandidateCache {
  Pose X_AB;                               ///< committed
  double depth = 0.0;                      ///< [m] distance or depth of the undeformed shapes there, >= 0
  double reach = 0.0;                      ///< [m] all candidates with a gap up to here there
  std::vector<std::uint32_t> candidates;   ///< are these, ascending
  std::vector<std::uint32_t> block_nodes;  ///< candidates that touch or nearly do, ascending

  /// [m/N] blocks among block_nodes; copied when first asked for, because many committed states never are. Thread-safe.
  /// @param compliance  of the body; always the same
  [[nodiscard]] std::shared_ptr<const SurfaceCompliance> blocks(const SurfaceCompliance& compliance) const;
  /// Of block_nodes; made when first asked for. Thread-safe. @param make  always for the same state
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

/// At `X_AB` nothing else can touch, nor be the closest node: gaps are distances, so none has changed by more than its
/// node moved relative to B, and the largest of these motions is bounded for the ball.
[[nodiscard]] bool covers_contact_candidates(const CandidateCache& candidate_cache, const CandidateBall& ball, const Pose& X_AB);

}  // namespace heelstrike::fem
