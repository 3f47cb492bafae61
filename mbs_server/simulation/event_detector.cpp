#include "mbs_server/simulation/event_detector.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mbs_server/coupling/contact_states.hpp"

namespace heelstrike::mbs {
namespace {

GapPoint gap_point(double t, const Response& response) {
  return {.t = t, .gap = response.gap, .gap_rate = response.gap_rate};
}

}  // namespace

void EventDetector::accept(double t, std::span<const Response> responses) {
  last_.clear();
  for (const Response& response : responses) last_.push_back(gap_point(t, response));
}

bool EventDetector::switches(std::size_t pair, const GapPoint& reached, bool at_root, const Rounding& rounding) const {
  // An open pair closes at a root, or where a step ends in contact.
  if (!model_.contact_states().closed(pair)) return at_root || touching(reached.gap, reached.gap_rate);
  // Right after an onset the gap is zero to rounding and may change its sign again: not a separation.
  return (at_root || reached.gap > 0.0) && reached.gap_rate > rounding.gap_rate;
}

double EventDetector::missed_penetration(std::size_t pair, const GapPoint& reached, bool at_root, bool switching,
                                         Integrator& integrator) {
  const bool closed = model_.contact_states().closed(pair);
  if (!closed && at_root) return 0.0;
  if (!closed && switching) return -reached.gap;
  // A pair closed early, or right at an onset, may still have a positive gap.
  if (closed && (switching || last_[pair].gap > 0.0)) return 0.0;
  // Open at the end and approaching again: the pair has separated within the step. While it still separates, switches()
  // detects the separation.
  const double at_end = closed && reached.gap_rate < 0.0 ? std::max(0.0, reached.gap) : 0.0;
  const auto extreme = closed ? highest_between(last_[pair], reached) : lowest_between(last_[pair], reached);
  if (!extreme || (closed ? extreme->gap <= 0.0 : extreme->gap >= 0.0)) return at_end;
  // The cubic only gives the time; the contact is evaluated at the dense output for the distance.
  y_.resize(integrator.y().size());
  z_.resize(integrator.quadratures().size());
  integrator.interpolate(extreme->t, y_, z_);
  const double gap = model_.exchange().responses(extreme->t, model_.q(y_), model_.qd(y_))[pair].gap;
  return std::max(at_end, closed ? gap : -gap);
}

void EventDetector::detect_pair_events(const StepResult& step, Integrator& integrator, StepEvents& events) {
  if (model_.contact_states().n_pairs() == 0) return;
  const auto& [t_start, y_start, z_start] = model_.committed();
  const auto q = model_.q(integrator.y());
  const auto qd = model_.qd(integrator.y());
  if (step.roots.empty() &&
      model_.scheme().has_constant_contact_state(t_start, model_.q(y_start), model_.qd(y_start), step.t, q, qd)) {
    return;
  }
  // The rounding is that of the end of the step, where the decision is made, and the one that RunProblem::roots() used.
  const Rounding rounding{.gap = gap_rounding(q), .gap_rate = gap_rate_rounding(qd)};
  // Integrators evaluate the roots last. A later projection changes the state only within the accuracy of the step,
  // so that another evaluation is not needed.
  ContactExchange& exchange = model_.exchange();
  const auto known = exchange.responses_at(step.t);
  std::vector<GapPoint> reached;
  for (const Response& response : known ? *known : exchange.responses(step.t, q, qd)) {
    reached.push_back(gap_point(step.t, response));
  }
  if (last_.empty()) accept(t_start, exchange.responses(t_start, model_.q(y_start), model_.qd(y_start)));
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const auto is_root = [&](ContactRoot::Kind kind) {
      return std::ranges::find(step.roots, ContactRoot{.pair = i, .kind = kind}.index()) != step.roots.end();
    };
    const bool at_root = is_root(ContactRoot::Kind::gap);
    events.slip_ends = events.slip_ends || is_root(ContactRoot::Kind::slip);
    const bool switching = switches(i, reached[i], at_root, rounding);
    if (switching) events.switching.push_back(i);
    const double distance = missed_penetration(i, reached[i], at_root, switching, integrator);
    if (distance <= rounding.gap) continue;
    events.missed = fmt::format("'{}' had an undetected onset or separation between t = {} s and {} s, by {:.3g} m",
                                model_.trackers()[i].pair(), t_start, step.t, distance);
  }
}

void EventDetector::detect_joint_events(const StepResult& step, const Integrator& integrator, StepEvents& events) {
  // The roots of joints follow those of pairs.
  std::vector<int> roots;
  for (const int root : step.roots) {
    if (root >= problem_.n_pair_roots()) roots.push_back(root - problem_.n_pair_roots());
  }
  UnilateralJoints& joints = problem_.unilateral_joints();
  events.joints = joints.at_root(roots);
  const double depth = joints.missed_penetration(model_.q(integrator.y()), events.joints);
  if (depth <= 0.0) return;
  events.missed = fmt::format("a unilateral joint had an undetected impact between t = {} s and {} s, {:.3g} m deep",
                              model_.committed().t, step.t, depth);
}

StepEvents EventDetector::detect(const StepResult& step, Integrator& integrator) {
  StepEvents events;
  if (locates_contact_) detect_pair_events(step, integrator, events);
  detect_joint_events(step, integrator, events);
  return events;
}

}  // namespace heelstrike::mbs
