/// Forced exit for work that does not react to a stop.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace heelstrike::rpc {

/// Ends the process, without clean-up, if its time expires before destruction of this object: a factorisation of
/// minutes must not delay a requested stop.
class ExitTimer {
 public:
  /// Runs after arm(). Its thread is created now, because none may be available at a stop.
  /// @param before_exit  called on the timer's thread before the exit
  /// @throws std::system_error without a thread
  explicit ExitTimer(std::function<void()> before_exit);
  /// Runs immediately.
  ExitTimer(std::chrono::milliseconds grace, int exit_code, std::function<void()> before_exit);

  /// Only the first call has an effect. Allocates no memory.
  void arm(std::chrono::milliseconds grace, int exit_code) noexcept;

 private:
  struct End {
    std::chrono::steady_clock::time_point at;
    int exit_code = 0;
  };
  void run(const std::stop_token& ended, const std::function<void()>& before_exit);

  std::mutex mutex_;  ///< guards end_
  std::condition_variable_any armed_;
  std::optional<End> end_;
  std::jthread thread_;  ///< last member: it uses the others
};

}  // namespace heelstrike::rpc
