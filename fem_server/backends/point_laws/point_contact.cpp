#include "fem_server/backends/point_laws/point_contact.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/backends/shared/state_bytes.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::string_view format_version = "heelstrike point history 3";

const PointHistory& own(const History& history) {
  const auto* point = dynamic_cast<const PointHistory*>(&history);
  if (point == nullptr) throw Error(ErrorCode::internal, "a point law was given the history of another back-end");
  return *point;
}

/// Wrench and tangents of the force `f` along the common normal. Where the force vanishes with its derivatives the
/// response keeps its exact zeros, without signs.
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
}

}  // namespace

PointHistory::PointHistory(std::string backend, std::optional<double> approach_speed, std::optional<Stick> stick)
    : backend_(std::move(backend)), approach_speed_(approach_speed), stick_(stick) {}

std::string PointHistory::save() const {
  StateWriter writer;
  writer.put(format_version);
  writer.put(std::string_view(backend_));
  writer.put(std::uint64_t{approach_speed_ ? 1U : 0U});
  writer.put(approach_speed_.value_or(0.0));
  writer.put(std::uint64_t{stick_ ? 1U : 0U});
  if (stick_) {
    for (const double x : stick_->X_AB.R.reshaped()) writer.put(x);
    for (const double x : stick_->X_AB.p) writer.put(x);
    for (const double x : stick_->stretch) writer.put(x);
    writer.put(stick_->limit);
  }
  return writer.take();
}

PointContact::PointContact(std::string name, PointLaw law, PointFriction friction, PointPair pair,
                           ParameterMap parameters)
    : name_(std::move(name)),
      law_(law),
      friction_(friction),
      pair_(std::move(pair)),
      parameters_(std::move(parameters)) {}

std::shared_ptr<const History> PointContact::initial_history() const {
  return std::make_shared<const PointHistory>(name_, std::nullopt, std::nullopt);
}

std::shared_ptr<const History> PointContact::load_history(std::string_view bytes) const {
  const std::string what = fmt::format("history of back-end '{}'", name_);
  StateReader reader(bytes, what);
  reader.expect("format", format_version);
  reader.expect("back-end", name_);
  const std::uint64_t in_contact = reader.integer();
  const double speed = reader.number();
  if (in_contact > 1 || !std::isfinite(speed) || speed < 0.0) {
    throw input_error("state", fmt::format("{}: expected a finite approach speed >= 0 m/s, found {} (contact flag {}); "
                                           "these bytes are damaged",
                                           what, speed, in_contact));
  }
  const std::uint64_t remembers = reader.integer();
  std::optional<PointHistory::Stick> stick;
  if (remembers == 1) {
    stick.emplace();
    for (double& x : stick->X_AB.R.reshaped()) x = reader.number();
    for (double& x : stick->X_AB.p) x = reader.number();
    for (double& x : stick->stretch) x = reader.number();
    stick->limit = reader.number();
  }
  reader.finish();
  const bool sound = !stick || (stick->X_AB.R.allFinite() && stick->X_AB.p.allFinite() && stick->stretch.allFinite() &&
                                std::isfinite(stick->limit) && stick->limit >= 0.0);
  if (remembers > 1 || !sound) {
    throw input_error("state",
                      fmt::format("{}: expected a finite pose, stretch and limit of the friction spring (flag {}); "
                                  "these bytes are damaged",
                                  what, remembers));
  }
  return std::make_shared<const PointHistory>(name_, in_contact == 1 ? std::optional(speed) : std::nullopt, stick);
}

Response PointContact::evaluate(const History& history, const PairState& state) const {
  return respond(pair_.at(state), state, own(history).approach_speed(), own(history).stick());
}

Committed PointContact::commit(const History& history, const PairState& state) const {
  const PointGeometry geometry = pair_.at(state);
  const PointHistory& before = own(history);
  std::optional<double> speed = before.approach_speed();
  const double closing = -geometry.gap_rate;
  if (!speed && (geometry.gap < 0.0 || (geometry.gap == 0.0 && closing >= 0.0))) {
    speed = std::max(closing, law_.approach_speed_floor);
  } else if (speed && (geometry.gap > 0.0 ? closing <= 0.0 : geometry.gap == 0.0 && closing < 0.0)) {
    speed.reset();
  }
  std::optional<PointHistory::Stick> stick;
  double slip_work = 0.0;
  if (friction_.coefficient > 0.0 && friction_.sticks) {
    stick = {.X_AB = state.X_AB};
    if (geometry.gap <= 0.0) {
      const LawForce normal = law_force(law_, -geometry.gap, closing, speed);
      const Traction t = traction(geometry, state, normal, before.stick());
      stick->stretch = t.stretch;
      stick->limit = t.limit;
      slip_work = t.slip_work;
    } else if (before.stick() && before.stick()->limit > 0.0) {
      const CarriedSlip freed = stretched(geometry, state, before.stick());
      slip_work = spring_slip_work(friction_, freed, before.stick()->limit, Vector3::Zero(), 0.0);
    }
  }
  Response response = respond(geometry, state, speed, stick);
  response.dissipated_increment = slip_work;
  return {.history = std::make_shared<const PointHistory>(name_, speed, stick), .response = response};
}

CarriedSlip PointContact::stretched(const PointGeometry& geometry, const PairState& state,
                                    const std::optional<PointHistory::Stick>& before) const {
  if (!before) return {};
  const ContactPlace place{.X_AB = before->X_AB,
                           .geometry = pair_.at({.t = state.t, .X_AB = before->X_AB, .V_AB = {}})};
  return slip_after(pair_, place, before->stretch, geometry, state.X_AB);
}

Traction PointContact::traction(const PointGeometry& geometry, const PairState& state, const LawForce& normal,
                                const std::optional<PointHistory::Stick>& before) const {
  return friction_traction(friction_, stretched(geometry, state, before), before ? before->limit : 0.0, normal,
                           geometry, state);
}

Response PointContact::respond(const PointGeometry& g, const PairState& state, std::optional<double> approach_speed,
                               const std::optional<PointHistory::Stick>& before) const {
  Response r;
  r.gap = g.gap;
  r.gap_rate = g.gap_rate;
  r.p_ACop = g.p_AC;
  if (g.gap > 0.0) return r;

  const double depth = -g.gap;
  const double rate = -g.gap_rate;
  const LawForce f = law_force(law_, depth, rate, approach_speed);
  add_normal_force(g, f, r);
  r.stored_energy = f.stored_energy;
  r.dissipated_power = (f.force - f.elastic) * rate;
  if (friction_.coefficient > 0.0) add_traction(g, traction(g, state, f, before), r);
  r.statistics.active_points = 1;
  r.area = std::numbers::pi * pair_.effective_radius() * depth;
  // The dashpot of Kelvin and Voigt acts at zero area: its share would make the estimate infinite at onset.
  const double load = law_.form == LawForm::viscous ? f.elastic : f.force;
  if (r.area > 0.0) r.peak_pressure = 1.5 * load / r.area;
  return r;
}

}  // namespace heelstrike::fem
