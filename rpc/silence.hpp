/// What a client does while a reply to wait for without bound does not come.
///
/// The pings of a connection show that the other end is there, not that it has received the request: without TLS a
/// changed byte in the length of a message makes either end wait for bytes that nobody sends.
#pragma once

#include <grpcpp/client_context.h>

#include <chrono>
#include <functional>
#include <thread>

namespace heelstrike::rpc {

struct ReplyWatchdog {
  std::chrono::milliseconds period{0};  ///< 0 = the peer is not asked
  /// Asked from time to time, from any thread. False = the peer does not work on the request: it counts as lost.
  std::function<bool()> is_peer_active{};
};

/// Cancels a call that the peer does not work on.
class WatchdogThread {
 public:
  /// @param silence  outlives the watch
  WatchdogThread(const ReplyWatchdog& reply_watchdog, grpc::ClientContext& context);

 private:
  std::jthread thread_;  ///< ends at once when it is told to
};

}  // namespace heelstrike::rpc
