#include "common/rpc/listener.hpp"

#include <fmt/format.h>
#include <grpc/grpc.h>
#include <grpcpp/security/server_credentials.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/errors/error.hpp"
#include "common/rpc/address.hpp"
#include "common/rpc/channel.hpp"

namespace heelstrike::rpc {

namespace {

Error in_use(const Address& address) {
  return unavailable_error(fmt::format(
      "cannot listen on {}: the address is in use; stop the other server or choose another address", address.text()));
}

Error cannot_bind(const Address& address, int code) {
  if (code == EADDRINUSE) return in_use(address);
  return unavailable_error(fmt::format("cannot listen on {}: {}", address.text(), std::strerror(code)));
}

struct Socket {
  int fd;
  explicit Socket(int family) : fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd >= 0) ::close(fd);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
};

/// gRPC would silently replace the socket of a server that is alive.
void prepare_unix(const Address& address) {
  struct stat info {};
  if (::lstat(address.path.c_str(), &info) != 0) return;
  if (!S_ISSOCK(info.st_mode)) {
    throw file_error(address.path, fmt::format("cannot listen on {}: the path exists and is not a socket; remove it or "
                                               "choose another path",
                                               address.text()));
  }
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  address.path.copy(target.sun_path, sizeof(target.sun_path) - 1);
  const Socket probe(AF_UNIX);
  if (::connect(probe.fd, reinterpret_cast<const sockaddr*>(&target), sizeof(target)) == 0) throw in_use(address);
  if (errno != ECONNREFUSED) throw cannot_bind(address, errno);
  ::unlink(address.path.c_str());
}

/// Binding once by ourselves tells why an address cannot be bound; gRPC only says that it cannot.
void probe_tcp(const Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  const int failure = ::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
  if (failure != 0) {
    throw input_error("listen", fmt::format("cannot listen on {}: {}", address.text(), ::gai_strerror(failure)));
  }
  const Socket probe(found->ai_family);
  const int on = 1;
  ::setsockopt(probe.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const int bound = ::bind(probe.fd, found->ai_addr, found->ai_addrlen);
  const int code = errno;
  ::freeaddrinfo(found);
  if (bound != 0) throw cannot_bind(address, code);
}

std::shared_ptr<grpc::ServerCredentials> credentials(const ServerTls& tls) {
  if (tls.certificate_file.empty() != tls.key_file.empty()) {
    throw input_error("tls", "TLS needs both a certificate file and a key file; only one of them is given");
  }
  if (!tls.enabled()) {
    if (tls.client_ca_file.empty()) return grpc::InsecureServerCredentials();
    throw input_error("tls",
                      "a client CA file has no effect without the server's own certificate and key; give them too");
  }
  const bool mutual = !tls.client_ca_file.empty();
  grpc::SslServerCredentialsOptions options(mutual ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                                   : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_key_cert_pairs.push_back(
      {read_pem(tls.key_file, "key file"), read_pem(tls.certificate_file, "certificate file")});
  if (mutual) options.pem_root_certs = read_pem(tls.client_ca_file, "client CA file");
  return grpc::SslServerCredentials(options);
}

int milliseconds(std::chrono::milliseconds duration) {
  return static_cast<int>(duration.count());
}

}  // namespace

Listener::Listener(ListenOptions options) : options_(std::move(options)), ports_(options_.addresses.size(), -1) {
  if (options_.addresses.empty()) throw input_error("listen", "expected at least one address to listen on, found none");
  for (const auto& text : options_.addresses) {
    const Address address = parse_address(text);
    address.is_unix ? prepare_unix(address) : probe_tcp(address);
  }
}

void Listener::configure(grpc::ServerBuilder& builder) {
  const auto shared_credentials = credentials(options_.tls);
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    builder.AddListeningPort(parse_address(options_.addresses[i]).text(), shared_credentials, &ports_[i]);
  }
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(keepalive_interval));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(keepalive_timeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             milliseconds(keepalive_shortest_tolerated));
  builder.SetMaxReceiveMessageSize(static_cast<int>(options_.max_message_bytes));
  builder.SetMaxSendMessageSize(static_cast<int>(options_.max_message_bytes));
}

std::vector<std::string> Listener::bound_addresses() const {
  std::vector<std::string> bound;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    Address address = parse_address(options_.addresses[i]);
    if (ports_[i] <= 0) throw in_use(address);
    if (!address.is_unix) address.port = ports_[i];
    bound.push_back(address.text());
  }
  return bound;
}

void Listener::remove_sockets() const noexcept {
  for (const auto& text : options_.addresses) {
    if (text.rfind("unix:", 0) == 0) ::unlink(text.c_str() + 5);
  }
}

}  // namespace heelstrike::rpc
