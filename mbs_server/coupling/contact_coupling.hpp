/// How the contact partner enters the integration.
///
/// Every pair is open or closed. An open pair exerts no force at all, so that free flight stays smooth and costs no
/// contact evaluation; its gap is watched as a root, and the pair is closed exactly there. A closed pair acts until its
/// gap has a root upwards. Evaluations are pure; only commit() advances the partner's history.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "common/errors/error.hpp"
#include "mbs_server/coupling/pair_kinematics.hpp"
#include "mbs_server/formulation/cartesian_coordinates.hpp"
#include "mbs_server/formulation/force_element.hpp"
#include "mbs_server/model/model.hpp"

namespace heelstrike::mbs {

/// Whether a pair with this gap [m] and gap rate [m/s] is in contact: at zero it is, unless it opens.
[[nodiscard]] inline bool touching(double gap, double gap_rate) {
  return gap < 0.0 || (gap == 0.0 && gap_rate <= 0.0);
}

class ContactCoupling final : public ForceElement {
 public:
  /// @param contact  one opened pair per entry of model.pairs, in the same order; outlives this object; null = no
  /// pairs,
  ///                 or connect() follows
  /// @param stop     looked at before the partner is asked
  ContactCoupling(const Model& model, Contact* contact, std::stop_token stop = {});

  /// Takes a partner that was opened later, before the first state is asked for. The model can be checked before a
  /// partner is there, whose preparation may take minutes.
  void connect(Contact& contact) { contact_ = &contact; }

  [[nodiscard]] std::string name() const override { return "contact"; }
  void add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) override;
  void add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) override;

  /// Responses of all pairs at a state, open or closed, under the committed history. The last answer is kept: asking
  /// again for the same state costs nothing. @throws Error{cancelled} when stopped, and whatever the partner throws
  [[nodiscard]] std::span<const Response> responses(double t, const ConstVector& q, const ConstVector& qd);

  /// What the last call of responses() or commit() answered, when its state was at time `t`; else nothing.
  [[nodiscard]] std::optional<std::span<const Response>> answered_at(double t) const;
  /// The next call of responses() asks the partner whatever was answered before. What a commit answers and what an
  /// evaluation of the same state gives right after it differ by rounding where friction is solved for: a run that goes
  /// on from here and one that is resumed here must take the same of them.
  void forget_answer() { cache_valid_ = false; }

  /// Accepts the state as the end of the next step and returns the responses under the new history.
  std::span<const Response> commit(double t, const ConstVector& q, const ConstVector& qd);

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
  void answer(std::span<PrescribedState> states);
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
  [[nodiscard]] bool closed(std::size_t pair) const { return closed_[pair]; }
  void set_closed(std::size_t pair, bool closed) { closed_[pair] = closed; }
  [[nodiscard]] bool any_closed() const;

  /// -1 before the first commit.
  [[nodiscard]] std::int64_t committed_step() const { return committed_step_; }
  /// Goes on from a restored history.
  void set_committed_step(std::int64_t step) { committed_step_ = step; }
  [[nodiscard]] std::int64_t n_evaluations() const { return n_evaluations_; }
  /// Wall time spent waiting for the partner's answers.
  [[nodiscard]] std::chrono::duration<double> waited() const { return waited_; }

  /// What the partner said when it last refused a state, recoverably; empty = never.
  [[nodiscard]] const std::string& last_refusal() const { return last_refusal_; }

  /// Wrench on the main body of a pair about its origin, in the world.
  [[nodiscard]] Wrench world_wrench(std::size_t pair, const ConstVector& q, const Response& response) const;
  /// What the partner is asked at a state.
  [[nodiscard]] PairState pair_state(std::size_t pair, double t, const ConstVector& q, const ConstVector& qd) const {
    return kinematics_.state(pair, t, q, qd);
  }
  /// Pose of the pair's main body in the world.
  [[nodiscard]] Pose main_pose(std::size_t pair, const ConstVector& q) const { return kinematics_.main_pose(pair, q); }

 private:
  [[nodiscard]] bool is_cached(double t, const ConstVector& q, const ConstVector& qd) const;
  void require_numbers(double t) const;
  void remember(double t, const ConstVector& q, const ConstVector& qd);
  void add_pair_tangents(std::size_t pair, const ConstVector& q, const ConstVector& qd, SparseAssembler& K,
                         SparseAssembler& C) const;

  const Model& model_;
  Contact* contact_;
  std::stop_token stop_;
  std::vector<char> closed_;
  std::int64_t committed_step_ = -1;
  std::int32_t iteration_ = 0;
  std::int64_t n_evaluations_ = 0;
  std::chrono::steady_clock::duration waited_{};
  std::string last_refusal_;

  PairKinematics kinematics_;  ///< at the cached state
  std::vector<Response> responses_;
  bool cache_valid_ = false;
  double cached_t_ = 0.0;
  VectorX cached_q_, cached_qd_;
};

}  // namespace heelstrike::mbs
