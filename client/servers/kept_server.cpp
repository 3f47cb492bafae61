#include "client/servers/kept_server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "common/errors/error.hpp"
#include "common/rpc/backoff.hpp"

namespace heelstrike::client {
namespace {

constexpr std::chrono::seconds start_deadline{20};  // a loaded machine may need seconds to load the libraries

}  // namespace

KeptServer::KeptServer(ChildOptions options, Tell tell)
    : options_(std::move(options)), tell_(std::move(tell)), wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  thread_ = std::jthread([this] { keep(); });
}

KeptServer::~KeptServer() {
  begin_stop(grace_);
}

void KeptServer::wait_until_ready() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return started_ || failure_; });
  if (failure_) std::rethrow_exception(failure_);
}

void KeptServer::begin_stop(std::chrono::milliseconds grace) {
  grace_ = grace;
  stopping_ = true;
  stop_.request_stop();
  ::eventfd_write(wake_.get(), 1);
}

void KeptServer::stop(std::chrono::milliseconds grace) {
  begin_stop(grace);
  if (thread_.joinable()) thread_.join();
}

bool KeptServer::wait_for_end_or_stop(const ChildProcess& child) const {
  std::array<pollfd, 2> waiting{pollfd{child.descriptor(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0}};
  while (::poll(waiting.data(), waiting.size(), -1) < 0 && errno == EINTR) {
  }
  return waiting[0].revents != 0;
}

std::optional<std::string> KeptServer::live_once(bool first) {
  try {
    ChildProcess child(options_);
    child.wait_until_ready(start_deadline);
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
    if (!first) return fmt::format("could not be started anew ({})", error.what());
    const std::scoped_lock lock(mutex_);
    failure_ = std::current_exception();
    changed_.notify_all();
    return std::nullopt;
  }
}

void KeptServer::keep() {
  const std::stop_token stop = stop_.get_token();
  for (bool first = true;; first = false) {
    const auto death = live_once(first);
    if (!death || stopping_) return;
    const int n = ++n_vain_;
    if (n > most_vain_deaths) {
      tell_(fmt::format("the {} {}; it has died {} times without the run getting any further and is not started again",
                        options_.name, *death, n),
            true);
      return;
    }
    tell_(fmt::format("the {} {}; it is started anew", options_.name, *death), false);
    // The first time at once: what has died by chance is back before anybody waits.
    const std::chrono::milliseconds pause{n == 1 ? 0 : 50 << n};
    if (!rpc::wait_unless_stopped(pause, stop)) return;
  }
}

}  // namespace heelstrike::client
