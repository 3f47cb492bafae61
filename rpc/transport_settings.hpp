/// Transport settings that client and server have to agree on, in one place.
#pragma once

#include <chrono>
#include <cstddef>

namespace heelstrike::rpc {

/// Both sides ping an otherwise silent connection this often and give it up when no answer comes within the timeout, so
/// that a vanished peer is noticed in 20 s at the latest even when nothing is being sent. That is what tells a server
/// that calculates for long from one that is gone, and from a connection that has died without a word, as when a router
/// forgets it.
inline constexpr std::chrono::milliseconds keepalive_interval{10'000};
inline constexpr std::chrono::milliseconds keepalive_timeout{10'000};
/// A server tolerates pings down to this distance; below `keepalive_interval`, so that no honest client is
/// disconnected.
inline constexpr std::chrono::milliseconds keepalive_shortest_tolerated{5'000};

/// A client that has waited for so long for a reply of a session asks the server whether it works for the session. Long
/// against the answers of most back-ends, short against the patience of a user.
inline constexpr std::chrono::milliseconds reply_watchdog_period{10'000};

/// Re-connection waits grow exponentially between these limits.
inline constexpr std::chrono::milliseconds reconnect_backoff_min{100};
/// Small against the patience with which a server is waited for: one that refuses until shortly before its end would be
/// tried again too late.
inline constexpr std::chrono::milliseconds reconnect_backoff_max{250};
/// One attempt to connect (TCP and TLS handshake) may take this long.
inline constexpr std::chrono::milliseconds connect_attempt_timeout{3'000};

/// A connection that has not introduced itself (TLS and HTTP/2 settings) within this time is closed by the server.
inline constexpr std::chrono::milliseconds handshake_timeout{10'000};
/// Calls at a time over one connection; the client holds back further ones. A run takes three.
inline constexpr int max_streams_per_connection = 100;

/// How long a lost connection is tried again before a run gives up: a server that is restarted, a cable that is
/// plugged in again. Sessions that nobody holds outlive it (fem_server --lease).
inline constexpr std::chrono::milliseconds default_reconnect_timeout{300'000};

/// Largest message in bytes; a server may be configured otherwise.
inline constexpr std::size_t default_max_message_bytes = std::size_t{64} << 20;

/// Size of the chunks in which files travel.
inline constexpr std::size_t upload_chunk_bytes = std::size_t{1} << 20;

}  // namespace heelstrike::rpc
