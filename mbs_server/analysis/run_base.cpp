#include "mbs_server/analysis/run_base.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

#include "common/contact/preparation.hpp"
#include "common/errors/error.hpp"
#include "mbs_server/analysis/accepted_state.hpp"
#include "mbs_server/analysis/run_table.hpp"

namespace heelstrike::mbs {
namespace {

/// Progress is told at most this often; it goes to people.
constexpr std::chrono::milliseconds progress_period{100};

std::string backend_names(const Scenario& scenario) {
  std::set<std::string> names;
  for (const auto& pair : scenario.pairs) names.insert(pair.spec.backend);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, "+"));
}

std::vector<PairSpec> pair_specs(const Scenario& scenario) {
  std::vector<PairSpec> specs;
  for (const auto& pair : scenario.pairs) specs.push_back(pair.spec);
  return specs;
}

}  // namespace

RunBase::RunBase(const RunInput& input, const Model& model, RunSink& sink, std::stop_token stop)
    : input_(input),
      sink_(sink),
      stop_(std::move(stop)),
      started_(Clock::now()),
      last_progress_(started_),
      system_(model),
      fields_(input.scenario, input.scenario.output.fields, sink) {
  summary_.scenario = input.scenario.name;
  summary_.backend = backend_names(input.scenario);
  summary_.integrator.name = input.scenario.analysis.integrator.name;
}

void RunBase::open(const ContactFactory& open_contact) {
  const auto specs = pair_specs(input_.scenario);
  if (!specs.empty()) {
    OpenContext context{
        .run_id = input_.run_id,
        .on_progress = [this](std::string_view stage, double fraction) { tell_preparation(stage, fraction); },
        .stop = stop_};
    contact_ = open_contact(specs, input_.assets, context);
    summary_.wall_times.preparation = wall_time();
  }
  for (const auto& driver : input_.scenario.drivers) tell_differentiation(driver);
  assembled_ = assemble(
      system_, 0.0, [this](auto level, const std::string& text) { sink_.on_log(level, text); }, stop_);
  auto coupling = std::make_unique<ContactCoupling>(system_.model(), contact_.get(), stop_);
  coupling_ = coupling.get();
  system_.add_force(std::move(coupling));
  for (const auto& pair : system_.model().pairs) trackers_.emplace_back(pair.name);
}

/// A record without accelerations is differentiated: how well is a property of the record that nobody else can know.
void RunBase::tell_differentiation(const DriverSpec& driver) {
  double worst = 0.0;
  for (const auto& body : driver.record.bodies) worst = std::max(worst, body ? body->acceleration_error : 0.0);
  if (worst == 0.0) return;
  sink_.on_log("info", fmt::format("driver {}: accelerations are derivatives of splines through {}; half as many rows "
                                   "would change them by up to {:.2g} m/s^2 (or 1/s^2 of the quaternion)",
                                   driver.name, driver.record.file, worst));
}

void RunBase::commit_initial_state(double t) {
  take_initial_state(t, coupling_->commit(t, q(y_), qd(y_)));
}

void RunBase::take_initial_state(double t, std::span<const Response> responses) {
  require_numbers(system_, t, y_, z_);
  for (std::size_t i = 0; i < trackers_.size(); ++i) {
    coupling_->set_closed(i, touching(responses[i].gap, responses[i].gap_rate));
    if (coupling_->closed(i)) trackers_[i].begin(t, responses[i]);
  }
  state_.initial_energy = total_energy(y_);
  note_violation();
  write_row(t, y_, z_);
  state_.next_row = 1;
  if (fields_.next_time()) write_fields(t, y_);
}

void RunBase::write_fields(double t, const Eigen::VectorXd& y) {
  if (!contact_) return;
  const auto begin = Clock::now();
  fields_.write(*contact_, *coupling_, t, q(y), qd(y));
  fields_time_ += Clock::now() - begin;
}

void RunBase::write_event_fields(std::size_t pair, double t, const Eigen::VectorXd& y) {
  if (!contact_ || !fields_.at_events()) return;
  const auto begin = Clock::now();
  fields_.write_pair_if_on(pair, *contact_, *coupling_, t, q(y), qd(y));
  fields_time_ += Clock::now() - begin;
}

void RunBase::switch_given_pair(std::size_t pair, double t, const Response& response) {
  const bool closed = touching(response.gap, response.gap_rate);
  if (closed && !trackers_[pair].open()) {
    trackers_[pair].begin(t, response);
  } else if (closed) {
    trackers_[pair].update(t, response);
  } else if (trackers_[pair].open()) {
    state_.finished.push_back(trackers_[pair].end(t, response));
    // Who is moved leaves with the speed that is given; that says nothing about the contact.
    state_.finished.back().effective_restitution.reset();
    sink_.on_episode(state_.finished.back());
  }
  coupling_->set_closed(pair, closed);
}

void RunBase::commit_given_state(double t) {
  take_given_state(t, coupling_->commit(t, q(y_), qd(y_)));
}

void RunBase::take_given_state(double t, std::span<const Response> responses) {
  require_numbers(system_, t, y_, z_);
  for (std::size_t i = 0; i < trackers_.size(); ++i) {
    switch_given_pair(i, t, responses[i]);
    state_.committed_dissipation += responses[i].dissipated_increment;
  }
}

double RunBase::total_energy(const Eigen::VectorXd& y) {
  return system_.kinetic_energy(qd(y)) + system_.evaluate_energy(t_, q(y), qd(y)).potential;
}

void RunBase::note_violation() {
  const Violation violation = system_.violation(t_, q(y_), qd(y_));
  state_.max_position_violation = std::max(state_.max_position_violation, violation.position);
  state_.max_velocity_violation = std::max(state_.max_velocity_violation, violation.velocity);
}

void RunBase::write_row(double t, const Eigen::VectorXd& y, const Eigen::VectorXd& z) {
  const std::int64_t most = input_.scenario.analysis.budget.rows;
  // The grid has been checked before the run, with one row more at its start and at its end.
  if (++state_.n_rows > most + 2) {
    throw limit_error("analysis.budget.rows",
                      fmt::format("the time series has {} rows at t = {} s, as many as analysis.budget.rows allows; "
                                  "raise it, write `output.steps: none`, or a larger output.interval",
                                  most, t));
  }
  const RowEnergies energies{.dissipated = z[EnergyQuadrature::dissipated] + state_.committed_dissipation,
                             .external_work = z[EnergyQuadrature::external_work]};
  fill_row(t, q(y), qd(y), energies, system_, *coupling_, row_);
  if (input_.scenario.output.accelerations) append_accelerations(t, q(y), qd(y), system_, row_);
  add_to_row(t, y, row_);
  sink_.on_row(row_);
}

void RunBase::tell_progress(double step_size) {
  const auto now = Clock::now();
  if (now - last_progress_ < progress_period) return;
  last_progress_ = now;
  sink_.on_progress({.time = t_,
                     .end_time = end_time(),
                     .step = coupling_->committed_step(),
                     .step_size = step_size,
                     .wall_time = wall_time()});
}

void RunBase::tell_preparation(std::string_view stage, double fraction) {
  if (stage.starts_with(warning_mark)) {
    sink_.on_log("warning", stage.substr(warning_mark.size()));
    return;
  }
  const bool new_stage = stage != preparation_stage_;
  if (new_stage) {
    preparation_stage_ = stage;
    sink_.on_log("info", fmt::format("preparing contact: {} ({:.1f} s)", stage, wall_time()));
  }
  const auto now = Clock::now();
  if (!new_stage && now - last_progress_ < progress_period) return;
  last_progress_ = now;
  sink_.on_progress({.time = 0.0,
                     .end_time = end_time(),
                     .step = 0,
                     .step_size = 0.0,
                     .wall_time = wall_time(),
                     .stage = std::string(stage),
                     .fraction = fraction});
}

void RunBase::finish() {
  summary_.simulated_time = t_;
  summary_.wall_time = wall_time();
  add_statistics(summary_.integrator);
  summary_.contacts = state_.finished;
  for (const auto& tracker : trackers_) {
    if (tracker.open()) {
      summary_.contacts.push_back(*tracker.current());
      sink_.on_episode(*tracker.current());
    }
  }
  if (coupling_ != nullptr) {
    summary_.contact_evaluations = coupling_->n_evaluations();
    summary_.contact_commits = contact_ ? coupling_->committed_step() + 1 : 0;
  }
  if (contact_) summary_.rpc = contact_->rpc_statistics();
  finish_wall_times();
  summary_.max_position_violation = state_.max_position_violation;
  summary_.max_velocity_violation = state_.max_velocity_violation;
  if (y_.size() != 0) finish_energy();
}

void RunBase::finish_wall_times() {
  WallTimeSplit& times = summary_.wall_times;
  if (summary_.rpc) times.transport = summary_.rpc->round_trips - summary_.rpc->serving;
  if (coupling_ != nullptr) times.contact = std::max(0.0, coupling_->waited().count() - times.transport);
  times.fields = std::chrono::duration<double>(fields_time_).count();
}

void RunBase::finish_energy() {
  EnergyBalance& energy = summary_.energy;
  if (coupling_ == nullptr || coupling_->committed_step() < 0) {
    // Nothing was accepted, so nothing is known.
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    energy = {unknown, unknown, unknown, unknown, unknown};
    return;
  }
  energy.initial = state_.initial_energy;
  energy.dissipated = z_[EnergyQuadrature::dissipated] + state_.committed_dissipation;
  energy.external_work = z_[EnergyQuadrature::external_work];
  try {
    energy.final = total_energy(y_);
    energy.balance_error = energy.final - energy.initial - energy.external_work + energy.dissipated;
  } catch (const Error& e) {
    // The partner is gone: without it the energy stored in contacts is unknown.
    energy.final = energy.balance_error = std::numeric_limits<double>::quiet_NaN();
    sink_.on_log("warning", fmt::format("final energy unknown: {}", e.what()));
  }
}

RunSummary RunBase::run(const ContactFactory& open_contact) {
  try {
    open(open_contact);
    auto columns = run_columns(system_);
    if (input_.scenario.output.accelerations) {
      const auto more = acceleration_columns(system_.model());
      columns.insert(columns.end(), more.begin(), more.end());
    }
    add_columns(columns);
    sink_.on_schema(columns);
    const bool reached_end = solve();
    summary_.status = !reached_end ? "cancelled" : summary_.error ? "incomplete" : "completed";
  } catch (const Error& e) {
    summary_.status = e.code() == ErrorCode::cancelled ? "cancelled" : "failed";
    if (summary_.status == "failed") summary_.error = e;
  } catch (const std::exception& e) {
    summary_.status = "failed";
    summary_.error = Error(ErrorCode::internal, e.what());
  }
  finish();
  return summary_;
}

}  // namespace heelstrike::mbs
