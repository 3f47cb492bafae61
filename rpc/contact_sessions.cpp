#include "rpc/contact_sessions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <utility>

#include "common/contact/preparation.hpp"
#include "common/errors/error.hpp"
#include "common/errors/rejection.hpp"
#include "common/process/version.hpp"
#include "rpc/call.hpp"
#include "rpc/contact_calls.hpp"
#include "rpc/exchange_stream.hpp"
#include "rpc/wire/checksum.hpp"
#include "rpc/wire/contact_wire.hpp"
#include "rpc/wire/error_wire.hpp"
#include "rpc/wire/pair_spec_wire.hpp"

namespace heelstrike::rpc {

// A duration of n nanoseconds falls into octave floor(log2 n), split linearly into 16: relative width 1/16 at most.
void LatencyHistogram::record(std::chrono::nanoseconds duration) {
  const auto n = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 1));
  const int octave = static_cast<int>(std::bit_width(n)) - 1;
  const std::uint64_t fraction = octave >= 4 ? (n >> (octave - 4)) & 15U : (n << (4 - octave)) & 15U;
  ++counts_[static_cast<std::size_t>(octave) * buckets_per_octave + fraction];
  ++count_;
}

double LatencyHistogram::quantile_us(double fraction) const {
  if (count_ == 0) return 0.0;
  const auto rank = std::max<std::int64_t>(1, std::llround(std::ceil(fraction * static_cast<double>(count_))));
  std::int64_t below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    if (below < rank) continue;
    const double octave = std::ldexp(1.0, static_cast<int>(i / buckets_per_octave));
    return 1e-3 * octave * (1.0 + (static_cast<double>(i % buckets_per_octave) + 0.5) / buckets_per_octave);
  }
  return 0.0;
}

namespace {

using wire::FieldPath;
using Clock = std::chrono::system_clock;
using Timeout = std::optional<std::chrono::milliseconds>;

/// Maximum wait for a lost connection per attempt: short enough to detect a stop of the run soon.
constexpr std::chrono::milliseconds connection_wait{200};
/// Timeout of requests after a stop of the run, for the energy at its end. A busy server is not waited for.
constexpr std::chrono::milliseconds after_stop{500};

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

void fill(const QueuedRequest& queued, v1::ExchangeRequest& request) {
  const PendingRequest& pending = *queued.pending;
  const bool commits = pending.kind == RequestKind::commit;
  request.set_kind(commits ? v1::ExchangeRequest::KIND_COMMIT : v1::ExchangeRequest::KIND_EVALUATE);
  request.set_skip_tangents(!queued.needs_tangents && !commits);
  while (request.pairs_size() > std::ssize(pending.states)) request.mutable_pairs()->RemoveLast();
  while (request.pairs_size() < std::ssize(pending.states)) request.add_pairs();
  for (int i = 0; i < request.pairs_size(); ++i) {
    auto& pair = *request.mutable_pairs(i);
    pair.clear_session_id();  // bound by announce_sessions()
    pair.set_step(pending.step);
    pair.set_iteration(queued.iteration);
    wire::to_proto(pending.states[static_cast<std::size_t>(i)], *pair.mutable_state());
  }
}

class GrpcSessions final : public ContactSessions {
 public:
  GrpcSessions(RemoteContactOptions options, std::span<const PairSpec> pairs, std::span<const AssetContent> assets,
               OpenContext context, RoundTrips& round_trips)
      : options_(std::move(options)),
        specs_(pairs),
        assets_(assets),
        context_(std::move(context)),
        peer_("fem_server at " + options_.endpoint.address),
        channel_(make_channel(options_.endpoint)),
        stub_(v1::ContactService::NewStub(channel_)),
        round_trips_(round_trips) {}
  ~GrpcSessions() override;

  [[nodiscard]] std::optional<std::int64_t> connect(bool stopped) override;
  void disconnect() override { stream_.reset(); }
  [[nodiscard]] std::span<const PairDescription> pairs() const override { return descriptions_; }
  [[nodiscard]] bool history_independent() const override { return !session_ids_.empty() && all_history_independent_; }
  void send(Requests requests) override;
  void receive(Requests requests) override;
  [[nodiscard]] std::vector<BatchEntry> evaluate_batch(std::size_t pair, std::span<const PairState> states,
                                                       bool tangents, std::stop_token stop) override;
  [[nodiscard]] MotionResponses commit_motion(std::int64_t first_step, std::span<const std::vector<PairState>> states,
                                              std::stop_token stop) override;
  [[nodiscard]] std::vector<std::string> save_state() override;
  void restore_state(std::span<const std::string> states) override;
  [[nodiscard]] std::string fields(std::size_t pair, const PairState& state, const FieldRequest& request) override;

 private:
  void prepare_server();
  void open_session(const PairSpec& pair);
  [[nodiscard]] grpc::Status attempt_open(grpc::ClientContext& call, const v1::OpenSessionRequest& request,
                                          const PairSpec& pair);
  /// Announces the sessions to the stream. @return the last step that all have committed, -1 if none
  [[nodiscard]] std::int64_t announce_sessions();
  void close_sessions() noexcept;
  void read_response(const v1::ExchangeResponse& reply, PendingRequest& pending) const;

  /// Throws unless the outcome of an operation of the stream is `done`.
  /// @param request  for the message of a timeout; null = none
  void require_done(ExchangeStream::Outcome outcome, const PendingRequest* request);
  [[noreturn]] void throw_lost();

  [[nodiscard]] std::string called(std::string_view verb) const { return fmt::format("{} at {}", verb, peer_); }
  /// Timeout of n states: n times that of a single one.
  [[nodiscard]] Timeout time_for(std::size_t n_states) const {
    if (!options_.exchange_timeout) return {};
    return *options_.exchange_timeout * std::max<std::int64_t>(1, static_cast<std::int64_t>(n_states));
  }
  /// @param n  number of requests to be completed until then
  [[nodiscard]] Clock::time_point deadline(std::size_t n = 1) const {
    return timeout_ ? Clock::now() + *timeout_ * static_cast<std::int64_t>(n) : Clock::time_point::max();
  }
  [[nodiscard]] CallOptions single_call(Timeout timeout) const { return {.timeout = timeout, .stop = context_.stop}; }
  /// The same for a call with a session.
  [[nodiscard]] CallOptions session_call(Timeout timeout) {
    return {.timeout = timeout, .stop = context_.stop, .reply_watchdog = reply_watchdog()};
  }
  /// The period doubles after each loss it detected, because the connection may have been slow.
  [[nodiscard]] ReplyWatchdog reply_watchdog() {
    const auto period = options_.reply_watchdog * (1 << std::min(n_watchdog_losses_.load(), 5));
    return {.period = period, .is_peer_active = [this, period] { return is_server_active(period); }};
  }
  /// False if the server was idle for the sessions during half of the time without reply.
  [[nodiscard]] bool is_server_active(std::chrono::milliseconds silent);

  RemoteContactOptions options_;
  std::span<const PairSpec> specs_;
  std::span<const AssetContent> assets_;
  OpenContext context_;
  std::string peer_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ContactService::StubInterface> stub_;
  RoundTrips& round_trips_;

  // Progress of the opening, which continues here after a loss.
  bool is_ready_ = false;     ///< the server has responded
  bool is_checked_ = false;   ///< its version agrees
  std::size_t n_assets_ = 0;  ///< that the server has
  std::vector<PairDescription> descriptions_;
  std::vector<std::string> session_ids_;
  bool all_history_independent_ = true;  ///< of the sessions opened

  std::unique_ptr<ExchangeStream> stream_;
  std::size_t n_announced_ = 0;            ///< sessions announced to the stream
  std::uint64_t sequence_ = 0;             ///< of the last message sent on the stream
  std::uint64_t n_replies_ = 0;            ///< received on the stream
  bool was_lost_ = false;                  ///< the last stream
  bool stopped_ = false;                   ///< before the current call
  bool stream_outlives_stop_ = false;      ///< else the stop cancels it
  std::atomic<int> n_watchdog_losses_{0};  ///< losses detected by is_server_active()
  Timeout timeout_{};                      ///< of the current exchange, per request
  // Reused by every exchange.
  v1::ExchangeRequest request_;
  v1::ExchangeResponse reply_;
};

GrpcSessions::~GrpcSessions() {
  if (stream_) stream_->finish(Clock::now() + options_.close_timeout);
  stream_.reset();
  close_sessions();
}

std::optional<std::int64_t> GrpcSessions::connect(bool stopped) {
  stopped_ = stopped;
  timeout_ = options_.exchange_timeout;
  // A stopped run may still send requests, but does not wait for them.
  if (stopped) timeout_ = std::min(timeout_.value_or(after_stop), after_stop);
  if (stopped && !std::exchange(stream_outlives_stop_, true)) stream_.reset();
  // A broken transport may still appear connected; the next loss then reveals it.
  if (std::exchange(was_lost_, false)) (void)channel_->WaitForConnected(Clock::now() + connection_wait);
  if (stream_ && n_announced_ == specs_.size()) return {};
  prepare_server();
  std::int64_t committed_step = announce_sessions();
  while (session_ids_.size() < specs_.size()) {
    open_session(specs_[session_ids_.size()]);
    committed_step = announce_sessions();
  }
  return committed_step;
}

void GrpcSessions::prepare_server() {
  if (!is_ready_) wait_for_ready(*channel_, options_.endpoint, options_.connect_timeout);
  is_ready_ = true;
  if (!is_checked_) {
    call(called("GetVersion"), single_call(options_.call_timeout), [&](grpc::ClientContext& context) {
      v1::VersionInfo version;
      const grpc::Status status = stub_->GetVersion(&context, {}, &version);
      if (status.ok()) check_version(version, peer_);
      return status;
    });
    is_checked_ = true;
  }
  for (; n_assets_ < assets_.size(); ++n_assets_) {
    upload_asset(*stub_, assets_[n_assets_], peer_, single_call(options_.upload_timeout));
  }
}

void GrpcSessions::open_session(const PairSpec& pair) {
  v1::OpenSessionRequest request;
  wire::to_proto(pair, *request.mutable_pair());
  request.set_run_id(context_.run_id);
  request.set_contract(contract_version);
  wire::set_message_checksum(request);

  const std::string what = called(fmt::format("OpenSession of pair '{}'", pair.name));
  if (context_.stop.stop_requested()) throw Error(ErrorCode::cancelled, what + ": stopped on request");
  const std::size_t n_before = session_ids_.size();
  call(what, single_call(options_.open_timeout),
       [&](grpc::ClientContext& context) { return attempt_open(context, request, pair); });
  if (session_ids_.size() == n_before)
    throw Error(ErrorCode::internal, what + ": the server ended the call without a session");
}

grpc::Status GrpcSessions::attempt_open(grpc::ClientContext& call, const v1::OpenSessionRequest& request,
                                        const PairSpec& pair) {
  const auto reader = stub_->OpenSession(&call, request);
  v1::OpenSessionResponse event;
  bool opened = false;
  bool damaged = false;
  while (reader->Read(&event)) {
    damaged = damaged || !wire::verify_checksum(event);
    if (damaged) {
      call.TryCancel();
    } else if (event.has_progress() && context_.on_progress) {
      const double done = static_cast<double>(session_ids_.size());
      context_.on_progress(event.progress().stage(),
                           (done + event.progress().fraction()) / static_cast<double>(specs_.size()));
    } else if (event.has_opened()) {
      session_ids_.push_back(event.opened().session_id());
      all_history_independent_ = all_history_independent_ && event.opened().history_independent();
      descriptions_.push_back(wire::from_proto(event.opened(), FieldPath("opened")));
      warn_missing_regions(pair, descriptions_.back(), peer_, context_);
      opened = true;
    }
  }
  const grpc::Status status = reader->Finish();
  if (damaged && !opened) return {grpc::StatusCode::UNAVAILABLE, wire::corrupted_message_error("reply").what()};
  return opened ? grpc::Status::OK : status;  // an opened session exists even if the call failed
}

std::int64_t GrpcSessions::announce_sessions() {
  if (session_ids_.empty()) return -1;
  if (!stream_) {
    stream_ = std::make_unique<ExchangeStream>(*stub_, stream_outlives_stop_ ? std::stop_token() : context_.stop,
                                               reply_watchdog(), message_socket(options_.endpoint));
    n_announced_ = 0;
    sequence_ = n_replies_ = 0;
  }
  v1::ExchangeRequest request;
  request.set_sequence(++sequence_);
  request.set_kind(v1::ExchangeRequest::KIND_ATTACH);
  for (const auto& id : session_ids_) request.add_pairs()->set_session_id(id);
  require_done(stream_->send(request, deadline()), nullptr);
  require_done(stream_->receive(reply_, deadline()), nullptr);
  ++n_replies_;
  for (const auto& pair : reply_.pairs()) {
    if (pair.has_error()) throw_typed(wire::from_proto(pair.error()));
  }
  n_announced_ = session_ids_.size();
  return reply_.committed_steps().empty() ? -1 : *std::ranges::min_element(reply_.committed_steps());
}

void GrpcSessions::close_sessions() noexcept {
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

std::vector<BatchEntry> GrpcSessions::evaluate_batch(std::size_t pair, std::span<const PairState> states, bool tangents,
                                                     std::stop_token stop) {
  v1::EvaluateBatchRequest request;
  v1::EvaluateBatchResponse response;
  request.set_session_id(session_ids_.at(pair));
  request.set_skip_tangents(!tangents);
  for (const PairState& state : states) wire::to_proto(state, *request.add_states());
  wire::set_message_checksum(request);
  const auto begin = std::chrono::steady_clock::now();
  CallOptions options = session_call(time_for(states.size()));
  if (stop.stop_possible()) options.stop = std::move(stop);
  call(called("EvaluateBatch"), options, [&](grpc::ClientContext& context) {
    return intact(stub_->EvaluateBatch(&context, request, &response), response);
  });
  round_trips_.record(std::chrono::steady_clock::now() - begin, response.server_time());
  if (static_cast<std::size_t>(response.pairs_size()) != states.size()) {
    throw Error(ErrorCode::internal,
                fmt::format("{} returned {} states instead of {}", peer_, response.pairs_size(), states.size()));
  }
  std::vector<BatchEntry> entries(states.size());
  const FieldPath root("response");
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const v1::PairResponse& from = response.pairs(static_cast<int>(i));
    try {
      wire::from_proto(from, entries[i].response, FieldPath(root, "pairs", i));
      require_regions(entries[i].response, descriptions_[pair], peer_);
    } catch (const RecoverableError& error) {
      entries[i].error = std::make_shared<const RecoverableError>(error);
    } catch (const Error& error) {
      entries[i].error = std::make_shared<const Error>(error);
    }
  }
  return entries;
}

MotionResponses GrpcSessions::commit_motion(std::int64_t first_step, std::span<const std::vector<PairState>> states,
                                            std::stop_token stop) {
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
  const auto begin = std::chrono::steady_clock::now();
  const std::string what = called("CommitMotion");
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, what + ": stopped on request");
  CallOptions options = session_call(time_for(n_states));
  options.stop = std::move(stop);
  call(what, options, [&](grpc::ClientContext& context) {
    return intact(stub_->CommitMotion(&context, request, &response), response);
  });
  round_trips_.record(std::chrono::steady_clock::now() - begin, response.server_time());
  MotionResponses motion;
  const FieldPath root("response");
  for (std::size_t i = 0; i < states.size(); ++i) {
    const bool there = response.pairs_size() == static_cast<int>(states.size());
    const int n = there ? response.pairs(static_cast<int>(i)).results_size() : 0;
    const bool complete = response.has_error() ? n < static_cast<int>(n_states) : n == static_cast<int>(n_states);
    if (!there || !complete || n != response.pairs(0).results_size()) {
      throw Error(ErrorCode::internal, fmt::format("{} returned {} pairs, pair {} with {} of {} states", what,
                                                   response.pairs_size(), i, n, n_states));
    }
    auto& own = motion.responses.emplace_back(static_cast<std::size_t>(n));
    const FieldPath path(root, "pairs", i);
    for (std::size_t k = 0; k < own.size(); ++k) {
      wire::from_proto(response.pairs(static_cast<int>(i)).results(static_cast<int>(k)), own[k],
                       FieldPath(path, "results", k));
      require_regions(own[k], descriptions_[i], peer_);
    }
  }
  if (response.has_error()) motion.error = std::make_shared<const Error>(wire::from_proto(response.error()));
  return motion;
}

void GrpcSessions::send(Requests requests) {
  const int n = static_cast<int>(requests.size());
  request_.set_sequence(++sequence_);
  while (request_.following_size() > n - 1) request_.mutable_following()->RemoveLast();
  while (request_.following_size() < n - 1) request_.add_following();
  fill(requests.front(), request_);
  for (int i = 1; i < n; ++i) fill(requests[i], *request_.mutable_following(i - 1));
  require_done(stream_->send(request_, deadline()), requests.front().pending.get());
}

void GrpcSessions::receive(Requests requests) {
  const int n = static_cast<int>(requests.size());
  const auto begin = std::chrono::steady_clock::now();
  // The deadline is that of separate requests.
  require_done(stream_->receive(reply_, deadline(requests.size())), requests.front().pending.get());
  const auto waited = std::chrono::steady_clock::now() - begin;
  round_trips_.record(waited, std::min(reply_.server_time(), std::chrono::duration<double>(waited).count()));
  const std::uint64_t expected = ++n_replies_;
  if (reply_.sequence() != expected || reply_.following_size() + 1 != n) {
    throw Error(ErrorCode::internal, fmt::format("{} returned reply {} with {} responses instead of {} with {}", peer_,
                                                 reply_.sequence(), reply_.following_size() + 1, expected, n));
  }
  for (int i = 0; i < n; ++i) read_response(i == 0 ? reply_ : reply_.following(i - 1), *requests[i].pending);
}

void GrpcSessions::read_response(const v1::ExchangeResponse& reply, PendingRequest& pending) const {
  pending.error = rejection_error([&] {
    if (static_cast<std::size_t>(reply.pairs_size()) != pending.states.size()) {
      throw Error(ErrorCode::internal,
                  fmt::format("{} returned {} pairs instead of {}", peer_, reply.pairs_size(), pending.states.size()));
    }
    const FieldPath root("reply");
    pending.responses.resize(pending.states.size());
    for (std::size_t i = 0; i < pending.states.size(); ++i) {
      wire::from_proto(reply.pairs(static_cast<int>(i)), pending.responses[i], FieldPath(root, "pairs", i));
      require_regions(pending.responses[i], descriptions_[i], peer_);
    }
  });
}

bool GrpcSessions::is_server_active(std::chrono::milliseconds silent) {
  grpc::ClientContext context;
  context.set_deadline(Clock::now() + activity_timeout);
  const std::stop_callback cancel(context_.stop, [&context] { context.TryCancel(); });
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

void GrpcSessions::require_done(ExchangeStream::Outcome outcome, const PendingRequest* request) {
  if (outcome == ExchangeStream::Outcome::done) return;
  if (outcome == ExchangeStream::Outcome::lost) throw_lost();
  stream_.reset();
  const bool commits = request != nullptr && request->kind == RequestKind::commit;
  throw Error(ErrorCode::deadline,
              fmt::format("{} did not respond to {} of step {} within {:.3g} s; it may hang, be overloaded or need a "
                          "longer exchange timeout, or none (mbs_server --exchange-timeout)",
                          peer_, commits ? "commit" : "evaluate", request != nullptr ? request->step : -1,
                          static_cast<double>(timeout_->count()) / 1000.0),
              {}, true);
}

void GrpcSessions::throw_lost() {
  const auto stream = std::move(stream_);
  const grpc::Status status = stream->finish(Clock::now() + options_.close_timeout);
  const std::string what = called("Exchange");
  if (!stopped_ && context_.stop.stop_requested()) {
    throw Error(ErrorCode::cancelled, what + ": stopped on request");
  }
  was_lost_ = true;
  // A server that ends a stream regularly during a request is stopping; it may be restarted.
  if (status.ok())
    throw ConnectionLost(unavailable_error(what + ": the server ended the stream; it may be shutting down"));
  const Error error = wire::from_status(status, stream->context(), what);
  if (!is_connection_lost(status, stream->context())) throw_typed(error);
  throw ConnectionLost(unavailable_error(error.what()));
}

std::vector<std::string> GrpcSessions::save_state() {
  std::vector<std::string> states;
  for (const auto& id : session_ids_) {
    v1::SaveStateRequest request;
    v1::SaveStateResponse response;
    request.set_session_id(id);
    call(called("SaveState"), single_call(options_.call_timeout), [&](grpc::ClientContext& context) {
      return intact(stub_->SaveState(&context, request, &response), response);
    });
    states.push_back(std::move(*response.mutable_state()));
  }
  return states;
}

void GrpcSessions::restore_state(std::span<const std::string> states) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    v1::RestoreStateRequest request;
    v1::RestoreStateResponse response;
    request.set_session_id(session_ids_.at(i));
    request.set_state(states[i]);
    wire::set_message_checksum(request);
    call(called("RestoreState"), single_call(options_.call_timeout),
         [&](grpc::ClientContext& context) { return stub_->RestoreState(&context, request, &response); });
  }
}

std::string GrpcSessions::fields(std::size_t pair, const PairState& state, const FieldRequest& request) {
  v1::GetFieldsRequest message;
  v1::GetFieldsResponse response;
  message.set_session_id(session_ids_.at(pair));
  wire::to_proto(state, *message.mutable_state());
  wire::to_proto(request, message);
  wire::set_message_checksum(message);
  try {
    call(called("GetFields"), session_call(time_for(1)), [&](grpc::ClientContext& context) {
      return intact(stub_->GetFields(&context, message, &response), response);
    });
  } catch (const Error& error) {
    // A server that exceeds the timeout is called again, like an absent one: the fields cannot be obtained otherwise,
    // and no other request waits.
    if (error.code() == ErrorCode::deadline) throw ConnectionLost(error);
    throw;
  }
  return std::move(*response.mutable_vtu());
}

}  // namespace

SessionsFactory grpc_sessions(RemoteContactOptions options) {
  return [options = std::move(options)](std::span<const PairSpec> pairs, std::span<const AssetContent> assets,
                                        const OpenContext& context,
                                        RoundTrips& round_trips) -> std::unique_ptr<ContactSessions> {
    return std::make_unique<GrpcSessions>(options, pairs, assets, context, round_trips);
  };
}

}  // namespace heelstrike::rpc
