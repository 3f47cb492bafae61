/// One open contact pair: back-end, committed history, step order. No gRPC in here; the service and LocalContact are
/// thin shells over it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <committed_state>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "common/contact/batch_contact.hpp"
#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/sessions/session_bytes.hpp"

namespace heelstrike::fem {

/// Thread-safe: evaluations run concurrently; commits and restores are serialised.
class Session {
 public:
  /// A commit that has been computed but not made visible.
  struct PreparedCommit {
    std::int64_t step = -1;
    PairState state;
    Committed committed;
    bool repetition = false;  ///< the last commit again: publishing changes nothing
  };

  /// @param pair    as opened, parameters completed
  /// @param digest  sha256 of everything the preparation depends on
  Session(PairSpec pair, std::unique_ptr<ContactBackend> backend, std::string digest);

  [[nodiscard]] const PairDescription& description() const { return description_; }
  /// Of the back-end.
  [[nodiscard]] const BackendTraits& traits() const { return backend_->traits(); }

  /// Pure evaluation at the canonical pose of `state`.
  /// @param step  committed_step() + 1, or -1 for "whatever is committed"
  /// @throws Error{out_of_order} for another step, and whatever the back-end throws
  [[nodiscard]] Response evaluate(std::int64_t step, const PairState& state, const EvaluateOptions& options = {}) const;

  /// Evaluations of many states against the committed history, on up to `n_threads` threads; order kept, results
  /// independent of the number of threads. Each entry is either a response or the error of that state.
  /// @param stop  looked at every few states. @throws Error{cancelled}
  [[nodiscard]] std::vector<BatchEntry> evaluate_batch(std::span<const PairState> states, unsigned n_threads,
                                                       const EvaluateOptions& options = {},
                                                       const std::stop_token& stop = {}) const;

  /// First half of a commit; changes nothing.
  /// @throws Error{out_of_order} unless `step` is the next one, or the last one with the same input bit for bit
  [[nodiscard]] PreparedCommit prepare_commit(std::int64_t step, const PairState& state) const;
  /// Second half. A retry may run beside the call that it repeats: when the same step with the same input has been
  /// published meanwhile, nothing changes.
  /// @throws Error{out_of_order} when another commit or a restore came between the two halves
  void publish(PreparedCommit prepared);
  /// Second half of several sessions, all or none. @param prepared  one per session, no session twice
  /// @throws as publish, and then no session has changed
  static void publish_all(std::span<Session* const> sessions, std::span<PreparedCommit> prepared);

  /// Commits along prescribed motion, computed but not made visible.
  struct PreparedMotion {
    std::int64_t first_step = 0;
    std::shared_ptr<const History> base_history;  ///< committed when the work began
    std::vector<PairState> states;        ///< those that could be taken
    std::vector<Committed> committed;     ///< after each; of states that had been committed before, the answer alone
    std::shared_ptr<const Error> error;   ///< why the next state could not; null = all were
  };

  /// Where the first session to be refused stands; the others need not go on beyond.
  using RejectedIndex = std::atomic<std::size_t>;

  /// Takes the states one after the other until one is refused; changes nothing. States that the last call of
  /// publish_motion committed may be repeated with the same input.
  /// @param refused  in, out: smallest number of states that a session of the same motion could take; work beyond the
  ///                 state that was refused there ends
  /// @param stop     looked at before every state
  /// @throws Error{cancelled}; Error{out_of_order} unless `first_step` is at most the next one and what has been
  ///         committed since is repeated bit for bit
  [[nodiscard]] PreparedMotion prepare_motion(std::int64_t first_step, std::span<const PairState> states,
                                              RejectedIndex& rejected, const std::stop_token& stop) const;
  /// Makes the first `n` states of several sessions visible, all or none. @param prepared  one per session, with at
  /// least n states
  /// @throws Error{out_of_order} when another commit or a restore came in between, and then no session has changed
  static void publish_motion(std::span<Session* const> sessions, std::span<PreparedMotion> prepared, std::size_t n);

  /// -1 before the first commit.
  [[nodiscard]] std::int64_t committed_step() const;

  [[nodiscard]] std::string save_state() const;
  /// @throws Error{invalid_input} for bytes of another format, another back-end or another digest
  void restore_state(std::string_view bytes, StateOrigin origin = StateOrigin::same_pair);

  [[nodiscard]] std::string fields(const PairState& state, const FieldRequest& request) const;

 private:
  void evaluate_entries(const History& history, std::span<const PairState> states, const EvaluateOptions& options,
              std::span<BatchEntry> entries) const;
  /// Commits of one call along prescribed motion, the last of them the last commit of all.
  struct CommittedMotion {
    std::int64_t first_step = 0;
    std::vector<PairState> states;
    std::vector<Response> responses;
  };
  struct CommittedState {
    std::shared_ptr<const History> history;
    std::int64_t step = -1;
    PairState state;
    Response response;
    std::shared_ptr<const CommittedMotion> motion;  ///< null = the last commit was a single one
  };
  [[nodiscard]] CommittedState committed_state() const;
  /// The back-end's commit, with the tangents under the history that it leaves.
  [[nodiscard]] Committed commit_after(const CommittedState& last, const PairState& state) const;
  /// Answer to the repetition of a step that has been committed. @throws Error{out_of_order}
  [[nodiscard]] Response repeated(const CommittedState& committed_state, std::int64_t step, const PairState& state) const;
  [[nodiscard]] static std::vector<std::unique_lock<std::mutex>> locked(std::span<Session* const> sessions);
  /// @pre mutex_ held. @throws Error{out_of_order}
  void check_current(const PreparedCommit& prepared) const;

  PairSpec pair_;
  std::unique_ptr<ContactBackend> backend_;
  PairDescription description_;
  mutable std::mutex mutex_;  ///< guards memory_
  CommittedState committed_;
};

/// Calls work(i) for every session: one after the other, or side by side where two or more are heavy and there are
/// processors for them. Work on different sessions is independent, so the results are the same.
/// @throws the error of the first session that has one; side by side the work of the others is done all the same
void for_each_session(std::span<Session* const> sessions, const std::function<void(std::size_t)>& work);

/// Commits of all pairs along prescribed motion: each session on its own way, side by side where they are heavy; all
/// take as many states as the first to be refused leaves. @param states  [session][state], the same number for each
[[nodiscard]] MotionResponses commit_motion_of_sessions(std::span<Session* const> sessions, std::int64_t first_step,
                                                 std::span<const std::vector<PairState>> states,
                                                 const std::stop_token& stop);

/// Commits all pairs of a run or none: prepares all, then publishes all.
void commit_sessions(std::span<Session* const> sessions, std::int64_t step, std::span<const PairState> states,
                std::span<Response> responses);

}  // namespace heelstrike::fem
