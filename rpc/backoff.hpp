/// Pauses between reconnection attempts.
#pragma once

#include <chrono>
#include <stop_token>

namespace heelstrike::rpc {

/// 20 ms, 40 ms, ... up to 1 s: fast after an interrupted connection, without load on a restarting server.
class Backoff {
 public:
  /// @param reconnect_timeout  from the first loss; 0 = no retry
  Backoff(std::chrono::milliseconds reconnect_timeout, std::stop_token stop)
      : reconnect_timeout_(reconnect_timeout), stop_(std::move(stop)) {}

  /// Pauses, at most until the timeout. @returns false after the timeout @throws Error{cancelled} if stopped
  [[nodiscard]] bool pause();
  /// Remaining time.
  [[nodiscard]] std::chrono::milliseconds remaining() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::milliseconds reconnect_timeout_;
  std::stop_token stop_;
  std::chrono::milliseconds next_{20};
  Clock::time_point until_ = Clock::time_point::max();  ///< known after the first loss
};

/// Waits for `time`, or until `stop` is requested. @returns false if stopped
bool wait_unless_stopped(std::chrono::milliseconds time, const std::stop_token& stop);

}  // namespace heelstrike::rpc
