#include "fem_server/fem/rank_watch.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <random>
#include <utility>

#include "fem_server/fem/byte_stream.hpp"

namespace heelstrike::fem {

namespace {

constexpr int connect_limit_ms = 10'000;  // ranks start within seconds; a firewall that drops packets answers never

/// Where rank 0 listens, for the other ranks.
struct Listener {
  std::uint64_t token = 0;  ///< proves that a connection is that of a rank
  std::uint64_t port = 0;   ///< in network order; 0 = none
};

/// First message of a rank.
struct Greeting {
  std::uint64_t token = 0;
  std::uint64_t rank = 0;
};

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

sockaddr_in any_port(std::uint32_t address) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = address;
  return place;
}

std::uint64_t random_token() {
  std::random_device source;
  return std::uint64_t{source()} << 32U | source();
}

/// Address of a host in network order; 0 = unknown.
std::uint32_t resolve(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return 0;
  const std::uint32_t address = reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr.s_addr;
  ::freeaddrinfo(found);
  return address;
}

/// Whether a descriptor becomes ready before the limit.
bool is_ready(int descriptor, short events) {
  pollfd entry{.fd = descriptor, .events = events, .revents = 0};
  return ::poll(&entry, 1, connect_limit_ms) == 1;
}

/// @return no descriptor (negative) without a connection
Descriptor connected(const sockaddr_in& place) {
  Descriptor connection(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connection.get() < 0) return connection;
  if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) {
    int error = errno;
    socklen_t size = sizeof error;
    if (error != EINPROGRESS || !is_ready(connection.get(), POLLOUT) ||
        ::getsockopt(connection.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
      connection.close();
    }
  }
  return connection;
}

}  // namespace

RankWatch::RankWatch(RankGroup& group, std::function<void(std::size_t, const std::string&)> on_loss)
    : on_loss_(std::move(on_loss)), end_(::eventfd(0, EFD_CLOEXEC)) {
  const std::string host = host_name();
  ByteWriter self;
  self.put_all(host);
  self.put(static_cast<std::int64_t>(::getpid()));
  std::vector<std::string> hosts;
  std::vector<std::string> processes;
  for (const std::string& bytes : group.all_gather(self.take())) {
    ByteReader reader(bytes);
    hosts.push_back(reader.get_text());
    processes.push_back(fmt::format("process {} on host {}", reader.get<std::int64_t>(), hosts.back()));
  }
  const bool one_host = std::ranges::all_of(hosts, [&](const std::string& other) { return other == hosts[0]; });
  Listener listener{.token = random_token()};
  if (group.rank() == 0) {
    listener_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in place = any_port(one_host ? htonl(INADDR_LOOPBACK) : htonl(INADDR_ANY));
    socklen_t size = sizeof place;
    if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&place), size) == 0 &&
        ::listen(listener_.get(), static_cast<int>(group.size())) == 0 &&
        ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&place), &size) == 0) {
      listener.port = place.sin_port;
    }
  }
  std::string bytes(reinterpret_cast<const char*>(&listener), sizeof listener);
  group.broadcast(bytes);
  listener = ByteReader(bytes).get<Listener>();
  Descriptor connection;
  if (group.rank() > 0 && listener.port != 0) {
    // The name of an own host often resolves to an address that no other host can reach.
    sockaddr_in place = any_port(host == hosts[0] ? htonl(INADDR_LOOPBACK) : resolve(hosts[0]));
    place.sin_port = static_cast<std::uint16_t>(listener.port);
    connection = connected(place);
    const Greeting greeting{.token = listener.token, .rank = group.rank()};
    if (connection.get() >= 0 &&
        ::send(connection.get(), &greeting, sizeof greeting, MSG_NOSIGNAL) != sizeof greeting) {
      connection.close();
    }
  }
  const std::vector<std::string> reached = group.all_gather(connection.get() >= 0 ? "1" : "0");
  const auto n_connected = static_cast<std::size_t>(std::ranges::count(reached, "1"));
  watches_all_ = n_connected + 1 == group.size();
  if (group.rank() == 0) {
    accept_ranks(listener.token, n_connected, processes);
  } else if (connection.get() >= 0) {
    peers_.push_back({.rank = 0, .process = processes[0], .connection = std::move(connection)});
  }
  thread_ = std::thread([this] { watch(); });
}

void RankWatch::accept_ranks(std::uint64_t token, std::size_t n_expected, const std::vector<std::string>& processes) {
  while (peers_.size() < n_expected && is_ready(listener_.get(), POLLIN)) {
    Descriptor connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    Greeting greeting;
    if (connection.get() < 0 || !is_ready(connection.get(), POLLIN) ||
        ::recv(connection.get(), &greeting, sizeof greeting, MSG_WAITALL | MSG_DONTWAIT) != sizeof greeting ||
        greeting.token != token || greeting.rank >= processes.size()) {
      continue;  // not one of our ranks
    }
    peers_.push_back({.rank = greeting.rank, .process = processes[greeting.rank], .connection = std::move(connection)});
  }
  watches_all_ = watches_all_ && peers_.size() == n_expected;
  listener_.close();
}

RankWatch::~RankWatch() {
  const std::uint64_t one = 1;
  (void)!::write(end_.get(), &one, sizeof one);
  thread_.join();
}

void RankWatch::watch() {
  std::vector<pollfd> entries{{.fd = end_.get(), .events = POLLIN, .revents = 0}};
  for (const Peer& peer : peers_) entries.push_back({.fd = peer.connection.get(), .events = POLLIN, .revents = 0});
  for (;;) {
    if (::poll(entries.data(), entries.size(), -1) < 0) continue;  // a signal
    if (entries[0].revents != 0) return;
    for (std::size_t k = 0; k < peers_.size(); ++k) {
      if (entries[k + 1].revents == 0) continue;
      // Ranks send nothing after their greeting.
      entries[k + 1].fd = -1;
      if (!ending_) on_loss_(peers_[k].rank, peers_[k].process);
    }
  }
}

}  // namespace heelstrike::fem
