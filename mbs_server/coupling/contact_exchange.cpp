#include "mbs_server/coupling/contact_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "common/contact/gap_bound.hpp"
#include "common/errors/error.hpp"
#include "mbs_server/coupling/contact_states.hpp"
#include "mbs_server/formulation/checks.hpp"

namespace heelstrike::mbs {

namespace {

/// Adds its lifetime to a sum.
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

/// True if a gap above a.lower and b.lower at the ends of a step is positive throughout the step. The bounds at the
/// ends are rigorous. Between them the motion is the integrator's polynomial, approximated by the cubic through both
/// ends, as in PairEventDetector for known gaps. The gap stays positive if the lowest cubic with these ends and rates
/// keeps half of the smaller end and a sixteenth of the maximum change of the gap: a margin for the difference of the
/// two polynomials.
bool gap_remains_positive(double t, const GapInterval& a, double t_end, const GapInterval& b) {
  double lowest = std::min(a.lower, b.lower);
  if (!(lowest > 0.0 && t_end > t)) return false;
  const double ends = lowest;
  const auto dip = lowest_between({.t = t, .gap = a.lower, .gap_rate = a.falling},
                                  {.t = t_end, .gap = b.lower, .gap_rate = b.rising});
  if (dip) lowest = std::min(lowest, dip->gap);
  const double fastest = std::max({std::abs(a.falling), std::abs(a.rising), std::abs(b.falling), std::abs(b.rising)});
  return lowest >= 0.5 * ends && lowest >= (t_end - t) * fastest / 16.0;
}

/// Interval of the depth, the negative gap.
GapInterval depth_range(const GapInterval& gap) {
  return {.lower = -gap.upper, .upper = -gap.lower, .falling = -gap.rising, .rising = -gap.falling};
}

}  // namespace

void check_posted_response(const PendingRequest& request) {
  if (!request.error) return;
  if (request.error->code() != ErrorCode::recoverable) throw_typed(*request.error);
  throw Error(ErrorCode::solver_failed,
              fmt::format("the contact rejected {} step {} of a motion without contact: {}",
                          request.kind == RequestKind::commit ? "the commit of" : "a state of", request.step,
                          request.error->what()));
}

ContactExchange::ContactExchange(const Model& model, Contact* contact, std::stop_token stop)
    : model_(model),
      contact_(contact),
      stop_(std::move(stop)),
      kinematics_(model),
      responses_(model.pairs.size()),
      bounds_(model.pairs.size()) {}

const PairKinematics& ContactExchange::kinematics_at(double t, const ConstVector& q, const ConstVector& qd) {
  if (kinematics_.is_at(t, q, qd)) return kinematics_;
  if (responses_valid_) cache_response();
  responses_valid_ = false;
  kinematics_.update(t, q, qd);
  return kinematics_;
}

std::span<const Response> ContactExchange::responses(double t, const ConstVector& q, const ConstVector& qd) {
  if (n_pairs() == 0 || (responses_valid_ && kinematics_.is_at(t, q, qd))) return responses_;
  check_stop(stop_);
  if (restore_cached_response(t, q, qd)) return responses_;
  if (posted_.is_latest_response && t == posted_.t && q == posted_.q && qd == posted_.qd) {
    const auto posted = posted_.request;
    (void)posted_commit();
    store_responses(t, q, qd, posted->responses);
    return responses_;
  }
  const auto states = kinematics_at(t, q, qd).states();
  ++n_evaluations_;
  const WallTimer timer(waited_);
  try {
    contact_->evaluate(committed_step_ + 1, iteration_++, states, responses_);
    require_numbers(t);
  } catch (const RecoverableError& e) {
    last_rejection_ = fmt::format("at t = {} s: {}", t, e.what());
    throw;
  } catch (const Error&) {
    check_posted_commits();  // a failed commit is the cause of later rejections
    throw;
  }
  check_posted_commits();
  responses_valid_ = true;
  note_bounds();
  return responses_;
}

std::shared_ptr<const PendingRequest> ContactExchange::post(double t, const ConstVector& q, const ConstVector& qd) {
  if (n_pairs() == 0 || (responses_valid_ && kinematics_.is_at(t, q, qd))) return nullptr;
  check_stop(stop_);
  ++n_evaluations_;
  const WallTimer timer(waited_);
  auto posted = contact_->post(RequestKind::evaluate, committed_step_ + 1, kinematics_at(t, q, qd).states());
  if (posted->completed && posted->error) throw_typed(*posted->error);
  return posted;
}

void ContactExchange::drain() {
  if (contact_ == nullptr) return;
  const WallTimer timer(waited_);
  contact_->drain();
  check_posted_commits();
}

void ContactExchange::reset_bounds() {
  invalidate_response();
  for (Bound& bound : bounds_) bound.bound.known = false;
  posted_ = {};
}

void ContactExchange::note_bounds() {
  for (std::size_t i = 0; i < n_pairs(); ++i) {
    bounds_[i] = bound_of(responses_[i], kinematics_.states()[i]);
  }
}

ContactExchange::Bound ContactExchange::bound_of(const Response& response, const PairState& state) {
  return {.bound = response.bound,
          .gap = response.gap,
          .X_AB = state.X_AB,
          .V_AB = state.V_AB,
          .p_ACop = response.p_ACop,
          .area = response.area,
          .slip_speed = response.slip_speed};
}

/// The slip speed changes by no more than the velocities of the contact points. Half of it is a margin for their motion
/// and rotation within the step, which is of second order; otherwise the partner is evaluated.
bool ContactExchange::continues_sliding(const Bound& there, const PairState& state) {
  if (there.slip_speed == 0.0) return true;
  const Vector3 change =
      point_velocity(state.V_AB, there.p_ACop - state.X_AB.p) - point_velocity(there.V_AB, there.p_ACop - there.X_AB.p);
  const double radius = std::sqrt(there.area / std::numbers::pi);
  return there.slip_speed > 2.0 * (change.norm() + radius * (state.V_AB.w - there.V_AB.w).norm());
}

bool ContactExchange::has_constant_contact_state(const ContactStates& states, double t, const ConstVector& q,
                                                 const ConstVector& qd, double t_end, const ConstVector& q_end,
                                                 const ConstVector& qd_end) const {
  const auto range = [](const Bound& bound, const PairState& state) {
    return gap_interval(bound.bound, bound.gap, bound.X_AB, state);
  };
  // In contact the gap is smaller than its change in a step: each end needs a response evaluated near it.
  const bool is_committed_state =
      posted_.request && posted_.request->completed && !posted_.request->error && posted_.t == t;
  for (std::size_t i = 0; i < n_pairs(); ++i) {
    const Bound& last = bounds_[i];
    if (!last.bound.known) return false;
    const Bound first = is_committed_state ? bound_of(posted_.request->responses[i], posted_.states[i]) : last;
    const GapInterval a = range(first, pair_state(model_.pairs[i], t, q, qd));
    const PairState end = pair_state(model_.pairs[i], t_end, q_end, qd_end);
    const GapInterval b = range(last, end);
    if (states.closed(i) && !continues_sliding(last, end)) return false;
    const bool free = states.closed(i) ? gap_remains_positive(t, depth_range(a), t_end, depth_range(b))
                                       : gap_remains_positive(t, a, t_end, b);
    if (!free) return false;
  }
  return true;
}

std::optional<std::span<const Response>> ContactExchange::responses_at(double t) const {
  if (n_pairs() == 0 || (responses_valid_ && t == kinematics_.time())) return responses_;
  if (before_.known && t == before_.t) return before_.responses;
  return {};
}

/// An open pair exerts no force, but its gap controls the run.
void ContactExchange::require_numbers(double t) const {
  for (std::size_t i = 0; i < n_pairs(); ++i) {
    const Response& r = responses_[i];
    if (std::isfinite(r.gap + r.gap_rate) && r.F_A.force.allFinite() && r.F_A.torque.allFinite()) continue;
    throw RecoverableError(
        fmt::format("contact '{}' returned non-finite numbers at t = {} s", model_.pairs[i].name, t));
  }
}

std::span<const Response> ContactExchange::commit(double t, const ConstVector& q, const ConstVector& qd) {
  if (n_pairs() > 0) {
    const auto states = kinematics_at(t, q, qd).states();
    invalidate_response();
    const WallTimer timer(waited_);
    contact_->commit(committed_step_ + 1, states, responses_);
    check_posted_commits();
    responses_valid_ = true;
    note_bounds();
  }
  count_commit();
  return responses_;
}

void ContactExchange::post_commit(double t, const ConstVector& q, const ConstVector& qd) {
  if (n_pairs() > 0) {
    const auto states = kinematics_at(t, q, qd).states();
    invalidate_response();
    const WallTimer timer(waited_);
    auto posted = contact_->post(RequestKind::commit, committed_step_ + 1, states);
    if (posted->completed && posted->error) throw_typed(*posted->error);
    posted_ = {.request = posted, .t = t, .q = q, .qd = qd, .states = {}, .is_latest_response = true};
    posted_.states.assign(states.begin(), states.end());
    posted_commits_.push_back(std::move(posted));
  }
  count_commit();
}

std::span<const Response> ContactExchange::posted_commit() {
  if (!posted_.request) return responses_;  // without pairs
  if (!posted_.request->completed) drain();
  check_posted_commits();
  return posted_.request->responses;
}

void ContactExchange::check_posted_commits() {
  while (!posted_commits_.empty() && posted_commits_.front()->completed) {
    const auto commit = std::move(posted_commits_.front());
    posted_commits_.pop_front();
    const bool last = commit->step == committed_step_;
    if (last && commit->error && commit->error->code() == ErrorCode::recoverable) throw RejectedCommit(*commit->error);
    check_posted_response(*commit);
  }
}

void ContactExchange::cache_response() {
  before_.known = true;
  before_.t = kinematics_.time();
  before_.q = kinematics_.q();
  before_.qd = kinematics_.qd();
  before_.responses = responses_;
}

bool ContactExchange::restore_cached_response(double t, const ConstVector& q, const ConstVector& qd) {
  if (!before_.is_at(t, q, qd)) return false;
  const std::vector<Response> cached_responses = before_.responses;
  store_responses(t, q, qd, cached_responses);
  return true;
}

void ContactExchange::store_responses(double t, const ConstVector& q, const ConstVector& qd,
                                      const std::vector<Response>& responses) {
  (void)kinematics_at(t, q, qd);
  responses_ = responses;
  responses_valid_ = true;
}

void ContactExchange::count_commit() {
  ++committed_step_;
  iteration_ = 0;
}

bool ContactExchange::history_independent() const {
  return contact_ != nullptr && contact_->history_independent();
}

void ContactExchange::evaluate_batch(std::span<PrescribedState> states) {
  std::vector<PairState> requested(states.size());
  for (PrescribedState& state : states) state.responses.resize(n_pairs());
  for (std::size_t pair = 0; pair < n_pairs(); ++pair) {
    for (std::size_t i = 0; i < states.size(); ++i) {
      requested[i] = pair_state(model_.pairs[pair], states[i].t, states[i].q, states[i].qd);
    }
    const WallTimer timer(waited_);
    const auto entries = contact_->evaluate_batch(pair, requested, false, stop_);
    for (std::size_t i = 0; i < states.size(); ++i) {
      states[i].responses[pair] = entries[i].response;
      if (!states[i].error) states[i].error = entries[i].error;
    }
  }
}

std::size_t ContactExchange::commit_motion(std::span<PrescribedState> states, const std::stop_token& stop) {
  std::vector<std::vector<PairState>> requested(n_pairs());
  for (std::size_t pair = 0; pair < n_pairs(); ++pair) {
    for (const PrescribedState& state : states)
      requested[pair].push_back(pair_state(model_.pairs[pair], state.t, state.q, state.qd));
  }
  const WallTimer timer(waited_);
  const MotionResponses motion = contact_->commit_motion(committed_step_ + 1, requested, stop);
  const std::size_t n = motion.responses.front().size();
  for (std::size_t i = 0; i < n; ++i) {
    for (const auto& responses : motion.responses) states[i].responses.push_back(responses[i]);
    states[i].step = committed_step_ + 1 + static_cast<std::int64_t>(i);
  }
  if (n < states.size()) states[n].error = motion.error;
  return n;
}

std::span<const Response> ContactExchange::accept(const PrescribedState& state) {
  (void)kinematics_at(state.t, state.q, state.qd);
  responses_ = state.responses;
  responses_valid_ = true;
  if (state.step >= 0) committed_step_ = state.step - 1;
  count_commit();
  return responses_;
}

}  // namespace heelstrike::mbs
