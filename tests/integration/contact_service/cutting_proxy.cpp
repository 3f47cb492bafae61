#include "cutting_proxy.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "tests/support/loopback.hpp"

namespace heelstrike::testing_support {

CuttingProxy::CuttingProxy(const std::string& target)
    : target_port_(std::stoi(target.substr(target.rfind(':') + 1))), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
  const sockaddr_in any = loopback(0);
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&any), sizeof(any)) != 0 || ::listen(listener_, 8) != 0) {
    throw std::runtime_error("the proxy cannot listen");
  }
  acceptor_ = std::thread([this] { accept_connections(); });
}

CuttingProxy::~CuttingProxy() {
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  cut();
  for (auto& relay : relays_) relay.join();
  for (const int socket : sockets_) ::close(socket);
  ::close(listener_);
}

std::string CuttingProxy::address() const {
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
  return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

void CuttingProxy::cut() {
  const std::lock_guard lock(mutex_);
  for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
}

void CuttingProxy::accept_connections() {
  for (int client = ::accept(listener_, nullptr, nullptr); client >= 0;
       client = ::accept(listener_, nullptr, nullptr)) {
    const int server = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in target = loopback(target_port_);
    const bool connected = ::connect(server, reinterpret_cast<const sockaddr*>(&target), sizeof(target)) == 0;
    const std::lock_guard lock(mutex_);
    sockets_.insert(sockets_.end(), {client, server});
    if (!connected) {
      ::shutdown(client, SHUT_RDWR);
      continue;
    }
    ++n_connections_;
    relays_.emplace_back([this, client, server] { relay(client, server); });
    relays_.emplace_back([this, client, server] { relay(server, client); });
  }
}

void CuttingProxy::relay(int from, int to) {
  char buffer[4096];
  for (ssize_t n = ::read(from, buffer, sizeof(buffer)); n > 0; n = ::read(from, buffer, sizeof(buffer))) {
    if (::send(to, buffer, static_cast<std::size_t>(n), MSG_NOSIGNAL) != n) break;
  }
  ::shutdown(from, SHUT_RDWR);
  ::shutdown(to, SHUT_RDWR);
}

}  // namespace heelstrike::testing_support
