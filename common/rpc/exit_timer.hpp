/// An end for work that does not hear a stop.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace heelstrike::rpc {

/// Ends the process, without any clean-up, should `grace` pass before this object goes: a factorisation that computes
/// for minutes cannot keep a program that was asked to stop.
class ExitTimer {
 public:
  /// @param last_words  called on the timer's thread right before the end
  ExitTimer(std::chrono::milliseconds grace, int exit_code, std::function<void()> last_words);

 private:
  std::jthread thread_;
};

}  // namespace heelstrike::rpc
