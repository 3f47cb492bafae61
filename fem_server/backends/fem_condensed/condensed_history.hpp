/// History of the condensed contact between accepted steps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "fem_server/backend_interface/saved_history.hpp"
#include "fem_server/contact_solver/detection/candidate_cache.hpp"

namespace heelstrike::fem {

/// A node near the partner at the last commit.
struct CommittedNode {
  std::uint32_t node = 0;              ///< candidate number
  Vector3 force = Vector3::Zero();     ///< [N] on A, in A, at the commit; initial guess of the next solution
  Vector3 u = Vector3::Zero();         ///< [m] displacement at the commit
  Vector3 p_BStick = Vector3::Zero();  ///< [m] potential stick point of the node on B; slip is measured from here

  template <class Archive, class Self>
  static void transfer(Archive& archive, Self& self) {
    archive(self.node, self.force, self.u, self.p_BStick);
  }
};

struct CondensedHistory final : SavedHistory<CondensedHistory> {
  static constexpr std::string_view format = "heelstrike surface history 3";

  std::optional<Pose> X_AB;          ///< committed pose, from which later contacts start; none = no commit yet
  std::vector<CommittedNode> nodes;  ///< ascending
  std::shared_ptr<const CandidateCache> candidate_cache;  ///< derived from the above, never saved; null = none

  template <class Archive, class Self>
  static void transfer(Archive& archive, Self& self) {
    archive(self.X_AB, self.nodes);
  }
};

}  // namespace heelstrike::fem
