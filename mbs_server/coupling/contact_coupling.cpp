#include "mbs_server/coupling/contact_coupling.hpp"

#include <fmt/format.h>

#include <algorithm>
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

using Matrix12d = Eigen::Matrix<double, 12, 12>;

ContactCoupling::ContactCoupling(const Model& model, Contact* contact, std::stop_token stop)
    : model_(model),
      contact_(contact),
      stop_(std::move(stop)),
      closed_(model.pairs.size(), 0),
      kinematics_(model),
      responses_(model.pairs.size()),
      cached_q_(coordinates_per_body * static_cast<Eigen::Index>(model.bodies.size())),
      cached_qd_(cached_q_.size()) {}

bool ContactCoupling::any_closed() const {
  return std::ranges::any_of(closed_, [](char c) { return c != 0; });
}

bool ContactCoupling::is_cached(double t, const ConstVector& q, const ConstVector& qd) const {
  return cache_valid_ && t == cached_t_ && q == cached_q_ && qd == cached_qd_;
}

void ContactCoupling::remember(double t, const ConstVector& q, const ConstVector& qd) {
  cached_t_ = t;
  cached_q_ = q;
  cached_qd_ = qd;
  cache_valid_ = true;
}

std::span<const Response> ContactCoupling::responses(double t, const ConstVector& q, const ConstVector& qd) {
  if (n_pairs() == 0 || is_cached(t, q, qd)) return responses_;
  check_stop(stop_);
  cache_valid_ = false;
  kinematics_.update(t, q, qd);
  ++n_evaluations_;
  const WallTimer timer(waited_);
  try {
    contact_->evaluate(committed_step_ + 1, iteration_++, kinematics_.states(), responses_);
    require_numbers(t);
  } catch (const RecoverableError& e) {
    last_refusal_ = fmt::format("at t = {} s: {}", t, e.what());
    throw;
  }
  remember(t, q, qd);
  return responses_;
}

std::optional<std::span<const Response>> ContactCoupling::answered_at(double t) const {
  if (n_pairs() > 0 && !(cache_valid_ && t == cached_t_)) return {};
  return responses_;
}

/// An open pair exerts no force, but its gap steers the run.
void ContactCoupling::require_numbers(double t) const {
  for (std::size_t i = 0; i < n_pairs(); ++i) {
    const Response& r = responses_[i];
    if (std::isfinite(r.gap + r.gap_rate) && r.F_A.force.allFinite() && r.F_A.torque.allFinite()) continue;
    throw RecoverableError(
        fmt::format("contact '{}' answered with numbers that are not finite at t = {} s", model_.pairs[i].name, t));
  }
}

std::span<const Response> ContactCoupling::commit(double t, const ConstVector& q, const ConstVector& qd) {
  if (n_pairs() > 0) {
    cache_valid_ = false;
    kinematics_.update(t, q, qd);
    {
      const WallTimer timer(waited_);
      contact_->commit(committed_step_ + 1, kinematics_.states(), responses_);
    }
    remember(t, q, qd);
  }
  ++committed_step_;
  iteration_ = 0;
  return responses_;
}

bool ContactCoupling::history_independent() const {
  const auto* batches = dynamic_cast<const BatchContact*>(contact_);
  return batches != nullptr && batches->history_independent();
}

void ContactCoupling::answer(std::span<PrescribedState> states) {
  auto& batches = dynamic_cast<BatchContact&>(*contact_);
  std::vector<PairState> asked(states.size());
  for (PrescribedState& state : states) state.responses.resize(n_pairs());
  for (std::size_t pair = 0; pair < n_pairs(); ++pair) {
    for (std::size_t i = 0; i < states.size(); ++i) {
      asked[i] = pair_state(pair, states[i].t, states[i].q, states[i].qd);
    }
    const WallTimer timer(waited_);
    const auto entries = batches.evaluate_batch(pair, asked);
    for (std::size_t i = 0; i < states.size(); ++i) {
      states[i].responses[pair] = entries[i].response;
      if (!states[i].error) states[i].error = entries[i].error;
    }
  }
}

bool ContactCoupling::commits_motion() const {
  return n_pairs() > 0 && dynamic_cast<const BatchContact*>(contact_) != nullptr;
}

std::size_t ContactCoupling::commit_motion(std::span<PrescribedState> states, const std::stop_token& stop) {
  auto& batches = dynamic_cast<BatchContact&>(*contact_);
  std::vector<std::vector<PairState>> asked(n_pairs());
  for (std::size_t pair = 0; pair < n_pairs(); ++pair) {
    for (const PrescribedState& state : states) asked[pair].push_back(pair_state(pair, state.t, state.q, state.qd));
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

std::span<const Response> ContactCoupling::accept(const PrescribedState& state) {
  responses_ = state.responses;
  kinematics_.update(state.t, state.q, state.qd);
  remember(state.t, state.q, state.qd);
  ++committed_step_;
  iteration_ = 0;
  return responses_;
}

Wrench ContactCoupling::world_wrench(std::size_t pair, const ConstVector& q, const Response& response) const {
  return in_world(main_pose(pair, q).R, response.F_A);
}

void ContactCoupling::add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) {
  if (!any_closed()) return;
  const auto all = responses(at.t, at.q, at.qd);
  for (std::size_t i = 0; i < n_pairs(); ++i) {
    if (!closed(i)) continue;
    energy.potential += all[i].stored_energy;
    energy.dissipated_power += all[i].dissipated_power;
    const PairFrames& frames = kinematics_.frames(i);
    const Wrench F_A_W = in_world(frames.X_WA.R, all[i].F_A);
    const auto& pair = model_.pairs[i];
    if (pair.main != ground) {
      const auto first = coordinates_per_body * static_cast<Eigen::Index>(pair.main);
      g.segment<12>(first) += generalized_force(at.q.segment<12>(first), F_A_W);
    }
    if (pair.partner != ground) {
      const auto first = coordinates_per_body * static_cast<Eigen::Index>(pair.partner);
      g.segment<12>(first) += generalized_force(at.q.segment<12>(first), opposite_in_world(F_A_W, frames.p_AoBo_W));
    }
  }
}

void ContactCoupling::add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) {
  if (any_closed()) (void)responses(at.t, at.q, at.qd);
  for (std::size_t i = 0; i < n_pairs(); ++i) add_pair_tangents(i, at.q, at.qd, K, C);
}

namespace {

/// What the change of the two world wrenches of a pair is made of; rows (W_A, W_B), columns (A, B), each angular then
/// linear.
struct WrenchTangents {
  Matrix12d motion = Matrix12d::Zero();    ///< with respect to small motions (theta, r) of A and B in the world
  Matrix12d velocity = Matrix12d::Zero();  ///< with respect to their twists in the world
};

using Matrix6x12d = Eigen::Matrix<double, 6, 12>;

/// dX_AB and dV_AB from motions and twists of A and B in the world. For X: phi = R'(th_B - th_A),
/// dp = R'(r_B - r_A + D x th_A); the same matrix maps the twists to V_AB.
Matrix6x12d relative_motion_map(const Matrix3& R, const Vector3& D) {
  Matrix6x12d T = Matrix6x12d::Zero();
  T.block<3, 3>(0, 0) = -R.transpose();
  T.block<3, 3>(0, 6) = R.transpose();
  T.block<3, 3>(3, 0) = R.transpose() * skew(D);
  T.block<3, 3>(3, 3) = -R.transpose();
  T.block<3, 3>(3, 9) = R.transpose();
  return T;
}

/// Change of V_AB with the motions at fixed twists in the world: the axes of A turn, and the arm of w_A changes.
Matrix6x12d relative_twist_tangent(const Matrix3& R, const Twist& V_WA, const Twist& V_AB) {
  Matrix6x12d S = Matrix6x12d::Zero();
  S.block<3, 3>(0, 0) = R.transpose() * skew(R * V_AB.w);
  S.block<3, 3>(3, 0) = R.transpose() * skew(R * V_AB.v);
  S.block<3, 3>(3, 3) = R.transpose() * skew(V_WA.w);
  S.block<3, 3>(3, 9) = -R.transpose() * skew(V_WA.w);
  return S;
}

WrenchTangents world_tangents(const Pose& X_WA, const Twist& V_WA, const PairState& state, const Response& response) {
  const Matrix3& R = X_WA.R;
  const Vector3 D = R * state.X_AB.p;
  Matrix6 rotate = Matrix6::Zero();
  rotate.block<3, 3>(0, 0) = R;
  rotate.block<3, 3>(3, 3) = R;
  const Matrix6x12d T = relative_motion_map(R, D);
  const Matrix6 dW_dX = rotate * response.dF_A_dX;
  const Matrix6 dW_dV = rotate * response.dF_A_dV;

  const Vector3 torque = R * response.F_A.torque;
  const Vector3 force = R * response.F_A.force;
  Matrix6x12d A_motion = dW_dX * T + dW_dV * relative_twist_tangent(R, V_WA, state.V_AB);
  A_motion.block<3, 3>(0, 0) -= skew(torque);
  A_motion.block<3, 3>(3, 0) -= skew(force);
  const Matrix6x12d A_velocity = dW_dV * T;

  WrenchTangents tangents;
  const auto fill = [&](Matrix12d& target, const Matrix6x12d& A_rows) {
    target.topRows<6>() = A_rows;
    target.block<3, 12>(6, 0) = -A_rows.topRows<3>() + skew(D) * A_rows.bottomRows<3>();
    target.block<3, 12>(9, 0) = -A_rows.bottomRows<3>();
  };
  fill(tangents.motion, A_motion);
  fill(tangents.velocity, A_velocity);
  tangents.motion.block<3, 3>(6, 3) += skew(force);
  tangents.motion.block<3, 3>(6, 9) -= skew(force);
  return tangents;
}

}  // namespace

void ContactCoupling::add_pair_tangents(std::size_t i, const ConstVector& q, const ConstVector& qd, SparseAssembler& K,
                                        SparseAssembler& C) const {
  const auto& pair = model_.pairs[i];
  const BodyIndex bodies[2] = {pair.main, pair.partner};
  WrenchTangents tangents;
  Wrench F_W[2];
  if (closed(i)) {
    const PairFrames& frames = kinematics_.frames(i);
    const PairState& state = kinematics_.states()[i];
    tangents = world_tangents(frames.X_WA, frames.V_WA, state, responses_[i]);
    F_W[0] = in_world(frames.X_WA.R, responses_[i].F_A);
    F_W[1] = opposite_in_world(F_W[0], frames.X_WA.R * state.X_AB.p);
  }
  // Contributions come in the same sequence whether the pair is open or closed: the pattern of the matrices is fixed.
  for (int row = 0; row < 2; ++row) {
    if (bodies[row] == ground) continue;
    const int first_row = coordinates_per_body * bodies[row];
    const Matrix6x12 B_row = motion_map(q.segment<12>(first_row));
    for (int col = 0; col < 2; ++col) {
      if (bodies[col] == ground) continue;
      const int first_col = coordinates_per_body * bodies[col];
      const auto q_col = q.segment<12>(first_col);
      const Matrix6x12 B_col = motion_map(q_col);
      const Matrix6 motion = tangents.motion.block<6, 6>(6 * row, 6 * col);
      const Matrix6 velocity = tangents.velocity.block<6, 6>(6 * row, 6 * col);
      Matrix12 K_block = B_row.transpose() * (motion * B_col + velocity * twist_tangent(qd.segment<12>(first_col)));
      if (row == col) K_block += generalized_force_tangent(F_W[row]);
      K.add_block(first_row, first_col, K_block);
      C.add_block(first_row, first_col, Matrix12(B_row.transpose() * velocity * B_col));
    }
  }
}

}  // namespace heelstrike::mbs
