/// The remote contact partner, with the same interface as the one in this process.
#pragma once

#include <chrono>
#include <optional>

#include "common/contact/contact.hpp"
#include "rpc/channel.hpp"

namespace heelstrike::rpc {

struct RemoteContactOptions {
  Endpoint endpoint;
  std::chrono::milliseconds connect_timeout = default_connect_timeout;  ///< limit of the first response of the server
  std::chrono::milliseconds call_timeout{10'000};                       ///< unary calls other than opening
  std::chrono::milliseconds upload_timeout{120'000};                    ///< one file
  std::chrono::milliseconds open_timeout{
      3'600'000};  ///< preparation of one pair (meshing, factorisation, condensation)
  /// Longest time of one evaluate or commit of all pairs, or of the fields of one. None = unlimited while the server
  /// responds to the pings of the connection (channel.hpp); otherwise the connection is lost.
  std::optional<std::chrono::milliseconds> exchange_timeout{};
  /// After this time without a reply the server is queried whether it processes the request (GetActivity).
  std::chrono::milliseconds reply_watchdog = reply_watchdog_period;
  std::chrono::milliseconds reconnect_timeout = default_reconnect_timeout;  ///< time of retries after a loss
  /// True after a recent response of the server: the first session is then retried as after a loss; otherwise an absent
  /// server is reported after connect_timeout.
  bool is_server_known = false;
  std::chrono::milliseconds close_timeout{500};  ///< for closing sessions in the destructor
};

/// A factory that opens its pairs at the server of `options`: checks the version, uploads the assets that the server
/// does not have, opens one session per pair.
///
/// Every request remains in one queue until its response has arrived, and one loop repeats what fails:
/// - After a lost connection a new stream announces the sessions, receives their committed steps, and the queue is sent
///   again: evaluations are pure, a repeated commit returns the same bytes, commits that had arrived are skipped, a
///   session that is opened twice is shared or expires.
/// - If the server does not have the sessions any more, after its restart or their expiry, they are opened again. The
///   histories are restored to the last completed commit: the last saved ones, then the commits since, in sequence.
///   Then the queue is sent. Commits are deterministic, so that all responses are bitwise equal to those without loss.
///
/// The contact completes every exchange with a response, with the peer's typed error, or with
/// - Error{deadline}          no reply within `exchange_timeout`, if set; the stream is closed, the next call opens
///                            another
/// - Error{unavailable}       the connection was lost and could not be restored within `reconnect_timeout`
/// - Error{not_found}         the server does not have the session, and could not open it again within
///                            `reconnect_timeout`; permanent
/// - Error{version_mismatch}  the restarted server is another program with a different preparation
/// - Error{cancelled}         OpenContext::stop, during every wait; after it every exchange has half a second
///
/// The stream is open from the first session, which keeps the sessions alive while others are opened.
[[nodiscard]] ContactFactory open_remote_contact(RemoteContactOptions options);

}  // namespace heelstrike::rpc
