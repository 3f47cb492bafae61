#include "rpc/backoff.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "common/errors/error.hpp"

namespace heelstrike::rpc {

namespace {

constexpr std::chrono::milliseconds max_pause{1'000};

}  // namespace

bool wait_unless_stopped(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wakeup;
  std::unique_lock lock(mutex);
  (void)wakeup.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

bool Backoff::pause() {
  const auto now = Clock::now();
  if (until_ == Clock::time_point::max()) until_ = now + reconnect_timeout_;
  if (now >= until_) return false;
  if (!wait_unless_stopped(std::min(next_, remaining()), stop_)) {
    throw Error(ErrorCode::cancelled, "stopped on request while waiting for a lost connection");
  }
  next_ = std::min(2 * next_, max_pause);
  return true;
}

std::chrono::milliseconds Backoff::remaining() const {
  if (until_ == Clock::time_point::max()) return reconnect_timeout_;
  return std::max(std::chrono::milliseconds{0}, std::chrono::ceil<std::chrono::milliseconds>(until_ - Clock::now()));
}

}  // namespace heelstrike::rpc
