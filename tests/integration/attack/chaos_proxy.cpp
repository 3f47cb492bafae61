#include "tests/integration/attack/chaos_proxy.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/support/loopback.hpp"

namespace heelstrike::testing_support {

namespace {

void close_with(int socket, bool reset) {
  if (reset) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }
  ::close(socket);
}

}  // namespace

ChaosProxy::ChaosProxy(const std::string& target)
    : target_port_(std::stoi(target.substr(target.rfind(':') + 1))), wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  listen();
  thread_ = std::thread([this] { serve(); });
}

ChaosProxy::~ChaosProxy() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  ::eventfd_write(wake_, 1);
  thread_.join();
  cut_all(Cut::end);
  for (const int socket : left_) ::close(socket);
  if (listener_ >= 0) ::close(listener_);
  ::close(wake_);
}

void ChaosProxy::listen() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address = loopback(port_);
  socklen_t length = sizeof(address);
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), length) != 0 || ::listen(listener_, 64) != 0) {
    throw std::runtime_error("the proxy cannot listen");
  }
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
}

void ChaosProxy::cut(Cut kind, std::uint64_t bytes, std::chrono::milliseconds time) {
  {
    const std::scoped_lock lock(mutex_);
    order_ = Order{kind, bytes, time};
  }
  ::eventfd_write(wake_, 1);
}

void ChaosProxy::disturb(std::chrono::milliseconds delay, bool duplicate) {
  const std::scoped_lock lock(mutex_);
  delay_ = delay;
  duplicate_ = duplicate;
}

void ChaosProxy::damage(bool from_server, std::uint64_t bytes, int bit) {
  const std::scoped_lock lock(mutex_);
  damage_ = Damage{from_server, bytes, bit};
}

int ChaosProxy::n_damages() const {
  const std::scoped_lock lock(mutex_);
  return n_damages_;
}

void ChaosProxy::damage_locked(bool from_server, char* bytes, std::size_t n) {
  if (!damage_ || damage_->from_server != from_server) return;
  if (damage_->bytes >= n) {
    damage_->bytes -= n;
    return;
  }
  bytes[damage_->bytes] = static_cast<char>(bytes[damage_->bytes] ^ (1 << damage_->bit));
  damage_.reset();
  ++n_damages_;
}

int ChaosProxy::n_duplicates() const {
  const std::scoped_lock lock(mutex_);
  return n_duplicates_;
}

int ChaosProxy::n_cuts() const {
  const std::scoped_lock lock(mutex_);
  return n_cuts_;
}

void ChaosProxy::cut_all(Cut kind) {
  for (const Relay& relay : std::exchange(relays_, {})) {
    if (relay.shadow >= 0) ::close(relay.shadow);
    if (kind == Cut::server_only) {
      left_.push_back(relay.client);
    } else {
      close_with(relay.client, kind == Cut::reset_client || kind == Cut::reset_both);
    }
    if (kind == Cut::client_only) {
      left_.push_back(relay.server);
    } else {
      close_with(relay.server, kind == Cut::reset_server || kind == Cut::reset_both);
    }
  }
  constexpr std::size_t max_left = 20;
  for (; left_.size() > max_left; left_.pop_front()) ::close(left_.front());
}

void ChaosProxy::carry_out_orders() {
  const std::scoped_lock lock(mutex_);
  if (order_ && order_->bytes == 0) {
    if (!relays_.empty()) ++n_cuts_;
    const auto until = std::chrono::steady_clock::now() + order_->time;
    if (order_->kind == Cut::pause) {
      paused_until_ = until;
    } else {
      cut_all(order_->kind);
      reject_until_ = until;
    }
    order_.reset();
  }
  const bool refusing = std::chrono::steady_clock::now() < reject_until_;
  if (refusing && listener_ >= 0) ::close(std::exchange(listener_, -1));
  if (!refusing && listener_ < 0) listen();
}

int ChaosProxy::connect_to_server() const {
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in target = loopback(target_port_);
  if (::connect(server, reinterpret_cast<const sockaddr*>(&target), sizeof(target)) != 0) {
    ::close(server);
    return -1;
  }
  const int on = 1;
  ::setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return server;
}

void ChaosProxy::accept_connection() {
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  const int server = connect_to_server();
  if (server < 0) {
    ::close(client);
    return;
  }
  const int on = 1;
  ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  Relay relay{.client = client, .server = server};
  const std::scoped_lock lock(mutex_);
  if (duplicate_) relay.shadow = connect_to_server();
  if (relay.shadow >= 0) ++n_duplicates_;
  relays_.push_back(relay);
}

void ChaosProxy::close_all(const Relay& relay) {
  for (const int socket : {relay.client, relay.server, relay.shadow}) {
    if (socket >= 0) ::close(socket);
  }
}

bool ChaosProxy::pass_on(const Relay& relay, bool from_server) {
  const int from = from_server ? relay.server : relay.client;
  const int to = from_server ? relay.client : relay.server;
  char buffer[4096];
  std::size_t most = sizeof(buffer);
  {
    const std::scoped_lock lock(mutex_);
    if (from_server && order_) most = std::min<std::size_t>(most, order_->bytes);
  }
  if (most == 0) return true;  // an order that has just been given
  const ssize_t n = ::read(from, buffer, most);
  if (n > 0) {
    const std::scoped_lock lock(mutex_);
    damage_locked(from_server, buffer, static_cast<std::size_t>(n));
  }
  if (n > 0 && !from_server && relay.shadow >= 0) {
    (void)!::send(relay.shadow, buffer, static_cast<std::size_t>(n), MSG_NOSIGNAL | MSG_DONTWAIT);
    char unheard[4096];
    while (::recv(relay.shadow, unheard, sizeof(unheard), MSG_DONTWAIT) > 0) {
    }
  }
  if (n > 0 && from_server) {
    std::chrono::milliseconds delay;
    {
      const std::scoped_lock lock(mutex_);
      delay = delay_;
    }
    ::poll(nullptr, 0, static_cast<int>(delay.count()));
  }
  if (n <= 0 || ::send(to, buffer, static_cast<std::size_t>(n), MSG_NOSIGNAL) != n) return false;
  const std::scoped_lock lock(mutex_);
  if (from_server && order_) order_->bytes -= std::min<std::uint64_t>(order_->bytes, static_cast<std::uint64_t>(n));
  return true;
}

void ChaosProxy::serve_relays() {
  std::vector<pollfd> waiting = {{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
  const bool paused = std::chrono::steady_clock::now() < paused_until_;
  for (const Relay& relay : relays_) {
    // poll ignores a negative descriptor.
    waiting.push_back({paused ? -1 : relay.client, POLLIN, 0});
    waiting.push_back({paused ? -1 : relay.server, POLLIN, 0});
  }
  ::poll(waiting.data(), waiting.size(), 10);
  eventfd_t ignored = 0;
  if (waiting[0].revents != 0) ::eventfd_read(wake_, &ignored);
  std::size_t i = 2;
  for (auto it = relays_.begin(); it != relays_.end(); i += 2) {
    const bool alive =
        (waiting[i].revents == 0 || pass_on(*it, false)) && (waiting[i + 1].revents == 0 || pass_on(*it, true));
    if (!alive) close_all(*it);
    it = alive ? std::next(it) : relays_.erase(it);
  }
  if (waiting[1].revents != 0) accept_connection();
}

void ChaosProxy::serve() {
  while (true) {
    {
      const std::scoped_lock lock(mutex_);
      if (stopping_) return;
    }
    carry_out_orders();
    serve_relays();
  }
}

}  // namespace heelstrike::testing_support
