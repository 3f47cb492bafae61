#include "rpc/server/connection_acceptor.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace heelstrike::rpc {

namespace {

constexpr int max_poll_ms = 1'000;                           // longest interval between iterations of a live loop
constexpr std::chrono::seconds log_distance{10};             // limits log lines for many connections
constexpr std::chrono::milliseconds accept_retry_delay{50};  // if the system has no memory or descriptors

int open_reserve_descriptor() {
  return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/// Zero if the descriptor is no longer a socket.
ino_t socket_number(int descriptor) {
  struct stat info {};
  return ::fstat(descriptor, &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
}

}  // namespace

ConnectionAcceptor::ConnectionAcceptor(std::vector<int> listeners, std::size_t max_connections)
    : listeners_(std::move(listeners)),
      max_connections_(max_connections),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      reserve_descriptor_(open_reserve_descriptor()),
      last_iteration_(Clock::now().time_since_epoch().count()) {
  const std::size_t limit = raise_descriptor_limit();
  max_descriptor_ = static_cast<int>(std::min<std::size_t>(limit - reserved_descriptors(limit), INT32_MAX));
}

ConnectionAcceptor::~ConnectionAcceptor() {
  stop();
  if (wake_ >= 0) ::close(wake_);
  if (reserve_descriptor_ >= 0) ::close(reserve_descriptor_);
}

void ConnectionAcceptor::start(OnConnection on_connection) {
  on_connection_ = std::move(on_connection);
  record_iteration();
  thread_ = std::thread([this] { serve(); });
}

void ConnectionAcceptor::stop() {
  stopping_ = true;
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof(one));
  if (thread_.joinable()) thread_.join();
  for (const int listener : std::exchange(listeners_, {})) ::close(listener);
}

bool ConnectionAcceptor::is_operational(std::chrono::milliseconds timeout) const {
  const Clock::time_point last(Clock::duration(last_iteration_.load()));
  return !failed_ && Clock::now() - last < timeout;
}

void ConnectionAcceptor::serve() {
  std::vector<pollfd> waiting;
  for (const int listener : listeners_) waiting.push_back({listener, POLLIN, 0});
  waiting.push_back({wake_, POLLIN, 0});
  while (!stopping_) {
    record_iteration();
    if (::poll(waiting.data(), waiting.size(), max_poll_ms) <= 0) continue;
    for (std::size_t i = 0; i + 1 < waiting.size(); ++i) {
      if (waiting[i].revents == 0 || accept_connection(waiting[i].fd)) continue;
      failed_ = true;
      return;
    }
  }
}

bool ConnectionAcceptor::accept_connection(int listener) {
  const int connection = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (connection < 0) return recover_from(listener, errno);
  if (!is_below_limit(connection)) {
    ::close(connection);
    return true;
  }
  const int on = 1;
  ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // fails for a Unix socket, which does not need
                                                                        // it
  open_connections_[connection] = socket_number(connection);
  on_connection_(listener, connection);
  return true;
}

bool ConnectionAcceptor::recover_from(int listener, int failure) {
  switch (failure) {
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
    case EOPNOTSUPP:
    case EFAULT:
      spdlog::error("event=listener_lost message=\"{}\"", std::generic_category().message(failure));
      return false;
    case EMFILE: {
      // Without descriptors the connection is accepted by the reserve descriptor and closed, so that its client does
      // not wait.
      if (reserve_descriptor_ >= 0) ::close(reserve_descriptor_);
      const int connection = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection >= 0) ::close(connection);
      reserve_descriptor_ = open_reserve_descriptor();
      note_rejection("no descriptor is left");
      return true;
    }
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: {
      note_rejection("the system has no descriptor or memory left");
      pollfd waiting{wake_, POLLIN, 0};
      (void)::poll(&waiting, 1, static_cast<int>(accept_retry_delay.count()));
      return true;
    }
    default:
      return true;  // the connection ended before it was accepted, or had a network error
  }
}

bool ConnectionAcceptor::is_below_limit(int connection) {
  if (connection >= max_descriptor_) {
    note_rejection("the remaining descriptors are reserved for runs and sessions; raise the limit of open files");
    return false;
  }
  if (open_connections_.size() >= max_connections_) {
    // gRPC does not report closed connections; they are detected by a descriptor that is free or belongs to another
    // socket.
    std::erase_if(open_connections_, [](const auto& entry) { return socket_number(entry.first) != entry.second; });
  }
  if (open_connections_.size() < max_connections_) return true;
  note_rejection("the limit of connections is reached; raise --max-connections");
  return false;
}

void ConnectionAcceptor::note_rejection(const char* why) {
  ++n_rejected_;
  const auto now = Clock::now();
  if (now - last_line_ < log_distance) return;
  spdlog::warn("event=connections_refused n={} reason=\"{}\"", std::exchange(n_rejected_, 0), why);
  last_line_ = now;
}

std::size_t raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;  // the default of Linux
  const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return static_cast<std::size_t>(limit.rlim_cur);
}

std::size_t reserved_descriptors(std::size_t limit) {
  // A run needs at most four (its file, a reader, its connection, temporary files of libraries), so that 256 suffice
  // for more runs than a server accepts by default.
  return std::clamp<std::size_t>(limit / 4, 16, 256);
}

}  // namespace heelstrike::rpc
