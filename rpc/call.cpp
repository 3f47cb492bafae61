#include "rpc/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "common/process/version.hpp"
#include "rpc/wire/error_wire.hpp"

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

WatchdogThread::WatchdogThread(const ReplyWatchdog& reply_watchdog, grpc::ClientContext& context) {
  if (reply_watchdog.period.count() == 0) return;
  thread_ = std::jthread([&reply_watchdog, &context](const std::stop_token& ended) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, ended, reply_watchdog.period, [&ended] { return ended.stop_requested(); })) {
      if (reply_watchdog.is_peer_active()) continue;
      context.TryCancel();
      return;
    }
  });
}

bool is_connection_lost(const grpc::Status& status, const grpc::ClientContext& context) {
  if (context.GetServerTrailingMetadata().contains(wire::error_metadata_key)) {
    const Error error = wire::from_status(status, context, "");
    return error.code() == ErrorCode::unavailable && error.field() == wire::checksum_field;
  }
  // These codes also indicate messages that are too large or unreadable, for which a retry does not help.
  const std::string& text = status.error_message();
  const auto says = [&text](const char* words) { return text.find(words) != std::string::npos; };
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::CANCELLED:  // by a stopping server
      return true;
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNKNOWN:
      return says("RST_STREAM") || says("Stream removed");
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return says("Threadpool Exhausted") || says(stream_limit_message);
    default:
      return false;
  }
}

void call(const std::string& what, const CallOptions& options,
          const std::function<grpc::Status(grpc::ClientContext&)>& attempt) {
  const bool stopped_before = options.stop.stop_requested();
  const std::stop_token stop = stopped_before ? std::stop_token() : options.stop;
  Backoff backoff(stopped_before ? std::chrono::milliseconds{0} : options.reconnect_timeout, stop);
  while (true) {
    grpc::ClientContext context;
    if (options.timeout) context.set_deadline(std::chrono::system_clock::now() + *options.timeout);
    const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
    const WatchdogThread watch(options.reply_watchdog, context);
    const grpc::Status status = attempt(context);
    if (status.ok()) return;
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, what + ": stopped on request");
    const bool lost = is_connection_lost(status, context);
    if (lost && backoff.pause()) continue;
    const Error error = wire::from_status(status, context, what);
    if (lost) throw ConnectionLost(error);
    throw_typed(error);
  }
}

void check_version(const v1::VersionInfo& version, const std::string& peer) {
  if (version.contract() == contract_version) return;
  throw Error(
      ErrorCode::version_mismatch,
      fmt::format("{} speaks contract {} (program {}), this program speaks contract {} (program {}); install the "
                  "same version on both sides",
                  peer, version.contract(), version.version(), contract_version, program_version),
      "contract");
}

CallOperations::~CallOperations() {
  queue_.Shutdown();
  void* done = nullptr;
  bool ok = false;
  while (queue_.Next(&done, &ok)) {
  }
}

void* CallOperations::begin(Operation operation) {
  pending_ |= bit(operation);
  return &tags_[static_cast<std::size_t>(operation)];
}

bool CallOperations::next(Deadline deadline) {
  void* done = nullptr;
  bool ok = false;
  const auto state = deadline == Deadline::max() ? (queue_.Next(&done, &ok) ? grpc::CompletionQueue::GOT_EVENT
                                                                            : grpc::CompletionQueue::SHUTDOWN)
                                                 : queue_.AsyncNext(&done, &ok, deadline);
  if (state != grpc::CompletionQueue::GOT_EVENT) return false;
  const unsigned completed = bit(*static_cast<int*>(done));
  pending_ &= ~completed;
  if (!ok) failed_ |= completed;
  return true;
}

bool CallOperations::wait_for(Operation operation, Deadline deadline) {
  const auto until = std::chrono::steady_clock::now() + spin_time;
  while (pending(operation) && std::chrono::steady_clock::now() < until) {
    if (!next(Deadline{})) std::this_thread::yield();
  }
  while (pending(operation)) {
    if (!next(deadline)) return false;
  }
  return true;
}

void CallOperations::poll() {
  while (any_pending() && next(Deadline{})) {
  }
}

bool CallOperations::drain(Deadline deadline) {
  while (any_pending()) {
    if (!next(deadline)) return false;
  }
  return true;
}

}  // namespace heelstrike::rpc
