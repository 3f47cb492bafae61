#include "rpc/silence.hpp"

#include <condition_variable>
#include <mutex>

namespace heelstrike::rpc {

SilenceWatch::SilenceWatch(const Silence& silence, grpc::ClientContext& context) {
  if (silence.period.count() == 0) return;
  thread_ = std::jthread([&silence, &context](const std::stop_token& ended) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, ended, silence.period, [&ended] { return ended.stop_requested(); })) {
      if (silence.peer_works()) continue;
      context.TryCancel();
      return;
    }
  });
}

}  // namespace heelstrike::rpc
