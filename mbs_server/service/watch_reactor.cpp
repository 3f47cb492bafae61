#include "mbs_server/service/watch_reactor.hpp"

#include <fmt/format.h>
#include <grpcpp/server_context.h>

#include <cmath>
#include <system_error>
#include <utility>

#include "rpc/wire/checksum.hpp"
#include "rpc/wire/error_wire.hpp"

namespace heelstrike::mbs {
namespace {

constexpr double max_poll_interval = 60.0;  // [s] a watcher without messages for longer counts as ended

WatchRate pace_of(const v1::WatchRunRequest& request) {
  if (!request.has_thinning()) return {};
  const v1::Thinning& thinning = request.thinning();
  const double interval = thinning.update_interval();
  if (!(interval >= 0.0 && interval <= max_poll_interval) || thinning.max_rows() == 0) {
    throw input_error(
        "thinning",
        fmt::format(
            "expected thinning with update_interval from 0 to {} s and max_rows of at least 1, found {} s and {}",
            max_poll_interval, interval, thinning.max_rows()));
  }
  return {.distance = std::chrono::milliseconds(std::llround(1e3 * interval)), .max_rows = thinning.max_rows()};
}

/// A restarted server may have fewer events than a watcher of an active run (RunLog::resume).
void check_start(const RunLog& log, const v1::WatchRunRequest& request) {
  const std::uint64_t last = log.last_sequence();
  if (!log.closed() || request.after_sequence() <= last) return;
  throw input_error("after_sequence",
                    fmt::format("after_sequence: expected at most {}, the number of the last event of "
                                "run '{}', which has ended, found {}",
                                last, request.run_id(), request.after_sequence()));
}

}  // namespace

WatchReactor::WatchReactor(grpc::CallbackServerContext& context, std::shared_ptr<RunLog> log,
                           const v1::WatchRunRequest& request, WatcherSlot place)
    : context_(&context),
      log_(std::move(log)),
      after_(request.after_sequence()),
      place_(std::move(place)),
      reader_(log_, after_, pace_of(request)) {
  check_start(*log_, request);
  // Members are passed between threads under this lock: gRPC also orders these calls, but a thread sanitizer cannot see
  // its locks.
  const std::scoped_lock lock(mutex_);
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error& failure) {
    throw limit_error("max_watchers", fmt::format("run '{}' cannot be watched now, no thread is available: "
                                                  "{}; try again later",
                                                  request.run_id(), failure.what()));
  }
}

bool WatchReactor::send() {
  {
    const std::scoped_lock lock(mutex_);
    writing_ = true;
  }
  wire::set_message_checksum(event_);
  StartWrite(&event_);  // outside the lock: gRPC may call back from within
  std::unique_lock lock(mutex_);
  written_.wait(lock, [this] { return !writing_; });
  return !cancelled_;
}

void WatchReactor::serve() {
  grpc::Status status;
  try {
    bool last_event_sent = false;
    while (!last_event_sent && reader_.next(event_, [this] { return cancelled_.load(); })) {
      last_event_sent = event_.has_finished();
      if (!send()) break;
    }
    if (!last_event_sent && !cancelled_ && !is_finished()) {
      // No wait: the run is no longer computed.
      status = wire::to_status(Error(ErrorCode::unavailable,
                                     "the run was interrupted: its multibody server ended before the run; only "
                                     "the events written before are available"),
                               *context_);
    }
  } catch (const Error& error) {
    status = wire::to_status(error, *context_);
  } catch (const std::exception& defect) {
    status = wire::to_status(Error(ErrorCode::internal, std::string("WatchRun failed: ") + defect.what()), *context_);
  }
  { const std::scoped_lock lock(mutex_); }
  Finish(status);  // OnDone may run from here on: this object must not be used
}

void WatchReactor::OnWriteDone(bool ok) {
  const std::scoped_lock lock(mutex_);
  if (!ok) cancelled_ = true;
  writing_ = false;
  written_.notify_all();
}

void WatchReactor::OnCancel() {
  const std::scoped_lock lock(mutex_);
  cancelled_ = true;
  log_->wake();
}

void WatchReactor::OnDone() {
  { const std::scoped_lock lock(mutex_); }
  place_.own.reset();
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
  delete this;
}

}  // namespace heelstrike::mbs
