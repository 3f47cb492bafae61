/// Common transport settings of client and server.
#pragma once

#include <chrono>
#include <cstddef>

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

}  // namespace heelstrike::rpc
