/// Resource limits of a server. Reaching a limit is Error{limit} for that client and does not affect others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "rpc/server/stream_slots.hpp"

namespace heelstrike::fem {

struct ServiceLimits {
  std::size_t max_sessions = 256;                            ///< open or being opened
  std::size_t max_asset_bytes = std::size_t{256} << 20;      ///< one file
  std::size_t max_asset_store_bytes = std::size_t{1} << 30;  ///< all uploaded files, with LRU eviction
  std::size_t max_memory_bytes = std::size_t{0};        ///< resident memory above which no session is opened; 0 = none
  std::uint64_t max_mesh_elements = 2'000'000;          ///< tetrahedra or triangles of one mesh
  std::size_t max_exchange_pairs = 1024;                ///< in one exchange
  std::size_t max_batch_states = 1'000'000;             ///< in one batch
  std::size_t max_motion_states = 1024;                 ///< of one pair in one call: each history is kept until its end
  std::size_t max_upload_bytes = std::size_t{1} << 30;  ///< unfinished uploads, half of it for one client
  std::chrono::milliseconds idle_timeout{3'600'000};    ///< session with a stream: closed after this time without call
  /// A session without a stream is closed after this time without a call: its client has disconnected. Longer than the
  /// reconnection time of clients (rpc::default_reconnect_timeout).
  std::chrono::milliseconds lease{600'000};
  rpc::StreamLimits streams{};  ///< `idle` and `inactivity_limit` are idle_timeout and min_lease
  /// When the session limit is reached, a session without stream and call for this time is evicted.
  std::chrono::milliseconds min_lease{60'000};
};

}  // namespace heelstrike::fem
