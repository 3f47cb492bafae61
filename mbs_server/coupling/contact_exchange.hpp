/// The exchange with the contact partner: requests, last responses, and the steps of its history.
///
/// Evaluations are pure and may be requested in any order; only commit() advances the partner's history. The
/// CouplingScheme decides when the partner is evaluated and which forces act between exchanges.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "common/errors/error.hpp"
#include "mbs_server/coupling/contact_states.hpp"
#include "mbs_server/coupling/pair_kinematics.hpp"
#include "mbs_server/formulation/model.hpp"

namespace heelstrike::mbs {

/// @throws the error of a posted request; Error{solver_failed} if it is recoverable, because the run has already
/// advanced beyond it and a smaller step is impossible
void check_posted_response(const PendingRequest& request);

/// The last, posted commit failed recoverably: the step must be rolled back.
class RejectedCommit : public Error {
 public:
  explicit RejectedCommit(const Error& error) : Error(ErrorCode::solver_failed, error.what(), error.field()) {}
};

class ContactExchange {
 public:
  /// @param model    outlives this object
  /// @param contact  one opened pair per entry of model.pairs, in the same order; outlives this object; null = no
  ///                 pairs, or connect() follows
  /// @param stop     checked before each request
  ContactExchange(const Model& model, Contact* contact, std::stop_token stop = {});

  /// Connects a partner that was opened later, before the first request. The model can thus be checked before the
  /// partner is prepared, which may take minutes.
  void connect(Contact& contact) { contact_ = &contact; }

  /// Responses of all pairs at a state, in contact or not, under the committed history. The last response is cached:
  /// a repeated request for the same state is free.
  /// @throws Error{cancelled} when stopped, and exceptions of the partner
  [[nodiscard]] std::span<const Response> responses(double t, const ConstVector& q, const ConstVector& qd);
  /// Deferred evaluation: requests responses at a state, without tangents, to be read later with
  /// check_posted_response(). Null = cached: responses() returns them. @throws as responses() for immediate errors
  [[nodiscard]] std::shared_ptr<const PendingRequest> post(double t, const ConstVector& q, const ConstVector& qd);
  /// Waits for all posted requests.
  void drain();
  /// Result of one of the last two calls of responses() or commit() if its state was at time `t`; else none.
  [[nodiscard]] std::optional<std::span<const Response>> responses_at(double t) const;
  /// Invalidates the cache: the next call of responses() evaluates. With friction, the responses of a commit and of an
  /// evaluation of the same state after it differ by rounding; a continued and a resumed run must use the same of them.
  void invalidate_response() { responses_valid_ = before_.known = posted_.is_latest_response = false; }
  /// Also discards the bounds of gaps: later requests, and their count, are those of a run resumed here.
  void reset_bounds();

  /// True if the bounds of the last responses show that between two states closed pairs stay in contact, sliding pairs
  /// continue to slide, and all others stay open.
  [[nodiscard]] bool has_constant_contact_state(const ContactStates& states, double t, const ConstVector& q,
                                                const ConstVector& qd, double t_end, const ConstVector& q_end,
                                                const ConstVector& qd_end) const;

  /// Poses and twists of all pairs at the state of the last call of responses(), commit() or kinematics_at().
  [[nodiscard]] const PairKinematics& kinematics() const { return kinematics_; }
  /// kinematics() at any state, without evaluation; discards cached responses of another state.
  [[nodiscard]] const PairKinematics& kinematics_at(double t, const ConstVector& q, const ConstVector& qd);

  /// Accepts the state as the end of the next step and returns the responses under the new history.
  std::span<const Response> commit(double t, const ConstVector& q, const ConstVector& qd);
  /// Deferred commit, sent with the next request. An immediate error is thrown as by commit(); otherwise a later call
  /// throws RejectedCommit if no other commit has followed, else Error.
  void post_commit(double t, const ConstVector& q, const ConstVector& qd);
  /// Waits for the responses of the last post_commit(). @pre nothing was committed after it
  [[nodiscard]] std::span<const Response> posted_commit();
  /// Decrements the step count after a rejected commit.
  void roll_back_commit() { set_committed_step(committed_step_ - 1); }

  /// A state of prescribed motion, and the responses of its pairs.
  struct PrescribedState {
    double t = 0.0;
    VectorX q, qd;
    std::vector<Response> responses{};     ///< of all pairs, when `error` is null
    std::shared_ptr<const Error> error{};  ///< of the first pair that failed
    std::int64_t step = -1;                ///< as which the partner committed it; -1 = it did not
  };
  /// True if no pair is history-dependent: evaluate_batch() and accept() may then
  /// replace commit().
  [[nodiscard]] bool history_independent() const;
  /// Evaluates all states in batches, with the results of sequential commit() calls up to rounding.
  /// @pre history_independent()
  void evaluate_batch(std::span<PrescribedState> states);
  /// Commits the states in sequence up to the first failure, with the results of commit() up to rounding and without
  /// tangents. accept() is then called for each.
  /// @return number of committed states; the next one, if any, has its `error`
  /// @pre n_pairs() > 0. @throws Error{cancelled} when stopped; the partner may nevertheless have committed
  std::size_t commit_motion(std::span<PrescribedState> states, const std::stop_token& stop);
  /// History of the partner, and its return to it. States committed in between must not have been accepted. @{
  [[nodiscard]] std::vector<std::string> save_history() { return contact_->save_state(); }
  void restore_history(std::span<const std::string> history) { contact_->restore_state(history); }
  /// @}
  /// Accepts an evaluated state as the end of the next step; the partner is history-independent or has committed it,
  /// possibly after other states.
  std::span<const Response> accept(const PrescribedState& state);

  /// Coordinates of all bodies of the model.
  [[nodiscard]] Eigen::Index n_q() const {
    return coordinates_per_body * static_cast<Eigen::Index>(model_.bodies.size());
  }
  [[nodiscard]] std::size_t n_pairs() const { return model_.pairs.size(); }
  /// -1 before the first commit.
  [[nodiscard]] std::int64_t committed_step() const { return committed_step_; }
  /// Continues from a restored history.
  void set_committed_step(std::int64_t step) {
    committed_step_ = step;
    posted_commits_.clear();
    posted_ = {};
  }
  [[nodiscard]] std::int64_t n_evaluations() const { return n_evaluations_; }
  /// Sets the evaluation count of a resumed run.
  void set_evaluations(std::int64_t n) { n_evaluations_ = n; }
  /// Wall time spent waiting for responses of the partner.
  [[nodiscard]] std::chrono::duration<double> waited() const { return waited_; }
  /// Message of the partner's last recoverable rejection of a state; empty = none.
  [[nodiscard]] const std::string& last_rejection() const { return last_rejection_; }

 private:
  /// Bounds of gap and slip from a response of one pair, and their state.
  struct Bound {
    GapBound bound{};
    double gap = 0.0;
    Pose X_AB;
    Twist V_AB;
    Vector3 p_ACop = Vector3::Zero();
    double area = 0.0;
    double slip_speed = 0.0;
  };
  [[nodiscard]] static Bound bound_of(const Response& response, const PairState& state);
  /// True if a pair that slid there slides in the same direction at another state.
  [[nodiscard]] static bool continues_sliding(const Bound& there, const PairState& state);
  /// The response before the last one: at an onset, integrator and event detector evaluate both ends of a step.
  struct CachedResponse {
    bool known = false;
    double t = 0.0;
    VectorX q, qd;
    std::vector<Response> responses;
    [[nodiscard]] bool is_at(double time, const ConstVector& q_requested, const ConstVector& qd_requested) const {
      return known && time == t && q == q_requested && qd == qd_requested;
    }
  };

  void require_numbers(double t) const;
  void count_commit();
  void note_bounds();
  /// @throws RejectedCommit, Error{solver_failed} when a posted commit was rejected
  void check_posted_commits();
  void cache_response();
  /// Restores the earlier response if it belongs to this state.
  bool restore_cached_response(double t, const ConstVector& q, const ConstVector& qd);
  /// Stores known responses for a state. Bounds remain those of the last received response.
  void store_responses(double t, const ConstVector& q, const ConstVector& qd, const std::vector<Response>& responses);

  const Model& model_;
  Contact* contact_;
  std::stop_token stop_;
  std::int64_t committed_step_ = -1;
  std::int32_t iteration_ = 0;
  std::int64_t n_evaluations_ = 0;
  std::chrono::steady_clock::duration waited_{};
  std::string last_rejection_;

  PairKinematics kinematics_;
  std::vector<Response> responses_;
  bool responses_valid_ = false;  ///< the responses belong to the state of the kinematics
  CachedResponse before_;
  std::vector<Bound> bounds_;
  /// The last commit, if posted. Until the next commit its responses are used for its state.
  struct PostedCommit {
    std::shared_ptr<const PendingRequest> request;
    double t = 0.0;
    VectorX q, qd;
    std::vector<PairState> states{};  ///< of all pairs
    bool is_latest_response = false;
  };
  PostedCommit posted_;
  std::deque<std::shared_ptr<const PendingRequest>> posted_commits_;  ///< with unread responses
};

}  // namespace heelstrike::mbs
