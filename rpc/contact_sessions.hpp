/// The sessions of a run at a contact server, without retries: the connection below RemoteContact.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "rpc/remote_contact.hpp"

namespace heelstrike::rpc {

/// Round-trip times in logarithmic buckets: recording is one increment, memory is fixed.
class LatencyHistogram {
 public:
  void record(std::chrono::nanoseconds duration);
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// @param fraction  in (0, 1], 0.5 = median
  /// @return [us] middle of the bucket of the quantile, within 3.2 % of the true value; 0 when empty
  [[nodiscard]] double quantile_us(double fraction) const;

 private:
  static constexpr int buckets_per_octave = 16;
  std::array<std::int64_t, 64 * buckets_per_octave> counts_{};
  std::int64_t count_ = 0;
};

/// A request without response so far.
struct QueuedRequest {
  std::shared_ptr<PendingRequest> pending;
  std::int32_t iteration = 0;
  bool needs_tangents = false;  ///< the complete response, including tangents, is required
};
using RequestQueue = std::deque<QueuedRequest>;
/// Consecutive requests of a queue, sent as one message.
using Requests = std::ranges::subrange<RequestQueue::const_iterator>;

/// Durations of the exchanges of a run, kept when its sessions are opened again.
struct RoundTrips {
  LatencyHistogram latencies;
  std::chrono::duration<double> total{};
  double server_time = 0.0;  ///< [s] as reported by the server

  void record(std::chrono::steady_clock::duration duration, double server_seconds) {
    latencies.record(duration);
    total += duration;
    server_time += server_seconds;
  }
};

/// Each function is one attempt. RemoteContact decides what is repeated, by the type of the error:
/// - ConnectionLost      after connect() the same call may succeed
/// - Error{not_found}    the server does not have a session, after its restart or the expiry of the session
/// - Error{deadline}     no reply in time
/// - Error{cancelled}    the run was stopped
/// - other Error         of the server
class ContactSessions {
 public:
  virtual ~ContactSessions() = default;

  /// Opens the sessions that are not open yet, and a stream for their requests if there is none; to be called before
  /// any other function.
  /// @param stopped  the run was stopped before the call: requests may complete within half a second
  /// @return if the stream is new, and requests in flight are therefore lost: the last step that all sessions have
  /// committed, -1 if none
  [[nodiscard]] virtual std::optional<std::int64_t> connect(bool stopped) = 0;
  /// Ends the stream; requests in flight are lost.
  virtual void disconnect() {}

  /// The sessions opened so far, in the order of the pairs.
  [[nodiscard]] virtual std::span<const PairDescription> pairs() const = 0;
  [[nodiscard]] virtual bool history_independent() const = 0;

  virtual void send(Requests requests) = 0;
  /// Receives the responses to the first message without reply, which consists of `requests`, and stores responses and
  /// errors in them.
  virtual void receive(Requests requests) = 0;

  // As the functions of Contact. There are no requests in flight.
  [[nodiscard]] virtual std::vector<BatchEntry> evaluate_batch(std::size_t pair, std::span<const PairState> states,
                                                               bool tangents, std::stop_token stop) = 0;
  [[nodiscard]] virtual MotionResponses commit_motion(std::int64_t first_step,
                                                      std::span<const std::vector<PairState>> states,
                                                      std::stop_token stop) = 0;
  [[nodiscard]] virtual std::vector<std::string> save_state() = 0;
  /// After an error some sessions may have their new state.
  virtual void restore_state(std::span<const std::string> states) = 0;
  [[nodiscard]] virtual std::string fields(std::size_t pair, const PairState& state, const FieldRequest& request) = 0;
};

/// Creates sessions that connect() opens. The arguments outlive them.
using SessionsFactory = std::function<std::unique_ptr<ContactSessions>(
    std::span<const PairSpec> pairs, std::span<const AssetContent> assets, const OpenContext& context,
    RoundTrips& round_trips)>;

/// Sessions at the server of `options`.
[[nodiscard]] SessionsFactory grpc_sessions(RemoteContactOptions options);

struct RetryOptions {
  std::chrono::milliseconds reconnect_timeout{};  ///< from a loss until the request is completed; 0 = a loss is final
  bool retry_first_open = false;                  ///< also wait for an absent server at the first opening
  std::string peer{};                             ///< program and address, for messages
};

/// The contact over such sessions, described in remote_contact.hpp.
[[nodiscard]] ContactFactory retrying(SessionsFactory open, RetryOptions options);

}  // namespace heelstrike::rpc
