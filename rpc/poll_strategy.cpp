#include "rpc/poll_strategy.hpp"

#include <cstdlib>

namespace heelstrike::rpc {

void set_poll_strategy() {
  constexpr int keep = 0;
  ::setenv("GRPC_POLL_STRATEGY", "poll", keep);
}

}  // namespace heelstrike::rpc
