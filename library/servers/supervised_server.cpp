#include "library/servers/supervised_server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "common/errors/error.hpp"
#include "rpc/call.hpp"

namespace heelstrike {
namespace {

constexpr std::chrono::seconds start_deadline{20};  // a loaded machine may need seconds to load the libraries

}  // namespace

SupervisedServer::SupervisedServer(ChildOptions options, OnEvent on_event)
    : options_(std::move(options)), on_event_(std::move(on_event)), wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  thread_ = std::jthread([this] {
    supervise();
    set_start_failure(
        Error(ErrorCode::cancelled, fmt::format("the {} was stopped before it was ready", options_.name)));
  });
}

SupervisedServer::~SupervisedServer() {
  begin_stop(grace_);
}

void SupervisedServer::wait_until_ready() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return started_ || failure_; });
  if (failure_) std::rethrow_exception(failure_);
}

void SupervisedServer::begin_stop(std::chrono::milliseconds grace) {
  grace_ = grace;
  stopping_ = true;
  stop_.request_stop();
  ::eventfd_write(wake_.get(), 1);
}

void SupervisedServer::stop(std::chrono::milliseconds grace) {
  begin_stop(grace);
  if (thread_.joinable()) thread_.join();
}

bool SupervisedServer::wait_for_end_or_stop(const ChildProcess& child) const {
  std::array<pollfd, 2> waiting{pollfd{child.descriptor(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0}};
  while (::poll(waiting.data(), waiting.size(), -1) < 0 && errno == EINTR) {
  }
  return waiting[0].revents != 0;
}

std::optional<std::string> SupervisedServer::run_until_exit(bool first) {
  std::optional<ProcessEnd> early_end;
  try {
    ChildProcess child(options_);
    try {
      child.wait_until_ready(start_deadline);
    } catch (const Error&) {
      early_end = child.ended();
      throw;
    }
    if (first) {
      const std::scoped_lock lock(mutex_);
      started_ = true;
      changed_.notify_all();
    }
    const bool died = wait_for_end_or_stop(child);
    if (died && !stopping_) return "ended with " + child.ended(std::chrono::seconds{1})->text();
    child.stop(grace_);
    return std::nullopt;
  } catch (const Error& error) {
    if (!first) return fmt::format("could not be restarted ({})", error.what());
    // A killed process may succeed at the next start; one that rejected its options would reject them again.
    if (early_end && early_end->by_signal && !stopping_) return fmt::format("ended with {}", early_end->text());
    set_start_failure(error);
    return std::nullopt;
  }
}

void SupervisedServer::set_start_failure(const Error& error) {
  const std::scoped_lock lock(mutex_);
  if (!started_ && !failure_) failure_ = std::make_exception_ptr(error);
  changed_.notify_all();
}

void SupervisedServer::supervise() {
  const std::stop_token stop = stop_.get_token();
  for (;;) {
    const auto end = run_until_exit(!started_);
    if (!end || stopping_) return;
    const int n = ++n_failed_restarts_;
    if (n > max_failed_restarts) {
      on_event_(fmt::format("the {} {}; it failed {} times without progress of the run and is not restarted",
                            options_.name, *end, n),
                true);
      set_start_failure(
          unavailable_error(fmt::format("the {} {} {} times before it was ready", options_.name, *end, n)));
      return;
    }
    on_event_(fmt::format("the {} {}; it is restarted", options_.name, *end), false);
    // The first restart has no delay, because a single failure is likely to be accidental.
    const std::chrono::milliseconds pause{n == 1 ? 0 : 50 << n};
    if (!rpc::wait_unless_stopped(pause, stop)) return;
  }
}

}  // namespace heelstrike
