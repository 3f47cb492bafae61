#include "mbs_server/coupling/motion_prediction.hpp"

#include <algorithm>

namespace heelstrike::mbs {

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

}  // namespace heelstrike::mbs
