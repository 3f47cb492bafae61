#include "rpc/silence.hpp"

#include <condition_variable>
#include <mutex>

namespace heelstrike::rpc {

WatchdogThread::WatchdogThread(const ReplyWatchdog& reply_watchdog, grpc::ClientContext& context) {
  if (reply_watchdog.period.count() == 0) return;
  thread_ = std::jthread([&reply_watchdog, &context](const std::stop_token& ended) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, ended, reply_watchdog.period, [&ended] { return ended.stop_requested(); })) {
      if (reply_watchdog.is_peer_active()) continue;
      context.TryCancel();
      return;
    }
  });
}

}  // namespace heelstrike::rpc
