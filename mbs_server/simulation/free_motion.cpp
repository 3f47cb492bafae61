#include "mbs_server/simulation/free_motion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "common/errors/error.hpp"
#include "mbs_server/coupling/coupling_scheme.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/elements/forces/force_type.hpp"
#include "mbs_server/simulation/run_table.hpp"

namespace heelstrike::mbs {
namespace {

/// Entries of x per body: position, quaternion, velocity, angular velocity, as in the time series.
constexpr Eigen::Index per_body = 13;
constexpr Eigen::Index quaternion = 3, velocity = 7, angular = 10;

Quaternion quaternion_of(const VectorX& x, Eigen::Index first) {
  return {x[first + quaternion], x[first + quaternion + 1], x[first + quaternion + 2], x[first + quaternion + 3]};
}

Pose pose_of(const VectorX& x, Eigen::Index first) {
  return {.R = quaternion_of(x, first).normalized().toRotationMatrix(), .p = x.segment<3>(first)};
}

Twist twist_of(const VectorX& x, Eigen::Index first) {
  return {.w = x.segment<3>(first + angular), .v = x.segment<3>(first + velocity)};
}

/// Empty = the scenario is an ordinary differential equation.
std::string rejection_reason(const Scenario& scenario) {
  const auto tied = [](std::string_view what, const std::string& name, std::string_view advice) {
    return fmt::format("model exchange: {} '{}' {}; export an FMU for co-simulation, which includes its integrator",
                       what, name, advice);
  };
  constexpr std::string_view algebraic =
      "is an algebraic equation between the coordinates of bodies, which model-exchange integrators do not enforce";
  if (!scenario.joints.empty()) return tied("the joint", scenario.joints.front().name, algebraic);
  if (!scenario.drivers.empty()) return tied("the driver", scenario.drivers.front().name, algebraic);
  for (const ElementSpec& force : scenario.forces) {
    if (steps_fmu(force)) return tied("the unit", force.name, "is stepped from one communication point to the next");
  }
  if (!scenario.coupling.scheme.empty() && scenario.coupling.scheme != monolithic().name) {
    return tied("the coupling scheme", scenario.coupling.scheme, "has macro steps");
  }
  if (!scenario.analysis.traits.finds_events)
    return tied("the analysis", scenario.analysis.type, "has no time integration");
  return {};
}

const Scenario& free_bodies(const Scenario& scenario) {
  if (const std::string reason = rejection_reason(scenario); !reason.empty())
    throw Error(ErrorCode::unimplemented, reason);
  return scenario;
}

std::string rate_unit(const std::string& unit) {
  if (unit == "-" || unit.empty()) return "1/s";
  if (unit == "J") return "W";
  return unit.ends_with("/s") ? unit + "^2" : unit + "/s";
}

}  // namespace

FreeMotion::FreeMotion(const RunInput& input)
    : input_(input),
      inputs_(build_model(free_bodies(input.scenario))),
      model_(input.scenario, inputs_.model(), {}, monolithic()) {
  model_.system().add_force(inputs_.release_force_element());
}

Eigen::Index FreeMotion::first_internal_state() const {
  return per_body * n_bodies();
}

void FreeMotion::initialise(const ContactFactory& open_contact) {
  t_ = input_.start_time;
  model_.assemble([](std::string_view, const std::string&) {}, t_);
  model_.open(open_contact, input_.assets, {.run_id = input_.run_id, .on_progress = {}, .stop = {}});
  System& system = model_.system();
  x_.resize(first_internal_state() + system.n_states() + EnergyQuadrature::n);
  for (Eigen::Index i = 0; i < n_bodies(); ++i) {
    const auto q = model_.start().q.segment<coordinates_per_body>(coordinates_per_body * i);
    const auto qd = model_.start().qd.segment<coordinates_per_body>(coordinates_per_body * i);
    const Pose X_WB = pose_from_coordinates(q);
    const Quaternion orientation = quaternion_from_rotation(X_WB.R);
    const Twist V_WB = twist_from_rates(q, qd);
    x_.segment<per_body>(per_body * i) << X_WB.p, orientation.w(), orientation.x(), orientation.y(), orientation.z(),
        V_WB.v, V_WB.w;
  }
  x_.tail(system.n_states() + EnergyQuadrature::n).setZero();
  const VectorX y = motion();
  const VectorX started = system.start_y(t_, model_.q(y), model_.qd(y));
  x_.segment(first_internal_state(), system.n_states()) = started.tail(system.n_states());
  model_.committed() = {.t = t_, .y = started, .z = quadratures()};
  model_.begin(model_.scheme().accept(t_, model_.q(started), model_.qd(started)));
  accepted_ = x_;
  collect_columns();
}

void FreeMotion::collect_columns() {
  const System& system = model_.system();
  columns_ = model_.columns();
  const auto regions = model_.region_columns();
  columns_.insert(columns_.end(), regions.begin(), regions.end());
  n_table_ = columns_.size();
  // Time, then the bodies in the order of x.
  for (Eigen::Index i = 0; i < first_internal_state(); ++i) state_columns_.push_back(static_cast<std::size_t>(1 + i));
  const auto add_state = [&](const std::string& name, const char* unit, const std::string& meaning) {
    state_columns_.push_back(columns_.size());
    columns_.push_back({name, unit, meaning});
  };
  for (int i = 0; i < system.n_states(); ++i) {
    add_state(fmt::format("state.{}.{}", i + 1, system.states().name_of(i)), "-",
              "internal state of the force element");
  }
  add_state("state.dissipated_J", "J", "energy dissipated by rate-dependent terms");
  add_state("state.external_work_J", "J", "work of external loads");
  first_rate_ = columns_.size();
  for (const std::size_t state : state_columns_) {
    const Column of = columns_[state];
    columns_.push_back({fmt::format("der({})", of.name), rate_unit(of.unit), fmt::format("rate of {}", of.name)});
  }
  for (const std::string& pair : model_.pair_names()) {
    columns_.push_back({pair + ".indicator_m", "m", "changes its sign at onset or separation of the pair"});
  }
}

void FreeMotion::require_valid(std::span<const double> x) const {
  if (std::ssize(x) != x_.size()) {
    throw input_error("x", fmt::format("expected {} continuous states, found {}", x_.size(), x.size()));
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(x[i])) continue;
    const std::string& name = columns_[state_columns_[i]].name;
    throw input_error(name, fmt::format("{}: expected a finite number, found {}", name, x[i]));
  }
  for (Eigen::Index i = 0; i < n_bodies(); ++i) {
    if (quaternion_of(Eigen::Map<const VectorX>(x.data(), std::ssize(x)), per_body * i).norm() > 0.0) continue;
    const std::string& body = model_.system().model().bodies[static_cast<std::size_t>(i)].name;
    throw input_error(body, fmt::format("{}: expected a quaternion other than zero, found 0, 0, 0, 0", body));
  }
}

void FreeMotion::set_time(double t) {
  if (!std::isfinite(t)) throw input_error("time", fmt::format("time: expected a finite number, found {}", t));
  t_ = t;
}

void FreeMotion::set_state(std::span<const double> x) {
  require_valid(x);
  std::ranges::copy(x, x_.data());
}

VectorX FreeMotion::motion(const VectorX& x) const {
  const System& system = model_.system();
  VectorX y(system.n_y());
  for (Eigen::Index i = 0; i < n_bodies(); ++i) {
    const Pose X_WB = pose_of(x, per_body * i);
    y.segment<coordinates_per_body>(coordinates_per_body * i) = coordinates_from_pose(X_WB);
    y.segment<coordinates_per_body>(system.n_q() + coordinates_per_body * i) =
        rates_from_twist(X_WB, twist_of(x, per_body * i));
  }
  y.tail(system.n_states()) = x.segment(first_internal_state(), system.n_states());
  return y;
}

VectorX FreeMotion::rates() {
  System& system = model_.system();
  const VectorX y = motion();
  const MotionState at = model_.state(t_, y);
  const Accelerations& a = system.accelerations(at);
  VectorX xd(x_.size());
  for (Eigen::Index i = 0; i < n_bodies(); ++i) {
    const Eigen::Index first = per_body * i, k = coordinates_per_body * i;
    const Twist V_WB = twist_of(x_, first);
    const Twist A_WB =
        acceleration_from_rates(at.q.segment<coordinates_per_body>(k), at.qd.segment<coordinates_per_body>(k),
                                a.qdd.segment<coordinates_per_body>(k));
    // dq/dt = w q / 2, with w in the world as a quaternion without real part.
    const Quaternion orientation = Quaternion(0.0, V_WB.w.x(), V_WB.w.y(), V_WB.w.z()) * quaternion_of(x_, first);
    xd.segment<per_body>(first) << V_WB.v, 0.5 * orientation.w(), 0.5 * orientation.x(), 0.5 * orientation.y(),
        0.5 * orientation.z(), A_WB.v, A_WB.w;
  }
  system.states().rates(at, xd.segment(first_internal_state(), system.n_states()));
  xd[xd.size() - EnergyQuadrature::n + EnergyQuadrature::dissipated] = a.energy.dissipated_power;
  xd[xd.size() - EnergyQuadrature::n + EnergyQuadrature::external_work] = a.energy.external_power;
  return xd;
}

std::span<const Response> FreeMotion::responses(const VectorX& y) {
  return model_.scheme().responses(t_, model_.q(y), model_.qd(y));
}

VectorX FreeMotion::nearest_evaluable_motion() {
  VectorX y = motion();
  const auto responses_at = [&] {
    try {
      (void)responses(y);
      return true;
    } catch (const RecoverableError&) {
      return false;
    }
  };
  if (responses_at()) return y;
  // Onset and excessive depth differ by the size of the bodies: this number of bisections suffices for any distance.
  constexpr int max_halvings = 40;
  double known = 0.0, unknown = 1.0;
  const auto go_to = [&](double part) { y = motion(accepted_ + part * (x_ - accepted_)); };
  for (int i = 0; i < max_halvings; ++i) {
    const double middle = 0.5 * (known + unknown);
    go_to(middle);
    if (!responses_at()) {
      unknown = middle;
      continue;
    }
    known = middle;
    const auto current = responses(y);
    for (std::size_t k = 0; k < n_pairs(); ++k) {
      if (!model_.contact_states().closed(k) && current[k].gap < 0.0) return y;
    }
  }
  go_to(known);
  return y;
}

void FreeMotion::indicators(std::span<double> values) {
  if (n_pairs() == 0) return;
  const VectorX y = nearest_evaluable_motion();
  const double rounding = gap_rounding(model_.q(y));
  const auto current = responses(y);
  // As in RunProblem::roots: prevents repeated switching of bodies in grazing contact.
  for (std::size_t i = 0; i < n_pairs(); ++i) {
    values[i] = current[i].gap - (model_.contact_states().closed(i) ? rounding : 0.0);
  }
}

bool FreeMotion::switches(std::size_t pair, const Response& response, double rounding) {
  return model_.contact_states().closed(pair) ? response.gap > rounding : touching(response.gap, response.gap_rate);
}

void FreeMotion::accept() {
  VectorX y = motion();
  const double end = input_.scenario.analysis.end_time;
  if (t_ > end + 1e-9 * (1.0 + std::abs(end))) {
    throw input_error("time", fmt::format("time: expected one up to {} s, the end of the scenario or the stop time of "
                                          "the experiment, found {} s",
                                          end, t_));
  }
  CommittedState& committed = model_.committed();
  if (committed.t == std::min(t_, end) && committed.y == y) {
    committed.z = quadratures();
    return;
  }
  const auto responses = model_.scheme().accept(t_, model_.q(y), model_.qd(y));
  accepted_ = x_;
  has_pending_switches_ = false;
  const double rounding = gap_rounding(model_.q(y));
  for (std::size_t i = 0; i < n_pairs(); ++i) {
    has_pending_switches_ = has_pending_switches_ || switches(i, responses[i], rounding);
    if (!model_.contact_states().closed(i)) continue;
    model_.totals().committed_dissipation += responses[i].dissipated_increment;
    model_.trackers()[i].update(t_, responses[i]);
  }
  // Times accumulated by integrators may exceed the end by a rounding error.
  committed = {.t = std::min(t_, end), .y = std::move(y), .z = quadratures()};
}

bool FreeMotion::switch_pairs() {
  accept();
  const VectorX& y = model_.committed().y;
  const double rounding = gap_rounding(model_.q(y));
  ContactStates& states = model_.contact_states();
  const auto current = responses(y);
  bool any = false;
  for (std::size_t i = 0; i < n_pairs(); ++i) {
    const Response& response = current[i];
    if (!switches(i, response, rounding)) continue;
    any = true;
    if (states.closed(i)) {
      model_.totals().finished.push_back(model_.trackers()[i].end(t_, response));
    } else {
      model_.trackers()[i].begin(t_, response);
    }
    states.set_closed(i, !states.closed(i));
  }
  has_pending_switches_ = false;
  return any;
}

void FreeMotion::set_input(std::size_t index, const Jet& jet) {
  const bool new_force = inputs_.set(inputs_.columns().at(index).name, {.since = t_, .jet = jet});
  if (new_force) model_.system().reset_force_patterns();
}

std::span<const double> FreeMotion::output_values() {
  model_.fill_row(t_, motion(), quadratures(), row_);
  row_.resize(n_table_);
  for (std::size_t i = static_cast<std::size_t>(first_internal_state()); i < state_columns_.size(); ++i) {
    row_.push_back(x_[static_cast<Eigen::Index>(i)]);
  }
  // Quaternions of any length, not normalised.
  for (std::size_t i = 0; i < static_cast<std::size_t>(first_internal_state()); ++i) {
    row_[state_columns_[i]] = x_[static_cast<Eigen::Index>(i)];
  }
  const VectorX xd = rates();
  row_.insert(row_.end(), xd.begin(), xd.end());
  row_.resize(columns_.size());
  indicators(std::span(row_).last(n_pairs()));
  return row_;
}

VectorX FreeMotion::motion_change(const VectorX& dx) const {
  const System& system = model_.system();
  VectorX dy(system.n_y());
  for (Eigen::Index i = 0; i < n_bodies(); ++i) {
    const Eigen::Index first = per_body * i, k = coordinates_per_body * i;
    const Pose X_WB = pose_of(x_, first);
    // A change dq of the quaternion rotates by 2 Im(dq q^-1); the component along q has no effect.
    const Twist moved{.w = 2.0 * (quaternion_of(dx, first) * quaternion_of(x_, first).inverse()).vec(),
                      .v = dx.segment<3>(first)};
    const Vector12 dq = rates_from_twist(X_WB, moved);
    Vector12 dqd = rates_from_twist(X_WB, twist_of(dx, first));
    const Vector3 w = x_.segment<3>(first + angular);
    for (Eigen::Index axis = 3; axis < coordinates_per_body; axis += 3) {
      dqd.segment<3>(axis) += w.cross(Vector3(dq.segment<3>(axis)));
    }
    dy.segment<coordinates_per_body>(k) = dq;
    dy.segment<coordinates_per_body>(system.n_q() + k) = dqd;
  }
  dy.tail(system.n_states()) = dx.segment(first_internal_state(), system.n_states());
  return dy;
}

VectorX FreeMotion::rate_change(std::size_t state, const VectorX& xd) {
  System& system = model_.system();
  const VectorX dx = VectorX::Unit(x_.size(), static_cast<Eigen::Index>(state));
  const VectorX y = motion(), dy = motion_change(dx), dyd = system.rate_change(dy);
  VectorX dxd = VectorX::Zero(x_.size());
  for (Eigen::Index i = 0; i < n_bodies(); ++i) {
    const Eigen::Index first = per_body * i, k = coordinates_per_body * i, kd = system.n_q() + k;
    const Twist V_WB = twist_of(x_, first), dV = twist_of(dx, first);
    const Vector3 alpha = xd.segment<3>(first + angular);
    // The axes r have r'' = alpha x r + w x r'; the remaining change of r'' is that of alpha.
    Vector12 left = dyd.segment<coordinates_per_body>(kd);
    for (Eigen::Index axis = 3; axis < coordinates_per_body; axis += 3) {
      left.segment<3>(axis) -= alpha.cross(Vector3(dy.segment<3>(k + axis))) +
                               dV.w.cross(Vector3(y.segment<3>(kd + axis))) +
                               V_WB.w.cross(Vector3(dy.segment<3>(kd + axis)));
    }
    const Twist dA = acceleration_from_rates(y.segment<coordinates_per_body>(k), Vector12(Vector12::Zero()), left);
    const auto pure = [](const Vector3& w) { return Quaternion(0.0, w.x(), w.y(), w.z()); };
    const Eigen::Vector4d orientation = 0.5 * ((pure(dV.w) * quaternion_of(x_, first)).coeffs() +
                                               (pure(V_WB.w) * quaternion_of(dx, first)).coeffs());  // real part last
    dxd.segment<per_body>(first) << dV.v, orientation[3], orientation.head<3>(), dA.v, dA.w;
  }
  dxd.segment(first_internal_state(), system.n_states()) = dyd.tail(system.n_states());
  return dxd;
}

VectorX FreeMotion::change_with_input(std::size_t input) {
  System& system = model_.system();
  const auto unit = inputs_.unit_wrench(input).value();  // there are no drivers
  const VectorX y = motion();
  const MotionState at = model_.state(t_, y);
  const std::vector<double> table = row_change(at, unit.body, unit.F_W, input_.scenario.output.accelerations, system);
  VectorX change = VectorX::Zero(std::ssize(columns_));
  change.head(std::ssize(table)) = Eigen::Map<const VectorX>(table.data(), std::ssize(table));
  // The same with accelerations, which are at its end.
  const std::vector<double> all = row_change(at, unit.body, unit.F_W, true, system);
  const std::size_t accelerations = all.size() - 6 * static_cast<std::size_t>(n_bodies());
  for (Eigen::Index i = 0; i < n_bodies(); ++i) {
    const auto rate = static_cast<Eigen::Index>(first_rate_) + per_body * i + velocity;
    change.segment<6>(rate) = Eigen::Map<const Vector6>(&all[accelerations + 6 * static_cast<std::size_t>(i)]);
  }
  const Twist V_WB = twist_of(x_, per_body * unit.body);
  const auto energies = static_cast<Eigen::Index>(first_rate_) + x_.size() - EnergyQuadrature::n;
  change[energies + EnergyQuadrature::external_work] = unit.F_W.torque.dot(V_WB.w) + unit.F_W.force.dot(V_WB.v);
  return change;
}

VectorX FreeMotion::differences(std::size_t state) {
  const auto at = [&](double value) {
    x_[static_cast<Eigen::Index>(state)] = value;
    const auto row = output_values();
    return VectorX(Eigen::Map<const VectorX>(row.data(), std::ssize(row)));
  };
  const VectorX here = x_;
  const double x = here[static_cast<Eigen::Index>(state)];
  // Limited by the rounding of forces that depend on gaps, which are far smaller than positions.
  const double h = std::sqrt(std::numeric_limits<double>::epsilon()) * std::max(1.0, std::abs(x));
  try {
    const VectorX ahead = at(x + h), behind = at(x - h);
    x_ = here;
    return ((ahead - behind) / (2.0 * h)).unaryExpr([](double d) { return std::isnan(d) ? 0.0 : d; });
  } catch (...) {
    x_ = here;
    throw;
  }
}

Eigen::MatrixXd FreeMotion::tangent(std::span<const std::size_t> columns, std::span<const std::size_t> knowns) {
  const std::size_t n_inputs = inputs_.columns().size(), n_exact = state_columns_.size() - EnergyQuadrature::n;
  const auto is_exact = [&](std::size_t column) {
    return std::ranges::find(state_columns_, column) != state_columns_.end() ||
           (column >= first_rate_ && column < first_rate_ + n_exact);
  };
  const VectorX xd = rates(), y = motion();
  model_.system().linearize(model_.state(t_, y));
  Eigen::MatrixXd changes(std::ssize(columns_), std::ssize(knowns));
  for (std::size_t k = 0; k < knowns.size(); ++k) {
    auto change = changes.col(static_cast<Eigen::Index>(k));
    if (knowns[k] < n_inputs) continue;
    const std::size_t state = knowns[k] - n_inputs;
    change.segment(static_cast<Eigen::Index>(first_rate_), x_.size()) = rate_change(state, xd);
    for (std::size_t i = 0; i < state_columns_.size(); ++i)
      change[static_cast<Eigen::Index>(state_columns_[i])] = i == state ? 1.0 : 0.0;
  }
  // The code below solves other systems: a linearisation must be used before.
  const bool all_exact = std::ranges::all_of(columns, is_exact);
  for (std::size_t k = 0; k < knowns.size(); ++k) {
    auto change = changes.col(static_cast<Eigen::Index>(k));
    if (knowns[k] < n_inputs) {
      change = change_with_input(knowns[k]);
    } else if (!all_exact) {
      const VectorX differenced = differences(knowns[k] - n_inputs);
      for (std::size_t column = 0; column < columns_.size(); ++column) {
        const auto c = static_cast<Eigen::Index>(column);
        if (!is_exact(column)) change[c] = differenced[c];
      }
    }
  }
  Eigen::MatrixXd requested(std::ssize(columns), std::ssize(knowns));
  for (std::size_t i = 0; i < columns.size(); ++i)
    requested.row(static_cast<Eigen::Index>(i)) = changes.row(static_cast<Eigen::Index>(columns[i]));
  return requested;
}

FreeMotion::Saved FreeMotion::save() {
  model_.totals().inputs = inputs_.values();
  return {.t = t_, .x = x_, .committed = model_.save(input_.scenario_digest)};
}

void FreeMotion::restore(const Saved& saved) {
  require_valid({saved.x.data(), static_cast<std::size_t>(saved.x.size())});
  RunState state = model_.read(saved.committed, input_.scenario_digest);
  for (const auto& [name, input] : state.inputs) inputs_.require(name, input.jet);
  inputs_.restore(state.inputs);
  model_.system().reset_force_patterns();
  model_.restore_checked(saved.committed, std::move(state));
  t_ = saved.t;
  x_ = accepted_ = saved.x;
}

}  // namespace heelstrike::mbs
