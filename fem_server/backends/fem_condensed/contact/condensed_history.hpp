/// What the condensed contact remembers between accepted steps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fem_server/backends/backend.hpp"
#include "fem_server/backends/fem_condensed/detection/candidate_cache.hpp"

namespace heelstrike::fem {

/// A node near the partner at the last commit.
struct CommittedNode {
  std::uint32_t node = 0;           ///< candidate number
  Vector3 force = Vector3::Zero();  ///< [N] on A, in A, at the commit; first guess of the next solve
  Vector3 u = Vector3::Zero();      ///< [m] displacement at the commit
  Vector3 p_BStick =
      Vector3::Zero();  ///< [m] point of B that the node would stick to; friction measures slip from here
};

class CondensedHistory final : public History {
 public:
  std::string backend;                   ///< name of the back-end that made it
  std::optional<double> approach_speed;  ///< [m/s] latched at onset; none = not in contact
  bool started = false;                  ///< a state has been committed: `X_AB` is valid
  Pose X_AB;                             ///< [-, m] committed pose; where nodes that touch since then come from
  std::vector<CommittedNode> nodes;      ///< ascending
  std::shared_ptr<const CandidateCache> candidate_cache;  ///< derived from the above, never saved; null = none

  [[nodiscard]] std::string save() const override;
  /// @throws Error{invalid_input}
  [[nodiscard]] static CondensedHistory load(std::string_view bytes, const std::string& backend,
                                             const SurfaceCompliance& compliance);
};

/// @throws Error{internal} for the history of another back-end
[[nodiscard]] const CondensedHistory& condensed_history(const History& history);

}  // namespace heelstrike::fem
