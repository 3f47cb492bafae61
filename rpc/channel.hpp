/// Transport: the settings of both sides, and the client's channels with keep-alive, re-connection and optional TLS.
#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace heelstrike::rpc {

/// Both sides ping an otherwise idle connection at this interval and close it without response within the timeout, so
/// that a vanished peer is detected within 20 s. This distinguishes a busy server from an absent one and from a
/// connection that was dropped silently, e.g. by a router.
inline constexpr std::chrono::milliseconds keepalive_interval{10'000};
inline constexpr std::chrono::milliseconds keepalive_timeout{10'000};
/// Smallest interval of pings that a server tolerates; below `keepalive_interval`, so that no regular client is
/// disconnected.
inline constexpr std::chrono::milliseconds keepalive_shortest_tolerated{5'000};

/// After this time without a reply of a session the client queries whether the server is active for it. Long compared
/// with the responses of most back-ends, short for a user.
inline constexpr std::chrono::milliseconds reply_watchdog_period{10'000};

/// Re-connection waits grow exponentially between these limits.
inline constexpr std::chrono::milliseconds reconnect_backoff_min{100};
/// Small compared with the reconnect timeout: otherwise a server that becomes available shortly before its end would be
/// tried too late.
inline constexpr std::chrono::milliseconds reconnect_backoff_max{250};
/// One attempt to connect (TCP and TLS handshake) may take this long.
inline constexpr std::chrono::milliseconds connect_attempt_timeout{3'000};

/// A connection without completed handshake (TLS and HTTP/2 settings) within this time is closed by the server.
inline constexpr std::chrono::milliseconds handshake_timeout{10'000};
/// Concurrent calls over one connection; the client delays further ones. A run needs three.
inline constexpr int max_streams_per_connection = 100;

/// Reconnection attempts to a restarted server or over a repaired network end after this time, and the run fails.
/// Sessions without client live longer (fem_server --lease).
inline constexpr std::chrono::milliseconds default_reconnect_timeout{300'000};

/// Largest message in bytes; a server may be configured otherwise.
inline constexpr std::size_t default_max_message_bytes = std::size_t{64} << 20;

/// Chunk size of file uploads.
inline constexpr std::size_t upload_chunk_bytes = std::size_t{1} << 20;

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

/// Sets the poll strategy of gRPC in this process: lets each thread wait on its own sockets, instead of one thread on
/// those of all (gRPC's default, epoll1), which then wakes the one concerned: this saves a wake-up per exchange on each
/// side, the dominant cost of a short exchange. The default is better for servers with thousands of connections:
/// GRPC_POLL_STRATEGY in the environment takes precedence.
///
/// Called first in a program: before threads exist and before any call of gRPC.
void set_poll_strategy();

}  // namespace heelstrike::rpc
