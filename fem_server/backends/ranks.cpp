#include "fem_server/backend_interface/ranks.hpp"

#ifdef HEELSTRIKE_FEM
#include <cmath>

#include "fem_server/fem/element_library.hpp"
#include "fem_server/fem/memory_need.hpp"
#include "fem_server/fem/rank_team.hpp"
#endif

namespace heelstrike::fem {

#ifdef HEELSTRIKE_FEM
std::unique_ptr<RankSession> join_ranks(std::function<void(const Error&)> on_loss) {
  return join_team(std::move(on_loss));
}

void load_elements_below_limit() {
  if (std::isfinite(available_address_space())) (void)element_library();
}
#else
std::unique_ptr<RankSession> join_ranks(std::function<void(const Error&)> /*on_loss*/) {
  return nullptr;
}

void load_elements_below_limit() {}
#endif

}  // namespace heelstrike::fem
