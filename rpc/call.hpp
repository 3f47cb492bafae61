/// Calls of a client: unary calls with a deadline except for unbounded work, retried only after a lost connection and
/// if safe; pauses between retries; the operations of a streaming call.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/status.h>

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "common/errors/error.hpp"
#include "heelstrike/v1/types.pb.h"
#include "rpc/wire/checksum.hpp"

namespace heelstrike::rpc {

/// Pauses between reconnection attempts: 20 ms, 40 ms, ... up to 1 s: fast after an interrupted connection, without
/// load on a restarting server.
class Backoff {
 public:
  /// @param reconnect_timeout  from the first loss; 0 = no retry
  Backoff(std::chrono::milliseconds reconnect_timeout, std::stop_token stop)
      : reconnect_timeout_(reconnect_timeout), stop_(std::move(stop)) {}

  /// Pauses, at most until the timeout. @returns false after the timeout @throws Error{cancelled} if stopped
  [[nodiscard]] bool pause();
  [[nodiscard]] std::chrono::milliseconds remaining() const;
  /// Forgets earlier losses.
  void restart() { *this = Backoff(reconnect_timeout_, std::move(stop_)); }

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::milliseconds reconnect_timeout_;
  std::stop_token stop_;
  std::chrono::milliseconds next_{20};
  Clock::time_point until_ = Clock::time_point::max();  ///< known after the first loss
};

/// Waits for `time`, or until `stop` is requested. @returns false if stopped
bool wait_unless_stopped(std::chrono::milliseconds time, const std::stop_token& stop);

/// Watchdog of unbounded waits for a reply: the pings of a connection show that the other end exists, not that it has
/// received the request. Without TLS a corrupted length of a message makes an end wait for bytes that are never sent.
struct ReplyWatchdog {
  std::chrono::milliseconds period{0};  ///< 0 = the peer is not queried
  /// Called periodically, from any thread. False = the peer does not process the request: the connection counts as
  /// lost.
  std::function<bool()> is_peer_active{};
};

/// Cancels a call that the peer does not process.
class WatchdogThread {
 public:
  /// @param reply_watchdog  must outlive this object
  WatchdogThread(const ReplyWatchdog& reply_watchdog, grpc::ClientContext& context);

 private:
  std::jthread thread_;  ///< ends at once on request
};

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

/// The connection was lost before a reply, or the server could not accept the call: the same call may succeed later.
class ConnectionLost : public Error {
 public:
  explicit ConnectionLost(const Error& error) : Error(error.code(), error.what(), error.field(), error.retryable()) {}
};

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
/// @throws RecoverableError or Error of the peer; ConnectionLost or Error{deadline} without response; Error{cancelled}
/// if stopped
void call(const std::string& what, const CallOptions& options,
          const std::function<grpc::Status(grpc::ClientContext&)>& attempt);

/// @param peer  program and address for the message: "fem_server at unix:/run/fem.sock"
/// @throws Error{version_mismatch} with both versions unless the contracts agree
void check_version(const v1::VersionInfo& version, const std::string& peer);

/// The operations of one streaming call and their completion queue, for both ends. The thread of the call drives the
/// queue itself: no wake-up by a second thread is needed.
class CallOperations {
 public:
  using Deadline = std::chrono::system_clock::time_point;
  /// Busy waiting for a message before blocking (spinning). Blocking and wake-up take 25 to 200 us on the measured
  /// machines; spinning for this time at most doubles the cost (ski rental problem [karlin1994]). The value is three
  /// times as long, because evaluations of coarse finite-element contacts take 0.2 to 0.5 ms: blocking just before them
  /// would cost both (bench_fem_ball). The processor is yielded to other threads meanwhile.
  static constexpr std::chrono::microseconds spin_time{600};
  enum Operation : int { start, write, read, writes_done, end, n_operations };

  CallOperations() = default;
  /// @pre nothing is pending
  ~CallOperations();
  CallOperations(const CallOperations&) = delete;
  CallOperations& operator=(const CallOperations&) = delete;

  [[nodiscard]] grpc::CompletionQueue& queue() { return queue_; }
  /// Notes that an operation begins. @return its tag on the queue
  [[nodiscard]] void* begin(Operation operation);
  [[nodiscard]] bool pending(Operation operation) const { return (pending_ & bit(operation)) != 0; }
  [[nodiscard]] bool any_pending() const { return pending_ != 0; }
  /// True if any operation has failed.
  [[nodiscard]] bool failed() const { return failed_ != 0; }

  /// Waits for an operation, at first spinning; false = it is still pending at the deadline.
  [[nodiscard]] bool wait_for(Operation operation, Deadline deadline);
  /// Records completed operations without waiting.
  void poll();
  /// Waits for all pending operations; false = some are pending at the deadline.
  [[nodiscard]] bool drain(Deadline deadline);

 private:
  [[nodiscard]] static unsigned bit(int operation) { return 1U << static_cast<unsigned>(operation); }
  /// Waits for one operation; false = deadline passed.
  bool next(Deadline deadline);

  grpc::CompletionQueue queue_;
  std::array<int, n_operations> tags_{start, write, read, writes_done, end};  ///< addresses serve as tags
  unsigned pending_ = 0;
  unsigned failed_ = 0;
};

}  // namespace heelstrike::rpc
