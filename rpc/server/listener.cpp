#include "rpc/server/listener.hpp"

#include <fmt/format.h>
#include <grpc/grpc.h>
#include <grpcpp/security/server_credentials.h>
#include <netdb.h>
#include <netinet/in.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "common/errors/error.hpp"
#include "rpc/address.hpp"
#include "rpc/channel.hpp"
#include "rpc/message_socket.hpp"
#include "rpc/tls_diagnosis.hpp"

namespace heelstrike::rpc {

namespace {

Error in_use(const Address& address) {
  return unavailable_error(fmt::format(
      "cannot listen on {}: the address is in use; stop the other server or choose another address", address.text()));
}

Error bind_error(const Address& address, int code) {
  if (code == EADDRINUSE) return in_use(address);
  return unavailable_error(fmt::format("cannot listen on {}: {}", address.text(), std::strerror(code)));
}

/// A socket that is closed by its destructor unless released.
class Socket {
 public:
  explicit Socket(int family) : fd_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

sockaddr_un unix_target(const Address& address) {
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  address.path.copy(target.sun_path, sizeof(target.sun_path) - 1);
  return target;
}

/// Removes the file left by a killed server, on which binding would fail, but not that of a live server.
void prepare_unix(const Address& address) {
  struct stat info {};
  if (::lstat(address.path.c_str(), &info) != 0) return;
  if (!S_ISSOCK(info.st_mode)) {
    throw file_error(address.path, fmt::format("cannot listen on {}: the path exists and is not a socket; remove it or "
                                               "choose another path",
                                               address.text()));
  }
  const sockaddr_un target = unix_target(address);
  const Socket probe(AF_UNIX);
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&target), sizeof(target)) == 0 || errno == EAGAIN)
    throw in_use(address);
  if (errno != ECONNREFUSED) throw bind_error(address, errno);
  ::unlink(address.path.c_str());
}

int listen_at(const Address& address, const sockaddr* target, socklen_t length) {
  Socket socket(target->sa_family);
  if (socket.get() < 0) throw bind_error(address, errno);
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(socket.get(), target, length) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
    throw bind_error(address, errno);
  return socket.release();
}

/// No client can connect before it listens, and its file mode is set by then.
int listen_at_unix(const Address& address, unsigned mode) {
  const sockaddr_un target = unix_target(address);
  Socket socket(AF_UNIX);
  if (socket.get() < 0 || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&target), sizeof(target)) != 0 ||
      ::chmod(address.path.c_str(), mode) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
    throw bind_error(address, errno);
  return socket.release();
}

int bound_port(int socket) {
  sockaddr_storage name{};
  socklen_t length = sizeof(name);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &length);
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(name).sin6_port
                                          : reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

bool is_loopback(const sockaddr& target) {
  if (target.sa_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(target).sin6_addr) != 0;
  constexpr std::uint32_t loopback_network = 127;  // 127.0.0.0/8
  return ntohl(reinterpret_cast<const sockaddr_in&>(target).sin_addr.s_addr) >> 24U == loopback_network;
}

using ResolvedAddresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

ResolvedAddresses resolve_address(const Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (failure != 0) {
    throw input_error("listen", fmt::format("cannot listen on {}: {}", address.text(), ::gai_strerror(failure)));
  }
  return {found, &::freeaddrinfo};
}

std::shared_ptr<grpc::ServerCredentials> credentials(const ServerTls& tls) {
  if (tls.certificate_file.empty() != tls.key_file.empty()) {
    throw input_error("tls", "TLS requires both a certificate file and a key file; only one of them is given");
  }
  if (!tls.enabled()) {
    if (tls.client_ca_file.empty()) return grpc::InsecureServerCredentials();
    throw input_error("tls",
                      "a client CA file has no effect without certificate and key of the server; give them, too");
  }
  const bool mutual = !tls.client_ca_file.empty();
  grpc::SslServerCredentialsOptions options(mutual ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                   : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  const std::string key = read_pem(tls.key_file, "key file");
  const std::string certificate = read_pem(tls.certificate_file, "certificate file");
  check_key_pair(certificate, key, tls.certificate_file);
  options.pem_key_cert_pairs.push_back({key, certificate});
  if (mutual) options.pem_root_certs = read_pem(tls.client_ca_file, "client CA file");
  return grpc::SslServerCredentials(options);
}

int channel_milliseconds(std::chrono::milliseconds duration) {
  return static_cast<int>(duration.count());
}

}  // namespace

Listener::Listener(ListenOptions options) : options_(std::move(options)) {
  if (options_.addresses.empty()) throw input_error("listen", "expected at least one address to listen on, found none");
  for (const auto& text : options_.addresses) addresses_.push_back(parse_address(text));
  std::vector<int> sockets;
  try {
    for (Address& address : addresses_) bind(address, sockets);
  } catch (...) {
    for (const int socket : sockets) ::close(socket);
    throw;
  }
  acceptor_ = std::make_unique<ConnectionAcceptor>(std::move(sockets), options_.max_connections);
}

void Listener::bind(Address& address, std::vector<int>& sockets) {
  if (address.is_unix) {
    prepare_unix(address);
    sockets.push_back(listen_at_unix(address, options_.socket_mode));
    if (options_.message_sockets && !options_.tls.enabled()) bind_for_messages(address, sockets);
    return;
  }
  // A name may have several addresses ("localhost": of both families); all use the same port.
  const ResolvedAddresses found = resolve_address(address);
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    is_remotely_reachable_ = is_remotely_reachable_ || !is_loopback(*one->ai_addr);
    auto* port = one->ai_family == AF_INET6 ? &reinterpret_cast<sockaddr_in6*>(one->ai_addr)->sin6_port
                                            : &reinterpret_cast<sockaddr_in*>(one->ai_addr)->sin_port;
    *port = htons(static_cast<std::uint16_t>(address.port));
    try {
      sockets.push_back(listen_at(address, one->ai_addr, one->ai_addrlen));
    } catch (const Error&) {
      if (one == found.get()) throw;  // further addresses of the name may be of a family that this machine lacks
      continue;
    }
    address.port = bound_port(sockets.back());
  }
}

/// If it is not available, clients work without it, but slower.
void Listener::bind_for_messages(const Address& server, std::vector<int>& sockets) {
  const std::string path = message_socket_path(server);
  try {
    const Address address = parse_address("unix:" + path);
    prepare_unix(address);
    sockets.push_back(listen_at_unix(address, options_.socket_mode));
  } catch (const Error& error) {
    spdlog::warn("event=no_message_socket path=\"{}\" message=\"{}: short exchanges take longer\"", path, error.what());
    return;
  }
  message_listeners_.insert(sockets.back());
  message_paths_.push_back(path);
}

void Listener::configure(grpc::ServerBuilder& builder) {
  external_acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials(options_.tls));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, channel_milliseconds(keepalive_interval));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, channel_milliseconds(keepalive_timeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             channel_milliseconds(keepalive_shortest_tolerated));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, channel_milliseconds(handshake_timeout));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, max_streams_per_connection);
  builder.SetMaxReceiveMessageSize(static_cast<int>(options_.max_message_bytes));
  builder.SetMaxSendMessageSize(static_cast<int>(options_.max_message_bytes));
}

void Listener::start(OnMessageConnection on_message_connection) {
  acceptor_->start([this, on_message_connection = std::move(on_message_connection)](int listener, int connection) {
    if (message_listeners_.contains(listener)) return on_message_connection(connection);
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.listener_fd = listener;
    parameters.fd = connection;
    external_acceptor_->HandleNewConnection(&parameters);
  });
}

void Listener::stop() noexcept {
  acceptor_->stop();
  for (const Address& address : addresses_) {
    if (address.is_unix) ::unlink(address.path.c_str());
  }
  for (const std::string& path : message_paths_) ::unlink(path.c_str());
}

std::vector<std::string> Listener::bound_addresses() const {
  std::vector<std::string> bound;
  for (const Address& address : addresses_) bound.push_back(address.text());
  return bound;
}

}  // namespace heelstrike::rpc
