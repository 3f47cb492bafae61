/// Unary calls: with a deadline unless work without bounds is asked for, repeated only where the connection was lost
/// and repeating is safe.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "rpc/silence.hpp"
#include "rpc/wire/checksum.hpp"
#include "heelstrike/v1/types.pb.h"

namespace heelstrike::rpc {

struct CallOptions {
  /// For each attempt; none = as long as the server answers the pings of the connection.
  std::optional<std::chrono::milliseconds> timeout{10'000};
  /// How long a lost connection is tried again, from the first loss on. More than 0 only for calls that may run twice.
  std::chrono::milliseconds reconnect_timeout{0};
  /// A stop that comes meanwhile cancels the call and ends the patience. After one that came before there is a single
  /// attempt: what is left to be said at the end of a run.
  std::stop_token stop{};
  ReplyWatchdog reply_watchdog{};
};

/// In the status of an Exchange call that is refused because all places for them are taken: one is free again soon.
inline constexpr const char* stream_limit_message = "as many open Exchange calls as";

/// The patience of calls that only ask.
inline constexpr std::chrono::milliseconds query_reconnect_timeout{2'000};

/// Whether a call ended without an answer of the server's program: the transport broke or changed a message, or the
/// call was refused for want of threads or streams. The same call may then be answered later; any other error that the
/// program has typed would be the same.
[[nodiscard]] bool is_connection_lost(const grpc::Status& status, const grpc::ClientContext& context);

/// The status of a call whose reply counts as lost when its checksum is that of other bytes.
template <wire::Checksummed Reply>
[[nodiscard]] grpc::Status intact(const grpc::Status& status, Reply& reply) {
  if (!status.ok() || wire::verify_checksum(reply)) return status;
  return {grpc::StatusCode::UNAVAILABLE, wire::corrupted_message_error("reply").what()};
}

/// Runs `attempt` until it succeeds. After a lost connection it is repeated with back-off while the patience lasts; any
/// other failure is final.
/// @param what  what is called and where, for messages: "GetVersion at 127.0.0.1:50051"
/// @throws RecoverableError or Error as the peer answered; Error{unavailable} or Error{deadline} when it did not;
///         Error{cancelled} when stopped
void call(const std::string& what, const CallOptions& options,
          const std::function<grpc::Status(grpc::ClientContext&)>& attempt);

/// @param peer  program and address for the message: "fem_server at unix:/run/fem.sock"
/// @throws Error{version_mismatch} naming both versions unless the contracts agree
void check_version(const v1::VersionInfo& version, const std::string& peer);

}  // namespace heelstrike::rpc
