#include "mbs_server/simulation/pair_event_detector.hpp"

#include <algorithm>
#include <limits>

#include "mbs_server/coupling/contact_states.hpp"

namespace heelstrike::mbs {
namespace {

/// A gap results from some dozens of operations, each with a rounding error of the magnitude of the coordinates.
constexpr double operations = 64.0 * std::numeric_limits<double>::epsilon();

GapPoint point_of(double t, const Response& response) {
  return {.t = t, .gap = response.gap, .gap_rate = response.gap_rate};
}

}  // namespace

double gap_rounding(const ConstVector& q) {
  // Axes of bodies are unit vectors, independent of the positions.
  return operations * (1.0 + q.lpNorm<Eigen::Infinity>());
}

double gap_rate_rounding(const ConstVector& qd) {
  return operations * qd.lpNorm<Eigen::Infinity>();
}

void PairEventDetector::accept(double t, std::span<const Response> responses) {
  last_.clear();
  for (const Response& response : responses) last_.push_back(point_of(t, response));
}

bool PairEventDetector::switches(std::size_t pair, const GapPoint& reached, bool at_root,
                                 const Rounding& rounding) const {
  // An open pair closes at a root, or where a step ends in contact.
  if (!states_.closed(pair)) return at_root || touching(reached.gap, reached.gap_rate);
  // Right after an onset the gap is zero to rounding and may change its sign again: not a separation.
  return (at_root || reached.gap > 0.0) && reached.gap_rate > rounding.gap_rate;
}

double PairEventDetector::missed_penetration(std::size_t pair, const GapPoint& reached, bool at_root, bool switching,
                                             Integrator& integrator) {
  const bool closed = states_.closed(pair);
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
  const Eigen::Index n = exchange_.n_q();
  const double gap = exchange_.responses(extreme->t, y_.head(n), y_.segment(n, n))[pair].gap;
  return std::max(at_end, closed ? gap : -gap);
}

PairEventDetector::PairEvents PairEventDetector::detect_events(double t_start, const ConstVector& q_start,
                                                               const ConstVector& qd_start, const StepResult& step,
                                                               Integrator& integrator, const CouplingScheme& scheme) {
  PairEvents pair_events;
  if (states_.n_pairs() == 0) return pair_events;
  const Eigen::Index n = exchange_.n_q();
  const auto q = integrator.y().head(n);
  const auto qd = integrator.y().segment(n, n);
  if (step.roots.empty() && scheme.keeps_contact_state(t_start, q_start, qd_start, step.t, q, qd)) return pair_events;
  const Rounding rounding{.gap = gap_rounding(q), .gap_rate = gap_rate_rounding(qd)};
  // Integrators evaluate the roots last. A later projection changes the state only within the accuracy of the step,
  // so that another evaluation is not needed.
  const auto answered = exchange_.responses_at(step.t);
  std::vector<GapPoint> reached;
  for (const Response& response : answered ? *answered : exchange_.responses(step.t, q, qd)) {
    reached.push_back(point_of(step.t, response));
  }
  if (last_.empty()) accept(t_start, exchange_.responses(t_start, q_start, qd_start));
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const auto is_root = [&](ContactRoot::Kind kind) {
      return std::ranges::find(step.roots, ContactRoot{.pair = i, .kind = kind}.index()) != step.roots.end();
    };
    const bool at_root = is_root(ContactRoot::Kind::gap);
    pair_events.slip_ends = pair_events.slip_ends || is_root(ContactRoot::Kind::slip);
    const bool switching = switches(i, reached[i], at_root, rounding);
    if (switching) pair_events.switching.push_back(i);
    const double distance = missed_penetration(i, reached[i], at_root, switching, integrator);
    if (distance <= rounding.gap) continue;
    pair_events.missed = i;
    pair_events.missed_penetration_depth = distance;
  }
  return pair_events;
}

}  // namespace heelstrike::mbs
