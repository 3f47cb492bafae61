#include "mbs_server/simulation/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "common/errors/error.hpp"
#include "common/errors/rejection.hpp"
#include "common/motion/stop_times.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/integrators/moreau.hpp"
#include "mbs_server/simulation/run_table.hpp"

namespace heelstrike::mbs {
namespace {

/// Trial motion of a coupling scheme: steps that are neither checked nor reported.
class TrialSteps final : public TrialMotion {
 public:
  /// @param restart  restarts the integrator from the committed state
  TrialSteps(RunIntegrator& integrator, RunProblem& problem, const CommittedState& committed,
             std::function<void()> restart)
      : integrator_(integrator), problem_(problem), committed_(committed), restart_(std::move(restart)) {}

  void restart(double t_end) override {
    restart_();
    integrator_.invalidate();  // for the actual steps
    reached_ = committed_.t;
    t_end_ = t_end;
  }
  [[nodiscard]] const VectorX& state_at(double t) override;

 private:
  RunIntegrator& integrator_;
  RunProblem& problem_;
  const CommittedState& committed_;
  std::function<void()> restart_;
  double reached_ = 0.0, t_end_ = 0.0;  ///< [s]
  VectorX y_, z_;
};

const VectorX& TrialSteps::state_at(double t) {
  Integrator& method = integrator_.method();
  if (t <= committed_.t) return committed_.y;
  while (reached_ < t) reached_ = method.step(t_end_).t;
  y_ = method.y();
  if (t == reached_) return y_;
  z_ = method.quadratures();
  method.interpolate(t, y_, z_);
  problem_.project(t, y_);
  return y_;
}

}  // namespace

namespace {

/// Stop times of all functions of time of a scenario.
std::vector<double> stop_times_of(const Scenario& scenario, double start_time) {
  std::vector<double> stops;
  const double end_time = scenario.analysis.end_time;
  if (!(end_time > start_time)) return stops;
  const auto add = [&](const std::map<std::string, FunctionSpec>& functions) {
    for (const auto& [name, spec] : functions) {
      if (spec.function == nullptr) continue;
      const std::vector<double> own = stop_times(*spec.function, start_time, end_time);
      stops.insert(stops.end(), own.begin(), own.end());
    }
  };
  for (const LoadSpec& load : scenario.loads) add(load.functions);
  for (const ElementSpec& force : scenario.forces) add(force.functions);
  for (const DriverSpec& driver : scenario.drivers) add(driver.functions);
  std::ranges::sort(stops);
  stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
  return stops;
}

}  // namespace

Simulation::Simulation(const RunInput& input, std::stop_token stop)
    : Simulation(input, scheme_of(input.scenario), std::move(stop)) {}

Simulation::Simulation(const RunInput& input, const CouplingSchemeEntry& scheme, std::stop_token stop)
    : input_(input),
      scenario_(input.scenario),
      stop_(std::move(stop)),
      inputs_(build_model(scenario_)),
      fmus_(inputs_.model()),
      model_(scenario_, inputs_.model(), stop_, scheme),
      committed_(model_.committed()),
      exchange_(model_.exchange()),
      states_(model_.contact_states()),
      scheme_(model_.scheme()),
      columns_(model_.columns()),
      diagnostics_(scenario_, model_,
                   [this](std::string_view level, const std::string& text) { listener_->on_log(level, text); }) {
  model_.system().add_force(inputs_.release_force_element());
  stop_times_ = stop_times_of(scenario_, input_.start_time);
  columns_.push_back({"step_size_s", "s", "size of the integrator's step that contains the row"});
}

Simulation::~Simulation() = default;

void Simulation::listen(SimulationListener& listener) {
  listener_ = &listener;
  if (committer_) committer_->listen(listener);
}

void Simulation::initialise(const ContactFactory& open_contact) {
  model_.assemble([this](std::string_view level, const std::string& text) { listener_->on_log(level, text); },
                  input_.start_time);
  now_ = input_.start_time;
  check_fmu_start_time();
  prepare_to_step();
  check_fmus();
  if (!can_save()) {
    listener_->on_log("warning",
                      fmt::format("the run is without checkpoints and cannot be resumed: the FMU '{}' cannot "
                                  "serialise its state (canGetAndSetFMUState and canSerializeFMUState)",
                                  fmus_.without_fmu_state().front()));
  }
  std::optional<RunState> resumed;
  if (input_.resume_from) resumed = read(*input_.resume_from);
  const OpenContext context{
      .run_id = input_.run_id,
      .on_progress = [this](std::string_view stage, double fraction) { listener_->on_preparation(stage, fraction); },
      .stop = stop_};
  const bool solves_impacts =
      config::type_named(integrator_registry(), scenario_.analysis.integrator.name).solves_impacts;
  model_.open(open_contact, input_.assets, context, solves_impacts && !scheme_.has_macro_steps());
  model_.check_fixed_supports();
  const auto regions = model_.region_columns();
  columns_.insert(columns_.end(), regions.begin(), regions.end());
  listener_->on_opened();
  if (resumed) {
    restore_checked(*input_.resume_from, std::move(*resumed));
  } else {
    start();
  }
}

void Simulation::check_fmu_start_time() const {
  if (fmus_.empty() || input_.start_time == 0.0) return;
  throw Error(ErrorCode::unimplemented,
              fmt::format("start time: expected 0 s for a scenario with FMUs, whose communication points are "
                          "counted from there, found {} s; start at 0 s",
                          input_.start_time));
}

void Simulation::check_fmus() {
  fmus_.open(input_.assets, input_.allow_fmus, columns_);
  if (const auto macro_step = scheme_.fixed_macro_step()) fmus_.check_communication_steps(*macro_step);
}

void Simulation::check_fmu_files() const {
  fmus_.check_files(input_.assets, input_.allow_fmus, columns_);
  if (const auto macro_step = scheme_.fixed_macro_step()) fmus_.check_communication_steps(*macro_step);
}

void Simulation::prepare_to_step() {
  const IntegratorSpec& spec = scenario_.analysis.integrator;
  const IntegratorEntry& method = config::type_named(integrator_registry(), spec.name);
  const bool contact_at_step_ends = method.solves_impacts || scheme_.has_macro_steps();
  problem_ = std::make_unique<RunProblem>(model_.system(), scheme_, states_, model_.rigid_contacts(), stop_,
                                          scenario_.analysis.budget.evaluations);
  integrator_ = std::make_unique<RunIntegrator>(spec, *problem_);
  if (contact_at_step_ends) check_no_unilateral_joints(method);
  // Fixed steps have no tolerances.
  if (!method.fixed_step) problem_->unilateral_joints().set_tolerances(spec.rtol, spec.atol);
  singularities_ = std::make_unique<SingularCrossing>(model_.system(), spec, method.solves_multipliers);
  detector_ = std::make_unique<EventDetector>(model_, *problem_, !contact_at_step_ends);
  committer_ = std::make_unique<StepCommitter>(SimulationStep::Run{model_, *problem_, contact_at_step_ends}, *detector_,
                                               diagnostics_);
  committer_->listen(*listener_);
  diagnostics_.restart_detection();
}

void Simulation::check_no_unilateral_joints(const IntegratorEntry& method) const {
  if (!problem_->unilateral_joints().any()) return;
  throw input_error(
      "joints." + model_.system().unilaterals().front()->name() + ".unilateral",
      fmt::format("joints.{}.unilateral: expected an integrator that locates roots of forces within its steps, "
                  "found {}; use another integrator and the coupling scheme {}, or replace the joint by a contact "
                  "of the back-end rigid",
                  model_.system().unilaterals().front()->name(),
                  method.solves_impacts ? method.name : "a coupling scheme with macro steps", monolithic().name));
}

void Simulation::start() {
  const System& system = model_.system();
  const double t = committed_.t;
  committed_.y = system.start_y(t, model_.start().q, model_.start().qd);
  committed_.z = VectorX::Zero(problem_->n_quadratures());
  // The assembly stops at 1e-11; the projection converges to rounding, as after every later step.
  problem_->project(t, committed_.y);
  // Initial states of elements are bitwise consistent with the pose.
  committed_.y = system.start_y(t, model_.q(committed_.y), model_.qd(committed_.y));
  model_.separate_rigid_bodies(*problem_, [this](auto level, const auto& text) { listener_->on_log(level, text); });
  model_.system().accept_turn_references(model_.q(committed_.y));
  model_.begin(scheme_.accept(t, model_.q(committed_.y), model_.qd(committed_.y)));
  if (model_.rigid_contacts().any()) {
    note_initial_forces(model_.rigid_contacts(), *problem_, committed_.y, scenario_.analysis.integrator.step);
  }
  if (problem_->unilateral_joints().any()) {
    constexpr double touching = 1e-6;  // [m] as at the start of rigid bodies
    apply_joint_event(problem_->unilateral_joints().resolve_event(t, committed_.y, {}, touching));
  }
  integrator_->request_restart();
  if (fmus_.due(t)) step_fmus();
}

void Simulation::step_fmus() {
  const double t = committed_.t;
  fmus_.do_due_steps(t, output_values());
  // As for inputs: factors and responses at this state belong to the previous forces.
  problem_->reset_factorisation();
  integrator_->invalidate();
}

RunState Simulation::read(const Checkpoint& checkpoint) const {
  RunState state = model_.read(checkpoint, input_.scenario_digest);
  for (const auto& [name, input] : state.inputs) inputs_.require(name, input.jet);
  fmus_.require(state.units);
  return state;
}

void Simulation::restore_checked(const Checkpoint& checkpoint, RunState state) {
  scheme_.restore(state.coupling);
  fmus_.restore(state.units);
  pending_.reset();
  committer_->forget();
  model_.restore_checked(checkpoint, std::move(state));
  const RunState& totals = model_.totals();
  if (!totals.inputs.empty() || !inputs_.values().empty()) {
    inputs_.restore(totals.inputs);
    problem_->reset_force_patterns();
    problem_->reset_factorisation();
  }
  diagnostics_.restart_detection();
  now_ = committed_.t;
  step_size_ = 0.0;
  macro_end_ = totals.macro_end;
  if (problem_->unilateral_joints().any()) {
    problem_->reset_force_patterns();
    integrator_->recreate();
  }
  // Immediately, as in the saving run, whose counts include this restart.
  restart_at_restart_point();
  problem_->set_evaluations(totals.counts.rhs);
  integrator_->resume_statistics(totals.counts.integrator);
}

void Simulation::restore(const Checkpoint& checkpoint) {
  restore_checked(checkpoint, read(checkpoint));
}

Checkpoint Simulation::save() {
  project_moved_constraints();
  commit_partial_step();
  committer_->finish();
  // A restored simulation starts the integrator here, without a repeated step; so does this one, so that both continue
  // bitwise equal. If it has just been started nothing changes.
  if (!integrator_->is_fresh()) restart_at_restart_point();
  RunState& totals = model_.totals();
  totals.inputs = inputs_.values();
  totals.units = fmus_.save();
  totals.coupling = scheme_.save();
  totals.macro_end = macro_end_;
  totals.counts.integrator = statistics();
  totals.counts.rhs = problem_->n_evaluations();
  return model_.save(input_.scenario_digest);
}

void Simulation::set_input(const std::string& name, double value, double rate, double acceleration) {
  const Jet jet{.f = value, .d = rate, .dd = acceleration};
  inputs_.require(name, jet);
  commit_partial_step();
  if (inputs_.set(name, {.since = now_, .jet = jet})) problem_->reset_force_patterns();
  // Factors and responses at this state belong to the old input.
  problem_->reset_factorisation();
  integrator_->invalidate();
}

void Simulation::project_moved_constraints() {
  if (!inputs_.take_moved_constraints()) return;
  problem_->project(committed_.t, committed_.y);
  model_.system().accept_turn_references(model_.q(committed_.y));
  if (const std::string driver = model_.system().find_reversed_driver(committed_.t, model_.q(committed_.y));
      !driver.empty()) {
    throw Error(ErrorCode::solver_failed,
                fmt::format("'{}' was rotated by more than a quarter turn at t = {} s, so that the pose half a turn "
                            "away was found; use smaller steps",
                            driver, committed_.t));
  }
}

void Simulation::state_now(VectorX& y, VectorX& z) {
  project_moved_constraints();
  committer_->finish();
  if (pending_ && now_ > committed_.t) {
    pending_->state_at(now_, y, z);
  } else {
    y = committed_.y;
    z = committed_.z;
  }
}

std::shared_ptr<const PendingRequest> Simulation::begin_row(double t, const VectorX& y, const VectorX& z,
                                                            std::vector<double>& row) {
  return model_.begin_row(t, y, z, row, {&step_size_, 1});
}

void Simulation::fill_row(double t, const VectorX& y, const VectorX& z, std::vector<double>& row) {
  const auto request = begin_row(t, y, z, row);
  if (!request) return;
  exchange_.drain();
  model_.complete_row(*request, row);
}

std::span<const double> Simulation::output_values() {
  state_now(y_, z_);
  fill_row(now_, y_, z_, row_);
  return row_;
}

double Simulation::output(std::string_view name) {
  const auto column = std::ranges::find(columns_, name, &Column::name);
  if (column == columns_.end()) throw unknown_column("output", "", name, columns_);
  return output_values()[static_cast<std::size_t>(column - columns_.begin())];
}

std::string Simulation::no_derivatives() const {
  if (scheme_.has_macro_steps()) {
    return "derivatives: contact forces depend on the macro steps of the coupling scheme; use `monolithic`";
  }
  if (model_.rigid_contacts().any()) {
    return "derivatives: forces between rigid bodies jump with the applied forces; use for the pairs a compliant "
           "contact law";
  }
  return {};
}

std::vector<double> Simulation::output_derivative(std::size_t input) {
  if (const std::string reason = no_derivatives(); !reason.empty()) throw Error(ErrorCode::unimplemented, reason);
  state_now(y_, z_);
  const auto wrench = inputs_.unit_wrench(input);
  if (!wrench) {
    return driver_derivative(inputs_, input, model_.system(), now_, y_, [this](const VectorX& y) {
      std::vector<double> row;
      fill_row(now_, y, z_, row);
      return row;
    });
  }
  std::vector<double> row =
      row_change(model_.state(now_, y_), wrench->body, wrench->F_W, scenario_.output.accelerations, model_.system());
  row.resize(columns_.size(), 0.0);  // step size, and regions of contacts
  return row;
}

IntegratorStatistics Simulation::statistics() const {
  return integrator_ ? integrator_->statistics() : IntegratorStatistics{.name = scenario_.analysis.integrator.name};
}

bool Simulation::advance_to(double t, bool stop_at_events) {
  if (!(t >= now_ && t <= end_time())) {
    throw input_error("t", fmt::format("expected a time from {} s, the current time, to {} s, "
                                       "analysis.end_time; found {} s",
                                       now_, end_time(), t));
  }
  const std::int64_t n_events = committer_->n_events();
  try {
    project_moved_constraints();
    do {
      while (committed_.t < t && !(pending_ && pending_->end() > t)) {
        const bool at_event = stop_at_events && committer_->n_events() != n_events;
        if (!at_event && !stop_.stop_requested() && advance_step(t)) continue;
        (void)try_finish_commit();
        return false;
      }
    } while (!try_finish_commit());
  } catch (...) {
    // The original error is reported, not that the partner is unavailable.
    (void)rejection_error([this] { committer_->finish(); });
    committer_->forget();
    pending_.reset();
    now_ = committed_.t;
    integrator_->request_restart();
    throw;
  }
  now_ = t;
  return true;
}

bool Simulation::advance_step(double t) {
  if (!pending_ && fmus_.due(committed_.t)) {
    // FMUs cannot be rolled back: the partner must have accepted the state before they are stepped.
    if (!try_finish_commit()) return true;
    step_fmus();
  }
  try {
    try {
      if (!pending_) find_step();
      if (pending_ && pending_->end() <= t && !commit_step()) return false;
    } catch (const RejectedCommit& e) {
      roll_back(e);
    } catch (const RecoverableError& e) {
      // A free flight that ended deep inside the partner, or a commit that failed at the accepted state.
      const double t_attempted = integrator_->method().attempted_time();
      if (try_finish_commit()) repeat_step(t_attempted, e.what());
    }
    // A step with a pending commit is counted later.
    if (!pending_) check_progress();
  } catch (const Error& e) {
    const bool step_failed = e.code() == ErrorCode::solver_failed || e.code() == ErrorCode::recoverable;
    if (!step_failed) throw;
    pending_.reset();
    extrapolate_across_singularity(true);
    if (!pending_) throw Error(ErrorCode::solver_failed, e.what() + diagnostics_.describe_failure(), e.field());
  }
  return true;
}

void Simulation::find_step() {
  const double t_end = compute_max_step();
  if (integrator_->restart_is_due()) restart_integrator();
  const StepResult step = integrator_->step(t_end);
  committer_->finish();
  diagnostics_.check_step(step, integrator_->method());
  StepEvents events = detector_->detect(step, integrator_->method());
  if (!events.missed.empty()) {
    repeat_step(step.t, events.missed);
  } else if (!step.inside || events.any()) {
    step_size_ = step.step_size;
    pending_ = std::make_unique<SimulationStep>(committer_->run(), step, integrator_->method(), std::move(events));
  }
  // Else a gap passed a minimum above zero, or rounding changed its sign: the integrator continues in its step.
}

double Simulation::compute_max_step() {
  // Outputs of FMUs change at their communication points.
  double latest = fmus_.next_after(committed_.t, end_time());
  const auto stop = std::ranges::upper_bound(stop_times_, committed_.t);
  if (stop != stop_times_.end()) latest = std::min(latest, *stop);
  if (!scheme_.has_macro_steps()) return latest;
  TrialSteps trial(*integrator_, *problem_, committed_, [this] { restart_integrator(); });
  const double end = scheme_.plan(committed_.t, latest, trial);
  // Forces jump at the start of a macro step.
  if (std::exchange(macro_end_, end) != end && !integrator_->is_fresh()) integrator_->request_restart();
  return end;
}

bool Simulation::commit_step() {
  if (!listener_->on_step(*pending_)) return false;
  const std::unique_ptr<SimulationStep> step = std::move(pending_);
  commit(*step);
  if (step->is_crossing()) {
    restart_integrator();
    return true;
  }
  if (!step->is_event()) integrator_->clear_bound_beyond_failure(committed_.t);
  const bool macro_step_ends = scheme_.has_macro_steps() && committed_.t >= macro_end_;
  if (step->is_event() || macro_step_ends || integrator_->needs_periodic_restart()) {
    committer_->finish();  // a run resumed here has no pending response
    restart_at_restart_point();
  }
  listener_->on_commit();
  if (integrator_->is_fresh()) {
    // Before any action that a run resumed here would not do.
    listener_->on_restart_point();
    return true;
  }
  singularities_->record(committed_.t, committed_.y);
  extrapolate_across_singularity(false);
  return true;
}

void Simulation::commit(SimulationStep& step) {
  committer_->commit(step, !scheme_.has_macro_steps() || step.end() >= macro_end_);
  now_ = committed_.t;
  const std::vector<std::size_t>& joints = step.events().joints;
  if (!joints.empty()) {
    apply_joint_event(problem_->unilateral_joints().resolve_event(committed_.t, committed_.y, joints));
  }
}

bool Simulation::try_finish_commit() {
  try {
    committer_->finish();
    return true;
  } catch (const RejectedCommit& rejection) {
    roll_back(rejection);
    return false;
  }
}

/// Rolls back to the state before the rejected commit, and retries with smaller steps.
void Simulation::roll_back(const RejectedCommit& rejection) {
  const double t_rejected = committer_->roll_back(rejection);
  now_ = committed_.t;
  repeat_step(t_rejected, rejection.what());
}

void Simulation::commit_partial_step() {
  if (!pending_) return;
  const std::unique_ptr<SimulationStep> step = std::move(pending_);
  integrator_->request_restart();
  if (now_ == committed_.t) return;
  try {
    step->cut(now_);
    (void)listener_->on_step(*step);
    commit(*step);
  } catch (...) {
    now_ = committed_.t;
    throw;
  }
}

void Simulation::repeat_step(double t_attempted, const std::string& reason) {
  pending_.reset();
  listener_->on_event({.kind = SimulationEvent::Kind::rejected_step, .t = t_attempted, .reason = reason});
  integrator_->reject_step(committed_.t, t_attempted, reason);
  restart_integrator();
}

/// Applies closing or opening of joints, which changes the rows of the equations.
void Simulation::apply_joint_event(const UnilateralJoints::Event& event) {
  committer_->add(event);
  problem_->reset_force_patterns();
  integrator_->recreate();
}

void Simulation::restart_integrator() {
  // After an input has changed a force, or a driver has moved a body.
  UnilateralJoints& joints = problem_->unilateral_joints();
  if (joints.any() && joints.needs_event(model_.state(committed_.t, committed_.y))) {
    apply_joint_event(joints.resolve_event(committed_.t, committed_.y, {}));
  }
  // What was computed before must not affect the steps after a restart: a resumed run has none of it.
  problem_->reset_factorisation();
  singularities_->forget();
  detector_->forget();
  exchange_.reset_bounds();
  integrator_->restart(committed_);
}

void Simulation::restart_at_restart_point() {
  integrator_->forget_rejections(committed_.t);
  restart_integrator();
}

void Simulation::check_progress() {
  diagnostics_.count_step(integrator_->method());
  const std::int64_t most = scenario_.analysis.budget.steps;
  if (exchange_.committed_step() <= most || committed_.t >= end_time()) return;
  throw limit_error("analysis.budget.steps",
                    fmt::format("the run took {} steps to t = {} s of {} s, as many as analysis.budget.steps allows; "
                                "raise it, or loosen the tolerances",
                                most, committed_.t, end_time()));
}

bool Simulation::touches(double t, const VectorX& y) {
  if (exchange_.n_pairs() == 0) return false;
  const auto responses = exchange_.responses(t, model_.q(y), model_.qd(y));
  // An extrapolated state may lie inside a partner that the motion would have touched earlier.
  return std::ranges::any_of(responses, [](const Response& r) { return r.gap <= 0.0; });
}

/// Contact is too stiff for extrapolation: with a pair in contact, or with unilateral joints, the integrator has to
/// pass the pose.
void Simulation::extrapolate_across_singularity(bool after_failure) {
  if (states_.any_closed() || problem_->unilateral_joints().any()) return;
  // Forces beyond a macro step are unknown.
  const double latest = scheme_.has_macro_steps() ? macro_end_ : fmus_.next_after(committed_.t, end_time());
  auto crossing = after_failure ? singularities_->find_after_failure(latest) : singularities_->find_before_step(latest);
  if (!crossing || touches(crossing->t, crossing->y)) return;
  const std::string text = fmt::format(
      "the joints are in a singular pose at t = {:.6g} s: the motion is continued across "
      "it by extrapolation from {:.6g} s to {:.6g} s",
      crossing->t_singular, committed_.t, crossing->t);
  diagnostics_.report_singularity(text);
  listener_->on_event({.kind = SimulationEvent::Kind::singularity_crossing, .t = crossing->t, .reason = text});
  step_size_ = 0.0;
  pending_ = std::make_unique<SimulationStep>(committer_->run(), std::move(*crossing));
}

}  // namespace heelstrike::mbs
