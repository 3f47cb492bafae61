#include "fem_server/backends/point_laws/point_contact.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace heelstrike::fem {

namespace {

/// Wrench and tangents of the force `f` along the common normal. If the force and its derivatives vanish, the response
/// keeps exact, unsigned zeros.
void add_normal_force(const PointGeometry& g, const LawForce& f, Response& r) {
  if (f.force == 0.0 && f.dF_ddepth == 0.0 && f.dF_drate == 0.0) return;
  // The unit wrench of the line of action, about A's origin; g.dgap_dX is the same line about B's origin.
  const Vector6 line_A = (Vector6() << g.p_AC.cross(g.n_A), g.n_A).finished();
  r.F_A = {.torque = -f.force * line_A.head<3>(), .force = -f.force * line_A.tail<3>()};

  const RowVector6 df_dX = -f.dF_ddepth * g.dgap_dX - f.dF_drate * g.dgap_rate_dX;
  Matrix6 dline_dX;
  dline_dX << skew(g.p_AC) * g.dn_dX - skew(g.n_A) * g.dp_dX, g.dn_dX;
  r.dF_A_dX = -line_A * df_dX - f.force * dline_dX;
  r.dF_A_dV = f.dF_drate * line_A * g.dgap_dX;
}

/// Adds the friction, a force on A at the contact point.
void add_traction(const PointGeometry& g, const Traction& t, Response& r) {
  r.F_A.torque += g.p_AC.cross(t.force);
  r.F_A.force += t.force;
  Matrix6 dX;
  dX << skew(g.p_AC) * t.dX - skew(t.force) * g.dp_dX, t.dX;
  Matrix6 dV;
  dV << skew(g.p_AC) * t.dV, t.dV;
  r.dF_A_dX += dX;
  r.dF_A_dV += dV;
  r.stored_energy += t.stored_energy;
  r.dissipated_power += t.dissipated_power;
  r.dissipated_increment = t.slip_work;
  r.slip_speed = t.slip_speed;
}

}  // namespace

PointContact::PointContact(std::string name, PointLaw law, PointFriction friction, PointPair pair,
                           ParameterMap parameters)
    : ContactBackend({.parameters = std::move(parameters),
                      .history_independent =
                          law.form != LawForm::hysteresis && (friction.coefficient == 0.0 || !friction.sticks)}),
      name_(std::move(name)),
      law_(law),
      friction_(friction),
      pair_(std::move(pair)) {}

std::shared_ptr<const History> PointContact::initial_history() const {
  return PointHistory::of_backend(name_);
}

std::shared_ptr<const History> PointContact::load_history(std::string_view bytes) const {
  return PointHistory::load(bytes, name_);
}

Response PointContact::evaluate(const History& history, const PairState& state,
                                const EvaluateOptions& /*options*/) const {
  const PointHistory& own = PointHistory::from(history);
  return make_response(pair_.at(state), state, own.approach_velocity, own.stick);
}

Committed PointContact::commit(const History& history, const PairState& state,
                               const EvaluateOptions& /*options*/) const {
  const PointGeometry geometry = pair_.at(state);
  const PointHistory& before = PointHistory::from(history);
  auto next = PointHistory::of_backend(name_);
  std::optional<double>& speed = next->approach_velocity;
  speed = before.approach_velocity;
  const double closing = -geometry.gap_rate;
  if (!speed && (geometry.gap < 0.0 || (geometry.gap == 0.0 && closing >= 0.0))) {
    speed = std::max(closing, law_.min_approach_velocity);
  } else if (speed && (geometry.gap > 0.0 ? closing <= 0.0 : geometry.gap == 0.0 && closing < 0.0)) {
    speed.reset();
  }
  std::optional<PointHistory::Stick>& stick = next->stick;
  double slip_work = 0.0;
  if (friction_.coefficient > 0.0 && friction_.sticks) {
    stick = {.X_AB = state.X_AB};
    if (geometry.gap <= 0.0) {
      const LawForce normal = law_force(law_, -geometry.gap, closing, speed);
      const Traction t = traction(geometry, state, normal, before.stick);
      stick->stretch = t.stretch;
      stick->limit = t.limit;
      slip_work = t.slip_work;
    } else if (before.stick && before.stick->limit > 0.0) {
      const TransportedSlip released_slip = stretched(geometry, state, before.stick);
      slip_work = spring_slip_work(friction_, released_slip, before.stick->limit, Vector3::Zero(), 0.0);
    }
  }
  Response response = make_response(geometry, state, speed, stick);
  response.dissipated_increment = slip_work;
  return {.history = std::move(next), .response = response};
}

TransportedSlip PointContact::stretched(const PointGeometry& geometry, const PairState& state,
                                        const std::optional<PointHistory::Stick>& before) const {
  if (!before) return {};
  const ContactPointPosition place{.X_AB = before->X_AB,
                                   .geometry = pair_.at({.t = state.t, .X_AB = before->X_AB, .V_AB = {}})};
  return slip_after(pair_, place, before->stretch, geometry, state.X_AB);
}

Traction PointContact::traction(const PointGeometry& geometry, const PairState& state, const LawForce& normal,
                                const std::optional<PointHistory::Stick>& before) const {
  return friction_traction(friction_, stretched(geometry, state, before), before ? before->limit : 0.0, normal,
                           geometry, state);
}

Response PointContact::make_response(const PointGeometry& g, const PairState& state,
                                     std::optional<double> approach_velocity,
                                     const std::optional<PointHistory::Stick>& before) const {
  Response r;
  r.gap = g.gap;
  r.gap_rate = g.gap_rate;
  r.p_ACop = g.p_AC;
  r.bound = pair_.gap_bound(state.X_AB);
  if (g.gap > 0.0) return r;

  const double depth = -g.gap;
  const double rate = -g.gap_rate;
  const LawForce f = law_force(law_, depth, rate, approach_velocity);
  add_normal_force(g, f, r);
  r.stored_energy = f.stored_energy;
  r.dissipated_power = (f.force - f.elastic) * rate;
  if (friction_.coefficient > 0.0) add_traction(g, traction(g, state, f, before), r);
  r.statistics.active_points = 1;
  r.area = std::numbers::pi * g.effective_radius * depth;
  // The Kelvin-Voigt dashpot acts at zero area: including it would make the estimate infinite at onset.
  r.normal_force = law_.form == LawForm::viscous ? f.elastic : f.force;
  if (r.area > 0.0) r.peak_pressure = 1.5 * r.normal_force / r.area;
  return r;
}

namespace {

BackendTraits traits_of(const std::vector<CompartmentContact::Part>& parts, ParameterMap parameters) {
  BackendTraits traits{.parameters = std::move(parameters), .history_independent = true};
  for (const CompartmentContact::Part& part : parts) {
    traits.regions.push_back(part.name);
    traits.history_independent = traits.history_independent && part.law->traits().history_independent;
  }
  return traits;
}

/// Adds the response of one compartment.
void add_part(const Response& part, Response& sum) {
  const double before = sum.F_A.force.norm();
  const double force = part.F_A.force.norm();
  if (sum.regions.empty() || part.gap < sum.gap) {
    sum.gap = part.gap;
    sum.gap_rate = part.gap_rate;
    // Without contact this is the closest point.
    if (before == 0.0) sum.p_ACop = part.p_ACop;
  }
  if (force > 0.0) sum.p_ACop = (before * sum.p_ACop + force * part.p_ACop) / (before + force);
  sum.F_A.torque += part.F_A.torque;
  sum.F_A.force += part.F_A.force;
  sum.dF_A_dX += part.dF_A_dX;
  sum.dF_A_dV += part.dF_A_dV;
  sum.area += part.area;
  sum.normal_force += part.normal_force;
  sum.peak_pressure = std::max(sum.peak_pressure, part.peak_pressure);
  sum.stored_energy += part.stored_energy;
  sum.dissipated_power += part.dissipated_power;
  sum.dissipated_increment += part.dissipated_increment;
  // The slowest sliding point is the first to stick again.
  if (sum.slip_speed == 0.0 || (part.slip_speed != 0.0 && part.slip_speed < sum.slip_speed)) {
    sum.slip_speed = part.slip_speed;
  }
  sum.statistics.active_points += part.statistics.active_points;
  sum.regions.push_back({.force = force,
                         .area = part.area,
                         .peak_pressure = part.peak_pressure,
                         .p_ACop = force > 0.0 ? part.p_ACop : Vector3::Zero()});
}

}  // namespace

CompartmentContact::CompartmentContact(std::string name, std::vector<Part> parts, ParameterMap parameters)
    : ContactBackend(traits_of(parts, std::move(parameters))), name_(std::move(name)), parts_(std::move(parts)) {}

std::shared_ptr<const History> CompartmentContact::initial_history() const {
  auto history = CompartmentHistory::of_backend(name_);
  for (const Part& part : parts_) history->parts.push_back(part.law->initial_history());
  return history;
}

std::shared_ptr<const History> CompartmentContact::load_history(std::string_view bytes) const {
  auto history = CompartmentHistory::load(bytes, name_);
  if (history->saved.size() != parts_.size()) {
    throw input_error("history", fmt::format("history of back-end '{}': expected {} compartments, found {}", name_,
                                             parts_.size(), history->saved.size()));
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    history->parts.push_back(parts_[i].law->load_history(history->saved[i]));
  }
  history->saved.clear();
  return history;
}

Response CompartmentContact::evaluate(const History& history, const PairState& state,
                                      const EvaluateOptions& options) const {
  const CompartmentHistory& own = CompartmentHistory::from(history);
  Response sum;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    add_part(parts_[i].law->evaluate(*own.parts[i], state, options), sum);
  }
  return sum;
}

Committed CompartmentContact::commit(const History& history, const PairState& state,
                                     const EvaluateOptions& options) const {
  const CompartmentHistory& own = CompartmentHistory::from(history);
  auto next = CompartmentHistory::of_backend(name_);
  Response sum;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Committed part = parts_[i].law->commit(*own.parts[i], state, options);
    next->parts.push_back(std::move(part.history));
    add_part(part.response, sum);
  }
  return {.history = std::move(next), .response = std::move(sum)};
}

}  // namespace heelstrike::fem
