/// The contact partner on the other side of a wire, behind the same interface as the one in this process.
#pragma once

#include <chrono>
#include <optional>

#include "common/contact/contact.hpp"
#include "rpc/channel.hpp"

namespace heelstrike::rpc {

struct RemoteContactOptions {
  Endpoint endpoint;
  std::chrono::milliseconds connect_timeout = default_connect_timeout;  ///< until the server must answer at all
  std::chrono::milliseconds call_timeout{10'000};                ///< unary calls other than opening
  std::chrono::milliseconds upload_timeout{120'000};             ///< one file
  std::chrono::milliseconds open_timeout{
      3'600'000};  ///< preparation of one pair (meshing, factorisation, condensation)
  /// Longest time of one evaluate or commit of all pairs, or of the fields of one. None = whatever it takes, as long as
  /// the server answers the pings of the connection (transport_settings.hpp): one that has vanished is a lost
  /// connection.
  std::optional<std::chrono::milliseconds> exchange_timeout{};
  /// After so long without a reply the server is asked whether it works on the request (GetActivity).
  std::chrono::milliseconds reply_watchdog = reply_watchdog_period;
  std::chrono::milliseconds reconnect_timeout = default_reconnect_timeout;  ///< how long a lost connection is tried again
  /// Who has just been asked something there waits for the first session as patiently as after a loss; else a server
  /// that is absent is told after connect_timeout.
  bool is_server_known = false;
  std::chrono::milliseconds close_timeout{500};  ///< for saying good-bye in the destructor
};

/// A factory that opens its pairs at the server of `options`: checks the version, uploads the assets that the server
/// does not have, opens one session per pair.
///
/// The contact it makes answers every exchange with a response, with the peer's typed error, or with
/// - Error{deadline}     no reply within `exchange_timeout`, where there is one; the stream is dropped, the next call
///                       opens a new one
/// - Error{unavailable}  the connection was lost and could not be restored within `patience`
/// - Error{not_found}    the server is there but no longer knows the session (expired, or another process), and the
///                       patience is 0; else everything is opened and committed there again (recovering_contact.hpp)
/// - Error{cancelled}    OpenContext::stop, whatever was waited for; after it every exchange has half a second
/// Every question stays in a queue until its answer has arrived. After a lost connection a new stream names the
/// sessions, hears where they stand, and the queue is sent again: evaluations are pure, a repeated commit answers with
/// the same bytes, commits that had arrived are left out, a session that is opened twice is shared or expires.
///
/// The stream is open from the first session on: it tells the server that the client is there while it opens others.
[[nodiscard]] ContactFactory open_remote_contact(RemoteContactOptions options);

}  // namespace heelstrike::rpc
