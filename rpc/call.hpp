/// Unary calls: with a deadline except for unbounded work, retried only after a lost connection and if safe.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "heelstrike/v1/types.pb.h"
#include "rpc/silence.hpp"
#include "rpc/wire/checksum.hpp"

namespace heelstrike::rpc {

struct CallOptions {
  /// Per attempt; none = while the server responds to the pings of the connection.
  std::optional<std::chrono::milliseconds> timeout{10'000};
  /// Time of retries after the first loss of the connection. More than 0 only for calls that may run twice.
  std::chrono::milliseconds reconnect_timeout{0};
  /// A stop during the call cancels it and its retries. After an earlier stop there is a single attempt, for calls at
  /// the end of a run.
  std::stop_token stop{};
  ReplyWatchdog reply_watchdog{};
};

/// In the status of an Exchange call that is rejected because all slots are occupied; retryable.
inline constexpr const char* stream_limit_message = "as many open Exchange calls as";

/// Reconnect timeout of query calls.
inline constexpr std::chrono::milliseconds query_reconnect_timeout{2'000};

/// True if a call ended without a response of the server program: the transport failed or corrupted a message, or the
/// call was rejected for lack of threads or streams. The same call may succeed later, unlike one with another typed
/// error.
[[nodiscard]] bool is_connection_lost(const grpc::Status& status, const grpc::ClientContext& context);

/// The status of a call whose reply counts as lost if its checksum does not match.
template <wire::Checksummed Reply>
[[nodiscard]] grpc::Status intact(const grpc::Status& status, Reply& reply) {
  if (!status.ok() || wire::verify_checksum(reply)) return status;
  return {grpc::StatusCode::UNAVAILABLE, wire::corrupted_message_error("reply").what()};
}

/// Runs `attempt` until it succeeds. After a lost connection it is retried with back-off within the reconnect timeout;
/// any other failure is final.
/// @param what  call and address, for messages: "GetVersion at 127.0.0.1:50051"
/// @throws RecoverableError or Error of the peer; Error{unavailable} or Error{deadline} without response;
/// Error{cancelled} if stopped
void call(const std::string& what, const CallOptions& options,
          const std::function<grpc::Status(grpc::ClientContext&)>& attempt);

/// @param peer  program and address for the message: "fem_server at unix:/run/fem.sock"
/// @throws Error{version_mismatch} with both versions unless the contracts agree
void check_version(const v1::VersionInfo& version, const std::string& peer);

}  // namespace heelstrike::rpc
