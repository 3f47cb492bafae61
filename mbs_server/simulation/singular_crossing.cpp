#include "mbs_server/simulation/singular_crossing.hpp"

#include <algorithm>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {

QuinticMotion::QuinticMotion(const Node& from, const Node& to) {
  coordinates_.reserve(static_cast<std::size_t>(from.q.size()));
  for (Eigen::Index i = 0; i < from.q.size(); ++i) {
    coordinates_.push_back(make_hermite({from.t, to.t}, {{.f = from.q[i], .d = from.qd[i], .dd = from.qdd[i]},
                                                         {.f = to.q[i], .d = to.qd[i], .dd = to.qdd[i]}}));
  }
}

void QuinticMotion::at(double t, VectorX& q, VectorX& qd, VectorX& qdd) const {
  const auto n = static_cast<Eigen::Index>(coordinates_.size());
  for (auto* v : {&q, &qd, &qdd}) v->resize(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const Jet jet = coordinates_[static_cast<std::size_t>(i)]->at(t);
    q[i] = jet.f;
    qd[i] = jet.d;
    qdd[i] = jet.dd;
  }
}

QuinticMotion::Node SingularCrossing::node_at(const MotionState& at) {
  return {.t = at.t, .q = at.q, .qd = at.qd, .qdd = system_.accelerations(at).qdd};
}

void SingularCrossing::record(double t, const VectorX& y) {
  // Without joints there are no singular poses.
  if (system_.n_constraints() == rigid_constraints_per_body * static_cast<int>(system_.mass().size())) return;
  const MotionState at = system_.state(t, y);
  try {
    const double size = system_.compute_min_singular_value(t, at.q);
    history_.push_back({.node = node_at(at), .s = at.s, .size = size});
  } catch (const RecoverableError&) {
    history_.clear();  // the integrator will report the error
  }
  if (history_.size() > history_length) history_.pop_front();
}

std::optional<SingularCrossing::Crossing> SingularCrossing::find(const Criterion& criterion, double t_end) {
  if (history_.size() < 2) return {};
  const StateSample& last = history_.back();
  // Singular values are linear in the distance from the pose; a change of a tenth suffices for the slope.
  const auto farther = std::find_if(history_.rbegin() + 1, history_.rend(),
                                    [&](const StateSample& visit) { return visit.size >= 1.1 * last.size; });
  if (farther == history_.rend()) return {};
  // Zero of the straight line through both.
  const double ahead = (last.node.t - farther->node.t) * last.size / (farther->size - last.size);
  double longest = 0.0;  // steps become smaller before the pose
  for (std::size_t i = 1; i < history_.size(); ++i) {
    longest = std::max(longest, history_[i].node.t - history_[i - 1].node.t);
  }
  // The pose lies in the middle of the crossing, so that both ends have the same distance from it and the same
  // accuracy. The far side must lie within the run; otherwise the integrator ends the run before the pose.
  if (!(ahead < criterion.steps * longest) || last.node.t + 2.0 * ahead >= t_end) return {};
  try {
    return cross(ahead, criterion.tolerance);
  } catch (const RecoverableError&) {
    return {};
  }
}

/// The latest state that is at least `distance` [s] old, or else the oldest state.
const QuinticMotion::Node& SingularCrossing::base(double distance) const {
  const double t = history_.back().node.t;
  for (auto visit = history_.rbegin() + 1; visit != history_.rend(); ++visit) {
    if (t - visit->node.t >= distance) return visit->node;
  }
  return history_.front().node;
}

std::optional<SingularCrossing::Crossing> SingularCrossing::cross(double ahead, double tolerance) {
  const Node& to = history_.back().node;
  const double t = to.t + 2.0 * ahead;
  // Errors e of the states cause 60 e / distance^2 in the extrapolated accelerations.
  const Node& from = base(2.0 * ahead);
  VectorX q, qd, qdd;
  QuinticMotion(from, to).at(t, q, qd, qdd);
  // At the same distance beyond the pose the constraints determine the state as accurately as before it.
  system_.project(t, q, qd);
  const MotionState last{to.t, to.q, to.qd, history_.back().s};
  // One trapezoidal step over the whole interval, A-stable.
  const VectorX s = system_.states().advance(last, {t, q, qd});
  const Node behind = node_at({t, q, qd, s});
  // Position error due to the difference of accelerations, compared with the tolerance of the skipped steps.
  constexpr double rounding = 1e-9;  // of accelerations near the pose, times the time squared
  const auto allowed = tolerance * (spec_.rtol * q.array().abs().max(1e-3) + spec_.atol) + rounding;
  const auto defect = (behind.qdd - qdd).array().abs() * ahead * ahead;
  if (!(defect <= allowed).all()) return {};
  Crossing crossing{
      .t_singular = to.t + ahead, .t = t, .y = VectorX(system_.n_y()), .motion = QuinticMotion(to, behind)};
  crossing.y << q, qd, s;
  return crossing;
}

}  // namespace heelstrike::mbs
