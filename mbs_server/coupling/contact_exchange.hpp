/// The exchange with the contact partner: what it is asked, what it answered last, and the steps of its history.
///
/// Evaluations are pure and may be asked in any order; only commit() advances the partner's history. When the partner
/// is asked, and what acts on the bodies meanwhile, is up to the CouplingScheme.
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

/// @throws what a posted question was refused for; Error{solver_failed} where it is recoverable, because the run has
/// gone on from there and no smaller step helps
void check_posted_response(const PendingRequest& answered);

/// The last commit was posted, and a smaller step may succeed: the step is to be taken back.
class RejectedCommit : public Error {
 public:
  explicit RejectedCommit(const Error& refusal) : Error(ErrorCode::solver_failed, refusal.what(), refusal.field()) {}
};

class ContactExchange {
 public:
  /// @param model    outlives this object
  /// @param contact  one opened pair per entry of model.pairs, in the same order; outlives this object; null = no
  ///                 pairs, or connect() follows
  /// @param stop     looked at before the partner is asked
  ContactExchange(const Model& model, Contact* contact, std::stop_token stop = {});

  /// Takes a partner that was opened later, before the first state is asked for. The model can be checked before a
  /// partner is there, whose preparation may take minutes.
  void connect(Contact& contact) { contact_ = &contact; }

  /// Responses of all pairs at a state, whether they touch or not, under the committed history. The last answer is
  /// kept: asking again for the same state costs nothing.
  /// @throws Error{cancelled} when stopped, and whatever the partner throws
  [[nodiscard]] std::span<const Response> responses(double t, const ConstVector& q, const ConstVector& qd);
  /// Asks for responses at a state, without tangents, that somebody will look at later, with check_posted_response(). Null =
  /// they are known already: responses() tells them. @throws as responses() when a refusal is known at once
  [[nodiscard]] std::shared_ptr<const PendingRequest> post(double t, const ConstVector& q, const ConstVector& qd);
  /// Waits for all that was posted.
  void drain();
  /// What one of the last two calls of responses() or commit() answered, when its state was at time `t`; else nothing.
  [[nodiscard]] std::optional<std::span<const Response>> responses_at(double t) const;
  /// The next call of responses() asks the partner whatever was answered before. What a commit answers and what an
  /// evaluation of the same state gives right after it differ by rounding where friction is solved for: a run that goes
  /// on from here and one that is resumed here must take the same of them.
  void invalidate_response() { responses_valid_ = before_.known = posted_.answers = false; }
  /// Forgets the bounds of gaps too: what is asked from here on, and counted, is what a run asks that is resumed here.
  void reset_bounds();

  /// Whether what came with the last answers shows that, on the way between two states, pairs that are closed stay in
  /// touch, and slide on where they slide, and all others stay apart.
  [[nodiscard]] bool keeps_contact_state(const ContactStates& states, double t, const ConstVector& q, const ConstVector& qd,
                                 double t_end, const ConstVector& q_end, const ConstVector& qd_end) const;

  /// Poses and twists of all pairs at the state of the last call of responses(), commit() or kinematics_at().
  [[nodiscard]] const PairKinematics& kinematics() const { return kinematics_; }
  /// The same at any state, for those who ask nobody; an answer for another state is forgotten.
  [[nodiscard]] const PairKinematics& kinematics_at(double t, const ConstVector& q, const ConstVector& qd);

  /// Accepts the state as the end of the next step and returns the responses under the new history.
  std::span<const Response> commit(double t, const ConstVector& q, const ConstVector& qd);
  /// The same without waiting: it travels with the next question. A refusal is told as that of a commit when it is
  /// known at once; else by whatever comes next, as RejectedCommit while no other commit has followed, and as Error
  /// after it.
  void post_commit(double t, const ConstVector& q, const ConstVector& qd);
  /// What post_commit() would have returned, had it waited. @pre nothing was committed after it
  [[nodiscard]] std::span<const Response> posted_commit();
  /// The step that was refused is no longer counted.
  void roll_back_commit() { set_committed_step(committed_step_ - 1); }

  /// A state of prescribed motion, and what its pairs answered.
  struct PrescribedState {
    double t = 0.0;
    VectorX q, qd;
    std::vector<Response> responses{};     ///< of all pairs, when `error` is null
    std::shared_ptr<const Error> error{};  ///< of the first pair that could not answer
  };
  /// Whether the partner takes batches and no pair remembers what was committed: answer() and accept() may then replace
  /// commit().
  [[nodiscard]] bool history_independent() const;
  /// Answers of all states, in batches: what commit() gives for one state after the other, but for rounding.
  /// @pre history_independent()
  void evaluate_batch(std::span<PrescribedState> states);
  /// Whether the partner commits along prescribed motion.
  [[nodiscard]] bool commits_motion() const;
  /// Commits the states one after the other, as far as the partner takes them: what commit() gives, but for rounding
  /// and for tangents. accept() then takes them one by one.
  /// @return how many are committed; the next one, if any, has its `error`
  /// @pre commits_motion(). @throws Error{cancelled} when stopped; the partner may then have committed all the same
  std::size_t commit_motion(std::span<PrescribedState> states, const std::stop_token& stop);
  /// Accepts an answered state as the end of the next step; the partner remembers nothing or knows it already.
  std::span<const Response> accept(const PrescribedState& state);

  /// Coordinates of all bodies of the model.
  [[nodiscard]] Eigen::Index n_q() const {
    return coordinates_per_body * static_cast<Eigen::Index>(model_.bodies.size());
  }
  [[nodiscard]] std::size_t n_pairs() const { return model_.pairs.size(); }
  /// -1 before the first commit.
  [[nodiscard]] std::int64_t committed_step() const { return committed_step_; }
  /// Goes on from a restored history.
  void set_committed_step(std::int64_t step) {
    committed_step_ = step;
    posted_commits_.clear();
    posted_ = {};
  }
  [[nodiscard]] std::int64_t n_evaluations() const { return n_evaluations_; }
  /// Goes on counting from there.
  void set_evaluations(std::int64_t n) { n_evaluations_ = n; }
  /// Wall time spent waiting for the partner's answers.
  [[nodiscard]] std::chrono::duration<double> waited() const { return waited_; }
  /// What the partner said when it last refused a state, recoverably; empty = never.
  [[nodiscard]] const std::string& last_rejection() const { return last_rejection_; }

 private:
  /// What one pair said of its gap and of its slip, and where.
  struct Bound {
    GapBound bound{};
    double gap = 0.0;
    Pose X_AB;
    Twist V_AB;
    Vector3 p_ACop = Vector3::Zero();
    double area = 0.0;
    double slip_speed = 0.0;
  };
  [[nodiscard]] static Bound bound_of(const Response& evaluate_batch, const PairState& state);
  /// Whether a pair that slid there slides in the same direction at another state.
  [[nodiscard]] static bool keeps_sliding(const Bound& there, const PairState& state);
  /// The answer before the last one: where a contact begins, the integrator and the watch look at both ends of a step.
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
  /// @throws RejectedCommit, Error{solver_failed} when a posted commit was refused
  void check_posted_commits();
  void cache_response();
  /// Takes the earlier answer when it is that of this state.
  bool restore_cached_response(double t, const ConstVector& q, const ConstVector& qd);
  /// Takes what is known already for the answer to a state. Bounds stay those of the last answer that came.
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
  bool responses_valid_ = false;  ///< the responses are those of the state of the kinematics
  CachedResponse before_;
  std::vector<Bound> bounds_;
  /// The last commit, when it was posted. Until the next commit it answers its state.
  struct PostedCommit {
    std::shared_ptr<const PendingRequest> question;
    double t = 0.0;
    VectorX q, qd;
    std::vector<PairState> states{};  ///< of all pairs
    bool answers = false;
  };
  PostedCommit posted_;
  std::deque<std::shared_ptr<const PendingRequest>> posted_commits_;  ///< whose answers have not been looked at
};

}  // namespace heelstrike::mbs
