#include "fem_server/geometry/helper_process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <vector>

#include "common/errors/error.hpp"
#include "common/process/process.hpp"

namespace heelstrike::fem {

namespace {

Process start(const std::string& path, int child_end) {
  try {
    return Process(
        {.program = path,
         .descriptors = {{.parent = child_end, .child = STDIN_FILENO}, {.parent = child_end, .child = STDOUT_FILENO}}});
  } catch (const std::system_error& e) {
    throw file_error(path, fmt::format("the mesher {} cannot be started: {}; build it with `scripts/build "
                                       "heelstrike-mesher`, or set HEELSTRIKE_MESHER to its path",
                                       path, e.what()));
  }
}

class Exchange {
 public:
  Exchange(int fd, const std::string& request, std::uint64_t max_reply_bytes)
      : fd_(fd), request_(request), max_reply_bytes_(max_reply_bytes), buffer_(1U << 20U) {}

  /// Waits at most 50 ms for events. @return false when the reply is complete
  bool step() {
    pollfd entry{fd_, static_cast<short>(sent_ < request_.size() ? POLLIN | POLLOUT : POLLIN), 0};
    if (::poll(&entry, 1, 50) <= 0) return true;
    if ((entry.revents & POLLOUT) != 0) send();
    if ((entry.revents & (POLLIN | POLLHUP | POLLERR)) != 0) return receive();
    return true;
  }
  std::string take() { return std::move(reply_); }

 private:
  void send() {
    // MSG_NOSIGNAL: a terminated helper must not kill the server by SIGPIPE.
    const ssize_t n = ::send(fd_, request_.data() + sent_, request_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent_ += static_cast<std::size_t>(n);
    if (n < 0 && errno != EAGAIN && errno != EINTR) sent_ = request_.size();
    if (sent_ == request_.size()) ::shutdown(fd_, SHUT_WR);
  }
  bool receive() {
    const ssize_t n = ::recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    reply_.append(buffer_.data(), static_cast<std::size_t>(n));
    if (reply_.size() > max_reply_bytes_) {
      throw limit_error("mesh", fmt::format("the reply of the mesher exceeds the limit of {} bytes; use a larger size",
                                            max_reply_bytes_));
    }
    return n > 0;
  }

  int fd_;
  const std::string& request_;
  std::uint64_t max_reply_bytes_;
  std::vector<char> buffer_;
  std::size_t sent_ = 0;
  std::string reply_;
};

}  // namespace

std::string run_helper(const std::string& path, const std::string& request, double timeout,
                       std::uint64_t max_reply_bytes, const std::stop_token& stop,
                       const std::function<void()>& on_wait) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw unavailable_error(fmt::format("cannot open a channel to {}: {}", path, std::strerror(errno)));
  }
  const Descriptor own(ends[0]);
  Descriptor its(ends[1]);
  Process helper = start(path, its.get());
  its.close();
  Exchange exchange(own.get(), request, max_reply_bytes);
  const auto begin = std::chrono::steady_clock::now();
  while (exchange.step()) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "meshing was cancelled");
    if (on_wait) on_wait();
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > timeout) {
      throw Error(
          ErrorCode::deadline,
          fmt::format("meshing took longer than {} s; use a larger size, or a longer time limit (max_meshing_time "
                      "in a scenario, --time-limit of heelstrike mesh)",
                      timeout));
    }
  }
  const ProcessEnd end = helper.wait();
  if (!end.success()) {
    throw Error(ErrorCode::solver_failed, fmt::format("the helper {} ended with {}", path, end.text()));
  }
  return exchange.take();
}

}  // namespace heelstrike::fem
