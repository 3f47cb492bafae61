/// A server program that is started anew, at the same address, when it dies.
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

#include "common/process/child_process.hpp"
#include "common/errors/error.hpp"

namespace heelstrike {

/// Deaths after which a server is not started again, when the run has not got any further meanwhile: the fault then is
/// in the run or in the machine, and would come again.
inline constexpr int max_failed_restarts = 5;

/// The program lives in a thread of this object, because the kernel ends it with the thread that started it.
/// Thread-safe.
class SupervisedServer {
 public:
  /// What there is to tell: a death and what follows from it; `last` when it is not started again.
  using OnEvent = std::function<void(const std::string& sentence, bool last)>;

  /// Starts it. @param tell  called from the thread of this object
  SupervisedServer(ChildOptions options, OnEvent tell);
  SupervisedServer(const SupervisedServer&) = delete;
  SupervisedServer& operator=(const SupervisedServer&) = delete;
  ~SupervisedServer();

  /// Waits for the first start; one that is killed before it is ready is started anew, too. @throws Error{file},
  /// Error{unavailable}, Error{deadline} as ChildProcess
  void wait_until_ready();
  /// The run has got further than ever before: what killed the server earlier is behind it.
  void reset_failed_restarts() { n_failed_restarts_ = 0; }
  /// Ends it for good, within `grace` or by force.
  void stop(std::chrono::milliseconds grace);
  /// As stop(), without waiting for it.
  void begin_kill() { begin_stop(std::chrono::milliseconds{0}); }

 private:
  void supervise();
  /// @returns how it ended, or none when it was stopped
  [[nodiscard]] std::optional<std::string> run_until_exit(bool first);
  /// Who waits for the first start hears of it.
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
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::atomic<bool> started_ = false;
  std::exception_ptr failure_;  ///< of the first start
  std::jthread thread_;         ///< last member: joined before the others go
};

}  // namespace heelstrike
