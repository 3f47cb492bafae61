#include "mbs_server/analysis/run_base.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/contact/preparation.hpp"
#include "common/errors/error.hpp"
#include "common/errors/rejection.hpp"
#include "mbs_server/simulation/run_table.hpp"
#include "scenario/scenario.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

/// Minimum interval of progress reports, which are for display.
constexpr std::chrono::milliseconds progress_period{100};
/// Limit of rows with pending responses: bounds their delay for watchers and their memory.
constexpr std::size_t max_pending_rows = 256;

}  // namespace

RunBase::RunBase(const RunInput& input, CoupledModel& model, RunSink& sink, std::stop_token stop, bool loads)
    : input_(input),
      model_(model),
      system_(model.system()),
      exchange_(model.exchange()),
      states_(model.contact_states()),
      committed_(model.committed()),
      sink_(sink),
      stop_(std::move(stop)),
      started_(Clock::now()),
      last_progress_(started_),
      fields_(input.scenario, system_.model(), input.scenario.output.fields, sink) {
  summary_.scenario = input.scenario.name;
  summary_.backend = backend_label(input.scenario);
  summary_.integrator.name = input.scenario.analysis.integrator.name;
  checkpoint_due_ = clock() + input.scenario.output.checkpoint_period;
  if (loads) loads_.emplace();
}

double RunBase::clock() const {
  return input_.clock ? input_.clock() : std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

void RunBase::at_restart_point() {
  // Rows, fields and history do not depend on whether a checkpoint is written.
  const bool is_due = input_.scenario.output.checkpoint_period > 0.0 && clock() >= checkpoint_due_;
  if (is_due || stop_.stop_requested()) write_checkpoint();
}

void RunBase::write_checkpoint() {
  if (fields_.data_loss()) return;  // a resumed run continues before the loss and has the fields
  finish_rows();
  model_.totals().fields = fields_.position();
  sink_.on_checkpoint(save());
  // The time for writing is excluded, so that a large checkpoint on a slow disk leaves time for the run.
  checkpoint_due_ = clock() + input_.scenario.output.checkpoint_period;
}

void RunBase::open(const ContactFactory& open_contact) {
  model_.assemble([this](std::string_view level, const std::string& text) { sink_.on_log(level, text); }, start_time());
  check_degrees_of_freedom(system_.n_q() - system_.n_constraints());
  if (input_.resume_from) resumed_ = model_.read(*input_.resume_from, input_.scenario_digest);
  const OpenContext context{
      .run_id = input_.run_id,
      .on_progress = [this](std::string_view stage, double fraction) { report_preparation(stage, fraction); },
      .stop = stop_};
  model_.open(open_contact, input_.assets, context);
  sink_.on_schema(columns());
}

void RunBase::check_degrees_of_freedom(int n) const {
  const auto check = config::type_named(analysis_types(), input_.scenario.analysis.type).check_model;
  if (check != nullptr) check(n);
}

std::vector<Column> RunBase::columns() {
  std::vector<Column> columns = model_.columns();
  const auto regions = model_.region_columns();
  columns.insert(columns.end(), regions.begin(), regions.end());
  if (!loads_) return columns;
  loads_ = ReactionTable(system_);
  const auto loads = loads_->columns(system_);
  columns.insert(columns.end(), loads.begin(), loads.end());
  return columns;
}

std::shared_ptr<const PendingRequest> RunBase::begin_row(double t, const VectorX& y, const VectorX& z,
                                                         std::vector<double>& row) {
  auto request = model_.begin_row(t, y, z, row);
  if (loads_) loads_->append(model_.state(t, y), system_, row);
  return request;
}

Checkpoint RunBase::save_with(const AnalysisState& state) {
  model_.totals().analysis = state.bytes();
  return model_.save(input_.scenario_digest);
}

void RunBase::restore_resumed() {
  model_.restore_checked(*input_.resume_from, std::move(*resumed_));
  fields_.restore(model_.totals().fields);
}

void RunBase::accept_initial_state(std::span<const Response> responses) {
  model_.begin(responses);
  write_first_row();
}

void RunBase::write_first_row() {
  write_row(committed_.t, committed_.y, committed_.z);
  if (fields_.next_time()) write_fields(committed_.t, committed_.y);
}

void RunBase::write_fields(double t, const VectorX& y) {
  if (model_.contact() == nullptr) return;
  finish_rows();
  const auto begin = Clock::now();
  fields_.write(*model_.contact(), states_, t, q(y), qd(y));
  fields_time_ += Clock::now() - begin;
}

bool RunBase::fields_due(double t) const {
  const auto due = fields_.next_time();
  return due && *due <= t * (1.0 + 1e-12);
}

void RunBase::write_due_fields(double t, const VectorX& y) {
  if (!fields_due(t)) return;
  fields_.skip_to(t * (1.0 - 1e-9));
  write_fields(t, y);
}

void RunBase::write_event_fields(std::size_t pair, double t, const VectorX& y) {
  if (model_.contact() == nullptr || !fields_.at_events()) return;
  const auto begin = Clock::now();
  fields_.write_active_pair(pair, *model_.contact(), t, q(y), qd(y));
  fields_time_ += Clock::now() - begin;
}

void RunBase::switch_prescribed_pair(std::size_t pair, const Response& response) {
  const double t = committed_.t;
  EpisodeTracker& tracker = model_.trackers()[pair];
  const bool closed = touching(response.gap, response.gap_rate);
  if (closed && !tracker.open()) {
    tracker.begin(t, response);
  } else if (closed) {
    tracker.update(t, response);
  } else if (tracker.open()) {
    ContactEpisode& episode = model_.totals().finished.emplace_back(tracker.end(t, response));
    // Prescribed bodies separate with the prescribed velocity, which gives no information about the contact.
    episode.effective_restitution.reset();
    sink_.on_episode(episode);
  }
  states_.set_closed(pair, closed);
}

void RunBase::commit_prescribed_state() {
  accept_prescribed_state(exchange_.commit(committed_.t, q(committed_.y), qd(committed_.y)));
}

void RunBase::accept_prescribed_state(std::span<const Response> responses) {
  require_numbers(system_, committed_.t, committed_.y, committed_.z);
  for (std::size_t i = 0; i < states_.n_pairs(); ++i) {
    switch_prescribed_pair(i, responses[i]);
    model_.totals().committed_dissipation += responses[i].dissipated_increment;
  }
}

void RunBase::write_row(double t, const VectorX& y, const VectorX& z) {
  const std::int64_t most = input_.scenario.analysis.budget.rows;
  // The grid was checked before the run, with an additional row at its start and end.
  if (++model_.totals().n_rows > most + 2) {
    throw limit_error("analysis.budget.rows",
                      fmt::format("the time series has {} rows at t = {} s, as many as analysis.budget.rows allows; "
                                  "raise it, write `output.steps: none`, or a larger output.interval",
                                  most, t));
  }
  Row row;
  row.request = begin_row(t, y, z, row.values);
  rows_.push_back(std::move(row));
  write_completed_rows();
  if (rows_.size() > max_pending_rows) finish_rows();
}

void RunBase::write_completed_rows() {
  while (!rows_.empty() && (!rows_.front().request || rows_.front().request->completed)) {
    Row row = std::move(rows_.front());
    rows_.pop_front();
    if (row.request) model_.complete_row(*row.request, row.values);
    note_gaps(row.values);
    sink_.on_row(row.values);
  }
}

void RunBase::note_gaps(std::span<const double> row) {
  min_gaps_.resize(states_.n_pairs());
  for (std::size_t i = 0; i < min_gaps_.size(); ++i) {
    const double gap = gap_in_row(system_.model(), i, row);
    if (gap < min_gaps_[i].gap) min_gaps_[i] = {.gap = gap, .t = row.front()};
  }
}

void RunBase::report_missing_contact() {
  for (std::size_t i = 0; i < min_gaps_.size(); ++i) {
    const std::string& pair = system_.model().pairs[i].name;
    const auto [gap, t] = min_gaps_[i];
    const bool had_contact =
        std::ranges::find(summary_.contacts, pair, &ContactEpisode::pair) != summary_.contacts.end();
    if (had_contact || !(gap > 0.0 && std::isfinite(gap))) continue;
    sink_.on_log("note",
                 fmt::format("contact.{}: the bodies never touched; the smallest gap of the time series is {:.4g} m at "
                             "t = {:.6g} s. If contact is expected: check the initial poses, the orientation of the "
                             "surfaces, and the length_scale of meshes",
                             pair, gap, t));
  }
}

void RunBase::finish_rows() {
  if (rows_.empty()) return;
  exchange_.drain();
  write_completed_rows();
}

void RunBase::report_progress(double step_size) {
  const auto now = Clock::now();
  if (now - last_progress_ < progress_period) return;
  last_progress_ = now;
  sink_.on_progress({.time = committed_.t,
                     .end_time = end_time(),
                     .step = exchange_.committed_step(),
                     .step_size = step_size,
                     .wall_time = wall_time()});
}

void RunBase::report_preparation(std::string_view stage, double fraction) {
  if (stage.starts_with(warning_mark)) {
    sink_.on_log("warning", stage.substr(warning_mark.size()));
    return;
  }
  if (stage.starts_with(note_mark)) {
    sink_.on_log("info", stage.substr(note_mark.size()));
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
  try {
    finish_rows();
  } catch (const Error&) {
    rows_.clear();  // the run has ended for that reason or an earlier one
  }
  summary_.simulated_time = committed_.t;
  summary_.wall_time = wall_time();
  add_statistics(summary_.integrator);
  summary_.contacts = model_.totals().finished;
  for (const auto& tracker : model_.trackers()) {
    if (tracker.open()) {
      summary_.contacts.push_back(*tracker.current());
      sink_.on_episode(*tracker.current());
    }
  }
  if (summary_.status == "completed") report_missing_contact();
  summary_.contact_evaluations = exchange_.n_evaluations();
  const Contact* contact = model_.contact();
  summary_.contact_commits = contact != nullptr ? exchange_.committed_step() + 1 : 0;
  summary_.coupling = model_.scheme().statistics();
  if (contact != nullptr) summary_.rpc = contact->rpc_statistics();
  finish_wall_times();
  summary_.max_position_violation = model_.totals().max_position_violation;
  summary_.max_velocity_violation = model_.totals().max_velocity_violation;
  if (committed_.y.size() != 0) finish_energy();
}

void RunBase::finish_wall_times() {
  WallTimeSplit& times = summary_.wall_times;
  if (summary_.rpc) times.transport = summary_.rpc->round_trip_time - summary_.rpc->server_time;
  times.contact = std::max(0.0, exchange_.waited().count() - times.transport);
  times.fields = std::chrono::duration<double>(fields_time_).count();
}

void RunBase::finish_energy() {
  EnergyBalance& energy = summary_.energy;
  if (exchange_.committed_step() < 0) {
    // Without an accepted state the energies are unknown.
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    energy = {unknown, unknown, unknown, unknown, unknown, unknown};
    return;
  }
  energy.initial = model_.totals().initial_energy;
  energy.dissipated = committed_.z[EnergyQuadrature::dissipated] + model_.totals().committed_dissipation;
  energy.external_work = committed_.z[EnergyQuadrature::external_work];
  energy.max_kinetic = model_.totals().max_kinetic_energy;
  try {
    energy.final = model_.total_energy();
    energy.balance_error = std::numeric_limits<double>::quiet_NaN();
    if (!has_energy_balance()) return;
    energy.balance_error = energy.final - energy.initial - energy.external_work + energy.dissipated;
    check_balance();
  } catch (const Error& e) {
    // Without the partner the energy stored in contacts is unknown.
    energy.final = energy.balance_error = std::numeric_limits<double>::quiet_NaN();
    sink_.on_log("warning", fmt::format("final energy unknown: {}", e.what()));
  }
}

/// For prescribed motion the balance measures the resolution of the frames. For integrated
/// motion it is the one number that shows every error of contact, elements and steps.
void RunBase::check_balance() {
  const EnergyBalance& energy = summary_.energy;
  if (!input_.scenario.analysis.traits.finds_events || !is_outlier(energy)) return;
  sink_.on_log(
      "warning",
      fmt::format("the energy balance has an error of {:.3g} J, {:.2g} % of all energy exchanged ({:.3g} J): do not "
                  "trust this motion; use smaller steps or tolerances, and find in the time series where "
                  "the energy appears",
                  energy.balance_error, 100.0 * std::abs(energy.balance_error) / exchanged_energy(energy),
                  exchanged_energy(energy)));
}

RunSummary RunBase::run(const ContactFactory& open_contact) {
  try {
    open([&](auto pairs, auto assets, const OpenContext& context) {
      auto contact = open_contact(pairs, assets, context);
      summary_.wall_times.preparation = wall_time();
      return contact;
    });
    const bool reached_end = solve();
    finish_rows();
    exchange_.drain();
    if (reached_end && !summary_.error) summary_.error = fields_.data_loss();
    summary_.status = !reached_end ? "cancelled" : summary_.error ? "incomplete" : "completed";
  } catch (const Error& e) {
    summary_.status = e.code() == ErrorCode::cancelled ? "cancelled" : "failed";
    if (summary_.status == "failed") summary_.error = e;
  } catch (const std::exception& e) {
    summary_.status = "failed";
    summary_.error = untyped_error(e, "defect of the program, please report it");
  }
  finish();
  return summary_;
}

}  // namespace heelstrike::mbs
