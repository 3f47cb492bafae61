/// Pauses between attempts at something whose connection was lost.
#pragma once

#include <chrono>
#include <stop_token>

namespace heelstrike::rpc {

/// 20 ms, 40 ms, ... up to 1 s: a connection that was cut is back at once, a server that restarts is not hammered.
class Backoff {
 public:
  /// @param patience  from the first loss on; 0 = nothing is repeated
  Backoff(std::chrono::milliseconds reconnect_timeout, std::stop_token stop) : reconnect_timeout_(reconnect_timeout), stop_(std::move(stop)) {}

  /// Pauses, less when the patience ends before. @returns false when it has ended
  /// @throws Error{cancelled} when stopped
  [[nodiscard]] bool pause();
  /// What is left of the patience.
  [[nodiscard]] std::chrono::milliseconds remaining() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::milliseconds reconnect_timeout_;
  std::stop_token stop_;
  std::chrono::milliseconds next_{20};
  Clock::time_point until_ = Clock::time_point::max();  ///< known after the first loss
};

/// Waits for `time`, or until `stop` is requested. @returns false when stopped
bool wait_unless_stopped(std::chrono::milliseconds time, const std::stop_token& stop);

}  // namespace heelstrike::rpc
