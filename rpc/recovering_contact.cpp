#include "rpc/recovering_contact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <type_traits>
#include <utility>

#include "common/contact/batch_contact.hpp"
#include "common/contact/preparation.hpp"
#include "common/errors/error.hpp"
#include "rpc/backoff.hpp"

namespace heelstrike::rpc {
namespace {

/// Maximum number of commits that are replayed after a loss. Saving the histories takes one call per pair, which is
/// negligible (0.1 %) beside this number of steps with at least four calls each; replaying them costs a quarter of
/// these steps.
constexpr std::size_t max_replayed_commits = 256;

/// Missing files at an opening indicate a server restart in between; repeated failure has another reason.
constexpr int max_open_attempts = 3;

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
  [[nodiscard]] std::size_t n_commits_since_save() const { return as_motion_.size(); }
  /// Replays all commits in a newly opened contact.
  void replay_in(Contact& contact) const {
    if (!saved_.empty()) contact.restore_state(saved_);
    if (n_commits_since_save() == 0) return;
    const std::size_t n_pairs = states_.size() / n_commits_since_save();
    std::vector<Response> unused(n_pairs);
    for (std::size_t i = 0; i < n_commits_since_save(); ++i) {
      const auto step = first_step_ + static_cast<std::int64_t>(i);
      const auto states = std::span(states_).subspan(i * n_pairs, n_pairs);
      if (as_motion_[i]) {
        commit_as_motion(contact, step, states);
      } else {
        contact.commit(step, states, unused);
      }
    }
  }

 private:
  std::vector<std::string> saved_;  ///< empty = the sessions were new
  static void commit_as_motion(Contact& contact, std::int64_t step, std::span<const PairState> states) {
    std::vector<std::vector<PairState>> motion;
    for (const PairState& state : states) motion.push_back({state});
    const MotionResponses answers = dynamic_cast<BatchContact&>(contact).commit_motion(step, motion, {});
    if (answers.error) throw_typed(*answers.error);
  }

  std::int64_t first_step_ = 0;    ///< of the commits since
  std::vector<PairState> states_;  ///< of all pairs at each of them
  std::vector<bool> as_motion_;    ///< of each of them
};

class RecoveringContact final : public Contact, public BatchContact {
 public:
  RecoveringContact(ContactFactory open, RecoveryOptions options, std::span<const PairSpec> pairs,
                    std::span<const AssetContent> assets, const OpenContext& context);

  [[nodiscard]] std::span<const PairDescription> pairs() const override { return descriptions_; }
  void evaluate(std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                std::span<Response> responses) override {
    call_with_retry([&] { inner_->evaluate(step, iteration, states, responses); });
  }
  void commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) override;
  [[nodiscard]] bool history_independent() const override { return history_independent_; }
  [[nodiscard]] std::vector<BatchEntry> evaluate_batch(std::size_t pair, std::span<const PairState> states,
                                                       bool tangents, std::stop_token stop) override {
    return call_with_retry([&] { return batches().evaluate_batch(pair, states, tangents, stop); });
  }
  [[nodiscard]] MotionResponses commit_motion(std::int64_t first_step, std::span<const std::vector<PairState>> states,
                                              std::stop_token stop) override;
  [[nodiscard]] std::shared_ptr<const PendingRequest> post(RequestKind kind, std::int64_t step,
                                                           std::span<const PairState> states) override;
  void drain() override {
    call_with_retry([&] { inner_->drain(); });
  }
  [[nodiscard]] std::vector<std::string> save_state() override;
  void restore_state(std::span<const std::string> states) override;
  [[nodiscard]] std::optional<RpcStatistics> rpc_statistics() const override;
  [[nodiscard]] std::string fields(std::size_t pair, const PairState& state, const FieldRequest& request) override {
    return call_with_retry([&] { return inner_->fields(pair, state, request); });
  }

 private:
  /// Sends a request; after a loss reopens everything and repeats it.
  template <typename Request>
  std::invoke_result_t<const Request&> call_with_retry(const Request& operation) {
    if (failure_) throw_typed(*failure_);
    Backoff backoff(options_.reconnect_timeout, context_.stop);
    while (true) {
      try {
        if (!inner_) open_again();
        if constexpr (std::is_void_v<decltype(operation())>) {
          operation();
          return collect_responses();
        } else {
          auto answer = operation();
          collect_responses();
          return answer;
        }
      } catch (const Error& error) {
        if (is_recoverable(error)) {
          disconnect(error);
          if (backoff.pause()) continue;
          failure_ = error;
        }
        fail_pending(error);
        throw;
      }
    }
  }
  /// Forwards completed responses. @throws the error of a response that indicates a loss
  void collect_responses();
  /// Fails all pending requests after a final loss.
  void fail_pending(const Error& error);
  [[nodiscard]] bool is_first_complete() const {
    return !posted_.empty() && posted_.front().inner_request && posted_.front().inner_request->answered;
  }
  void forward_first();
  [[nodiscard]] bool is_recoverable(const Error& error) const;
  void disconnect(const Error& error);
  void open_first();
  /// Sends deferred requests that have not been sent.
  void send_deferred();
  void open_again();
  void save_if_history_long();
  [[nodiscard]] BatchContact& batches() { return dynamic_cast<BatchContact&>(*inner_); }
  void log_warning(const std::string& text) const {
    if (context_.on_progress) context_.on_progress(std::string(warning_mark) + text, 0.0);
  }

  ContactFactory open_;
  RecoveryOptions options_;
  std::vector<PairSpec> specs_;
  std::vector<AssetContent> assets_;
  OpenContext context_;
  std::unique_ptr<Contact> inner_;  ///< null between a loss and the next opening
  std::vector<PairDescription> descriptions_;
  bool history_independent_ = false;
  CommittedHistory history_;
  struct Posted {
    std::shared_ptr<PendingRequest> outer_request;        ///< visible to the caller
    std::shared_ptr<const PendingRequest> inner_request;  ///< of inner_; null = not yet sent
  };
  std::deque<Posted> posted_;                ///< pending, in the order of requests
  std::optional<Error> failure_;             ///< after the reconnect timeout; not retried a second time
  std::optional<RpcStatistics> statistics_;  ///< of lost contacts
};

RecoveringContact::RecoveringContact(ContactFactory open, RecoveryOptions options, std::span<const PairSpec> pairs,
                                     std::span<const AssetContent> assets, const OpenContext& context)
    : open_(std::move(open)),
      options_(std::move(options)),
      specs_(pairs.begin(), pairs.end()),
      assets_(assets.begin(), assets.end()),
      context_(context) {
  open_first();
  descriptions_.assign(inner_->pairs().begin(), inner_->pairs().end());
  history_independent_ = batches().history_independent();
}

void RecoveringContact::open_first() {
  Backoff backoff(options_.reconnect_timeout, context_.stop);
  for (int attempt = 1;; ++attempt) {
    try {
      inner_ = open_(specs_, assets_, context_);
      return;
    } catch (const Error& error) {
      if (options_.retry_first_open && error.code() == ErrorCode::unavailable && backoff.pause()) continue;
      if (error.code() != ErrorCode::not_found || attempt >= max_open_attempts ||
          !(options_.reconnect_timeout.count() > 0))
        throw;
    }
  }
}

std::shared_ptr<const PendingRequest> RecoveringContact::post(RequestKind kind, std::int64_t step,
                                                              std::span<const PairState> states) {
  if (kind == RequestKind::commit) save_if_history_long();
  const auto outer_request = std::make_shared<PendingRequest>();
  outer_request->kind = kind;
  outer_request->step = step;
  outer_request->states.assign(states.begin(), states.end());
  posted_.push_back({.outer_request = outer_request, .inner_request = nullptr});
  call_with_retry([&] { send_deferred(); });
  return outer_request;
}

void RecoveringContact::send_deferred() {
  for (Posted& posted : posted_) {
    if (!posted.inner_request)
      posted.inner_request =
          inner_->post(posted.outer_request->kind, posted.outer_request->step, posted.outer_request->states);
  }
}

void RecoveringContact::collect_responses() {
  while (is_first_complete()) {
    const auto& error = posted_.front().inner_request->error;
    if (error && is_recoverable(*error)) throw_typed(*error);
    forward_first();
  }
}

void RecoveringContact::forward_first() {
  const auto& [outer_request, inner_request] = posted_.front();
  outer_request->responses = inner_request->responses;
  outer_request->error = inner_request->error;
  outer_request->answered = true;
  if (outer_request->kind == RequestKind::commit && !outer_request->error)
    history_.add(outer_request->step, outer_request->states, false);
  posted_.pop_front();
}

void RecoveringContact::fail_pending(const Error& error) {
  while (is_first_complete()) forward_first();
  if (inner_) return;  // a partner that rejects a request continues to respond
  for (const Posted& posted : posted_) {
    posted.outer_request->error = std::make_shared<const Error>(error);
    posted.outer_request->answered = true;
  }
  posted_.clear();
}

bool RecoveringContact::is_recoverable(const Error& error) const {
  if (context_.stop.stop_requested()) return false;
  if (error.code() == ErrorCode::not_found) return true;
  // The partner may fail again while it is reopened.
  return !inner_ && error.code() == ErrorCode::unavailable;
}

void RecoveringContact::disconnect(const Error& error) {
  if (!inner_) return;
  if (const auto more = inner_->rpc_statistics()) {
    RpcStatistics sum = statistics_.value_or(RpcStatistics{});
    sum.calls += more->calls;
    sum.round_trip_time += more->round_trip_time;
    sum.server_time += more->server_time;
    statistics_ = sum;
  }
  // Responses before the loss are kept; all other requests are repeated.
  while (is_first_complete() && !posted_.front().inner_request->error) forward_first();
  for (Posted& posted : posted_) posted.inner_request = nullptr;
  inner_.reset();
  log_warning(fmt::format("{} was restarted without the contact sessions of this run, which are reopened ({})",
                          options_.peer, error.what()));
}

void RecoveringContact::open_again() {
  // Progress of the preparation, now from the cache, is not displayed again.
  std::unique_ptr<Contact> opened =
      open_(specs_, assets_, {.run_id = context_.run_id, .on_progress = {}, .stop = context_.stop});
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    const PairDescription& again = opened->pairs()[i];
    if (again.digest == descriptions_[i].digest && again.regions == descriptions_[i].regions) continue;
    throw Error(ErrorCode::version_mismatch, fmt::format("{} was restarted as another program: its preparation of pair "
                                                         "'{}' differs; resume the run with the original program",
                                                         options_.peer, descriptions_[i].name));
  }
  history_.replay_in(*opened);
  inner_ = std::move(opened);
  send_deferred();
  log_warning(fmt::format("the contact at {} was reopened: {} pairs, {} commits were replayed", options_.peer,
                          specs_.size(), history_.n_commits_since_save()));
}

void RecoveringContact::save_if_history_long() {
  if (history_.n_commits_since_save() >= max_replayed_commits) (void)save_state();
}

void RecoveringContact::commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) {
  // Saved before the commit, so that a failure to save does not affect a completed commit.
  save_if_history_long();
  call_with_retry([&] { inner_->commit(step, states, responses); });
  history_.add(step, states, false);
}

MotionResponses RecoveringContact::commit_motion(std::int64_t first_step,
                                                 std::span<const std::vector<PairState>> states, std::stop_token stop) {
  save_if_history_long();
  MotionResponses answers = call_with_retry([&] { return batches().commit_motion(first_step, states, stop); });
  const std::size_t n = answers.responses.empty() ? 0 : answers.responses.front().size();
  std::vector<PairState> of_step(states.size());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t pair = 0; pair < states.size(); ++pair) of_step[pair] = states[pair][i];
    history_.add(first_step + static_cast<std::int64_t>(i), of_step, true);
  }
  return answers;
}

std::vector<std::string> RecoveringContact::save_state() {
  std::vector<std::string> states = call_with_retry([&] { return inner_->save_state(); });
  history_.set_saved(states);
  return states;
}

void RecoveringContact::restore_state(std::span<const std::string> states) {
  call_with_retry([&] { inner_->restore_state(states); });
  history_.set_saved({states.begin(), states.end()});
}

std::optional<RpcStatistics> RecoveringContact::rpc_statistics() const {
  std::optional<RpcStatistics> now = inner_ ? inner_->rpc_statistics() : std::nullopt;
  if (!now || !statistics_) return now ? now : statistics_;
  now->calls += statistics_->calls;
  now->round_trip_time += statistics_->round_trip_time;
  now->server_time += statistics_->server_time;
  return now;
}

}  // namespace

ContactFactory recovering(ContactFactory open, RecoveryOptions options) {
  return [open = std::move(open), options = std::move(options)](
             std::span<const PairSpec> pairs, std::span<const AssetContent> assets,
             const OpenContext& context) -> std::unique_ptr<Contact> {
    return std::make_unique<RecoveringContact>(open, options, pairs, assets, context);
  };
}

}  // namespace heelstrike::rpc
