#include "fem_server/backend_interface/ranks.hpp"

#ifdef HEELSTRIKE_FEM
#include "fem_server/fem/rank_team.hpp"
#endif

namespace heelstrike::fem {

#ifdef HEELSTRIKE_FEM
std::unique_ptr<RankSession> join_ranks(std::function<void(const Error&)> on_loss) {
  return join_team(std::move(on_loss));
}
#else
std::unique_ptr<RankSession> join_ranks(std::function<void(const Error&)> /*on_loss*/) {
  return nullptr;
}
#endif

}  // namespace heelstrike::fem
