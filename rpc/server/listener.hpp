/// Server side: ports, sockets, TLS and transport settings of a gRPC server.
#pragma once

#include <grpcpp/server_builder.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rpc/address.hpp"
#include "rpc/channel.hpp"
#include "rpc/server/connection_acceptor.hpp"

namespace heelstrike::rpc {

/// TLS of a server. Everything empty = no TLS.
struct ServerTls {
  std::string certificate_file;  ///< PEM chain of the server's certificate
  std::string key_file;          ///< PEM of its key
  std::string client_ca_file;    ///< PEM of the authority of accepted clients; empty = no client certificate required

  [[nodiscard]] bool enabled() const { return !certificate_file.empty(); }
};

struct ListenOptions {
  std::vector<std::string> addresses;  ///< `unix:/path` or `host:port`; port 0 = chosen by the system
  ServerTls tls;                       ///< for TCP and Unix sockets alike
  std::size_t max_message_bytes = default_max_message_bytes;
  std::size_t max_connections = 1000;  ///< open at a time, over all addresses
  unsigned socket_mode = 0600;         ///< of the files of Unix sockets, independent of the umask
  bool message_sockets = false;        ///< in addition to each Unix socket one for messages (message_socket.hpp),
                                       ///< without TLS
};

/// Listens from construction; connections wait until `start`.
class Listener {
 public:
  /// Binds all addresses; removes the file of an unused Unix socket.
  /// @throws Error{invalid_input} for a malformed address or half a key pair; Error{file} for an unreadable PEM file or
  /// a
  ///         path that is not a socket; Error{unavailable} with the address if another process listens there
  explicit Listener(ListenOptions options);

  /// Called before the server is built: settings, and the external acceptor of connections.
  void configure(grpc::ServerBuilder& builder);

  /// Receives a connection to a socket for messages, which it owns.
  using OnMessageConnection = std::function<void(int connection)>;

  /// Called after the server has been built: accepts connections.
  /// @param on_message_connection  for the sockets of `message_sockets`
  void start(OnMessageConnection on_message_connection = {});
  /// Stops accepting and removes the files of Unix sockets. Called before the server is shut down.
  void stop() noexcept;
  /// False if connections are no longer accepted, or could not be accepted within `timeout`.
  [[nodiscard]] bool is_operational(std::chrono::milliseconds timeout) const {
    return acceptor_->is_operational(timeout);
  }

  /// The addresses in the form for clients, in the given order.
  [[nodiscard]] std::vector<std::string> bound_addresses() const;
  /// True if an address is reachable from other machines.
  [[nodiscard]] bool is_remotely_reachable() const { return is_remotely_reachable_; }

 private:
  void bind(Address& address, std::vector<int>& sockets);
  void bind_for_messages(const Address& server, std::vector<int>& sockets);

  ListenOptions options_;
  std::set<int> message_listeners_;
  std::vector<std::string> message_paths_;
  std::vector<Address> addresses_;  ///< with the ports that were bound
  bool is_remotely_reachable_ = false;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> external_acceptor_;
  std::unique_ptr<ConnectionAcceptor> acceptor_;  ///< last member: its thread uses the external acceptor
};

}  // namespace heelstrike::rpc
