#include "mbs_server/coupling/contact_exchange.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "common/contact/batch_contact.hpp"
#include "common/errors/error.hpp"
#include "mbs_server/formulation/stop_check.hpp"

namespace heelstrike::mbs {

namespace {

/// Adds the time of its life to a sum.
class WallTimer {
 public:
  explicit WallTimer(std::chrono::steady_clock::duration& sum) : sum_(sum) {}
  WallTimer(const WallTimer&) = delete;
  WallTimer& operator=(const WallTimer&) = delete;
  ~WallTimer() { sum_ += std::chrono::steady_clock::now() - begin_; }

 private:
  std::chrono::steady_clock::duration& sum_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

ContactExchange::ContactExchange(const Model& model, Contact* contact, std::stop_token stop)
    : model_(model), contact_(contact), stop_(std::move(stop)), kinematics_(model), responses_(model.pairs.size()) {}

const PairKinematics& ContactExchange::kinematics_at(double t, const ConstVector& q, const ConstVector& qd) {
  if (kinematics_.is_at(t, q, qd)) return kinematics_;
  answered_ = false;
  kinematics_.update(t, q, qd);
  return kinematics_;
}

std::span<const Response> ContactExchange::responses(double t, const ConstVector& q, const ConstVector& qd) {
  if (n_pairs() == 0 || (answered_ && kinematics_.is_at(t, q, qd))) return responses_;
  check_stop(stop_);
  const auto states = kinematics_at(t, q, qd).states();
  ++n_evaluations_;
  const WallTimer timer(waited_);
  try {
    contact_->evaluate(committed_step_ + 1, iteration_++, states, responses_);
    require_numbers(t);
  } catch (const RecoverableError& e) {
    last_refusal_ = fmt::format("at t = {} s: {}", t, e.what());
    throw;
  }
  answered_ = true;
  return responses_;
}

std::optional<std::span<const Response>> ContactExchange::answered_at(double t) const {
  if (n_pairs() > 0 && !(answered_ && t == kinematics_.time())) return {};
  return responses_;
}

/// An open pair exerts no force, but its gap steers the run.
void ContactExchange::require_numbers(double t) const {
  for (std::size_t i = 0; i < n_pairs(); ++i) {
    const Response& r = responses_[i];
    if (std::isfinite(r.gap + r.gap_rate) && r.F_A.force.allFinite() && r.F_A.torque.allFinite()) continue;
    throw RecoverableError(
        fmt::format("contact '{}' answered with numbers that are not finite at t = {} s", model_.pairs[i].name, t));
  }
}

std::span<const Response> ContactExchange::commit(double t, const ConstVector& q, const ConstVector& qd) {
  if (n_pairs() > 0) {
    const auto states = kinematics_at(t, q, qd).states();
    answered_ = false;
    const WallTimer timer(waited_);
    contact_->commit(committed_step_ + 1, states, responses_);
    answered_ = true;
  }
  count_commit();
  return responses_;
}

void ContactExchange::count_commit() {
  ++committed_step_;
  iteration_ = 0;
}

bool ContactExchange::history_independent() const {
  const auto* batches = dynamic_cast<const BatchContact*>(contact_);
  return batches != nullptr && batches->history_independent();
}

void ContactExchange::answer(std::span<PrescribedState> states) {
  auto& batches = dynamic_cast<BatchContact&>(*contact_);
  std::vector<PairState> asked(states.size());
  for (PrescribedState& state : states) state.responses.resize(n_pairs());
  for (std::size_t pair = 0; pair < n_pairs(); ++pair) {
    for (std::size_t i = 0; i < states.size(); ++i) {
      asked[i] = pair_state(model_.pairs[pair], states[i].t, states[i].q, states[i].qd);
    }
    const WallTimer timer(waited_);
    const auto entries = batches.evaluate_batch(pair, asked);
    for (std::size_t i = 0; i < states.size(); ++i) {
      states[i].responses[pair] = entries[i].response;
      if (!states[i].error) states[i].error = entries[i].error;
    }
  }
}

bool ContactExchange::commits_motion() const {
  return n_pairs() > 0 && dynamic_cast<const BatchContact*>(contact_) != nullptr;
}

std::size_t ContactExchange::commit_motion(std::span<PrescribedState> states, const std::stop_token& stop) {
  auto& batches = dynamic_cast<BatchContact&>(*contact_);
  std::vector<std::vector<PairState>> asked(n_pairs());
  for (std::size_t pair = 0; pair < n_pairs(); ++pair) {
    for (const PrescribedState& state : states)
      asked[pair].push_back(pair_state(model_.pairs[pair], state.t, state.q, state.qd));
  }
  const WallTimer timer(waited_);
  const MotionAnswers answers = batches.commit_motion(committed_step_ + 1, asked, stop);
  const std::size_t n = answers.responses.front().size();
  for (std::size_t i = 0; i < n; ++i) {
    for (const auto& responses : answers.responses) states[i].responses.push_back(responses[i]);
  }
  if (n < states.size()) states[n].error = answers.error;
  return n;
}

std::span<const Response> ContactExchange::accept(const PrescribedState& state) {
  (void)kinematics_at(state.t, state.q, state.qd);
  responses_ = state.responses;
  answered_ = true;
  count_commit();
  return responses_;
}

}  // namespace heelstrike::mbs
