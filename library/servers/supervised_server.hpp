/// A server program that is restarted at the same address when it fails.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "common/errors/error.hpp"
#include "common/process/process.hpp"

namespace heelstrike {

/// Restarts without progress of the run after which a server is not restarted: the cause is then in the run or in the
/// machine, and would recur.
inline constexpr int max_failed_restarts = 5;

/// A thread of this object starts and owns the process, because the kernel ends the process with the thread that
/// started it.
/// Thread-safe.
class SupervisedServer {
 public:
  /// Reports a failure and its consequence; `last` when the server is not restarted.
  using OnEvent = std::function<void(const std::string& message, bool last)>;

  /// Starts the server. @param on_event  called from the thread of this object
  SupervisedServer(ChildOptions options, OnEvent on_event);
  SupervisedServer(const SupervisedServer&) = delete;
  SupervisedServer& operator=(const SupervisedServer&) = delete;
  ~SupervisedServer();

  /// Waits for the first start; a process that is killed before it is ready is also restarted. @throws Error{file},
  /// Error{unavailable}, Error{deadline} as ChildProcess
  void wait_until_ready();
  /// The run has passed its earlier largest time: earlier failures no longer count.
  void reset_failed_restarts() { n_failed_restarts_ = 0; }
  /// Ends the server permanently, within `grace` or by force.
  void stop(std::chrono::milliseconds grace);
  /// As stop(), without waiting.
  void begin_kill() { begin_stop(std::chrono::milliseconds{0}); }

 private:
  void supervise();
  /// @returns the kind of end, or none when it was stopped
  [[nodiscard]] std::optional<std::string> run_until_exit(bool first);
  /// Passes a failed first start to wait_until_ready().
  void set_start_failure(const Error& error);
  [[nodiscard]] bool wait_for_end_or_stop(const ChildProcess& child) const;
  void begin_stop(std::chrono::milliseconds grace);

  const ChildOptions options_;
  const OnEvent on_event_;
  std::atomic<int> n_failed_restarts_{0};
  std::atomic<bool> stopping_{false};
  std::stop_source stop_;
  std::atomic<std::chrono::milliseconds> grace_{std::chrono::seconds{5}};
  Descriptor wake_;   ///< an eventfd: readable when stopping
  std::mutex mutex_;  ///< guards the members below
  std::condition_variable changed_;
  std::atomic<bool> started_ = false;
  std::exception_ptr failure_;  ///< of the first start
  std::jthread thread_;         ///< last member: joined before the others are destroyed
};

}  // namespace heelstrike
