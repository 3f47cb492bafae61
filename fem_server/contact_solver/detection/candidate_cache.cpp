#include "fem_server/contact_solver/detection/candidate_cache.hpp"

#include "fem_server/contact_solver/detection/active_candidates.hpp"

#include <algorithm>

namespace heelstrike::fem {

CandidateBall ball_around(const std::vector<Vector3>& points) {
  if (points.empty()) return {};
  Vector3 low = points.front();
  Vector3 high = low;
  for (const Vector3& p : points) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  CandidateBall ball{.center = 0.5 * (low + high)};
  for (const Vector3& p : points) ball.radius = std::max(ball.radius, (p - ball.center).norm());
  return ball;
}

GapBound gap_bound(const CandidateBall& ball, const SignedDistance& partner) {
  if (!partner.is_distance()) return {};
  const Vector3 normal = partner.half_space();
  return {.known = true, .p_C = ball.center, .reach = ball.radius, .normal = normal, .flat = normal != Vector3::Zero()};
}

bool covers_contact_candidates(const CandidateCache& candidate_cache, const CandidateBall& ball, const Pose& X_AB) {
  const Pose& before = candidate_cache.X_AB;
  const Vector3 moved = X_AB.R.transpose() * (ball.center - X_AB.p) - before.R.transpose() * (ball.center - before.p);
  // The gap of a point changes by no more than the point moves relative to B, and no point of the ball moves by more
  // than its centre plus the rotation times the radius; the Frobenius norm is an upper bound of the spectral norm.
  const double rounding = 1e-9 * ball.radius;
  const double motion = moved.norm() + (X_AB.R - before.R).norm() * ball.radius + rounding;
  // Once for the gap of the node, once for the depth up to which nodes count as near.
  return candidate_cache.depth + 2.0 * motion <= candidate_cache.reach;
}

std::shared_ptr<const SurfaceCompliance> CandidateCache::blocks(const SurfaceCompliance& compliance) const {
  std::call_once(copied_,
                 [&] { blocks_ = std::make_shared<const SurfaceCompliance>(copied_blocks(compliance, block_nodes)); });
  return blocks_;
}

std::shared_ptr<const CommittedFriction> CandidateCache::friction(
    const std::function<std::shared_ptr<const CommittedFriction>()>& make) const {
  std::call_once(factored_, [&] { friction_ = make(); });
  return friction_;
}

}  // namespace heelstrike::fem
