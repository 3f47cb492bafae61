#include "mbs_server/analysis/forward.hpp"

#include <fmt/format.h>

#include <chrono>
#include <set>

#include "common/errors/error.hpp"
#include "mbs_server/analysis/run_problem.hpp"
#include "mbs_server/analysis/run_state.hpp"
#include "mbs_server/analysis/run_table.hpp"
#include "mbs_server/formulation/assembly.hpp"
#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::mbs {
namespace {

using Clock = std::chrono::steady_clock;

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

/// One forward run; lives as long as the run.
class ForwardRun {
 public:
  ForwardRun(const RunInput& input, Model model, RunSink& sink, std::stop_token stop)
      : input_(input),
        sink_(sink),
        stop_(std::move(stop)),
        started_(Clock::now()),
        last_progress_(started_),
        system_(std::move(model)) {
    summary_.scenario = input.scenario.name;
    summary_.backend = backend_names(input.scenario);
    summary_.integrator.name = input.scenario.analysis.integrator.name;
  }

  RunSummary run(const ContactFactory& open_contact);

 private:
  void open(const ContactFactory& open_contact);
  void start();
  void resume(const Checkpoint& checkpoint);
  void integrate();
  void take_step();
  void restart_integrator();
  void repeat_step(double t_attempted);
  void lift_step_limit();
  [[nodiscard]] bool missed_touch(const StepResult& step);
  void accept(const StepResult& step);
  void switch_pairs(const StepResult& step, std::span<const Response> responses);
  void write_rows_until(double t, bool step_is_row);
  void write_row(double t, const Eigen::VectorXd& y, const Eigen::VectorXd& z);
  void checkpoint_if_due();
  void note_violation();
  void tell_progress(double step_size);
  void finish();
  [[nodiscard]] double total_energy(const Eigen::VectorXd& y);
  [[nodiscard]] double end_time() const { return input_.scenario.analysis.end_time; }
  [[nodiscard]] double wall_time() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }
  [[nodiscard]] auto q(const Eigen::VectorXd& y) const { return y.head(system_.n_q()); }
  [[nodiscard]] auto qd(const Eigen::VectorXd& y) const { return y.tail(system_.n_q()); }

  const RunInput& input_;
  RunSink& sink_;
  std::stop_token stop_;
  Clock::time_point started_, last_progress_;
  RunSummary summary_;

  System system_;
  Start assembled_;  ///< state at the start of the scenario
  std::unique_ptr<Contact> contact_;
  ContactCoupling* coupling_ = nullptr;  ///< owned by system_
  std::unique_ptr<RunProblem> problem_;
  std::unique_ptr<Integrator> integrator_;

  RunState state_;
  std::vector<EpisodeTracker> trackers_;
  double t_ = 0.0;                    ///< last committed time
  Eigen::VectorXd y_, z_;             ///< last committed state and quadratures
  std::optional<double> step_limit_;  ///< [s] while a step is being repeated with a smaller one
  double limited_until_ = 0.0;        ///< [s] end of the step that failed
  int repeated_steps_ = 0;            ///< since the run was last past `limited_until_`
  std::vector<double> row_;
  Eigen::VectorXd row_y_, row_z_;
};

void ForwardRun::open(const ContactFactory& open_contact) {
  const auto specs = pair_specs(input_.scenario);
  if (!specs.empty()) {
    OpenContext context{.run_id = input_.run_id,
                        .on_progress =
                            [this](std::string_view stage, double fraction) {
                              sink_.on_log("info",
                                           fmt::format("preparing contact: {} {:.0f} %", stage, 100 * fraction));
                            },
                        .stop = stop_};
    contact_ = open_contact(specs, input_.assets, context);
  }
  assembled_ = assemble(system_, 0.0, [this](const std::string& text) { sink_.on_log("info", text); });
  auto coupling = std::make_unique<ContactCoupling>(system_.model(), contact_.get());
  coupling_ = coupling.get();
  system_.add_force(std::move(coupling));
  problem_ = std::make_unique<RunProblem>(system_, *coupling_);
  integrator_ = make_integrator(input_.scenario.analysis.integrator, *problem_);
  for (const auto& pair : system_.model().pairs) trackers_.emplace_back(pair.name);
}

void ForwardRun::start() {
  y_.resize(problem_->size());
  y_ << assembled_.q, assembled_.qd;
  z_ = Eigen::VectorXd::Zero(problem_->n_quadratures());
  problem_->project(0.0, y_);
  const auto responses = coupling_->commit(0.0, q(y_), qd(y_));
  for (std::size_t i = 0; i < trackers_.size(); ++i) {
    coupling_->set_closed(i, responses[i].gap < 0.0 || (responses[i].gap == 0.0 && responses[i].gap_rate < 0.0));
    if (coupling_->closed(i)) trackers_[i].begin(0.0, responses[i]);
  }
  state_.initial_energy = total_energy(y_);
  note_violation();
  write_row(0.0, y_, z_);
  state_.next_row = 1;
}

void ForwardRun::resume(const Checkpoint& checkpoint) {
  if (checkpoint.scenario_digest != input_.scenario_digest) {
    throw input_error("checkpoint",
                      "checkpoint: it belongs to another scenario or other input files; resume with the "
                      "run folder's own scenario.yaml");
  }
  const auto n = problem_->size();
  if (static_cast<int>(checkpoint.state.size()) != n + problem_->n_quadratures()) {
    throw input_error("checkpoint", fmt::format("checkpoint: expected {} state entries, found {}",
                                                n + problem_->n_quadratures(), checkpoint.state.size()));
  }
  const Eigen::Map<const Eigen::VectorXd> saved(checkpoint.state.data(),
                                                static_cast<Eigen::Index>(checkpoint.state.size()));
  t_ = checkpoint.time;
  y_ = saved.head(n);
  z_ = saved.tail(problem_->n_quadratures());
  if (contact_) contact_->restore_state(checkpoint.contact_states);
  coupling_->set_committed_step(checkpoint.step);
  state_ = load_run_state(checkpoint.engine);
  for (std::size_t i = 0; i < trackers_.size(); ++i) {
    trackers_[i].set_state(state_.episodes.at(i));
    coupling_->set_closed(i, state_.closed.at(i) != 0);
  }
}

double ForwardRun::total_energy(const Eigen::VectorXd& y) {
  return system_.kinetic_energy(qd(y)) + system_.evaluate_energy(t_, q(y), qd(y)).potential;
}

void ForwardRun::note_violation() {
  const Violation violation = system_.violation(t_, q(y_), qd(y_));
  state_.max_position_violation = std::max(state_.max_position_violation, violation.position);
  state_.max_velocity_violation = std::max(state_.max_velocity_violation, violation.velocity);
}

void ForwardRun::restart_integrator() {
  problem_->forget_pivots();
  const auto directions = problem_->root_directions();
  integrator_->restart(t_, y_, z_, step_limit_, directions);
}

void ForwardRun::repeat_step(double t_attempted) {
  ++repeated_steps_;
  step_limit_ = 0.25 * (t_attempted - t_);
  limited_until_ = std::max(limited_until_, t_attempted);
  restart_integrator();
}

void ForwardRun::lift_step_limit() {
  if (!step_limit_ || t_ < limited_until_) return;
  step_limit_.reset();
  repeated_steps_ = 0;
  integrator_->set_max_step(std::nullopt);
}

bool ForwardRun::missed_touch(const StepResult& step) {
  const auto responses = coupling_->responses(step.t, q(integrator_->y()), qd(integrator_->y()));
  for (const int root : step.roots) {
    const auto pair = static_cast<std::size_t>(root / 2);
    if (root % 2 == 1 && responses[pair].gap < 0.0) return true;
  }
  return false;
}

void ForwardRun::take_step() {
  try {
    const StepResult step = integrator_->step(end_time());
    const bool only_rates = !step.roots.empty() && std::ranges::all_of(step.roots, [](int r) { return r % 2 == 1; });
    if (!only_rates) {
      accept(step);
    } else if (missed_touch(step)) {
      // The gap of an open pair passed a minimum below zero: the touch lies before it.
      repeat_step(step.t);
    }
  } catch (const RecoverableError& e) {
    // A free flight that ended deep inside the partner, or a commit that failed at exactly the accepted state: go back
    // to the last commit and come again with smaller steps. Repetitions are counted until the run is past the time
    // where the first one failed, so that a run cannot creep towards an obstacle for ever.
    if (repeated_steps_ >= input_.scenario.analysis.integrator.max_rejections) {
      throw Error(
          ErrorCode::solver_failed,
          fmt::format("the step from t = {} s was repeated {} times with smaller steps without getting past t = "
                      "{} s. Last reason: {}",
                      t_, repeated_steps_, limited_until_, e.what()));
    }
    repeat_step(integrator_->attempted_time());
  }
}

void ForwardRun::accept(const StepResult& step) {
  const StepRows rows = input_.scenario.output.steps;
  const bool event = !step.roots.empty();
  write_rows_until(step.t, rows == StepRows::all || (rows == StepRows::contact && (event || coupling_->any_closed())));
  y_ = integrator_->y();
  // A state at an event is interpolated within its step: it satisfies the constraints only to the step's accuracy.
  if (event) problem_->project(step.t, y_);
  const auto responses = coupling_->commit(step.t, q(y_), qd(y_));
  t_ = step.t;
  z_ = integrator_->quadratures();
  note_violation();
  for (std::size_t i = 0; i < trackers_.size(); ++i) {
    if (!coupling_->closed(i)) continue;
    state_.committed_dissipation += responses[i].dissipated_increment;
    trackers_[i].update(t_, responses[i]);
  }
  if (event) {
    switch_pairs(step, responses);
    step_limit_.reset();
    repeated_steps_ = 0;
    limited_until_ = t_;
    restart_integrator();
  } else {
    lift_step_limit();
  }
  checkpoint_if_due();
  tell_progress(step.step_size);
}

void ForwardRun::switch_pairs(const StepResult& step, std::span<const Response> responses) {
  for (const int root : step.roots) {
    if (root % 2 == 1) continue;
    const auto pair = static_cast<std::size_t>(root / 2);
    if (coupling_->closed(pair)) {
      coupling_->set_closed(pair, false);
      state_.finished.push_back(trackers_[pair].end(t_, responses[pair]));
      sink_.on_episode(state_.finished.back());
    } else {
      coupling_->set_closed(pair, true);
      trackers_[pair].begin(t_, responses[pair]);
    }
  }
}

void ForwardRun::write_rows_until(double t, bool step_is_row) {
  const double interval = input_.scenario.output.interval;
  // Times on the regular grid are products, not sums: no drift.
  for (double grid = interval * static_cast<double>(state_.next_row); grid < t;
       grid = interval * static_cast<double>(++state_.next_row)) {
    row_y_.resize(y_.size());
    row_z_.resize(z_.size());
    integrator_->interpolate(grid, row_y_, row_z_);
    problem_->project(grid, row_y_);
    write_row(grid, row_y_, row_z_);
  }
  const bool on_grid = interval * static_cast<double>(state_.next_row) == t;
  if (on_grid) ++state_.next_row;
  if (on_grid || step_is_row || t >= end_time()) write_row(t, integrator_->y(), integrator_->quadratures());
}

void ForwardRun::write_row(double t, const Eigen::VectorXd& y, const Eigen::VectorXd& z) {
  const RowEnergies energies{.dissipated = z[RunProblem::dissipated] + state_.committed_dissipation,
                             .external_work = z[RunProblem::external_work]};
  fill_row(t, q(y), qd(y), energies, system_, *coupling_, row_);
  sink_.on_row(row_);
}

void ForwardRun::checkpoint_if_due() {
  const auto interval = input_.scenario.output.checkpoint_interval;
  if (!interval || t_ < *interval * static_cast<double>(state_.next_checkpoint)) return;
  while (t_ >= *interval * static_cast<double>(state_.next_checkpoint)) ++state_.next_checkpoint;
  state_.closed.clear();
  state_.episodes.clear();
  for (std::size_t i = 0; i < trackers_.size(); ++i) {
    state_.closed.push_back(coupling_->closed(i) ? 1 : 0);
    state_.episodes.push_back(trackers_[i].state());
  }
  Checkpoint checkpoint{.scenario_digest = input_.scenario_digest,
                        .step = coupling_->committed_step(),
                        .time = t_,
                        .state = {},
                        .contact_states = contact_ ? contact_->save_state() : std::vector<std::string>{},
                        .engine = save_run_state(state_)};
  checkpoint.state.assign(y_.begin(), y_.end());
  checkpoint.state.insert(checkpoint.state.end(), z_.begin(), z_.end());
  sink_.on_checkpoint(checkpoint);
  // A resumed run starts the integrator here; so does this one, so that both continue with the same bits.
  restart_integrator();
}

void ForwardRun::tell_progress(double step_size) {
  const auto now = Clock::now();
  if (now - last_progress_ < progress_period) return;
  last_progress_ = now;
  sink_.on_progress({.time = t_,
                     .end_time = end_time(),
                     .step = coupling_->committed_step(),
                     .step_size = step_size,
                     .wall_time = wall_time()});
}

void ForwardRun::integrate() {
  restart_integrator();
  while (t_ < end_time()) {
    if (stop_.stop_requested()) {
      summary_.status = "cancelled";
      return;
    }
    take_step();
  }
  summary_.status = "completed";
}

void ForwardRun::finish() {
  summary_.simulated_time = t_;
  summary_.wall_time = wall_time();
  if (integrator_) summary_.integrator = integrator_->statistics();
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
  summary_.max_position_violation = state_.max_position_violation;
  summary_.max_velocity_violation = state_.max_velocity_violation;
  if (y_.size() == 0) return;
  EnergyBalance& energy = summary_.energy;
  energy.initial = state_.initial_energy;
  energy.dissipated = z_[RunProblem::dissipated] + state_.committed_dissipation;
  energy.external_work = z_[RunProblem::external_work];
  try {
    energy.final = total_energy(y_);
    energy.balance_error = energy.final - energy.initial - energy.external_work + energy.dissipated;
  } catch (const Error& e) {
    // The partner is gone: without it the energy stored in contacts is unknown.
    energy.final = energy.balance_error = std::numeric_limits<double>::quiet_NaN();
    sink_.on_log("warning", fmt::format("final energy unknown: {}", e.what()));
  }
}

RunSummary ForwardRun::run(const ContactFactory& open_contact) {
  try {
    open(open_contact);
    sink_.on_schema(run_columns(system_.model()));
    if (input_.resume_from) {
      resume(*input_.resume_from);
    } else {
      start();
    }
    integrate();
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

}  // namespace

RunSummary run_forward(const RunInput& input, const ContactFactory& open_contact, RunSink& sink, std::stop_token stop) {
  return ForwardRun(input, build_model(input.scenario), sink, std::move(stop)).run(open_contact);
}

}  // namespace heelstrike::mbs
