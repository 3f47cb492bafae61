/// How threads of this process wait for sockets.
#pragma once

namespace heelstrike::rpc {

/// Has each thread that waits for a message wait at its own sockets, instead of one thread at those of all (gRPC's
/// default, epoll1), which then has to wake the one concerned: an exchange costs a wake-up less on either side, which
/// is most of what a light one costs. Servers with thousands of connections are better off otherwise: who has set
/// GRPC_POLL_STRATEGY in the environment has chosen.
///
/// First thing in a program: before threads exist and before anything of gRPC is called.
void set_poll_strategy();

}  // namespace heelstrike::rpc
