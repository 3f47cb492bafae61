/// Client side: channels with keep-alive, re-connection and optional TLS.
#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <memory>
#include <string>

#include "rpc/transport_settings.hpp"

namespace heelstrike::rpc {

/// TLS of a client. Everything empty = no TLS.
struct ClientTls {
  std::string ca_file;           ///< PEM of the authority that signed the server's certificate; switches TLS on
  std::string certificate_file;  ///< PEM of the client's own certificate (mutual TLS)
  std::string key_file;          ///< PEM of its key; required if and only if `certificate_file` is given
  std::string authority;         ///< name to expect in the server's certificate instead of the host in the address

  [[nodiscard]] bool enabled() const { return !ca_file.empty(); }
};

/// Address and TLS settings of a server.
struct Endpoint {
  std::string address;  ///< `unix:/path` or `host:port`
  ClientTls tls;
  std::size_t max_message_bytes = default_max_message_bytes;
};

/// Content of a PEM file. @throws Error{file}
[[nodiscard]] std::string read_pem(const std::string& path, const std::string& what);

/// A channel with a separate connection; connects on first use.
/// @throws Error{invalid_input} for a malformed address or half a key pair, Error{file} for an unreadable PEM file
[[nodiscard]] std::shared_ptr<grpc::Channel> make_channel(const Endpoint& endpoint);

/// Limit of the first response of a server. An absent server is reported to the user within 5 s, including program
/// start on a busy machine.
inline constexpr std::chrono::milliseconds default_connect_timeout{3'000};

/// Waits until the channel is connected.
/// @param endpoint  of the channel
/// @throws Error{unavailable} after `timeout`, with the address and, if detectable, the cause
void wait_for_ready(grpc::Channel& channel, const Endpoint& endpoint,
                    std::chrono::milliseconds timeout = default_connect_timeout);

}  // namespace heelstrike::rpc
