/// Watchdog of unbounded waits for a reply.
///
/// The pings of a connection show that the other end exists, not that it has received the request: without TLS a
/// corrupted length of a message makes an end wait for bytes that are never sent.
#pragma once

#include <grpcpp/client_context.h>

#include <chrono>
#include <functional>
#include <thread>

namespace heelstrike::rpc {

struct ReplyWatchdog {
  std::chrono::milliseconds period{0};  ///< 0 = the peer is not queried
  /// Called periodically, from any thread. False = the peer does not process the request: the connection counts as
  /// lost.
  std::function<bool()> is_peer_active{};
};

/// Cancels a call that the peer does not process.
class WatchdogThread {
 public:
  /// @param reply_watchdog  must outlive this object
  WatchdogThread(const ReplyWatchdog& reply_watchdog, grpc::ClientContext& context);

 private:
  std::jthread thread_;  ///< ends at once on request
};

}  // namespace heelstrike::rpc
