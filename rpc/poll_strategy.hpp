/// Poll strategy of gRPC in this process.
#pragma once

namespace heelstrike::rpc {

/// Lets each thread wait on its own sockets, instead of one thread on those of all (gRPC's default, epoll1), which then
/// wakes the one concerned: this saves a wake-up per exchange on each side, the dominant cost of a short exchange. The
/// default is better for servers with thousands of connections: GRPC_POLL_STRATEGY in the environment takes precedence.
///
/// Called first in a program: before threads exist and before any call of gRPC.
void set_poll_strategy();

}  // namespace heelstrike::rpc
