#include "mbs_server/simulation/coupled_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/errors/error.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/integrators/integrator.hpp"
#include "mbs_server/integrators/moreau.hpp"
#include "mbs_server/simulation/run_table.hpp"

namespace heelstrike::mbs {
namespace {

ContactForce& add_contact_force(System& system, const PairKinematics& kinematics, CouplingScheme& scheme) {
  auto owned = std::make_unique<ContactForce>(system.model(), kinematics, scheme);
  ContactForce& force = *owned;
  system.add_force(std::move(owned));
  return force;
}

/// Reports the accuracy of differentiation for a record without accelerations, which only the record determines.
void report_differentiation(const Scenario& scenario, const AssemblyLog& log) {
  for (const auto& driver : scenario.drivers) {
    double worst = 0.0;
    for (const auto& body : driver.record.bodies) worst = std::max(worst, body ? body->acceleration_error : 0.0);
    if (worst == 0.0) continue;
    log("info", fmt::format("driver {}: accelerations are derivatives of splines through {}; half as many rows "
                            "would change them by up to {:.2g} m/s^2 (or 1/s^2 of the quaternion)",
                            driver.name, driver.record.file, worst));
  }
}

/// A body of the pair whose position the scenario can set.
const std::string& movable_body(const PairModel& pair) {
  return pair.partner_body == "ground" ? pair.main_body : pair.partner_body;
}

}  // namespace

CoupledModel::CoupledModel(const Scenario& scenario, const Model& model, std::stop_token stop,
                           const CouplingSchemeEntry& scheme)
    : scenario_(scenario),
      stop_(std::move(stop)),
      system_(model),
      exchange_(system_.model(), nullptr, stop_),
      contact_states_(system_.model().pairs.size()),
      rigid_(system_, exchange_),
      scheme_(scheme.make(scenario, exchange_, contact_states_)),
      contact_force_(add_contact_force(system_, exchange_.kinematics(), *scheme_)) {
  for (const auto& pair : system_.model().pairs) trackers_.emplace_back(pair.name);
  unknown_.resize(trackers_.size());
}

void CoupledModel::assemble(const AssemblyLog& log, double start_time) {
  report_differentiation(scenario_, log);
  start_ = mbs::assemble(system_, start_time, log, stop_);
  start_time_ = committed_.t = start_time;
  for (const auto& force : system_.forces()) {
    const std::string note = force->check_initial_state({start_time, start_.q, start_.qd});
    if (!note.empty()) log("warning", note);
  }
}

void CoupledModel::open(const ContactFactory& open_contact, std::span<const AssetContent> assets,
                        const OpenContext& context, bool solves_impacts) {
  if (scenario_.pairs.empty()) return;
  std::vector<PairSpec> specs;
  for (const auto& pair : scenario_.pairs) specs.push_back(pair.spec);
  contact_ = open_contact(specs, assets, context);
  exchange_.connect(*contact_);
  rigid_.connect(contact_->pairs());
  if (rigid_.any() && !solves_impacts) check_no_rigid_pairs();
  for (std::size_t i = 0; i < trackers_.size(); ++i) {
    if (rigid_.rigid(i)) trackers_[i].set_rigid();
  }
}

void CoupledModel::check_no_rigid_pairs() const {
  for (std::size_t i = 0; i < scenario_.pairs.size(); ++i) {
    if (!rigid_.rigid(i)) continue;
    const PairSpec& pair = scenario_.pairs[i].spec;
    throw input_error(
        "contact." + pair.name + ".backend",
        fmt::format("contact.{}.backend: expected a contact model with forces, found '{}', whose bodies "
                    "are rigid: only a forward analysis with the integrator {} and the coupling scheme {} "
                    "computes their impulses; omit analysis.integrator.name, or use another back-end",
                    pair.name, pair.backend, default_integrators().with_rigid_contact, monolithic().name));
  }
}

void CoupledModel::check_fixed_supports() const {
  if (contact_ != nullptr) mbs::check_fixed_supports(scenario_, contact_->pairs());
}

std::vector<CoupledModel::Overlap> CoupledModel::overlaps(std::span<const Response> responses) const {
  // Overlaps up to rounded decimals of a scenario or of files in single precision or tenths of a millimetre are
  // admissible. Within half a per cent of the smaller body, five times the default reach, the separation is unique.
  constexpr double decimals = 1e-6, reaches = 5.0;
  std::vector<Overlap> found;
  for (std::size_t i = 0; i < responses.size(); ++i) {
    const double depth = -responses[i].gap;
    if (!rigid_.rigid(i) || depth <= 0.0) continue;
    const double most = std::max(decimals, reaches * number(contact_->pairs()[i].parameters, "contact_margin"));
    if (depth <= most) {
      found.push_back({.pair = i, .depth = depth});
      continue;
    }
    const PairModel& pair = scenario_.pairs[i];
    const std::string key = "contact." + pair.spec.name;
    throw input_error(key, fmt::format("{}: expected rigid bodies that overlap by {:.3g} m at most at the start, found "
                                       "'{}' and '{}' {:.3g} m inside each other; move one of them apart "
                                       "(bodies.{}.position)",
                                       key, most, pair.main_body, pair.partner_body, depth, movable_body(pair)));
  }
  return found;
}

void CoupledModel::separate_rigid_bodies(Problem& problem, const AssemblyLog& log) {
  if (!rigid_.any()) return;
  constexpr double decimals = 1e-6;  // [m] below which an overlap is rounding
  const auto find_overlaps = [&] { return overlaps(exchange_.responses(0.0, q(committed_.y), qd(committed_.y))); };
  const auto before = find_overlaps();
  constexpr int rounds = 50;  // points change as bodies of a stack are moved
  separate(
      rigid_, problem, 0.0, committed_.y, [](const RigidPoint&) { return true; }, rounds);
  committed_.y = system_.start_y(0.0, q(committed_.y), qd(committed_.y));
  for (const auto& [pair, depth] : find_overlaps()) {
    if (depth <= decimals) continue;
    const PairModel& of = scenario_.pairs[pair];
    throw input_error(
        "contact." + of.spec.name,
        fmt::format("contact.{}: expected rigid bodies that can be moved apart, found '{}' and '{}' still "
                    "{:.3g} m inside each other, enclosed by others or held by joints; move one of them "
                    "(bodies.{}.position)",
                    of.spec.name, of.main_body, of.partner_body, depth, movable_body(of)));
  }
  for (const auto& [pair, depth] : before) {
    if (depth <= decimals) continue;
    const PairModel& of = scenario_.pairs[pair];
    log("warning", fmt::format("contact.{}: '{}' and '{}' overlap by {:.3g} m at the start and were moved "
                               "apart; the motion starts from there",
                               of.spec.name, of.main_body, of.partner_body, depth));
  }
}

std::vector<std::string> CoupledModel::pair_names() const {
  std::vector<std::string> names;
  for (const auto& pair : system_.model().pairs) names.push_back(pair.name);
  return names;
}

void CoupledModel::begin(std::span<const Response> responses) {
  const auto& [t, y, z] = committed_;
  require_numbers(system_, t, y, z);
  for (std::size_t i = 0; i < trackers_.size(); ++i) {
    // Contact of rigid bodies is accurate to the rounding of positions.
    const double gap = responses[i].gap - (rigid_.rigid(i) ? RigidContactSet::contact_tolerance(q(y)) : 0.0);
    contact_states_.set_closed(i, touching(gap, responses[i].gap_rate));
    // A run may begin in contact; its first episode then has no onset before the start.
    if (contact_states_.closed(i)) trackers_[i].begin(t, responses[i]);
  }
  totals_.initial_energy = total_energy();
  note_violation();
}

double CoupledModel::total_energy() {
  const auto& [t, y, z] = committed_;
  // The potential includes the energy stored in contacts: the coupling is one of the forces.
  return system_.kinetic_energy(qd(y)) + system_.evaluate_energy(state(t, y)).potential;
}

void CoupledModel::note_violation() {
  const auto& [t, y, z] = committed_;
  const Violation violation = system_.violation(t, q(y), qd(y));
  totals_.max_position_violation = std::max(totals_.max_position_violation, violation.position);
  totals_.max_velocity_violation = std::max(totals_.max_velocity_violation, violation.velocity);
  totals_.max_kinetic_energy = std::max(totals_.max_kinetic_energy, system_.kinetic_energy(qd(y)));
}

Checkpoint CoupledModel::save(const std::string& scenario_digest) {
  totals_.next_row = first_after(scenario_.output.interval, committed_.t);
  totals_.closed.clear();
  totals_.episodes.clear();
  for (std::size_t i = 0; i < trackers_.size(); ++i) {
    totals_.closed.push_back(contact_states_.closed(i) ? 1 : 0);
    totals_.episodes.push_back(trackers_[i].state());
  }
  totals_.joints_closed = system_.closed();
  const VectorX references = system_.turn_references();
  totals_.turn_references.assign(references.begin(), references.end());
  totals_.counts.contact = exchange_.n_evaluations();
  Checkpoint checkpoint{.scenario_digest = scenario_digest,
                        .step = exchange_.committed_step(),
                        .time = committed_.t,
                        .state = {},
                        .contact_states = contact_ ? contact_->save_state() : std::vector<std::string>{},
                        .engine = {}};
  checkpoint.state.assign(committed_.y.begin(), committed_.y.end());
  checkpoint.state.insert(checkpoint.state.end(), committed_.z.begin(), committed_.z.end());
  write_run_state(checkpoint, totals_);
  return checkpoint;
}

RunState CoupledModel::read(const Checkpoint& checkpoint, const std::string& scenario_digest) const {
  if (checkpoint.scenario_digest != scenario_digest) {
    throw input_error("checkpoint",
                      "checkpoint: it belongs to another scenario or other input files; resume with the "
                      "scenario.yaml of the run folder");
  }
  const auto n = system_.n_y() + EnergyQuadrature::n;
  if (std::ssize(checkpoint.state) != n) {
    throw input_error("checkpoint",
                      fmt::format("checkpoint: expected {} state entries, found {}", n, checkpoint.state.size()));
  }
  return read_run_state(checkpoint, {.start_time = start_time_,
                                     .end_time = scenario_.analysis.end_time,
                                     .interval = scenario_.output.interval,
                                     .pairs = pair_names(),
                                     .n_unilateral = system_.unilaterals().size(),
                                     .n_references = static_cast<std::size_t>(system_.turn_references().size())});
}

void CoupledModel::restore_checked(const Checkpoint& checkpoint, RunState state) {
  if (contact_) contact_->restore_state(checkpoint.contact_states);
  const Eigen::Map<const VectorX> saved(checkpoint.state.data(), static_cast<Eigen::Index>(checkpoint.state.size()));
  committed_ = {.t = checkpoint.time, .y = saved.head(system_.n_y()), .z = saved.tail(EnergyQuadrature::n)};
  system_.set_closed(state.joints_closed);
  system_.set_turn_references(
      Eigen::Map<const VectorX>(state.turn_references.data(), std::ssize(state.turn_references)));
  exchange_.set_committed_step(checkpoint.step);
  exchange_.set_evaluations(state.counts.contact);
  exchange_.reset_bounds();
  for (std::size_t i = 0; i < trackers_.size(); ++i) {
    trackers_[i].set_state(state.episodes.at(i));
    contact_states_.set_closed(i, state.closed.at(i) != 0);
  }
  totals_ = std::move(state);
}

std::vector<Column> CoupledModel::columns() const {
  auto columns = run_columns(system_);
  if (scenario_.output.accelerations) {
    const auto more = acceleration_columns(system_.model());
    columns.insert(columns.end(), more.begin(), more.end());
  }
  return columns;
}

std::vector<Column> CoupledModel::region_columns() const {
  return contact_ ? mbs::region_columns(contact_->pairs()) : std::vector<Column>{};
}

std::shared_ptr<const PendingRequest> CoupledModel::begin_row(double t, const VectorX& y, const VectorX& z,
                                                              std::vector<double>& row, std::span<const double> own) {
  const RowEnergies energies{.dissipated = z[EnergyQuadrature::dissipated] + totals_.committed_dissipation,
                             .external_work = z[EnergyQuadrature::external_work]};
  std::shared_ptr<const PendingRequest> request;
  if (!scheme_->has_macro_steps() && !contact_states_.any_closed()) request = exchange_.post(t, q(y), qd(y));
  const auto responses = request ? std::span<const Response>(unknown_) : scheme_->responses(t, q(y), qd(y));
  const auto mean_responses = rigid_.mean_responses(responses, q(y));
  mbs::fill_row(state(t, y), energies, system_, *scheme_, mean_responses, row);
  if (scenario_.output.accelerations) append_accelerations(state(t, y), system_, row);
  add_rigid_contact(state(t, y), row);
  row.insert(row.end(), own.begin(), own.end());
  if (contact_) append_regions(system_.model(), contact_->pairs(), q(y), *scheme_, mean_responses, row);
  return request;
}

/// Adds rigid contact to the accelerations and reactions of a row, which otherwise contain only element forces: rigid
/// contact acts by impulses.
void CoupledModel::add_rigid_contact(const MotionState& at, std::vector<double>& row) {
  if (!rigid_.any()) return;
  VectorX g = rigid_.mean_force();
  if (g.isZero(0.0)) return;
  const std::vector<double> change = row_change(at, std::move(g), scenario_.output.accelerations, system_);
  for (std::size_t i = 0; i < change.size(); ++i) row[i] += change[i];
}

void CoupledModel::complete_row(const PendingRequest& completed, std::vector<double>& row) const {
  check_posted_response(completed);
  write_gaps(system_.model(), completed.responses, row);
}

void CoupledModel::fill_row(double t, const VectorX& y, const VectorX& z, std::vector<double>& row) {
  const auto request = begin_row(t, y, z, row);
  if (!request) return;
  exchange_.drain();
  complete_row(*request, row);
}

void require_numbers(const System& system, double t, const VectorX& y, const VectorX& z) {
  try {
    system.require_finite(system.state(t, y));
  } catch (const RecoverableError& e) {
    throw Error(ErrorCode::solver_failed, fmt::format("a step ended in an invalid state: {}.", e.what()));
  }
  if (!z.allFinite()) {
    throw Error(ErrorCode::solver_failed,
                fmt::format("work or dissipation is not finite at t = {} s: loads or speeds have grown beyond "
                            "all bounds there.",
                            t));
  }
}

void check_no_vibrating_pairs(std::span<const PairDescription> pairs) {
  for (const PairDescription& pair : pairs) {
    if (!pair.vibrates) continue;
    const std::string key = "contact." + pair.name + ".backend";
    throw input_error(key, fmt::format("{}: expected bodies that are at rest in an equilibrium, found '{}', whose body "
                                       "vibrates in time; use a back-end without vibration modes, or another analysis",
                                       key, pair.backend));
  }
}

void check_fixed_supports(const Scenario& scenario, std::span<const PairDescription> pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!pairs[i].vibrates_on_support || scenario.pairs[i].main_body == "ground") continue;
    const PairSpec& pair = scenario.pairs[i].spec;
    const std::string key = "contact." + pair.name + ".parameters.support";
    throw input_error(key,
                      fmt::format("{}: expected `inertia_relief`, found a body that is clamped and moves: vibration "
                                  "modes of a clamped body require a fixed clamp, here the mass of '{}' "
                                  "would count twice; use `support: inertia_relief`, or let the body be the ground",
                                  key, pair.main.name));
  }
}

ModelDescription describe_model(const Scenario& scenario, const std::stop_token& stop) {
  CoupledModel model(scenario, build_model(scenario), stop);
  const System& system = model.system();
  const int n_before = system.n_constraints();
  ModelDescription description;
  model.assemble([&](std::string_view level, const std::string& text) {
    description.notes.push_back(fmt::format("{}: {}", level, text));
  });
  description.n_redundant = n_before - system.n_constraints();
  for (std::size_t i = system.model().bodies.size(); i < system.constraints().size(); ++i) {
    const Constraint& constraint = *system.constraints()[i];
    ConstraintDescription& entry = description.constraints.emplace_back();
    entry.name = constraint.name();
    entry.prescribes = constraint.depends_on_time();
    entry.n_equations = constraint.rows();
    for (const BodyIndex body : system.bodies_of(i)) {
      entry.bodies.push_back(system.model().bodies[static_cast<std::size_t>(body)].name);
    }
  }
  for (const auto& force : system.forces()) {
    if (force.get() != &model.contact_force()) description.forces.push_back(force->name());
  }
  description.degrees_of_freedom = system.n_q() - system.n_constraints();
  return description;
}

}  // namespace heelstrike::mbs
