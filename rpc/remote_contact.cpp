#include "rpc/remote_contact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include "common/contact/preparation.hpp"
#include "common/errors/error.hpp"
#include "rpc/call.hpp"
#include "rpc/contact_sessions.hpp"

namespace heelstrike::rpc {
namespace {

/// Maximum number of commits that are replayed after a loss. Saving the histories takes one call per pair, which is
/// negligible (0.1 %) beside this number of steps with at least four calls each; replaying them costs a quarter of
/// these steps.
constexpr std::size_t max_replayed_commits = 256;

/// Missing files at an opening indicate a server restart in between; repeated failure has another reason.
constexpr int max_open_attempts = 3;

/// Deferred requests are sent with the next synchronous one, or when this number is reached: a message costs as much as
/// the evaluation of dozens of cheap requests.
constexpr std::size_t min_requests_per_message = 32;
/// Per message; the server accepts more.
constexpr std::size_t max_requests_per_message = 512;
/// Maximum number of messages in flight before the sender waits for the first reply.
constexpr std::size_t max_messages_in_flight = 4;

/// Memory for unfinished uploads may be occupied by other runs temporarily.
bool is_upload_postponed(const Error& error) {
  return error.code() == ErrorCode::limit && error.field() == "upload" && error.retryable();
}

/// The histories of all pairs: the last saved ones, and the commits since then.
class CommittedHistory {
 public:
  /// Does nothing for a repetition of the last commit.
  /// @param as_motion  committed by commit_motion(), whose results may differ by rounding
  void add(std::int64_t step, std::span<const PairState> states, bool as_motion) {
    if (n_commits_since_save() > 0 && step < first_step_ + static_cast<std::int64_t>(n_commits_since_save())) return;
    if (n_commits_since_save() == 0) first_step_ = step;
    states_.insert(states_.end(), states.begin(), states.end());
    as_motion_.push_back(as_motion);
  }
  void set_saved(std::vector<std::string> saved) {
    saved_ = std::move(saved);
    states_.clear();
    as_motion_.clear();
  }
  [[nodiscard]] const std::vector<std::string>& saved() const { return saved_; }
  [[nodiscard]] std::size_t n_commits_since_save() const { return as_motion_.size(); }
  /// Repeats the commits after `committed_step` in sessions that have the state of saved() or a later one.
  void replay_in(ContactSessions& sessions, std::int64_t committed_step) const;

 private:
  std::vector<std::string> saved_;  ///< empty = the sessions were new
  std::int64_t first_step_ = 0;     ///< of the commits since
  std::vector<PairState> states_;   ///< of all pairs at each of them
  std::vector<bool> as_motion_;     ///< of each of them
};

void CommittedHistory::replay_in(ContactSessions& sessions, std::int64_t committed_step) const {
  for (std::size_t i = 0; i < n_commits_since_save(); ++i) {
    const auto step = first_step_ + static_cast<std::int64_t>(i);
    if (step <= committed_step) continue;
    const std::size_t n_pairs = states_.size() / n_commits_since_save();
    const auto states = std::span(states_).subspan(i * n_pairs, n_pairs);
    std::shared_ptr<const Error> error;
    if (as_motion_[i]) {
      std::vector<std::vector<PairState>> motion;
      for (const PairState& state : states) motion.push_back({state});
      error = sessions.commit_motion(step, motion, {}).error;
    } else {
      const auto commit = std::make_shared<PendingRequest>(RequestKind::commit, step);
      commit->states.assign(states.begin(), states.end());
      const RequestQueue queue{{.pending = commit}};
      sessions.send({queue.begin(), queue.end()});
      sessions.receive({queue.begin(), queue.end()});
      error = commit->error;
    }
    if (error) throw_typed(*error);
  }
}

class RemoteContact final : public Contact {
 public:
  RemoteContact(SessionsFactory open, RetryOptions options, std::span<const PairSpec> pairs,
                std::span<const AssetContent> assets, const OpenContext& context);

  [[nodiscard]] std::span<const PairDescription> pairs() const override { return descriptions_; }
  void evaluate(std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                std::span<Response> responses) override {
    exchange(RequestKind::evaluate, step, iteration, states, responses);
  }
  void commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) override {
    save_if_history_long();
    exchange(RequestKind::commit, step, 0, states, responses);
  }
  [[nodiscard]] std::shared_ptr<const PendingRequest> post(RequestKind kind, std::int64_t step,
                                                           std::span<const PairState> states) override;
  void drain() override;
  [[nodiscard]] bool history_independent() const override { return history_independent_; }
  [[nodiscard]] std::vector<BatchEntry> evaluate_batch(std::size_t pair, std::span<const PairState> states,
                                                       bool tangents, std::stop_token stop) override {
    drain();
    return call_with_retry([&] { return sessions_->evaluate_batch(pair, states, tangents, stop); });
  }
  [[nodiscard]] MotionResponses commit_motion(std::int64_t first_step, std::span<const std::vector<PairState>> states,
                                              std::stop_token stop) override;
  [[nodiscard]] std::vector<std::string> save_state() override;
  void restore_state(std::span<const std::string> states) override;
  [[nodiscard]] std::optional<RpcStatistics> rpc_statistics() const override;
  [[nodiscard]] std::string fields(std::size_t pair, const PairState& state, const FieldRequest& request) override {
    drain();
    return call_with_retry([&] { return sessions_->fields(pair, state, request); });
  }

 private:
  /// Performs `operation` on open sessions; after a loss connects or reopens them and repeats it.
  template <typename Operation>
  std::invoke_result_t<const Operation&> call_with_retry(const Operation& operation) {
    if (failure_) throw_typed(*failure_);
    const bool stopped = context_.stop.stop_requested();
    Backoff backoff(stopped ? std::chrono::milliseconds{0} : options_.reconnect_timeout, context_.stop);
    try {
      while (true) {
        try {
          connect(stopped);
          return operation();
        } catch (const ConnectionLost& error) {
          if (!prepare_retry(error, true, backoff)) throw;
        } catch (const Error& error) {
          if (!prepare_retry(error, false, backoff)) throw;
        }
      }
    } catch (const Error& error) {
      fail_requests(error);
      throw;
    }
  }
  /// Decides whether a failed operation is repeated, and pauses before.
  [[nodiscard]] bool prepare_retry(const Error& error, bool connection_lost, Backoff& backoff);
  void connect(bool stopped);
  void reopen(std::int64_t committed_step);
  void report_lost_sessions(const Error& error);
  void fail_requests(const Error& error);

  void exchange(RequestKind kind, std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                std::span<Response> responses);
  [[nodiscard]] std::size_t n_sent() const {
    return std::accumulate(in_flight_.begin(), in_flight_.end(), std::size_t{0});
  }
  /// Sends unsent requests as one message.
  void send_waiting();
  /// Receives the reply to the first message in flight.
  void receive_reply();
  /// Marks a request as completed; a commit enters the history.
  void complete(PendingRequest& request);
  /// Removes requests from the queue that the sessions have already committed.
  void skip_committed(std::int64_t committed_step);

  /// Called before a commit, so that a failure to save does not affect a completed commit.
  void save_if_history_long() {
    if (history_.n_commits_since_save() >= max_replayed_commits) (void)save_state();
  }
  void log_warning(const std::string& text) const {
    if (context_.on_progress) context_.on_progress(std::string(warning_mark) + text, 0.0);
  }

  SessionsFactory open_;
  RetryOptions options_;
  std::vector<PairSpec> specs_;
  std::vector<AssetContent> assets_;
  OpenContext context_;
  RoundTrips round_trips_;
  std::unique_ptr<ContactSessions> sessions_;  ///< null between a loss of the sessions and the next opening

  /// Opening: until the first connection. Lost: from a loss of the sessions until they are open with their history.
  enum class Phase { opening, open, lost };
  Phase phase_ = Phase::opening;
  std::size_t n_opened_ = 0;      ///< sessions opened during the first opening
  int n_open_attempts_ = 0;       ///< rejected first openings
  bool is_restored_ = true;       ///< the sessions have the saved state of the history
  std::optional<Error> failure_;  ///< after the reconnect timeout; not retried a second time

  std::vector<PairDescription> descriptions_;
  bool history_independent_ = false;
  CommittedHistory history_;
  /// In the order of requests. The first ones are in flight in messages of `in_flight_` requests each; the rest has not
  /// been sent.
  RequestQueue queue_;
  std::deque<std::size_t> in_flight_;
  std::shared_ptr<PendingRequest> own_ = std::make_shared<PendingRequest>();  ///< request of evaluate() and commit()
};

RemoteContact::RemoteContact(SessionsFactory open, RetryOptions options, std::span<const PairSpec> pairs,
                             std::span<const AssetContent> assets, const OpenContext& context)
    : open_(std::move(open)),
      options_(std::move(options)),
      specs_(pairs.begin(), pairs.end()),
      assets_(assets.begin(), assets.end()),
      context_(context) {
  call_with_retry([] {});
}

bool RemoteContact::prepare_retry(const Error& error, bool connection_lost, Backoff& backoff) {
  const bool opening = phase_ == Phase::opening;
  if (opening && sessions_ && sessions_->pairs().size() > n_opened_) {
    // Openings take minutes each: the timeout applies to every one.
    n_opened_ = sessions_->pairs().size();
    backoff.restart();
  }
  bool retry = connection_lost || is_upload_postponed(error);
  if (!retry && !context_.stop.stop_requested()) {
    const bool absent = error.code() == ErrorCode::unavailable;
    const bool unknown = error.code() == ErrorCode::not_found;
    if (opening && unknown) {
      sessions_.reset();
      return options_.reconnect_timeout.count() > 0 && ++n_open_attempts_ < max_open_attempts;
    }
    if (unknown) report_lost_sessions(error);
    // The server may fail again while the sessions are reopened.
    retry = unknown || (absent && (opening ? options_.retry_first_open : phase_ == Phase::lost));
    if (retry) sessions_.reset();
  }
  // A new stream reports how much of the history was replayed.
  if (retry && sessions_ && phase_ == Phase::lost) sessions_->disconnect();
  if (retry && backoff.pause()) return true;
  if (retry && phase_ == Phase::lost) failure_ = error;
  if (phase_ != Phase::open) sessions_.reset();
  return false;
}

void RemoteContact::report_lost_sessions(const Error& error) {
  if (phase_ == Phase::lost) return;
  phase_ = Phase::lost;
  log_warning(fmt::format("{} was restarted without the contact sessions of this run, which are reopened ({})",
                          options_.peer, error.what()));
}

void RemoteContact::connect(bool stopped) {
  if (!sessions_) {
    OpenContext context = context_;
    // Progress of the preparation, now from the cache, is not displayed again.
    if (phase_ == Phase::lost) context.on_progress = {};
    sessions_ = open_(specs_, assets_, context, round_trips_);
    is_restored_ = false;
  }
  const std::optional<std::int64_t> committed_step = sessions_->connect(stopped);
  if (!committed_step) return;
  in_flight_.clear();
  skip_committed(*committed_step);
  if (phase_ == Phase::opening) {
    descriptions_.assign(sessions_->pairs().begin(), sessions_->pairs().end());
    history_independent_ = sessions_->history_independent();
  } else if (phase_ == Phase::lost) {
    reopen(*committed_step);
  }
  phase_ = Phase::open;
}

void RemoteContact::reopen(std::int64_t committed_step) {
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    const PairDescription& again = sessions_->pairs()[i];
    if (again.digest == descriptions_[i].digest && again.regions == descriptions_[i].regions) continue;
    throw Error(ErrorCode::version_mismatch, fmt::format("{} was restarted as another program: its preparation of pair "
                                                         "'{}' differs; resume the run with the original program",
                                                         options_.peer, descriptions_[i].name));
  }
  if (!is_restored_ && !history_.saved().empty()) {
    sessions_->restore_state(history_.saved());
    committed_step = -1;
  }
  is_restored_ = true;
  history_.replay_in(*sessions_, committed_step);
  log_warning(fmt::format("the contact at {} was reopened: {} pairs, {} commits were replayed", options_.peer,
                          specs_.size(), history_.n_commits_since_save()));
}

void RemoteContact::fail_requests(const Error& error) {
  if (queue_.empty()) return;
  for (const QueuedRequest& queued : queue_) {
    queued.pending->error = std::make_shared<const Error>(error);
    queued.pending->completed = true;
  }
  queue_.clear();
  in_flight_.clear();
  if (sessions_) sessions_->disconnect();
}

void RemoteContact::exchange(RequestKind kind, std::int64_t step, std::int32_t iteration,
                             std::span<const PairState> states, std::span<Response> responses) {
  if (states.size() != specs_.size() || responses.size() != specs_.size()) {
    throw Error(ErrorCode::internal, fmt::format("expected states and responses for {} pairs, found {} and {}",
                                                 specs_.size(), states.size(), responses.size()));
  }
  own_->kind = kind;
  own_->step = step;
  own_->states.assign(states.begin(), states.end());
  own_->error.reset();
  own_->completed = false;
  queue_.push_back({.pending = own_, .iteration = iteration, .needs_tangents = true});
  drain();
  if (own_->error) throw_typed(*own_->error);
  std::ranges::copy(own_->responses, responses.begin());
}

std::shared_ptr<const PendingRequest> RemoteContact::post(RequestKind kind, std::int64_t step,
                                                          std::span<const PairState> states) {
  if (kind == RequestKind::commit) save_if_history_long();
  const auto pending = std::make_shared<PendingRequest>(kind, step);
  pending->states.assign(states.begin(), states.end());
  pending->responses.resize(states.size());
  queue_.push_back({.pending = pending});
  if (queue_.size() - n_sent() < min_requests_per_message) return pending;
  if (in_flight_.size() == max_messages_in_flight) {
    // After a loss nothing is in flight: everything is sent again, and no wait is needed.
    call_with_retry([this] {
      if (!in_flight_.empty()) receive_reply();
    });
  }
  call_with_retry([this] { send_waiting(); });
  return pending;
}

void RemoteContact::drain() {
  while (!queue_.empty()) {
    call_with_retry([this] {
      if (n_sent() < queue_.size()) send_waiting();
      receive_reply();
    });
  }
}

void RemoteContact::send_waiting() {
  const auto first = queue_.cbegin() + static_cast<std::ptrdiff_t>(n_sent());
  const auto n = std::min(static_cast<std::size_t>(queue_.cend() - first), max_requests_per_message);
  in_flight_.push_back(n);
  sessions_->send({first, first + static_cast<std::ptrdiff_t>(n)});
}

void RemoteContact::receive_reply() {
  const std::size_t n = in_flight_.front();
  sessions_->receive({queue_.cbegin(), queue_.cbegin() + static_cast<std::ptrdiff_t>(n)});
  for (; in_flight_.front() > 0; --in_flight_.front()) {
    const auto& error = queue_.front().pending->error;
    // The sessions are lost: after they are reopened, this request is repeated.
    if (error && error->code() == ErrorCode::not_found && !context_.stop.stop_requested()) throw_typed(*error);
    complete(*queue_.front().pending);
    queue_.pop_front();
  }
  in_flight_.pop_front();
}

void RemoteContact::complete(PendingRequest& request) {
  request.completed = true;
  if (request.kind == RequestKind::commit && !request.error) history_.add(request.step, request.states, false);
}

// Only the last commit can be repeated. A deferred request before an earlier commit is evaluated with the current
// history; deferred requests therefore must not depend on the history.
void RemoteContact::skip_committed(std::int64_t committed_step) {
  std::size_t n_old = 0;  // requests before the last commit that has arrived
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const PendingRequest& pending = *queue_[i].pending;
    if (pending.kind == RequestKind::commit && pending.step <= committed_step) n_old = i;
  }
  RequestQueue left;
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    PendingRequest& pending = *queue_[i].pending;
    if (i < n_old && pending.kind == RequestKind::commit) {
      complete(pending);
      continue;
    }
    if (i < n_old) pending.step = -1;
    left.push_back(std::move(queue_[i]));
  }
  queue_ = std::move(left);
}

MotionResponses RemoteContact::commit_motion(std::int64_t first_step, std::span<const std::vector<PairState>> states,
                                             std::stop_token stop) {
  save_if_history_long();
  drain();
  MotionResponses motion = call_with_retry([&] { return sessions_->commit_motion(first_step, states, stop); });
  const std::size_t n = motion.responses.empty() ? 0 : motion.responses.front().size();
  std::vector<PairState> of_step(states.size());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t pair = 0; pair < states.size(); ++pair) of_step[pair] = states[pair][i];
    history_.add(first_step + static_cast<std::int64_t>(i), of_step, true);
  }
  return motion;
}

std::vector<std::string> RemoteContact::save_state() {
  drain();
  std::vector<std::string> states = call_with_retry([&] { return sessions_->save_state(); });
  history_.set_saved(states);
  return states;
}

void RemoteContact::restore_state(std::span<const std::string> states) {
  if (states.size() != specs_.size()) {
    throw input_error("contact_states", fmt::format("expected the state of {} pairs, found {}; the checkpoint belongs "
                                                    "to another scenario",
                                                    specs_.size(), states.size()));
  }
  const std::vector<std::string> before = save_state();
  try {
    call_with_retry([&] { sessions_->restore_state(states); });
  } catch (...) {
    // If this fails, too, the server is unreachable, and the first error reports it.
    try {
      call_with_retry([&] { sessions_->restore_state(before); });
    } catch (const Error&) {
    }
    throw;
  }
  history_.set_saved({states.begin(), states.end()});
}

std::optional<RpcStatistics> RemoteContact::rpc_statistics() const {
  const LatencyHistogram& latencies = round_trips_.latencies;
  return RpcStatistics{.calls = latencies.count(),
                       .p50_us = latencies.quantile_us(0.5),
                       .p99_us = latencies.quantile_us(0.99),
                       .round_trip_time = round_trips_.total.count(),
                       .server_time = round_trips_.server_time};
}

}  // namespace

ContactFactory retrying(SessionsFactory open, RetryOptions options) {
  return [open = std::move(open), options = std::move(options)](
             std::span<const PairSpec> pairs, std::span<const AssetContent> assets,
             const OpenContext& context) -> std::unique_ptr<Contact> {
    return std::make_unique<RemoteContact>(open, options, pairs, assets, context);
  };
}

ContactFactory open_remote_contact(RemoteContactOptions options) {
  const RetryOptions retry{.reconnect_timeout = options.reconnect_timeout,
                           .retry_first_open = options.is_server_known,
                           .peer = "fem_server at " + options.endpoint.address};
  return retrying(grpc_sessions(std::move(options)), retry);
}

}  // namespace heelstrike::rpc
