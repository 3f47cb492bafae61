#include "mbs_server/simulation/simulation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/errors/error.hpp"
#include "common/errors/refusal.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/integrators/moreau.hpp"
#include "mbs_server/simulation/accepted_state.hpp"
#include "mbs_server/simulation/run_table.hpp"

namespace heelstrike::mbs {

/// Criterion for crossing a singular pose by extrapolation: distance in steps, and required agreement on the far side
/// in units of the tolerance per step. Normally before the integrator's next step could reach the pose; from a larger
/// distance and with a larger tolerance after a failure of the integrator.
struct Simulation::CrossingRule {
  double steps;
  double tolerance;

  static constexpr CrossingRule before(bool index2) {
    // The multipliers of the index-2 form lose accuracy earlier, and its restarts need a larger distance.
    return index2 ? CrossingRule{.steps = 6.0, .tolerance = 100.0} : CrossingRule{.steps = 2.0, .tolerance = 1.0};
  }
  static constexpr CrossingRule after_failure() { return {.steps = 1e6, .tolerance = 1e4}; }
};

namespace {

/// [-] squared smallest singular value times the lightest mass below which a failure is reported as close to a singular
/// pose.
constexpr double nearly_dependent = 1e-4;

/// Steps without event after which the integrator is restarted. docs/theory/integrators.md has the measurement: a
/// restart of a BDF formula costs some 30 steps, so that this is 3 % of the work of a motion without events and
/// negligible otherwise.
constexpr int max_steps_between_restarts = 1000;

IntegratorStatistics difference(const IntegratorStatistics& a, const IntegratorStatistics& b) {
  return {.name = a.name,
          .steps = a.steps - b.steps,
          .rejected_steps = a.rejected_steps - b.rejected_steps,
          .rhs_evaluations = a.rhs_evaluations - b.rhs_evaluations,
          .jacobian_evaluations = a.jacobian_evaluations - b.jacobian_evaluations,
          .restarts = a.restarts - b.restarts};
}

}  // namespace

/// Step found by find_step() or extrapolate_across_singularity().
class Simulation::PendingStep final : public SimulationStep {
 public:
  PendingStep(Simulation& simulation, const StepResult& step, PairEventDetector::PairEvents pair_events,
              std::vector<std::size_t> joints)
      : simulation_(simulation),
        end_(step.t),
        step_size_(step.step_size),
        y_(simulation.integrator_->y()),
        z_(simulation.integrator_->quadratures()),
        pair_events_(std::move(pair_events)),
        joints_(std::move(joints)) {}
  PendingStep(Simulation& simulation, SingularCrossing::Crossing crossing, VectorX z)
      : simulation_(simulation),
        end_(crossing.t),
        step_size_(0.0),
        y_(crossing.y),
        z_(std::move(z)),
        crossing_(std::move(crossing)) {}

  [[nodiscard]] double start() const override { return simulation_.committed_.t; }
  [[nodiscard]] double end() const override { return end_; }
  [[nodiscard]] double step_size() const override { return step_size_; }
  [[nodiscard]] bool is_event() const override {
    return !pair_events_.switching.empty() || pair_events_.slip_ends || !joints_.empty();
  }
  [[nodiscard]] bool commit_is_deferred() const override { return defers_commit() && simulation_.states_.any_closed(); }
  [[nodiscard]] const VectorX& end_y() const override { return y_; }
  [[nodiscard]] const VectorX& end_z() const override { return z_; }
  void state_at(double t, VectorX& y, VectorX& z) override;

  /// True if no pair becomes active or inactive.
  [[nodiscard]] bool defers_commit() const {
    return !simulation_.contact_at_step_ends() && !is_event() && !is_crossing();
  }
  [[nodiscard]] bool is_crossing() const { return crossing_.has_value(); }
  [[nodiscard]] std::span<const std::size_t> switching() const { return pair_events_.switching; }
  /// Unilateral joints that open or have an impact at the end of the step.
  [[nodiscard]] std::span<const std::size_t> joints() const { return joints_; }
  /// Ends the step at `t`, inside it.
  void cut(double t);
  /// Projects the end onto the constraints. @returns y, which the caller may move from
  [[nodiscard]] VectorX& projected_end();

 private:
  Simulation& simulation_;
  double end_;
  double step_size_;
  VectorX y_, z_;  ///< at the end
  PairEventDetector::PairEvents pair_events_;
  std::vector<std::size_t> joints_;
  std::optional<SingularCrossing::Crossing> crossing_;
};

void Simulation::PendingStep::state_at(double t, VectorX& y, VectorX& z) {
  y = y_;
  z = z_;
  if (t < end_ && crossing_) {
    VectorX q, qd, unused;
    crossing_->motion.at(t, q, qd, unused);
    const auto n_s = simulation_.model_.system().n_states();
    // Internal states of force elements have no polynomial across the pose; they are interpolated linearly up to their
    // values at the end of the crossing.
    const double way = (t - start()) / (end_ - start());
    y << q, qd, (1.0 - way) * simulation_.committed_.y.tail(n_s) + way * y_.tail(n_s);
    z = simulation_.committed_.z;
  } else if (t < end_) {
    simulation_.integrator_->interpolate(t, y, z);
  }
  simulation_.problem_->project(t, y);
}

void Simulation::PendingStep::cut(double t) {
  VectorX y, z;
  state_at(t, y, z);
  // Across a singular pose only the total work is known.
  if (crossing_) z += (t - start()) / (end_ - start()) * (z_ - simulation_.committed_.z);
  end_ = t;
  y_ = std::move(y);
  z_ = std::move(z);
  pair_events_ = {};
  joints_.clear();
}

VectorX& Simulation::PendingStep::projected_end() {
  // A state at an event is interpolated within its step: it satisfies the constraints only to the step's accuracy.
  if (is_event()) simulation_.problem_->project(end_, y_);
  return y_;
}

/// Trial motion of a coupling scheme: steps that are neither checked nor reported.
class Simulation::Trial final : public TrialMotion {
 public:
  explicit Trial(Simulation& simulation) : simulation_(simulation) {}

  void restart(double t_end) override {
    simulation_.restart_integrator();
    simulation_.fresh_ = false;
    simulation_.restart_due_ = true;  // for the actual steps
    reached_ = simulation_.committed_.t;
    t_end_ = t_end;
  }
  [[nodiscard]] const VectorX& state_at(double t) override;

 private:
  Simulation& simulation_;
  double reached_ = 0.0, t_end_ = 0.0;  ///< [s]
  VectorX y_, z_;
};

const VectorX& Simulation::Trial::state_at(double t) {
  Integrator& integrator = *simulation_.integrator_;
  if (t <= simulation_.committed_.t) return simulation_.committed_.y;
  while (reached_ < t) reached_ = integrator.step(t_end_).t;
  y_ = integrator.y();
  if (t == reached_) return y_;
  z_ = integrator.quadratures();
  integrator.interpolate(t, y_, z_);
  simulation_.problem_->project(t, y_);
  return y_;
}

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
      columns_(model_.columns()) {
  model_.system().add_force(inputs_.release_force_element());
  columns_.push_back({"step_size_s", "s", "size of the integrator's step that contains the row"});
}

Simulation::~Simulation() = default;

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
  model_.open(open_contact, input_.assets, context, solves_impacts_ && !scheme_.has_macro_steps());
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

void Simulation::prepare_to_step() {
  problem_ = std::make_unique<RunProblem>(model_.system(), scheme_, states_, model_.rigid_contacts(), stop_,
                                          scenario_.analysis.budget.evaluations);
  integrator_ = make_integrator(scenario_.analysis.integrator, *problem_);
  const IntegratorEntry& entry = config::type_named(integrator_registry(), scenario_.analysis.integrator.name);
  index2_ = entry.solves_multipliers;
  solves_impacts_ = entry.solves_impacts;
  check_no_unilateral_joints();
  // Fixed steps have no tolerances.
  const IntegratorSpec& spec = scenario_.analysis.integrator;
  if (!entry.fixed_step) problem_->unilateral_joints().set_tolerances(spec.rtol, spec.atol);
  singularities_ = std::make_unique<SingularCrossing>(model_.system(), scenario_.analysis.integrator);
  event_detector_ = std::make_unique<PairEventDetector>(exchange_, states_);
  progress_ = std::make_unique<StallDetector>(scenario_.analysis, model_.pair_names(), committed_.t);
  vibrations_ = std::make_unique<VibrationDetector>(model_.trackers().size());
}

void Simulation::check_no_unilateral_joints() const {
  if (!problem_->unilateral_joints().any() || !contact_at_step_ends()) return;
  throw input_error(
      "joints." + model_.system().unilaterals().front()->name() + ".unilateral",
      fmt::format("joints.{}.unilateral: expected an integrator that locates roots of forces within its steps, "
                  "found {}; use another integrator and the coupling scheme {}, or replace the joint by a contact "
                  "of the back-end rigid",
                  model_.system().unilaterals().front()->name(),
                  solves_impacts_ ? scenario_.analysis.integrator.name : "a coupling scheme with macro steps",
                  monolithic().name));
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
  separate_rigid_bodies();
  model_.begin(scheme_.accept(t, model_.q(committed_.y), model_.qd(committed_.y)));
  if (model_.rigid_contacts().any()) {
    note_initial_forces(model_.rigid_contacts(), *problem_, committed_.y, scenario_.analysis.integrator.step);
  }
  if (problem_->unilateral_joints().any()) {
    constexpr double touching = 1e-6;  // [m] as at the start of rigid bodies
    apply_joint_event(problem_->unilateral_joints().resolve_event(t, committed_.y, {}, touching));
  }
  restart_due_ = true;
  if (fmus_.due(t)) step_fmus();
}

/// Without this, the first step would separate bodies that overlap by rounded decimals, as if by a force.
void Simulation::separate_rigid_bodies() {
  RigidContactSet& rigid = model_.rigid_contacts();
  if (!rigid.any()) return;
  constexpr double decimals = 1e-6;  // [m] below which an overlap is rounding
  const auto look = [&] {
    return model_.overlaps(exchange_.responses(0.0, model_.q(committed_.y), model_.qd(committed_.y)));
  };
  const auto before = look();
  constexpr int rounds = 50;  // points change as bodies of a stack are moved
  separate(
      rigid, *problem_, 0.0, committed_.y, [](const RigidPoint&) { return true; }, rounds);
  committed_.y = model_.system().start_y(0.0, model_.q(committed_.y), model_.qd(committed_.y));
  for (const auto& [pair, depth] : look()) {
    if (depth <= decimals) continue;
    const PairModel& of = scenario_.pairs[pair];
    throw input_error(
        "contact." + of.spec.name,
        fmt::format("contact.{}: expected rigid bodies that can be moved apart, found '{}' and '{}' still "
                    "{:.3g} m inside each other, enclosed by others or held by joints; move one of them "
                    "(bodies.{}.position)",
                    of.spec.name, of.main_body, of.partner_body, depth, of.partner_body));
  }
  for (const auto& [pair, depth] : before) {
    if (depth <= decimals) continue;
    const PairModel& of = scenario_.pairs[pair];
    listener_->on_log("warning",
                      fmt::format("contact.{}: '{}' and '{}' overlap by {:.3g} m at the start and were moved "
                                  "apart; the motion starts from there",
                                  of.spec.name, of.main_body, of.partner_body, depth));
  }
}

void Simulation::step_fmus() {
  const double t = committed_.t;
  fmus_.do_due_steps(t, output_values());
  // As for inputs: factors and responses at this state belong to the previous forces.
  problem_->reset_factorisation();
  restart_due_ = true;
  fresh_ = false;
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
  posted_.reset();
  model_.restore_checked(checkpoint, std::move(state));
  const RunState& totals = model_.totals();
  if (!totals.inputs.empty() || !inputs_.values().empty()) {
    inputs_.restore(totals.inputs);
    problem_->reset_force_patterns();
    problem_->reset_factorisation();
  }
  progress_ = std::make_unique<StallDetector>(scenario_.analysis, model_.pair_names(), committed_.t);
  vibrations_ = std::make_unique<VibrationDetector>(model_.trackers().size());
  reset_repetitions();
  now_ = committed_.t;
  step_size_ = 0.0;
  macro_end_ = totals.macro_end;
  projection_due_ = false;
  if (problem_->unilateral_joints().any()) reset_integrator();
  // Immediately, as in the saving run, whose counts include this restart.
  restart_integrator();
  problem_->set_evaluations(totals.counts.rhs);
  counted_before_ = {};
  counted_before_ = difference(totals.counts.integrator, statistics());
}

void Simulation::restore(const Checkpoint& checkpoint) {
  restore_checked(checkpoint, read(checkpoint));
}

Checkpoint Simulation::save() {
  project_moved_constraints();
  commit_partial_step();
  finish_commit();
  // A restored simulation starts the integrator here, without a repeated step; so does this one, so that both continue
  // bitwise equal. If it has just been started nothing changes.
  if (!fresh_) {
    reset_repetitions();
    restart_integrator();
  }
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
  const SimulationInputs::Change change = inputs_.set(name, {.since = now_, .jet = jet});
  if (change == SimulationInputs::Change::bodies) problem_->reset_force_patterns();
  if (change == SimulationInputs::Change::constraint) projection_due_ = true;
  // Factors and responses at this state belong to the old input.
  problem_->reset_factorisation();
  restart_due_ = true;
  fresh_ = false;
}

void Simulation::project_moved_constraints() {
  if (!std::exchange(projection_due_, false)) return;
  problem_->project(committed_.t, committed_.y);
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
  finish_commit();
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
  if (column == columns_.end()) {
    throw input_error(std::string(name), fmt::format("expected the name of an output (Simulation::outputs() lists all "
                                                     "{}), found '{}'",
                                                     columns_.size(), name));
  }
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
  if (!wrench) return driver_derivative(input);
  std::vector<double> row =
      row_change(model_.state(now_, y_), wrench->body, wrench->F_W, scenario_.output.accelerations, model_.system());
  row.resize(columns_.size(), 0.0);  // step size, and regions of contacts
  return row;
}

std::vector<double> Simulation::driver_derivative(std::size_t input) {
  System& system = model_.system();
  const VectorX q = model_.q(y_), qd = model_.qd(y_);
  const VectorX none = VectorX::Zero(q.size());
  // Restores the driver, also after an exception.
  struct Unshift {
    SimulationInputs& inputs;
    std::size_t input;
    ~Unshift() { inputs.shift(input, 0.0); }
  } const unshift{inputs_, input};
  // For residuals, which are sines, cosines and products of prescribed values: errors of h^2 / 6 and eps / h.
  const double h_residual = std::cbrt(std::numeric_limits<double>::epsilon());
  const auto change = [&](const VectorX& dq, auto residual) {
    inputs_.shift(input, h_residual);
    const VectorX ahead = residual(VectorX(q + h_residual * dq));
    inputs_.shift(input, -h_residual);
    const VectorX behind = residual(VectorX(q - h_residual * dq));
    inputs_.shift(input, 0.0);
    return VectorX((ahead - behind) / (2.0 * h_residual));
  };
  const VectorX dq = system.solve_min_norm_change(
      now_, q, -change(none, [&](const VectorX& at) { return system.residual(now_, at); }));
  const VectorX dqd = system.solve_min_norm_change(
      now_, q, -change(dq, [&](const VectorX& at) { return system.velocity_residual(now_, at, qd); }));
  VectorX dy = VectorX::Zero(y_.size());
  dy << dq, dqd, VectorX::Zero(system.n_states());
  // For columns: limited by the rounding of forces, which depend on gaps far smaller than positions.
  const double h = std::sqrt(std::numeric_limits<double>::epsilon());
  std::vector<double> ahead, behind;
  inputs_.shift(input, h);
  fill_row(now_, y_ + h * dy, z_, ahead);
  inputs_.shift(input, -h);
  fill_row(now_, y_ - h * dy, z_, behind);
  for (std::size_t i = 0; i < ahead.size(); ++i) {
    const double difference = (ahead[i] - behind[i]) / (2.0 * h);
    ahead[i] = std::isnan(difference) ? 0.0 : difference;  // the centre of pressure without contact
  }
  return ahead;
}

IntegratorStatistics Simulation::statistics() const {
  IntegratorStatistics s =
      integrator_ ? integrator_->statistics() : IntegratorStatistics{.name = scenario_.analysis.integrator.name};
  s.steps += counted_before_.steps;
  s.rejected_steps += counted_before_.rejected_steps;
  s.rhs_evaluations += counted_before_.rhs_evaluations;
  s.jacobian_evaluations += counted_before_.jacobian_evaluations;
  s.restarts += counted_before_.restarts;
  return s;
}

bool Simulation::advance_to(double t, bool stop_at_events) {
  if (!(t >= now_ && t <= end_time())) {
    throw input_error("t", fmt::format("expected a time from {} s, the current time, to {} s, "
                                       "analysis.end_time; found {} s",
                                       now_, end_time(), t));
  }
  const std::int64_t switches = switches_;
  try {
    project_moved_constraints();
    do {
      while (committed_.t < t && !(pending_ && pending_->end() > t)) {
        const bool at_event = stop_at_events && switches_ != switches;
        if (!at_event && !stop_.stop_requested() && advance_step(t)) continue;
        (void)try_finish_commit();
        return false;
      }
    } while (!try_finish_commit());
  } catch (...) {
    // The original error is reported, not that the partner is unavailable.
    (void)refusal([this] { finish_commit(); });
    posted_.reset();
    pending_.reset();
    now_ = committed_.t;
    restart_due_ = true;
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
      const double t_attempted = integrator_->attempted_time();
      if (try_finish_commit()) repeat_step(t_attempted, e.what());
    }
    // A step with a pending commit is counted later.
    if (!pending_) check_progress();
  } catch (const Error& e) {
    const bool step_failed = e.code() == ErrorCode::solver_failed || e.code() == ErrorCode::recoverable;
    if (!step_failed) throw;
    pending_.reset();
    extrapolate_across_singularity(CrossingRule::after_failure());
    if (!pending_) throw Error(ErrorCode::solver_failed, e.what() + situation(), e.field());
  }
  return true;
}

void Simulation::find_step() {
  const double t_end = compute_max_step();
  if (restart_due_) restart_integrator();
  const bool locates_contact = !contact_at_step_ends();
  fresh_ = false;
  const StepResult step = integrator_->step(t_end);
  finish_commit();
  check_step(step);
  PairEventDetector::PairEvents pair_events;
  if (locates_contact) {
    const VectorX& y = committed_.y;
    pair_events = event_detector_->detect_events(committed_.t, model_.q(y), model_.qd(y), step, *integrator_, scheme_);
  }
  // Indices of joint roots start at the first of them.
  std::vector<int> joint_roots;
  for (const int root : step.roots) {
    if (root >= problem_->n_pair_roots()) joint_roots.push_back(root - problem_->n_pair_roots());
  }
  std::vector<std::size_t> joints = problem_->unilateral_joints().at_root(joint_roots);
  const double missed_depth = problem_->unilateral_joints().missed_penetration(model_.q(integrator_->y()), joints);
  if (missed_depth > 0.0) {
    repeat_step(step.t, fmt::format("a unilateral joint had an undetected impact between t = {} s and {} s, "
                                    "{:.3g} m deep",
                                    committed_.t, step.t, missed_depth));
  } else if (pair_events.missed) {
    repeat_step(step.t, fmt::format("'{}' had an undetected onset or separation between t = {} s and {} s, by "
                                    "{:.3g} m",
                                    model_.trackers()[*pair_events.missed].pair(), committed_.t, step.t,
                                    pair_events.missed_penetration_depth));
  } else if (!step.inside || !pair_events.switching.empty() || pair_events.slip_ends || !joints.empty()) {
    step_size_ = step.step_size;
    pending_ = std::make_unique<PendingStep>(*this, step, std::move(pair_events), std::move(joints));
  }
  // Else a gap passed a minimum above zero, or rounding changed its sign: the integrator continues in its step.
}

double Simulation::compute_max_step() {
  // Outputs of FMUs change at their communication points.
  const double latest = fmus_.next_after(committed_.t, end_time());
  if (!scheme_.has_macro_steps()) return latest;
  Trial trial(*this);
  const double end = scheme_.plan(committed_.t, latest, trial);
  // Forces jump at the start of a macro step.
  if (std::exchange(macro_end_, end) != end && !fresh_) restart_due_ = true;
  return end;
}

/// An invalid step ends the run; an inaccurate one is reported, because fixed steps do not control their error.
void Simulation::check_step(const StepResult& step) {
  const std::string& name = scenario_.analysis.integrator.name;
  const std::string loose = check_accepted_state(model_.system(), step.t, integrator_->y(), integrator_->quadratures());
  if (!loose.empty() && !std::exchange(reported_violation_, true)) {
    listener_->on_log("warning",
                      fmt::format("joints are inaccurate: '{}' is violated by more than {:g} of the magnitude of the "
                                  "motion at t = {} s; the step is too large for {}",
                                  loose, warning_violation.position, step.t, name));
  }
  report_unfinished_impacts();
  report_unsolved_impacts();
  constexpr double notable = 1e-3;
  step_errors_ += step.error;
  if (step_errors_ <= notable || std::exchange(reported_step_errors_, true)) return;
  listener_->on_log(
      "warning",
      fmt::format("{}: the step of {:g} s is too large: the estimated errors of the steps up to t = {:.6g} s "
                  "add up to {:.2g} of the magnitude of the motion. A tenth of the step divides them by ten thousand; "
                  "arkode_erk and cvode_index1 control the step size",
                  name, step.step_size, step.t, step_errors_));
}

/// Reports the first sequence of impacts without end, after which another impact law is used.
void Simulation::report_unfinished_impacts() {
  const auto& unfinished_impacts = model_.rigid_contacts().unfinished_impacts();
  if (!unfinished_impacts || std::exchange(reported_unfinished_impacts_, true)) return;
  std::vector<std::string> names;
  for (const std::size_t pair : unfinished_impacts->pairs) names.push_back(model_.pair_names()[pair]);
  listener_->on_log(
      "warning",
      fmt::format(
          "impact_law sequential: expected at most {0} sequential impacts of bodies in contact at one "
          "instant, found {0} at t = {1:.10g} s and a remaining approach of {2:.3g} m/s in '{3}'; a simultaneous "
          "impact of all contacts follows, as with impact_law: newton, from the velocities reached. Large mass ratios "
          "and a restitution near 1 cause such sequences: reduce the restitution, or use newton or poisson "
          "for these pairs (reported once)",
          unfinished_impacts->impacts, unfinished_impacts->t, unfinished_impacts->approach, fmt::join(names, "', '")));
}

/// Reports the first friction problem without a solution.
void Simulation::report_unsolved_impacts() {
  if (model_.rigid_contacts().unsolved_impacts().count == 0 || std::exchange(reported_unsolved_impacts_, true)) return;
  listener_->on_log("warning", *unsolved_impacts());
}

std::optional<std::string> Simulation::unsolved_impacts() const {
  const RigidContactSet::UnsolvedImpacts& found = model_.rigid_contacts().unsolved_impacts();
  if (found.count == 0) return std::nullopt;
  std::vector<std::string> names;
  for (const std::size_t pair : found.pairs) names.push_back(model_.pair_names()[pair]);
  return fmt::format(
      "rigid contact with friction: expected impulses that satisfy Coulomb's law to 1e-9, found none {} time(s) so "
      "far, first at t = {:.10g} s in '{}'; impulses within the friction cones were used that prevent penetration "
      "and create no energy, if necessary without friction. Use a smaller step or a smaller coefficient of "
      "friction",
      found.count, found.t, fmt::join(names, "', '"));
}

bool Simulation::commit_step() {
  if (!listener_->on_step(*pending_)) return false;
  const std::unique_ptr<PendingStep> step = std::move(pending_);
  commit_state(*step);
  if (step->is_crossing()) {
    restart_integrator();
    return true;
  }
  if (!step->is_event()) clear_max_step();
  if (step->is_event() || needs_restart()) {
    finish_commit();  // a run resumed here has no pending response
    reset_repetitions();
    restart_integrator();
  }
  listener_->on_commit();
  if (fresh_) {
    // Before any action that a run resumed here would not do.
    listener_->on_restart_point();
    return true;
  }
  singularities_->record(committed_.t, committed_.y);
  extrapolate_across_singularity(CrossingRule::before(index2_));
  return true;
}

/// Without events the integrator is restarted after a number of steps, which is reproducible (not by wall time), so
/// that a run can be resumed with little repeated work.
bool Simulation::needs_restart() {
  if (scheme_.has_macro_steps() && committed_.t >= macro_end_) return true;
  return ++steps_since_restart_ >= max_steps_between_restarts && !max_step_size_;
}

void Simulation::commit_state(PendingStep& step) {
  finish_commit();
  VectorX& y = step.projected_end();
  if (step.defers_commit()) return commit_deferred(step, y);
  const auto responses = scheme_.accept(step.end(), model_.q(y), model_.qd(y));
  const double t_before = advance_state_to(step, y);
  event_detector_->accept(now_, responses);
  // Within a macro step the partner is not evaluated: contact is known at exchanges only.
  if (scheme_.has_macro_steps() && now_ < macro_end_) return;
  if (contact_at_step_ends()) {
    const auto mean_responses = model_.rigid_contacts().episode_responses(responses, model_.q(committed_.y));
    store_responses(t_before, y, mean_responses);
    switch_pairs(switched_pairs(mean_responses), mean_responses);
    return;
  }
  store_responses(t_before, y, responses);
  switch_pairs(step.switching(), responses);
  if (!step.joints().empty()) {
    apply_joint_event(problem_->unilateral_joints().resolve_event(committed_.t, committed_.y, step.joints()));
  }
}

/// Makes the end of the step the committed state. @param y  in: of the end; out: of the preceding state
/// @returns [s] time of the preceding state
double Simulation::advance_state_to(const PendingStep& step, VectorX& y) {
  const double t_before = std::exchange(committed_.t, step.end());
  committed_.y.swap(y);
  committed_.z = step.end_z();
  now_ = committed_.t;
  model_.note_violation();
  return t_before;
}

/// Deferred commit, when no pair becomes active or inactive: it is sent with the next request, and the responses are
/// read on arrival.
void Simulation::commit_deferred(PendingStep& step, VectorX& y) {
  VectorX z_before = committed_.z;
  scheme_.accept_deferred(step.end(), model_.q(y), model_.qd(y));
  const double t_before = advance_state_to(step, y);
  event_detector_->forget();
  posted_ = CommittedState{.t = t_before, .y = std::move(y), .z = std::move(z_before)};
}

void Simulation::finish_commit() {
  if (!posted_) return;
  // If all pairs are open the responses are not needed: no wait.
  if (!states_.any_closed()) {
    for (std::size_t i = 0; i < model_.trackers().size(); ++i) vibrations_->forget(i);
    posted_.reset();
    return;
  }
  const auto responses = scheme_.accepted();
  const CommittedState before = std::move(*posted_);
  posted_.reset();
  event_detector_->accept(committed_.t, responses);
  listener_->on_commit_response();
  store_responses(before.t, before.y, responses);
}

bool Simulation::try_finish_commit() {
  try {
    finish_commit();
    return true;
  } catch (const RejectedCommit& refusal) {
    roll_back(refusal);
    return false;
  }
}

/// Rolls back to the state before the rejected commit, and retries with smaller steps.
void Simulation::roll_back(const RejectedCommit& refusal) {
  if (!posted_) throw refusal;
  const double t_rejected = committed_.t;
  committed_ = std::move(*posted_);
  posted_.reset();
  exchange_.roll_back_commit();
  now_ = committed_.t;
  repeat_step(t_rejected, refusal.what());
}

/// Processes the responses of a commit. @param y_before  a peak is known one step later
void Simulation::store_responses(double t_before, const VectorX& y_before, std::span<const Response> responses) {
  for (std::size_t i = 0; i < model_.trackers().size(); ++i) {
    if (!states_.closed(i)) {
      vibrations_->forget(i);
      continue;
    }
    // Forces of rigid bodies are means over steps and jump.
    if (!model_.rigid_contacts().rigid(i)) vibrations_->accept(i, committed_.t - t_before, responses[i]);
    model_.totals().committed_dissipation += responses[i].dissipated_increment;
    if (const auto impulse = model_.rigid_contacts().impact_impulse(i)) model_.trackers()[i].note_impact(*impulse);
    model_.trackers()[i].update(committed_.t, responses[i]);
    if (!model_.trackers()[i].passed_peak()) continue;
    notify({.kind = SimulationEvent::Kind::peak, .t = t_before, .pair = i, .y = &y_before});
  }
}

std::vector<std::size_t> Simulation::switched_pairs(std::span<const Response> responses) const {
  std::vector<std::size_t> pairs;
  for (std::size_t i = 0; i < responses.size(); ++i) {
    const bool touches = model_.rigid_contacts().rigid(i)
                             ? model_.rigid_contacts().touches(i, responses[i].gap, model_.q(committed_.y))
                             : touching(responses[i].gap, responses[i].gap_rate);
    if (states_.closed(i) != touches) pairs.push_back(i);
  }
  return pairs;
}

void Simulation::switch_pairs(std::span<const std::size_t> pairs, std::span<const Response> responses) {
  using Kind = SimulationEvent::Kind;
  for (const std::size_t pair : pairs) {
    progress_->count_switch(pair);
    ++switches_;
    EpisodeTracker& tracker = model_.trackers()[pair];
    if (states_.closed(pair)) {
      states_.set_closed(pair, false);
      const ContactEpisode& episode = model_.totals().finished.emplace_back(tracker.end(committed_.t, responses[pair]));
      notify({.kind = Kind::separation, .t = committed_.t, .pair = pair, .y = &committed_.y, .episode = &episode});
    } else {
      states_.set_closed(pair, true);
      tracker.begin(committed_.t, responses[pair]);
      notify({.kind = Kind::onset, .t = committed_.t, .pair = pair, .y = &committed_.y});
    }
  }
}

void Simulation::commit_partial_step() {
  if (!pending_) return;
  const std::unique_ptr<PendingStep> step = std::move(pending_);
  restart_due_ = true;
  if (now_ == committed_.t) return;
  try {
    step->cut(now_);
    (void)listener_->on_step(*step);
    commit_state(*step);
  } catch (...) {
    now_ = committed_.t;
    throw;
  }
}

/// Returns to the last commit and retries with smaller steps. Repetitions are counted until the run has passed the time
/// of the first failure, so that a run cannot stall before an obstacle.
void Simulation::repeat_step(double t_attempted, const std::string& reason) {
  pending_.reset();
  notify({.kind = SimulationEvent::Kind::rejected_step, .t = t_attempted, .reason = reason});
  repeat_end_ = std::max(repeat_end_, t_attempted);
  if (repeated_steps_ >= scenario_.analysis.integrator.max_rejections) {
    throw Error(ErrorCode::solver_failed,
                fmt::format("the step from t = {} s was repeated {} times with smaller steps without getting past t = "
                            "{} s. Last reason: {}",
                            committed_.t, repeated_steps_, repeat_end_, reason));
  }
  ++repeated_steps_;
  // A quarter, as in the integrators after a rejection; a rejection at the start of the step cannot be reduced.
  if (t_attempted > committed_.t) max_step_size_ = 0.25 * (t_attempted - committed_.t);
  restart_integrator();
}

void Simulation::clear_max_step() {
  // Only after the time of the failure: earlier, the same step would be repeated.
  if (!max_step_size_ || committed_.t < repeat_end_) return;
  max_step_size_.reset();
  repeated_steps_ = 0;
  integrator_->set_max_step(std::nullopt);
}

void Simulation::reset_repetitions() {
  max_step_size_.reset();
  repeated_steps_ = 0;
  repeat_end_ = committed_.t;
}

/// Applies closing or opening of joints, which changes the rows of the equations.
void Simulation::apply_joint_event(const UnilateralJoints::Event& event) {
  model_.totals().committed_dissipation += event.dissipated;
  committed_.z[EnergyQuadrature::external_work] += event.external_work;
  ++switches_;
  reset_integrator();
}

/// Creates a new integrator after a change of the system size. Counts are preserved.
void Simulation::reset_integrator() {
  problem_->reset_force_patterns();
  counted_before_ = statistics();
  integrator_ = make_integrator(scenario_.analysis.integrator, *problem_);
  ++counted_before_.restarts;
}

void Simulation::restart_integrator() {
  restart_due_ = false;
  // After an input has changed a force, or a driver has moved a body.
  UnilateralJoints& joints = problem_->unilateral_joints();
  if (joints.any() && joints.needs_event(model_.state(committed_.t, committed_.y))) {
    apply_joint_event(joints.resolve_event(committed_.t, committed_.y, {}));
  }
  // Not fresh with a step bound, which results from a rejected step.
  fresh_ = !max_step_size_;
  if (fresh_) steps_since_restart_ = 0;
  problem_->reset_factorisation();
  singularities_->forget();
  event_detector_->forget();
  exchange_.reset_bounds();
  integrator_->restart(committed_.t, committed_.y, committed_.z, max_step_size_, problem_->root_directions());
}

void Simulation::check_progress() {
  progress_->count_step(committed_.t, progress_->is_window_end() ? integrator_->statistics() : IntegratorStatistics{});
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
void Simulation::extrapolate_across_singularity(const CrossingRule& rule) {
  if (states_.any_closed() || problem_->unilateral_joints().any()) return;
  // Forces beyond a macro step are unknown.
  const double latest = scheme_.has_macro_steps() ? macro_end_ : fmus_.next_after(committed_.t, end_time());
  auto crossing = singularities_->crossing(rule.steps, rule.tolerance, latest);
  if (!crossing || touches(crossing->t, crossing->y)) return;
  const std::string text = fmt::format(
      "the joints are in a singular pose at t = {:.6g} s: the motion is continued across "
      "it by extrapolation from {:.6g} s to {:.6g} s",
      crossing->t_singular, committed_.t, crossing->t);
  if (!std::exchange(reported_singularity_, true)) listener_->on_log("info", text + "; later ones are not reported");
  notify({.kind = SimulationEvent::Kind::singularity_crossing, .t = crossing->t, .reason = text});
  // Work by the trapezoidal rule.
  // Intermediate states are not computed, so that powers are known at both ends only.
  const double h = crossing->t - committed_.t;
  VectorX z = committed_.z;
  VectorX power(z.size());
  problem_->quadrature_rhs(committed_.t, committed_.y, power);
  z += 0.5 * h * power;
  problem_->quadrature_rhs(crossing->t, crossing->y, power);
  z += 0.5 * h * power;
  step_size_ = 0.0;
  pending_ = std::make_unique<PendingStep>(*this, std::move(*crossing), std::move(z));
}

/// Diagnostics for a failure of the integration after the last committed step: pairs in contact, and the constraint
/// with the largest residual.
std::string Simulation::situation() {
  const auto& [t, y, z] = committed_;
  std::string text = fmt::format(" The last accepted step ended at t = {} s", t);
  std::vector<std::string> touching;
  for (std::size_t i = 0; i < model_.trackers().size(); ++i) {
    if (states_.closed(i)) touching.push_back("'" + model_.trackers()[i].pair() + "'");
  }
  text += touching.empty() ? std::string(" with no pair in contact")
                           : fmt::format(" with {} in contact", fmt::join(touching, ", "));
  System& system = model_.system();
  const MaxResidual worst = system.find_max_residual(t, model_.q(y), model_.qd(y));
  if (!worst.name.empty()) {
    text += fmt::format("; largest constraint residual there: '{}', {:.2g} in position", worst.name, worst.position);
  }
  text += find_fastest_body();
  // Far from a singular pose the value is of the order of one over the root of a mass.
  std::string weakest;
  double lightest = std::numeric_limits<double>::infinity();
  for (const auto& body : system.model().bodies) lightest = std::min(lightest, body.mass_properties.mass);
  const double size = system.compute_min_singular_value(t, model_.q(y), &weakest);
  if (size * size * lightest < nearly_dependent) {
    text += fmt::format("; the joints are close to a singular pose there, mainly '{}'", weakest);
  }
  if (!exchange_.last_rejection().empty()) text += "; the contact last rejected a state " + exchange_.last_rejection();
  return text + ".";
}

/// Describes the body with the largest acceleration; empty if unknown.
std::string Simulation::find_fastest_body() {
  const auto& [t, y, z] = committed_;
  System& system = model_.system();
  std::string name;
  double largest = 0.0;
  try {
    const VectorX& qdd = system.accelerations(model_.state(t, y)).qdd;
    for (std::size_t i = 0; i < system.model().bodies.size(); ++i) {
      const double a = qdd.segment<3>(coordinates_per_body * static_cast<Eigen::Index>(i)).norm();
      if (!(a > largest)) continue;
      largest = a;
      name = system.model().bodies[i].name;
    }
  } catch (const Error&) {
    return {};
  }
  return name.empty() ? std::string() : fmt::format("; largest acceleration there: '{}', {:.2g} m/s^2", name, largest);
}

}  // namespace heelstrike::mbs
