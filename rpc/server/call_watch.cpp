#include "rpc/server/call_watch.hpp"

namespace heelstrike::rpc {

namespace {

constexpr std::chrono::milliseconds poll_interval{50};

}  // namespace

CallWatch::Call::Call(CallWatch& watch, grpc::ServerContextBase& context, std::chrono::milliseconds stall)
    : watch_(watch), context_(context), stall_(stall), last_progress_(std::chrono::steady_clock::now()) {
  {
    const std::scoped_lock lock(watch_.mutex_);
    watch_.calls_.insert(this);
    if (watch_.stopping_) stop_.request_stop();
  }
  watch_.changed_.notify_all();
}

CallWatch::Call::~Call() {
  const std::scoped_lock lock(watch_.mutex_);
  watch_.calls_.erase(this);
}

void CallWatch::Call::record_progress() {
  const std::scoped_lock lock(watch_.mutex_);
  last_progress_ = std::chrono::steady_clock::now();
}

void CallWatch::Call::record_progress(std::chrono::milliseconds stall) {
  const std::scoped_lock lock(watch_.mutex_);
  stall_ = stall;
  last_progress_ = std::chrono::steady_clock::now();
}

CallWatch::CallWatch() : thread_([this](const std::stop_token& ended) { poll_calls(ended); }) {}

void CallWatch::stop_all() {
  const std::scoped_lock lock(mutex_);
  stopping_ = true;
  for (Call* call : calls_) call->stop_.request_stop();
}

void CallWatch::poll_calls(const std::stop_token& ended) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, ended, [this] { return !calls_.empty(); })) {
    for (Call* call : calls_) poll_locked(*call);
    changed_.wait_for(lock, ended, poll_interval, [] { return false; });
  }
}

void CallWatch::poll_locked(Call& call) {
  if (call.context_.IsCancelled()) call.stop_.request_stop();
  if (call.stall_.count() == 0 || std::chrono::steady_clock::now() - call.last_progress_ < call.stall_) return;
  call.context_.TryCancel();
  call.stop_.request_stop();
}

}  // namespace heelstrike::rpc
