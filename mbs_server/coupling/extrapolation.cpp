#include "mbs_server/coupling/extrapolation.hpp"

#include <algorithm>
#include <cmath>

#include "mbs_server/coupling/contact_states.hpp"

namespace heelstrike::mbs {

SampleWeights lagrange_weights(std::span<const double> times, double t) {
  SampleWeights weights{};
  for (std::size_t i = 0; i < times.size(); ++i) {
    weights[i] = 1.0;
    for (std::size_t j = 0; j < times.size(); ++j) {
      if (j != i) weights[i] *= (t - times[j]) / (times[i] - times[j]);
    }
  }
  return weights;
}

SampleWeights lagrange_integrals(std::span<const double> times, double a, double b) {
  // The two-point Gauss rule is exact up to degree 3.
  const double half = 0.5 * (b - a);
  const double offset = half / std::sqrt(3.0);
  const SampleWeights before = lagrange_weights(times, a + half - offset);
  const SampleWeights behind = lagrange_weights(times, a + half + offset);
  SampleWeights weights{};
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = half * (before[i] + behind[i]);
  return weights;
}

MotionPrediction::MotionPrediction(int degree, Eigen::Index n_q)
    : max_samples_(static_cast<std::size_t>(degree) + 1), q_(VectorX::Zero(n_q)) {
  qd_.fill(VectorX::Zero(n_q));
}

void MotionPrediction::add_exchange(double t, const ConstVector& q, const ConstVector& qd) {
  // The slot of the oldest exchange is reused for the newest.
  std::ranges::rotate(times_, times_.end() - 1);
  std::ranges::rotate(qd_, qd_.end() - 1);
  n_ = std::min(n_ + 1, max_samples_);
  times_[0] = t;
  qd_[0] = qd;
  q_ = q;
}

void MotionPrediction::predict(double t, VectorX& q, VectorX& qd) const {
  const auto times = std::span(times_).first(n_);
  const SampleWeights at_end = lagrange_weights(times, t);
  const SampleWeights over_step = lagrange_integrals(times, times_[0], t);
  q = q_;
  qd.setZero(q_.size());
  for (std::size_t k = 0; k < n_; ++k) {
    q += over_step[k] * qd_[k];
    qd += at_end[k] * qd_[k];
  }
}

void MotionPrediction::save(NumberWriter& to) const {
  to.add(static_cast<double>(n_));
  for (std::size_t k = 0; k < n_; ++k) {
    to.add(times_[k]);
    to.add(qd_[k]);
  }
  to.add(q_);
}

void MotionPrediction::restore(NumberReader& from) {
  n_ = from.count(max_samples_);
  for (std::size_t k = 0; k < n_; ++k) {
    times_[k] = from.next();
    from.read(qd_[k]);
  }
  from.read(q_);
}

namespace {

/// Rotation vector of a rotation by less than half a turn.
Vector3 rotation_vector(const Matrix3& R) {
  const Quaternion quaternion = quaternion_from_rotation(R);
  const double sine = quaternion.vec().norm();
  // For zero sine the angle over the sine of its half is 2.
  return (sine > 0.0 ? 2.0 * std::atan2(sine, quaternion.w()) / sine : 2.0) * quaternion.vec();
}

/// d(rotation vector) / d(small rotation that follows it), the inverse of the left Jacobian of SO(3).
Matrix3 inverse_left_jacobian(const Vector3& theta) {
  const Matrix3 S = skew(theta);
  const double angle = theta.norm();
  // 1 / angle^2 - (1 + cos) / (2 angle sin); below 1e-3 rad its series 1/12 + angle^2 / 720, with an error of
  // angle^4 / 30240 < 1e-16.
  const double c = angle < 1e-3 ? 1.0 / 12.0 + angle * angle / 720.0
                                : 1.0 / (angle * angle) - (1.0 + std::cos(angle)) / (2.0 * angle * std::sin(angle));
  return Matrix3::Identity() - 0.5 * S + c * S * S;
}

void save_state(NumberWriter& to, const PairState& state) {
  to.add(state.t);
  to.add(state.X_AB.R);
  to.add(state.X_AB.p);
  to.add(state.V_AB.w);
  to.add(state.V_AB.v);
}

void restore_state(NumberReader& from, PairState& state) {
  state.t = from.next();
  from.read(state.X_AB.R);
  from.read(state.X_AB.p);
  from.read(state.V_AB.w);
  from.read(state.V_AB.v);
}

}  // namespace

ForceSample sample_of(const Response& response) {
  ForceSample sample;
  sample << response.F_A.torque, response.F_A.force, response.stored_energy, response.dissipated_power;
  return sample;
}

void set_sample(Response& response, const ForceSample& sample) {
  response.F_A = {.torque = sample.head<3>(), .force = sample.segment<3>(3)};
  response.stored_energy = sample[6];
  response.dissipated_power = sample[7];
}

double pair_power(const Wrench& F_A, const PairState& state) {
  // The point of B at A's origin has the velocity v - w x p.
  const Vector3 v = state.V_AB.v - state.V_AB.w.cross(state.X_AB.p);
  return -F_A.torque.dot(state.V_AB.w) - F_A.force.dot(v);
}

ForceExtrapolation::ForceExtrapolation(Extrapolation how, std::size_t n_pairs)
    : how_(how), since_onset_(n_pairs, 0), last_(n_pairs) {
  for (auto& samples : samples_) samples.assign(n_pairs, ForceSample::Zero());
}

void ForceExtrapolation::add_exchange(double t, std::span<const Response> responses,
                                      std::span<const PairState> states) {
  // Two exchanges at one time, as at a restart, define no polynomial.
  if (n_ > 0 && times_[n_ - 1] == t) --n_;
  if (n_ == max_samples) {
    std::ranges::rotate(times_, times_.begin() + 1);
    std::ranges::rotate(samples_, samples_.begin() + 1);
    --n_;
  }
  times_[n_] = t;
  for (std::size_t i = 0; i < last_.size(); ++i) {
    const Response& r = responses[i];
    samples_[n_][i] = sample_of(r);
    since_onset_[i] = touching(r.gap, r.gap_rate) ? std::min(since_onset_[i], n_) + 1 : 0;
    last_[i] = {.state = states[i], .gap = r.gap, .gap_rate = r.gap_rate};
    if (!how_.tangent) continue;
    last_[i].dF_A_dX = r.dF_A_dX;
    last_[i].dF_A_dV = r.dF_A_dV;
  }
  ++n_;
}

std::size_t ForceExtrapolation::n_used(std::size_t pair) const {
  const std::size_t wanted = how_.tangent ? 1 : static_cast<std::size_t>(how_.degree) + 1;
  return std::clamp<std::size_t>(since_onset_[pair], 1, wanted);
}

int ForceExtrapolation::degree(std::size_t pair) const {
  return how_.tangent ? 1 : static_cast<int>(n_used(pair)) - 1;
}

ForceSample ForceExtrapolation::polynomial(std::size_t pair, double t) const {
  const std::size_t n = n_used(pair);
  const SampleWeights weights = lagrange_weights(std::span(times_).subspan(n_ - n, n), t);
  ForceSample sample = ForceSample::Zero();
  for (std::size_t k = 0; k < n; ++k) sample += weights[k] * samples_[n_ - n + k][pair];
  return sample;
}

bool ForceExtrapolation::acts(std::size_t pair) const {
  const Reference& last = last_[pair];
  return !newest(pair).isZero(0.0) || !last.dF_A_dX.isZero(0.0) || !last.dF_A_dV.isZero(0.0);
}

void ForceExtrapolation::act(std::size_t pair, double t, const PairState& state, Response& response) const {
  const Reference& last = last_[pair];
  response.gap_rate = last.gap_rate;
  response.gap = last.gap + (t - time()) * last.gap_rate;
  if (!how_.tangent) {
    set_sample(response, polynomial(pair, t));
    return;
  }
  const Vector3 theta = rotation_vector(state.X_AB.R * last.state.X_AB.R.transpose());
  Vector6 moved, faster;
  moved << theta, state.X_AB.p - last.state.X_AB.p;
  faster << state.V_AB.w - last.state.V_AB.w, state.V_AB.v - last.state.V_AB.v;
  ForceSample sample = newest(pair);
  sample.head<6>() += last.dF_A_dX * moved + last.dF_A_dV * faster;
  set_sample(response, sample);
  response.dF_A_dX = last.dF_A_dX;
  response.dF_A_dX.leftCols<3>() *= inverse_left_jacobian(theta);
  response.dF_A_dV = last.dF_A_dV;
}

void ForceExtrapolation::save(NumberWriter& to) const {
  to.add(static_cast<double>(n_));
  for (std::size_t k = 0; k < n_; ++k) {
    to.add(times_[k]);
    for (const ForceSample& sample : samples_[k]) to.add(sample);
  }
  for (std::size_t i = 0; i < last_.size(); ++i) {
    to.add(static_cast<double>(since_onset_[i]));
    to.add(last_[i].gap);
    to.add(last_[i].gap_rate);
    if (!how_.tangent) continue;
    save_state(to, last_[i].state);
    to.add(last_[i].dF_A_dX);
    to.add(last_[i].dF_A_dV);
  }
}

void ForceExtrapolation::restore(NumberReader& from) {
  n_ = from.count(max_samples);
  for (std::size_t k = 0; k < n_; ++k) {
    times_[k] = from.next();
    for (ForceSample& sample : samples_[k]) from.read(sample);
  }
  for (std::size_t i = 0; i < last_.size(); ++i) {
    since_onset_[i] = from.count(n_);
    last_[i].gap = from.next();
    last_[i].gap_rate = from.next();
    if (!how_.tangent) continue;
    restore_state(from, last_[i].state);
    from.read(last_[i].dF_A_dX);
    from.read(last_[i].dF_A_dV);
  }
}

}  // namespace heelstrike::mbs
