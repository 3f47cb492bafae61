/// An open contact pair: back-end, committed history, step order. Independent of gRPC; the service and LocalContact are
/// thin wrappers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "common/contact/contact.hpp"
#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/sessions/session_bytes.hpp"

namespace heelstrike::fem {

/// Thread-safe: evaluations run concurrently; commits and restores are serialised.
class Session {
 public:
  /// A computed commit that is not yet published.
  struct PreparedCommit {
    std::int64_t step = -1;
    PairState state;
    Committed committed;
    bool repetition = false;  ///< repeats the last commit: publishing changes nothing
  };

  /// @param pair    as opened, with effective parameters
  /// @param digest  sha256 of all inputs of the preparation
  Session(PairSpec pair, std::unique_ptr<ContactBackend> backend, std::string digest);

  [[nodiscard]] const PairDescription& description() const { return description_; }
  /// Traits of the back-end.
  [[nodiscard]] const BackendTraits& traits() const { return backend_->traits(); }

  /// Pure evaluation at the canonical pose of `state`.
  /// @param step  committed_step() + 1, or -1 for the current committed state
  /// @throws Error{out_of_order} for another step, and the exceptions of the back-end
  [[nodiscard]] Response evaluate(std::int64_t step, const PairState& state, const EvaluateOptions& options = {}) const;

  /// Evaluations of many states against the committed history, on up to `n_threads` threads; the order is kept and
  /// results are independent of the number of threads. Each entry is either a response or the error of that state.
  /// @param stop  polled every few states. @throws Error{cancelled}
  [[nodiscard]] std::vector<BatchEntry> evaluate_batch(std::span<const PairState> states, unsigned n_threads,
                                                       const EvaluateOptions& options = {},
                                                       const std::stop_token& stop = {}) const;

  /// First phase of a commit; changes nothing.
  /// @throws Error{out_of_order} unless `step` is the next one, or the last one with the same input bit for bit
  [[nodiscard]] PreparedCommit prepare_commit(std::int64_t step, const PairState& state) const;
  /// Second phase. A retry may run concurrently with the call that it repeats: if the same step with the same input has
  /// been published meanwhile, nothing changes.
  /// @throws Error{out_of_order} when another commit or a restore intervened between the two phases
  void publish(PreparedCommit prepared);
  /// Second phase for several sessions, all or none. @param prepared  one per session, no session repeated
  /// @throws as publish; then no session has changed
  static void publish_all(std::span<Session* const> sessions, std::span<PreparedCommit> prepared);

  /// Computed commits along prescribed motion that are not yet published.
  struct PreparedMotion {
    std::int64_t first_step = 0;
    std::shared_ptr<const History> base_history;  ///< committed history at the start of the computation
    std::vector<PairState> states;                ///< accepted states
    std::vector<Committed> committed;    ///< result of each state; only the response for previously committed states
    std::shared_ptr<const Error> error;  ///< reason for the rejection of the next state; null = all accepted
  };

  /// Index of the first rejected state among all sessions; the others need not continue beyond it.
  using RejectedIndex = std::atomic<std::size_t>;

  /// Commits the states in sequence until one is rejected, without publishing. States committed by the last call of
  /// publish_motion may be repeated with the same input.
  /// @param rejected  in, out: minimum number of accepted states among the sessions of the motion; the computation
  /// stops
  ///                 beyond it
  /// @param stop     polled before every state
  /// @throws Error{cancelled}; Error{out_of_order} unless `first_step` is at most the next one and all steps committed
  ///         since are repeated bit for bit
  [[nodiscard]] PreparedMotion prepare_motion(std::int64_t first_step, std::span<const PairState> states,
                                              RejectedIndex& rejected, const std::stop_token& stop) const;
  /// Publishes the first `n` states of several sessions, all or none. @param prepared  one per session, with at
  /// least n states
  /// @throws Error{out_of_order} when another commit or a restore intervened; then no session has changed
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
  /// Commits of one call along prescribed motion; the last of them is the last commit of the session.
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
    std::shared_ptr<const CommittedMotion> motion;  ///< null = the last commit was a single commit
  };
  [[nodiscard]] CommittedState committed_state() const;
  /// Commit of the back-end, with the tangents under the updated history.
  [[nodiscard]] Committed commit_after(const CommittedState& last, const PairState& state) const;
  /// Response to a repeated step that is already committed. @throws Error{out_of_order}
  [[nodiscard]] Response repeated(const CommittedState& committed_state, std::int64_t step,
                                  const PairState& state) const;
  [[nodiscard]] static std::vector<std::unique_lock<std::mutex>> locked(std::span<Session* const> sessions);
  /// @pre mutex_ is locked. @throws Error{out_of_order}
  void check_current(const PreparedCommit& prepared) const;

  PairSpec pair_;
  std::unique_ptr<ContactBackend> backend_;
  PairDescription description_;
  mutable std::mutex mutex_;  ///< guards memory_
  CommittedState committed_;
};

/// Calls work(i) for every session: sequentially, or concurrently if two or more are expensive and processors are
/// available. Work on different sessions is independent, so the results are identical.
/// @throws the error of the first failed session
void for_each_session(std::span<Session* const> sessions, const std::function<void(std::size_t)>& work);

/// Commits all pairs along prescribed motion: sessions are independent and run concurrently if expensive; all commit
/// the number of states accepted before the first rejection. @param states [session][state], the same number for each
[[nodiscard]] MotionResponses commit_motion_of_sessions(std::span<Session* const> sessions, std::int64_t first_step,
                                                        std::span<const std::vector<PairState>> states,
                                                        const std::stop_token& stop);

/// Commits all pairs of a run or none (two-phase commit): prepares all, then publishes all.
void commit_sessions(std::span<Session* const> sessions, std::int64_t step, std::span<const PairState> states,
                     std::span<Response> responses);

}  // namespace heelstrike::fem
