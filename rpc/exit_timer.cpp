#include "rpc/exit_timer.hpp"

#include <unistd.h>

#include <utility>

namespace heelstrike::rpc {

ExitTimer::ExitTimer(std::function<void()> before_exit)
    : thread_([this, callback = std::move(before_exit)](const std::stop_token& ended) { run(ended, callback); }) {}

ExitTimer::ExitTimer(std::chrono::milliseconds grace, int exit_code, std::function<void()> before_exit)
    : ExitTimer(std::move(before_exit)) {
  arm(grace, exit_code);
}

void ExitTimer::arm(std::chrono::milliseconds grace, int exit_code) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (end_) return;
    end_ = End{.at = std::chrono::steady_clock::now() + grace, .exit_code = exit_code};
  }
  armed_.notify_all();
}

void ExitTimer::run(const std::stop_token& ended, const std::function<void()>& before_exit) {
  std::unique_lock lock(mutex_);
  if (!armed_.wait(lock, ended, [this] { return end_.has_value(); })) return;
  (void)armed_.wait_until(lock, ended, end_->at, [] { return false; });
  if (ended.stop_requested()) return;
  try {
    before_exit();
  } catch (...) {  // skipped without memory
  }
  ::_exit(end_->exit_code);
}

}  // namespace heelstrike::rpc
