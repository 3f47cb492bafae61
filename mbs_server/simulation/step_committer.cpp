#include "mbs_server/simulation/step_committer.hpp"

#include <utility>

namespace heelstrike::mbs {

SimulationStep::SimulationStep(const Run& run, const StepResult& step, Integrator& method, StepEvents events)
    : run_(run),
      method_(&method),
      end_(step.t),
      step_size_(step.step_size),
      y_(method.y()),
      z_(method.quadratures()),
      events_(std::move(events)) {}

SimulationStep::SimulationStep(const Run& run, SingularCrossing::Crossing crossing)
    : run_(run), end_(crossing.t), step_size_(0.0), y_(crossing.y), crossing_(std::move(crossing)) {
  z_ = add_crossing_work();
}

/// Quadratures at the end of a crossing, by the trapezoidal rule: intermediate states are not computed, so that powers
/// are known at both ends only.
VectorX SimulationStep::add_crossing_work() const {
  const auto& [t, y, z_start] = run_.model.committed();
  const double h = end_ - t;
  VectorX z = z_start;
  VectorX power(z.size());
  run_.problem.quadrature_rhs(t, y, power);
  z += 0.5 * h * power;
  run_.problem.quadrature_rhs(end_, y_, power);
  z += 0.5 * h * power;
  return z;
}

void SimulationStep::state_at(double t, VectorX& y, VectorX& z) {
  y = y_;
  z = z_;
  if (t < end_ && crossing_) {
    VectorX q, qd, unused;
    crossing_->motion.at(t, q, qd, unused);
    const auto n_s = run_.model.system().n_states();
    // Internal states of force elements have no polynomial across the pose; they are interpolated linearly up to their
    // values at the end of the crossing.
    const double s = fraction(t);
    y << q, qd, (1.0 - s) * run_.model.committed().y.tail(n_s) + s * y_.tail(n_s);
    z = run_.model.committed().z;
  } else if (t < end_) {
    method_->interpolate(t, y, z);
  }
  run_.problem.project(t, y);
}

void SimulationStep::cut(double t) {
  VectorX y, z;
  state_at(t, y, z);
  // Across a singular pose only the total work is known.
  if (crossing_) z += fraction(t) * (z_ - run_.model.committed().z);
  end_ = t;
  y_ = std::move(y);
  z_ = std::move(z);
  events_ = {};
}

VectorX& SimulationStep::projected_end() {
  // A state at an event is interpolated within its step: it satisfies the constraints only to the step's accuracy.
  if (is_event()) run_.problem.project(end_, y_);
  return y_;
}

void StepCommitter::commit(SimulationStep& step, bool exchanges) {
  finish();
  VectorX& y = step.projected_end();
  if (step.can_defer_commit()) return post(step, y);
  const auto responses = model_.scheme().accept(step.end(), model_.q(y), model_.qd(y));
  const double t_before = replace_committed_state(step, y);
  detector_.accept(step.end(), responses);
  if (!exchanges) return;
  if (run_.contact_at_step_ends) {
    const auto means = model_.rigid_contacts().episode_responses(responses, model_.q(model_.committed().y));
    store_responses(t_before, y, means);
    switch_pairs(switched_pairs(means), means);
  } else {
    store_responses(t_before, y, responses);
    switch_pairs(step.events().switching, responses);
  }
}

/// Makes the end of the step the committed state. @param y  in: of the end; out: of the preceding state
/// @returns [s] time of the preceding state
double StepCommitter::replace_committed_state(const SimulationStep& step, VectorX& y) {
  CommittedState& committed = model_.committed();
  const double t_before = std::exchange(committed.t, step.end());
  committed.y.swap(y);
  committed.z = step.end_z();
  model_.system().accept_turn_references(model_.q(committed.y));
  model_.note_violation();
  return t_before;
}

void StepCommitter::post(SimulationStep& step, VectorX& y) {
  VectorX z_before = model_.committed().z;
  VectorX references = model_.system().turn_references();
  model_.scheme().accept_deferred(step.end(), model_.q(y), model_.qd(y));
  const double t_before = replace_committed_state(step, y);
  detector_.forget();
  posted_ = PrecedingState{.state = {.t = t_before, .y = std::move(y), .z = std::move(z_before)},
                           .turn_references = std::move(references)};
}

void StepCommitter::finish() {
  if (!posted_) return;
  // If all pairs are open the responses are not needed: no wait.
  if (!model_.contact_states().any_closed()) {
    for (std::size_t i = 0; i < model_.trackers().size(); ++i) diagnostics_.forget_contact(i);
    posted_.reset();
    return;
  }
  const auto responses = model_.scheme().accepted();
  const CommittedState before = std::move(posted_->state);
  posted_.reset();
  detector_.accept(model_.committed().t, responses);
  listener_->on_commit_response();
  store_responses(before.t, before.y, responses);
}

double StepCommitter::roll_back(const RejectedCommit& rejection) {
  if (!posted_) throw rejection;
  const double t_rejected = model_.committed().t;
  model_.committed() = std::move(posted_->state);
  model_.system().set_turn_references(posted_->turn_references);
  posted_.reset();
  model_.exchange().roll_back_commit();
  return t_rejected;
}

void StepCommitter::add(const UnilateralJoints::Event& event) {
  model_.totals().committed_dissipation += event.dissipated;
  model_.committed().z[EnergyQuadrature::external_work] += event.external_work;
  ++n_events_;
}

/// Processes the responses of a commit. @param y_before  a peak is known one step later
void StepCommitter::store_responses(double t_before, const VectorX& y_before, std::span<const Response> responses) {
  const RigidContactSet& rigid = model_.rigid_contacts();
  const double t = model_.committed().t;
  for (std::size_t i = 0; i < model_.trackers().size(); ++i) {
    // Also of a pair that closes with this commit: a body that still vibrates regains what its release dissipated.
    model_.totals().committed_dissipation += responses[i].dissipated_increment;
    if (!model_.contact_states().closed(i)) {
      diagnostics_.forget_contact(i);
      continue;
    }
    // Forces of rigid bodies are means over steps and jump.
    if (!rigid.rigid(i)) diagnostics_.accept_contact(i, t, t - t_before, responses[i]);
    EpisodeTracker& tracker = model_.trackers()[i];
    if (const auto impulse = rigid.impact_impulse(i)) tracker.note_impact(*impulse);
    tracker.update(t, responses[i]);
    if (!tracker.has_passed_peak()) continue;
    listener_->on_event({.kind = SimulationEvent::Kind::peak, .t = t_before, .pair = i, .y = &y_before});
  }
}

/// With contact at the ends of steps, the pairs whose state differs from that at the last accepted step.
std::vector<std::size_t> StepCommitter::switched_pairs(std::span<const Response> responses) const {
  const RigidContactSet& rigid = model_.rigid_contacts();
  std::vector<std::size_t> pairs;
  for (std::size_t i = 0; i < responses.size(); ++i) {
    const bool touches = rigid.rigid(i) ? rigid.touches(i, responses[i].gap, model_.q(model_.committed().y))
                                        : touching(responses[i].gap, responses[i].gap_rate);
    if (model_.contact_states().closed(i) != touches) pairs.push_back(i);
  }
  return pairs;
}

void StepCommitter::switch_pairs(std::span<const std::size_t> pairs, std::span<const Response> responses) {
  using Kind = SimulationEvent::Kind;
  const auto& [t, y, z] = model_.committed();
  for (const std::size_t pair : pairs) {
    diagnostics_.count_switch(pair);
    ++n_events_;
    EpisodeTracker& tracker = model_.trackers()[pair];
    const bool opens = model_.contact_states().closed(pair);
    model_.contact_states().set_closed(pair, !opens);
    if (opens) {
      const ContactEpisode& episode = model_.totals().finished.emplace_back(tracker.end(t, responses[pair]));
      listener_->on_event({.kind = Kind::separation, .t = t, .pair = pair, .y = &y, .episode = &episode});
    } else {
      tracker.begin(t, responses[pair]);
      listener_->on_event({.kind = Kind::onset, .t = t, .pair = pair, .y = &y});
    }
  }
}

}  // namespace heelstrike::mbs
