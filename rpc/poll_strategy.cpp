#include "rpc/poll_strategy.hpp"

#include <cstdlib>

namespace heelstrike::rpc {

void wait_at_own_sockets() {
  constexpr int keep = 0;
  ::setenv("GRPC_POLL_STRATEGY", "poll", keep);
}

}  // namespace heelstrike::rpc
