/// An end for work that does not hear a stop.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace heelstrike::rpc {

/// Ends the process, without any clean-up, should its time pass before this object goes: a factorisation that computes
/// for minutes cannot keep a program that was asked to stop.
class ExitTimer {
 public:
  /// Runs when it is armed. Its thread is there from now on: at a stop there may be none to be had.
  /// @param before_exit  called on the timer's thread right before the end
  /// @throws std::system_error without a thread
  explicit ExitTimer(std::function<void()> before_exit);
  /// Runs from now on.
  ExitTimer(std::chrono::milliseconds grace, int exit_code, std::function<void()> before_exit);

  /// The first call counts. Needs no memory.
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
