#include "rpc/remote_contact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "common/contact/batch_contact.hpp"
#include "common/contact/material_laws.hpp"
#include "common/contact/preparation.hpp"
#include "common/errors/error.hpp"
#include "common/errors/refusal.hpp"
#include "common/process/version.hpp"
#include "rpc/asset_upload.hpp"
#include "rpc/backoff.hpp"
#include "rpc/call.hpp"
#include "rpc/exchange_stream.hpp"
#include "rpc/latency_histogram.hpp"
#include "rpc/recovering_contact.hpp"
#include "rpc/wire/checksum.hpp"
#include "rpc/wire/contact_wire.hpp"
#include "rpc/wire/error_wire.hpp"
#include "rpc/wire/pair_spec_wire.hpp"

namespace heelstrike::rpc {

namespace {

using wire::FieldPath;
using Clock = std::chrono::system_clock;

/// Poll interval without connection: short enough to detect a stop of the run soon.
constexpr std::chrono::milliseconds poll_interval{200};
/// Timeout of requests after a stop of the run, for the energy at its end. A busy server is not waited for.
constexpr std::chrono::milliseconds after_stop{500};

/// Deferred requests are sent with the next synchronous one, or when this number is reached: a message costs as much as
/// the evaluation of dozens of cheap requests.
constexpr std::size_t min_requests_per_message = 32;
/// A listening server issues tickets at once; a suspended one is reached through its call, which has deadlines.
constexpr std::chrono::milliseconds ticket_timeout{1'000};

/// For a server on this machine without TLS, which would apply to all messages.
TicketedSocket message_socket(const Endpoint& server) {
  const Address address = parse_address(server.address);
  if (!address.is_unix || server.tls.enabled()) return {};
  return connect_message_socket(address, server.max_message_bytes, ticket_timeout);
}

/// A server without response to the activity query within this time counts as active, so that a stop of the run does
/// not wait.
constexpr std::chrono::milliseconds activity_timeout{1'000};

/// Per message; the server accepts more.
constexpr std::size_t max_requests_per_message = 512;
/// Maximum number of messages in flight before the sender waits for the first reply.
constexpr std::size_t max_messages_in_flight = 4;

/// An older server does not report loads of regions.
void warn_missing_regions(const PairSpec& pair, const PairDescription& opened, const std::string& peer,
                          const OpenContext& context) {
  const auto given = pair.parameters.find(regions_parameter);
  if (given == pair.parameters.end() || !opened.regions.empty() || !context.on_progress) return;
  const auto* names = std::get_if<std::string>(&given->second);
  if (names == nullptr || names->find_first_not_of(' ') == std::string::npos) return;
  context.on_progress(fmt::format("{}{} is older than this program and does not report the loads of the regions of "
                                  "contact.{}: the time series has no columns for them; update the server",
                                  warning_mark, peer, pair.name),
                      0.0);
}

void require_regions(const Response& response, const PairDescription& pair, const std::string& peer) {
  if (response.regions.size() == pair.regions.size()) return;
  throw Error(ErrorCode::internal, fmt::format("{} returned the loads of {} regions instead of {} for pair '{}'", peer,
                                               response.regions.size(), pair.regions.size(), pair.name));
}

class RemoteContact final : public Contact, public BatchContact {
 public:
  RemoteContact(RemoteContactOptions options, std::span<const PairSpec> pairs, std::span<const AssetContent> assets,
                const OpenContext& context);
  ~RemoteContact() override;

  [[nodiscard]] std::span<const PairDescription> pairs() const override { return descriptions_; }
  void evaluate(std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                std::span<Response> responses) override;
  void commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) override;
  std::shared_ptr<const PendingRequest> post(RequestKind kind, std::int64_t step,
                                             std::span<const PairState> states) override;
  void drain() override;
  [[nodiscard]] bool history_independent() const override { return !session_ids_.empty() && all_history_independent_; }
  [[nodiscard]] std::vector<BatchEntry> evaluate_batch(std::size_t pair, std::span<const PairState> states,
                                                       bool tangents, std::stop_token stop) override;
  [[nodiscard]] MotionResponses commit_motion(std::int64_t first_step, std::span<const std::vector<PairState>> states,
                                              std::stop_token stop) override;
  [[nodiscard]] std::vector<std::string> save_state() override;
  void restore_state(std::span<const std::string> states) override;
  [[nodiscard]] std::optional<RpcStatistics> rpc_statistics() const override;
  [[nodiscard]] std::string fields(std::size_t pair, const PairState& state, const FieldRequest& request) override;

 private:
  void open_session(const PairSpec& pair, std::size_t n_pairs, const OpenContext& context);
  [[nodiscard]] grpc::Status attempt_open(grpc::ClientContext& call, const v1::OpenSessionRequest& request,
                                          const PairSpec& pair, std::size_t n_pairs, const OpenContext& context);
  void hold_sessions();

  /// A request without response so far.
  struct QueuedRequest {
    std::shared_ptr<PendingRequest> posted;
    std::int32_t iteration = 0;
    bool needs_tangents = false;  ///< the complete response, including tangents, is required
  };
  void request_response(RequestKind kind, std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                        std::span<Response> responses);
  void fill(const QueuedRequest& queued, v1::ExchangeRequest& request) const;
  /// Opens a stream if there is none, and announces the sessions to it.
  [[nodiscard]] ExchangeStream::Outcome announce_sessions();
  /// Removes requests from the queue that the sessions have already committed.
  void skip_committed(std::int64_t committed_step);
  /// Sends all unsent requests as one message.
  [[nodiscard]] ExchangeStream::Outcome send_waiting();
  /// Receives the reply to the first message in flight.
  [[nodiscard]] ExchangeStream::Outcome receive_reply();
  void read_response(const v1::ExchangeResponse& reply, PendingRequest& pending) const;
  [[nodiscard]] std::size_t n_sent() const;
  /// Performs `step` on a stream with announced sessions; retries after a loss of the connection within the reconnect
  /// timeout.
  void call_with_retry(const std::function<ExchangeStream::Outcome()>& step);
  void fail_requests(const Error& error);

  void record_exchange(std::chrono::steady_clock::duration duration, double server_time);
  void restore_pair(std::size_t pair, const std::string& state);
  [[noreturn]] void throw_timeout();
  /// Error that ended the stream. @param lost  set to true if a new stream may succeed
  [[nodiscard]] Error drop_stream(bool& lost);
  void close_sessions() noexcept;
  [[nodiscard]] std::string called(std::string_view verb) const { return fmt::format("{} at {}", verb, peer_); }
  using Timeout = std::optional<std::chrono::milliseconds>;
  /// Timeout of n states: n times that of a single one.
  [[nodiscard]] Timeout time_for(std::size_t n_states) const {
    if (!options_.exchange_timeout) return {};
    return *options_.exchange_timeout * std::max<std::int64_t>(1, static_cast<std::int64_t>(n_states));
  }
  /// @param n  number of requests to be completed until then
  [[nodiscard]] Clock::time_point deadline(std::size_t n = 1) const {
    return timeout_ ? Clock::now() + *timeout_ * static_cast<std::int64_t>(n) : Clock::time_point::max();
  }
  /// Options of a call that may run twice.
  [[nodiscard]] CallOptions retryable_call(Timeout timeout) const {
    return {.timeout = timeout, .reconnect_timeout = options_.reconnect_timeout, .stop = stop_};
  }
  [[nodiscard]] CallOptions retryable_call() const { return retryable_call(options_.call_timeout); }
  /// The same for a call with a session.
  [[nodiscard]] CallOptions session_call(Timeout timeout) {
    CallOptions options = retryable_call(timeout);
    options.reply_watchdog = reply_watchdog();
    return options;
  }
  /// The period doubles after each loss it detected, because the connection may have been slow.
  [[nodiscard]] ReplyWatchdog reply_watchdog() {
    const auto period = options_.reply_watchdog * (1 << std::min(n_watchdog_losses_.load(), 5));
    return {.period = period, .is_peer_active = [this, period] { return is_server_active(period); }};
  }
  /// False if the server was idle for the sessions during half of the time without reply.
  [[nodiscard]] bool is_server_active(std::chrono::milliseconds silent);

  RemoteContactOptions options_;
  std::stop_token stop_;
  std::string peer_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ContactService::StubInterface> stub_;
  std::vector<PairDescription> descriptions_;
  std::vector<std::string> session_ids_;
  bool all_history_independent_ = true;  ///< of the sessions opened
  std::unique_ptr<ExchangeStream> stream_;
  std::atomic<int> n_watchdog_losses_{0};  ///< losses detected by is_server_active()
  bool stream_outlives_stop_ = false;      ///< else the stop cancels it
  /// In the order of requests. The first ones are in flight in messages of `sent_` requests each; the rest has not been
  /// sent.
  std::deque<QueuedRequest> queue_;
  std::deque<std::size_t> sent_;
  std::shared_ptr<PendingRequest> own_ = std::make_shared<PendingRequest>();  ///< request of evaluate() and commit()
  // Reused by every exchange.
  v1::ExchangeRequest request_;
  v1::ExchangeResponse reply_;
  std::uint64_t sequence_ = 0;  ///< of the last message sent on the stream
  std::size_t n_named_ = 0;     ///< sessions announced to the stream
  Timeout timeout_{};           ///< of the current exchange, per request
  LatencyHistogram latencies_;
  std::chrono::duration<double> round_trip_time_{};
  double server_time_ = 0.0;  ///< [s] as reported by the server
};

RemoteContact::RemoteContact(RemoteContactOptions options, std::span<const PairSpec> pairs,
                             std::span<const AssetContent> assets, const OpenContext& context)
    : options_(std::move(options)),
      stop_(context.stop),
      peer_("fem_server at " + options_.endpoint.address),
      channel_(make_channel(options_.endpoint)),
      stub_(v1::ContactService::NewStub(channel_)) {
  wait_for_ready(*channel_, options_.endpoint, options_.connect_timeout);
  call(called("GetVersion"), retryable_call(), [&](grpc::ClientContext& call_context) {
    v1::VersionInfo version;
    const grpc::Status status = stub_->GetVersion(&call_context, {}, &version);
    if (status.ok()) check_version(version, peer_);
    return status;
  });
  for (const auto& asset : assets) {
    upload_asset(*stub_, asset, peer_, retryable_call(options_.upload_timeout));
  }
  try {
    for (const auto& pair : pairs) {
      open_session(pair, pairs.size(), context);
      hold_sessions();
    }
  } catch (...) {
    close_sessions();
    throw;
  }
}

RemoteContact::~RemoteContact() {
  if (stream_) {
    stream_->finish(Clock::now() + options_.close_timeout);
    stream_.reset();
  }
  close_sessions();
}

void RemoteContact::open_session(const PairSpec& pair, std::size_t n_pairs, const OpenContext& context) {
  v1::OpenSessionRequest request;
  wire::to_proto(pair, *request.mutable_pair());
  request.set_run_id(context.run_id);
  request.set_contract(contract_version);
  wire::set_message_checksum(request);

  const std::string what = called(fmt::format("OpenSession of pair '{}'", pair.name));
  if (stop_.stop_requested()) throw Error(ErrorCode::cancelled, what + ": stopped on request");
  const std::size_t n_before = session_ids_.size();
  call(what, retryable_call(options_.open_timeout),
       [&](grpc::ClientContext& call_context) { return attempt_open(call_context, request, pair, n_pairs, context); });
  if (session_ids_.size() == n_before)
    throw Error(ErrorCode::internal, what + ": the server ended the call without a session");
}

grpc::Status RemoteContact::attempt_open(grpc::ClientContext& call, const v1::OpenSessionRequest& request,
                                         const PairSpec& pair, std::size_t n_pairs, const OpenContext& context) {
  const auto reader = stub_->OpenSession(&call, request);
  v1::OpenSessionResponse event;
  bool opened = false;
  bool damaged = false;
  while (reader->Read(&event)) {
    damaged = damaged || !wire::verify_checksum(event);
    if (damaged) {
      call.TryCancel();
    } else if (event.has_progress() && context.on_progress) {
      const double done = static_cast<double>(session_ids_.size());
      context.on_progress(event.progress().stage(),
                          (done + event.progress().fraction()) / static_cast<double>(n_pairs));
    } else if (event.has_opened()) {
      session_ids_.push_back(event.opened().session_id());
      all_history_independent_ = all_history_independent_ && event.opened().history_independent();
      descriptions_.push_back(wire::from_proto(event.opened(), FieldPath("opened")));
      warn_missing_regions(pair, descriptions_.back(), peer_, context);
      opened = true;
    }
  }
  const grpc::Status status = reader->Finish();
  if (damaged && !opened) return {grpc::StatusCode::UNAVAILABLE, wire::corrupted_message_error("reply").what()};
  return opened ? grpc::Status::OK : status;  // an opened session exists even if the call failed
}

void RemoteContact::hold_sessions() {
  call_with_retry([] { return ExchangeStream::Outcome::done; });
}

void RemoteContact::close_sessions() noexcept {
  const auto deadline = Clock::now() + options_.close_timeout;
  for (const auto& id : session_ids_) {
    grpc::ClientContext context;
    context.set_deadline(deadline);
    v1::CloseSessionRequest request;
    v1::CloseSessionResponse response;
    request.set_session_id(id);
    // A session that cannot be closed expires on the server; a destructor cannot report the error.
    if (stub_->CloseSession(&context, request, &response).error_code() == grpc::StatusCode::UNAVAILABLE) break;
  }
  session_ids_.clear();
}

void RemoteContact::evaluate(std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                             std::span<Response> responses) {
  request_response(RequestKind::evaluate, step, iteration, states, responses);
}

void RemoteContact::commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) {
  request_response(RequestKind::commit, step, 0, states, responses);
}

void RemoteContact::request_response(RequestKind kind, std::int64_t step, std::int32_t iteration,
                                     std::span<const PairState> states, std::span<Response> responses) {
  if (states.size() != session_ids_.size() || responses.size() != session_ids_.size()) {
    throw Error(ErrorCode::internal, fmt::format("expected states and responses for {} pairs, found {} and {}",
                                                 session_ids_.size(), states.size(), responses.size()));
  }
  own_->kind = kind;
  own_->step = step;
  own_->states.assign(states.begin(), states.end());
  own_->responses.resize(states.size());
  own_->error.reset();
  own_->answered = false;
  queue_.push_back({.posted = own_, .iteration = iteration, .needs_tangents = true});
  drain();
  if (own_->error) throw_typed(*own_->error);
  std::ranges::copy(own_->responses, responses.begin());
}

std::shared_ptr<const PendingRequest> RemoteContact::post(RequestKind kind, std::int64_t step,
                                                          std::span<const PairState> states) {
  auto queued = std::make_shared<PendingRequest>();
  queued->kind = kind;
  queued->step = step;
  queued->states.assign(states.begin(), states.end());
  queued->responses.resize(states.size());
  queue_.push_back({.posted = queued});
  if (queue_.size() - n_sent() < min_requests_per_message) return queued;
  // After a loss nothing is in flight: everything is sent again, and no wait is needed.
  if (sent_.size() == max_messages_in_flight) {
    call_with_retry([this] { return sent_.empty() ? ExchangeStream::Outcome::done : receive_reply(); });
  }
  call_with_retry([this] { return send_waiting(); });
  return queued;
}

void RemoteContact::drain() {
  while (!queue_.empty()) {
    call_with_retry([this] {
      auto outcome = ExchangeStream::Outcome::done;
      if (n_sent() < queue_.size()) outcome = send_waiting();
      return outcome == ExchangeStream::Outcome::done ? receive_reply() : outcome;
    });
  }
}

void RemoteContact::record_exchange(std::chrono::steady_clock::duration duration, double server_time) {
  latencies_.record(duration);
  round_trip_time_ += duration;
  server_time_ += server_time;
}

std::vector<BatchEntry> RemoteContact::evaluate_batch(std::size_t pair, std::span<const PairState> states,
                                                      bool tangents, std::stop_token stop) {
  drain();
  v1::EvaluateBatchRequest request;
  v1::EvaluateBatchResponse response;
  request.set_session_id(session_ids_.at(pair));
  request.set_skip_tangents(!tangents);
  for (const PairState& state : states) wire::to_proto(state, *request.add_states());
  wire::set_message_checksum(request);
  const auto timeout = time_for(states.size());
  const auto begin = std::chrono::steady_clock::now();
  CallOptions options = session_call(timeout);
  if (stop.stop_possible()) options.stop = std::move(stop);
  call(called("EvaluateBatch"), options, [&](grpc::ClientContext& context) {
    return intact(stub_->EvaluateBatch(&context, request, &response), response);
  });
  record_exchange(std::chrono::steady_clock::now() - begin, response.server_time());
  if (static_cast<std::size_t>(response.pairs_size()) != states.size()) {
    throw Error(ErrorCode::internal,
                fmt::format("{} returned {} states instead of {}", peer_, response.pairs_size(), states.size()));
  }
  std::vector<BatchEntry> entries(states.size());
  const FieldPath root("response");
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const v1::PairResponse& answer = response.pairs(static_cast<int>(i));
    try {
      wire::from_proto(answer, entries[i].response, FieldPath(root, "pairs", i));
      require_regions(entries[i].response, descriptions_[pair], peer_);
    } catch (const RecoverableError& error) {
      entries[i].error = std::make_shared<const RecoverableError>(error);
    } catch (const Error& error) {
      entries[i].error = std::make_shared<const Error>(error);
    }
  }
  return entries;
}

MotionResponses RemoteContact::commit_motion(std::int64_t first_step, std::span<const std::vector<PairState>> states,
                                             std::stop_token stop) {
  drain();
  if (states.size() != session_ids_.size()) {
    throw Error(ErrorCode::internal, fmt::format("CommitMotion: expected states for {} pairs, found {}",
                                                 session_ids_.size(), states.size()));
  }
  v1::CommitMotionRequest request;
  v1::CommitMotionResponse response;
  request.set_first_step(first_step);
  const std::size_t n_states = states.empty() ? 0 : states.front().size();
  for (std::size_t i = 0; i < states.size(); ++i) {
    auto& pair = *request.add_pairs();
    pair.set_session_id(session_ids_[i]);
    for (const PairState& state : states[i]) wire::to_proto(state, *pair.add_states());
  }
  wire::set_message_checksum(request);
  const auto timeout = time_for(n_states);
  const auto begin = std::chrono::steady_clock::now();
  const std::string what = called("CommitMotion");
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, what + ": stopped on request");
  call(what,
       {.timeout = timeout,
        .reconnect_timeout = options_.reconnect_timeout,
        .stop = std::move(stop),
        .reply_watchdog = reply_watchdog()},
       [&](grpc::ClientContext& context) {
         return intact(stub_->CommitMotion(&context, request, &response), response);
       });
  record_exchange(std::chrono::steady_clock::now() - begin, response.server_time());
  MotionResponses answers;
  const FieldPath root("response");
  for (std::size_t i = 0; i < states.size(); ++i) {
    const bool there = response.pairs_size() == static_cast<int>(states.size());
    const int n = there ? response.pairs(static_cast<int>(i)).results_size() : 0;
    const bool complete = response.has_error() ? n < static_cast<int>(n_states) : n == static_cast<int>(n_states);
    if (!there || !complete || n != response.pairs(0).results_size()) {
      throw Error(ErrorCode::internal, fmt::format("{} returned {} pairs, pair {} with {} of {} states", what,
                                                   response.pairs_size(), i, n, n_states));
    }
    auto& own = answers.responses.emplace_back(static_cast<std::size_t>(n));
    const FieldPath path(root, "pairs", i);
    for (std::size_t k = 0; k < own.size(); ++k) {
      wire::from_proto(response.pairs(static_cast<int>(i)).results(static_cast<int>(k)), own[k],
                       FieldPath(path, "results", k));
      require_regions(own[k], descriptions_[i], peer_);
    }
  }
  if (response.has_error()) answers.error = std::make_shared<const Error>(wire::from_proto(response.error()));
  return answers;
}

void RemoteContact::fill(const QueuedRequest& queued, v1::ExchangeRequest& request) const {
  const PendingRequest& pending = *queued.posted;
  const bool commits = pending.kind == RequestKind::commit;
  request.set_kind(commits ? v1::ExchangeRequest::KIND_COMMIT : v1::ExchangeRequest::KIND_EVALUATE);
  request.set_skip_tangents(!queued.needs_tangents && !commits);
  while (request.pairs_size() > std::ssize(pending.states)) request.mutable_pairs()->RemoveLast();
  while (request.pairs_size() < std::ssize(pending.states)) request.add_pairs();
  for (int i = 0; i < request.pairs_size(); ++i) {
    auto& pair = *request.mutable_pairs(i);
    pair.clear_session_id();  // bound by hold_sessions()
    pair.set_step(pending.step);
    pair.set_iteration(queued.iteration);
    wire::to_proto(pending.states[static_cast<std::size_t>(i)], *pair.mutable_state());
  }
}

std::size_t RemoteContact::n_sent() const {
  return std::accumulate(sent_.begin(), sent_.end(), std::size_t{0});
}

ExchangeStream::Outcome RemoteContact::send_waiting() {
  const std::size_t first = n_sent();
  const std::size_t n = std::min(queue_.size() - first, max_requests_per_message);
  request_.set_sequence(++sequence_);
  while (request_.following_size() > static_cast<int>(n) - 1) request_.mutable_following()->RemoveLast();
  while (request_.following_size() < static_cast<int>(n) - 1) request_.add_following();
  fill(queue_[first], request_);
  for (std::size_t i = 1; i < n; ++i) fill(queue_[first + i], *request_.mutable_following(static_cast<int>(i) - 1));
  sent_.push_back(n);
  return stream_->send(request_, deadline());
}

ExchangeStream::Outcome RemoteContact::receive_reply() {
  const std::size_t n = sent_.front();
  const auto begin = std::chrono::steady_clock::now();
  // The deadline is that of separate requests.
  const auto outcome = stream_->receive(reply_, deadline(n));
  if (outcome != ExchangeStream::Outcome::done) return outcome;
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
  record_exchange(std::chrono::steady_clock::now() - begin, std::min(reply_.server_time(), waited.count()));
  const std::uint64_t expected = sequence_ + 1 - sent_.size();
  if (reply_.sequence() != expected || reply_.following_size() + 1 != static_cast<int>(n)) {
    throw Error(ErrorCode::internal, fmt::format("{} returned reply {} with {} responses instead of {} with {}", peer_,
                                                 reply_.sequence(), reply_.following_size() + 1, expected, n));
  }
  for (std::size_t i = 0; i < n; ++i) {
    read_response(i == 0 ? reply_ : reply_.following(static_cast<int>(i) - 1), *queue_.front().posted);
    queue_.pop_front();
  }
  sent_.pop_front();
  return outcome;
}

void RemoteContact::read_response(const v1::ExchangeResponse& reply, PendingRequest& pending) const {
  pending.error = refusal([&] {
    if (static_cast<std::size_t>(reply.pairs_size()) != pending.states.size()) {
      throw Error(ErrorCode::internal,
                  fmt::format("{} returned {} pairs instead of {}", peer_, reply.pairs_size(), pending.states.size()));
    }
    const FieldPath root("reply");
    for (std::size_t i = 0; i < pending.states.size(); ++i) {
      wire::from_proto(reply.pairs(static_cast<int>(i)), pending.responses[i], FieldPath(root, "pairs", i));
      require_regions(pending.responses[i], descriptions_[i], peer_);
    }
  });
  pending.answered = true;
}

bool RemoteContact::is_server_active(std::chrono::milliseconds silent) {
  grpc::ClientContext context;
  context.set_deadline(Clock::now() + activity_timeout);
  const std::stop_callback cancel(stop_, [&context] { context.TryCancel(); });
  v1::GetActivityRequest request;
  for (const auto& id : session_ids_) request.add_session_ids(id);
  v1::GetActivityResponse response;
  const grpc::Status status = stub_->GetActivity(&context, request, &response);
  // A lost connection is detected elsewhere, and a server without response to the query may be busy.
  const bool works = status.ok() ? response.idle() < 0.5 * std::chrono::duration<double>(silent).count()
                                 : status.error_code() != grpc::StatusCode::NOT_FOUND;
  if (!works) ++n_watchdog_losses_;
  return works;
}

ExchangeStream::Outcome RemoteContact::announce_sessions() {
  if (!stream_) {
    stream_ = std::make_unique<ExchangeStream>(*stub_, stream_outlives_stop_ ? std::stop_token() : stop_,
                                               reply_watchdog(), message_socket(options_.endpoint));
    n_named_ = 0;
    sent_.clear();  // requests in flight are repeated
    sequence_ = 0;
  }
  if (n_named_ == session_ids_.size()) return ExchangeStream::Outcome::done;
  v1::ExchangeRequest request;
  request.set_sequence(++sequence_);
  request.set_kind(v1::ExchangeRequest::KIND_ATTACH);
  for (const auto& id : session_ids_) request.add_pairs()->set_session_id(id);
  auto outcome = stream_->send(request, deadline());
  if (outcome == ExchangeStream::Outcome::done) outcome = stream_->receive(reply_, deadline());
  if (outcome != ExchangeStream::Outcome::done) return outcome;
  for (const auto& pair : reply_.pairs()) {
    if (pair.has_error()) throw_typed(wire::from_proto(pair.error()));
  }
  n_named_ = session_ids_.size();
  if (!reply_.committed_steps().empty()) skip_committed(*std::ranges::min_element(reply_.committed_steps()));
  return outcome;
}

// Only the last commit can be repeated. A deferred request before an earlier commit is evaluated with the current
// history; deferred requests therefore must not depend on the history.
void RemoteContact::skip_committed(std::int64_t committed_step) {
  std::size_t n_old = 0;  // requests before the last commit that has arrived
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const PendingRequest& pending = *queue_[i].posted;
    if (pending.kind == RequestKind::commit && pending.step <= committed_step) n_old = i;
  }
  std::deque<QueuedRequest> left;
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    PendingRequest& pending = *queue_[i].posted;
    if (i < n_old && pending.kind == RequestKind::commit) {
      pending.answered = true;
      continue;
    }
    if (i < n_old) pending.step = -1;
    left.push_back(std::move(queue_[i]));
  }
  queue_ = std::move(left);
}

void RemoteContact::call_with_retry(const std::function<ExchangeStream::Outcome()>& step) {
  try {
    // A stopped run may still send requests, but does not wait for a reconnection.
    const bool stopped_before = stop_.stop_requested();
    timeout_ = options_.exchange_timeout;
    if (stopped_before) timeout_ = std::min(timeout_.value_or(after_stop), after_stop);
    Backoff backoff(stopped_before ? std::chrono::milliseconds{0} : options_.reconnect_timeout, stop_);
    if (stopped_before && !std::exchange(stream_outlives_stop_, true)) stream_.reset();
    while (true) {
      auto outcome = announce_sessions();
      if (outcome == ExchangeStream::Outcome::done) outcome = step();
      if (outcome == ExchangeStream::Outcome::done) return;
      if (outcome == ExchangeStream::Outcome::timed_out) throw_timeout();
      bool lost = false;
      const Error error = drop_stream(lost);
      if (!stopped_before && stop_.stop_requested()) {
        throw Error(ErrorCode::cancelled, called("Exchange") + ": stopped on request");
      }
      if (!lost || !backoff.pause()) throw_typed(error);
      // A dead transport may still appear connected; the next loss then reveals it.
      (void)channel_->WaitForConnected(Clock::now() +
                                       std::min<std::chrono::milliseconds>(backoff.remaining(), poll_interval));
    }
  } catch (const Error& error) {
    fail_requests(error);
    throw;
  }
}

void RemoteContact::fail_requests(const Error& error) {
  for (const QueuedRequest& queued : queue_) {
    queued.posted->error = std::make_shared<const Error>(error);
    queued.posted->answered = true;
  }
  queue_.clear();
  stream_.reset();
}

void RemoteContact::throw_timeout() {
  const bool pending = !queue_.empty();
  const bool commits = pending && queue_.front().posted->kind == RequestKind::commit;
  throw Error(ErrorCode::deadline,
              fmt::format("{} did not respond to {} of step {} within {:.3g} s; it may hang, be overloaded or need a "
                          "longer exchange timeout, or none (mbs_server --exchange-timeout)",
                          peer_, commits ? "commit" : "evaluate", pending ? queue_.front().posted->step : -1,
                          static_cast<double>(timeout_->count()) / 1000.0),
              {}, true);
}

Error RemoteContact::drop_stream(bool& lost) {
  const grpc::Status status = stream_->finish(Clock::now() + options_.close_timeout);
  // A server that ends a stream regularly during a request is stopping; it may be restarted.
  lost = status.ok() || is_connection_lost(status, stream_->context());
  Error error = status.ok() ? unavailable_error(called("Exchange") +
                                                ": the server ended the stream; it may be shutting "
                                                "down")
                            : wire::from_status(status, stream_->context(), called("Exchange"));
  if (lost && error.code() != ErrorCode::unavailable) error = unavailable_error(error.what());
  stream_.reset();
  return error;
}

std::vector<std::string> RemoteContact::save_state() {
  drain();
  std::vector<std::string> states;
  for (const auto& id : session_ids_) {
    v1::SaveStateRequest request;
    v1::SaveStateResponse response;
    request.set_session_id(id);
    call(called("SaveState"), retryable_call(), [&](grpc::ClientContext& context) {
      return intact(stub_->SaveState(&context, request, &response), response);
    });
    states.push_back(std::move(*response.mutable_state()));
  }
  return states;
}

void RemoteContact::restore_state(std::span<const std::string> states) {
  drain();
  if (states.size() != session_ids_.size()) {
    throw input_error(
        "contact_states",
        fmt::format("expected the state of {} pairs, found {}; the checkpoint belongs to another scenario",
                    session_ids_.size(), states.size()));
  }
  const std::vector<std::string> before = save_state();
  std::size_t n_touched = 0;
  try {
    while (n_touched < states.size()) {
      const std::size_t i = n_touched++;
      restore_pair(i, states[i]);
    }
  } catch (...) {
    // A failed call may have been executed, so that its pair is restored as well. If this fails, too, the server is
    // unreachable, and the first error reports it.
    try {
      for (std::size_t i = 0; i < n_touched; ++i) restore_pair(i, before[i]);
    } catch (const Error&) {
    }
    throw;
  }
}

void RemoteContact::restore_pair(std::size_t pair, const std::string& state) {
  v1::RestoreStateRequest request;
  v1::RestoreStateResponse response;
  request.set_session_id(session_ids_[pair]);
  request.set_state(state);
  wire::set_message_checksum(request);
  call(called("RestoreState"), retryable_call(),
       [&](grpc::ClientContext& context) { return stub_->RestoreState(&context, request, &response); });
}

std::optional<RpcStatistics> RemoteContact::rpc_statistics() const {
  return RpcStatistics{.calls = latencies_.count(),
                       .p50_us = latencies_.quantile_us(0.5),
                       .p99_us = latencies_.quantile_us(0.99),
                       .round_trip_time = round_trip_time_.count(),
                       .server_time = server_time_};
}

std::string RemoteContact::fields(std::size_t pair, const PairState& state, const FieldRequest& request) {
  drain();
  v1::GetFieldsRequest message;
  v1::GetFieldsResponse response;
  message.set_session_id(session_ids_.at(pair));
  wire::to_proto(state, *message.mutable_state());
  wire::to_proto(request, message);
  wire::set_message_checksum(message);
  // A server that exceeds the timeout is called again, like an absent one: the fields cannot be obtained otherwise, and
  // no other request waits.
  Backoff backoff(stop_.stop_requested() ? std::chrono::milliseconds{0} : options_.reconnect_timeout, stop_);
  for (bool answered = false; !answered;) {
    try {
      call(called("GetFields"), session_call(time_for(1)), [&](grpc::ClientContext& context) {
        return intact(stub_->GetFields(&context, message, &response), response);
      });
      answered = true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::deadline || !backoff.pause()) throw;
    }
  }
  return std::move(*response.mutable_vtu());
}

}  // namespace

ContactFactory open_remote_contact(RemoteContactOptions options) {
  const RecoveryOptions recovery{.reconnect_timeout = options.reconnect_timeout,
                                 .retry_first_open = options.is_server_known,
                                 .peer = "fem_server at " + options.endpoint.address};
  return recovering(
      [options = std::move(options)](std::span<const PairSpec> pairs, std::span<const AssetContent> assets,
                                     const OpenContext& context) -> std::unique_ptr<Contact> {
        return std::make_unique<RemoteContact>(options, pairs, assets, context);
      },
      recovery);
}

}  // namespace heelstrike::rpc
