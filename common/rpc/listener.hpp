/// Server side: ports, sockets, TLS and transport settings of a gRPC server.
#pragma once

#include <grpcpp/server_builder.h>

#include <string>
#include <vector>

#include "common/rpc/transport_settings.hpp"

namespace heelstrike::rpc {

/// TLS of a server. Everything empty = no TLS.
struct ServerTls {
  std::string certificate_file;  ///< PEM chain of the server's certificate
  std::string key_file;          ///< PEM of its key
  std::string client_ca_file;  ///< PEM of the authority whose clients are let in; empty = no client certificate needed

  [[nodiscard]] bool enabled() const { return !certificate_file.empty(); }
};

struct ListenOptions {
  std::vector<std::string> addresses;  ///< `unix:/path` or `host:port`; port 0 = chosen by the system
  ServerTls tls;                       ///< for TCP and Unix sockets alike
  std::size_t max_message_bytes = default_max_message_bytes;
};

/// Adds ports and settings to a builder, and knows the bound addresses once the server has started.
class Listener {
 public:
  /// Checks all addresses; removes the file of a Unix socket that nobody listens on any more.
  /// @throws Error{invalid_input} for a malformed address or half a key pair; Error{file} for an unreadable PEM file or
  /// a
  ///         path that is not a socket; Error{unavailable} naming the address when somebody else listens there
  explicit Listener(ListenOptions options);

  void configure(grpc::ServerBuilder& builder);

  /// The addresses as clients must write them, in the order given.
  /// @throws Error{unavailable} naming the address that could not be bound
  [[nodiscard]] std::vector<std::string> bound_addresses() const;

  /// Removes the files of the Unix sockets. Call after the server has stopped.
  void remove_sockets() const noexcept;

 private:
  ListenOptions options_;
  std::vector<int> ports_;  ///< written by gRPC when the server starts
};

}  // namespace heelstrike::rpc
