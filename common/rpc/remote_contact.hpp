/// The contact partner on the other side of a wire, behind the same interface as the one in this process.
#pragma once

#include <chrono>

#include "common/contact/contact.hpp"
#include "common/rpc/channel.hpp"

namespace heelstrike::rpc {

struct RemoteContactOptions {
  Endpoint endpoint;
  std::chrono::milliseconds connect_timeout = connect_patience;  ///< until the server must answer at all
  std::chrono::milliseconds call_timeout{10'000};                ///< unary calls other than opening
  std::chrono::milliseconds upload_timeout{120'000};             ///< one file
  std::chrono::milliseconds open_timeout{
      3'600'000};  ///< preparation of one pair (meshing, factorisation, condensation)
  std::chrono::milliseconds exchange_timeout{30'000};  ///< one evaluate or commit of all pairs
  std::chrono::milliseconds fields_timeout{120'000};   ///< fields of one pair; the first one factorises the body
  std::chrono::milliseconds reconnect_timeout{2'000};  ///< for coming back after a lost stream
  std::chrono::milliseconds close_timeout{500};        ///< for saying good-bye in the destructor
};

/// A factory that opens its pairs at the server of `options`: checks the version, uploads the assets that the server
/// does not have, opens one session per pair.
///
/// The contact it makes answers every exchange with a response, with the peer's typed error, or with
/// - Error{deadline}     no reply within `exchange_timeout`; the stream is dropped, the next call opens a new one
/// - Error{unavailable}  the connection was lost and could not be restored within `reconnect_timeout`
/// - Error{not_found}    the server is there but no longer knows the session (expired, or another process)
/// After a lost stream the same request is repeated once: evaluations are pure, repeated commits answer with the same
/// bytes.
[[nodiscard]] ContactFactory open_remote_contact(RemoteContactOptions options);

}  // namespace heelstrike::rpc
