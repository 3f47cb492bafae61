#include "mbs_server/analysis/forward.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "common/errors/error.hpp"
#include "mbs_server/analysis/accepted_state.hpp"
#include "mbs_server/analysis/pair_watch.hpp"
#include "mbs_server/analysis/progress_watch.hpp"
#include "mbs_server/analysis/run_base.hpp"
#include "mbs_server/analysis/run_problem.hpp"
#include "mbs_server/analysis/singular_crossing.hpp"
#include "mbs_server/analysis/vibration_watch.hpp"
#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::mbs {
namespace {

/// When a singular pose is crossed by extrapolation: how many steps before it, and how well the far side must agree in
/// units of the tolerance per step. Normally before the integrator's next step could reach the pose; from farther away,
/// and less strictly, when the integrator has given up before it.
struct CrossingRule {
  double steps;
  double tolerance;
};
constexpr CrossingRule before_singularity{.steps = 2.0, .tolerance = 1.0};
/// The multipliers of the index-2 form suffer sooner, and its restarts need more distance.
constexpr CrossingRule before_singularity_index2{.steps = 6.0, .tolerance = 100.0};
constexpr CrossingRule after_failure{.steps = 1e6, .tolerance = 1e4};

/// [-] squared smallest singular value times the lightest mass below which a failure is told to be near a singular
/// pose.
constexpr double nearly_dependent = 1e-4;

/// One forward run; lives as long as the run.
class ForwardRun final : public RunBase {
 public:
  using RunBase::RunBase;

 private:
  [[nodiscard]] bool solve() override;
  void add_statistics(IntegratorStatistics& statistics) const override {
    if (integrator_) statistics = integrator_->statistics();
  }
  void add_columns(std::vector<Column>& columns) override {
    columns.push_back({"step_size_s", "s", "size of the integrator's step that the row lies in"});
  }
  void add_to_row(double /*t*/, const Eigen::VectorXd& /*y*/, std::vector<double>& row) override {
    row.push_back(row_step_size_);
  }
  void start();
  void resume(const Checkpoint& checkpoint);
  void integrate_step();
  void take_step();
  void check_step(const StepResult& step);
  void check_progress();
  [[nodiscard]] std::vector<std::string> pair_names() const;
  void restart_integrator();
  void try_step();
  void repeat_step(double t_attempted, const std::string& reason);
  void lift_step_limit();
  void accept(const StepResult& step, std::span<const std::size_t> switching);
  void switch_pairs(std::span<const std::size_t> pairs, std::span<const Response> responses);
  /// @returns false when the run was stopped meanwhile
  bool write_rows_until(double t, bool step_is_row);
  bool write_fields_until(double t);
  void checkpoint_if_due();
  bool cross_singularity(const CrossingRule& rule);
  [[nodiscard]] bool touches(double t, const Eigen::VectorXd& y);
  void write_rows_across(const SingularCrossing::Crossing& crossing);
  [[nodiscard]] std::string situation();
  [[nodiscard]] std::string fastest_body();

  std::unique_ptr<RunProblem> problem_;
  std::unique_ptr<Integrator> integrator_;
  std::unique_ptr<SingularCrossing> singularities_;
  std::unique_ptr<PairWatch> watch_;
  bool told_singularity_ = false;
  std::optional<double> step_limit_;  ///< [s] while a step is being repeated with a smaller one
  double limited_until_ = 0.0;        ///< [s] end of the step that failed
  int repeated_steps_ = 0;            ///< since the run was last past `limited_until_`
  std::unique_ptr<ProgressWatch> progress_;
  std::unique_ptr<VibrationWatch> vibrations_;
  Eigen::VectorXd row_y_, row_z_;
  double next_checkpoint_ = 0.0;  ///< [s]
  double row_step_size_ = 0.0;    ///< [s] 0 = no step was made
  double step_errors_ = 0.0;      ///< sum of StepResult::error
  bool told_step_errors_ = false;
  bool told_violation_ = false;
};

void ForwardRun::start() {
  y_.resize(problem_->size());
  y_ << assembled_.q, assembled_.qd;
  z_ = Eigen::VectorXd::Zero(problem_->n_quadratures());
  problem_->project(0.0, y_);
  commit_initial_state();
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
  CheckpointFrame frame{.end_time = end_time(), .interval = input_.scenario.output.interval, .pairs = {}};
  for (const auto& tracker : trackers_) frame.pairs.push_back(tracker.pair());
  state_ = unseal(checkpoint, frame);
  const Eigen::Map<const Eigen::VectorXd> saved(checkpoint.state.data(),
                                                static_cast<Eigen::Index>(checkpoint.state.size()));
  t_ = checkpoint.time;
  y_ = saved.head(n);
  z_ = saved.tail(problem_->n_quadratures());
  if (contact_) contact_->restore_state(checkpoint.contact_states);
  coupling_->set_committed_step(checkpoint.step);
  fields_.skip_to(t_);
  for (std::size_t i = 0; i < trackers_.size(); ++i) {
    trackers_[i].set_state(state_.episodes.at(i));
    coupling_->set_closed(i, state_.closed.at(i) != 0);
  }
}

void ForwardRun::restart_integrator() {
  problem_->forget_pivots();
  singularities_->forget();
  watch_->forget();
  coupling_->forget_answer();
  const auto directions = problem_->root_directions();
  integrator_->restart(t_, y_, z_, step_limit_, directions);
}

/// Goes back to the last commit and comes again with smaller steps. Repetitions are counted until the run is past the
/// time where the first one failed, so that a run cannot creep towards an obstacle for ever.
void ForwardRun::repeat_step(double t_attempted, const std::string& reason) {
  limited_until_ = std::max(limited_until_, t_attempted);
  if (repeated_steps_ >= input_.scenario.analysis.integrator.max_rejections) {
    throw Error(ErrorCode::solver_failed,
                fmt::format("the step from t = {} s was repeated {} times with smaller steps without getting past t = "
                            "{} s. Last reason: {}",
                            t_, repeated_steps_, limited_until_, reason));
  }
  ++repeated_steps_;
  // A state that is refused where the step begins leaves nothing to be made smaller.
  if (t_attempted > t_) step_limit_ = 0.25 * (t_attempted - t_);
  restart_integrator();
}

void ForwardRun::lift_step_limit() {
  if (!step_limit_ || t_ < limited_until_) return;
  step_limit_.reset();
  repeated_steps_ = 0;
  integrator_->set_max_step(std::nullopt);
}

void ForwardRun::try_step() {
  if (!watch_->started()) watch_->start(t_, q(y_), qd(y_));
  const StepResult step = integrator_->step(end_time());
  check_step(step);
  const PairWatch::Verdict verdict = watch_->judge(step, *integrator_);
  if (verdict.missed) {
    repeat_step(step.t, fmt::format("'{}' touched or separated between t = {} s and {} s by {:.3g} m without being "
                                    "noticed",
                                    trackers_[*verdict.missed].pair(), t_, step.t, verdict.missed_distance));
  } else if (step.roots.empty() || !verdict.switching.empty()) {
    accept(step, verdict.switching);
  }
  // Else a gap passed a minimum above zero, or rounding changed the sign of one: the integrator goes on in its step.
}

/// A step that cannot be right ends the run; one that is hardly right is told, because fixed steps do not answer to
/// their error.
void ForwardRun::check_step(const StepResult& step) {
  const std::string loose = require_sound_state(system_, step.t, integrator_->y(), integrator_->quadratures());
  if (!loose.empty() && !told_violation_) {
    told_violation_ = true;
    sink_.on_log("warning",
                 fmt::format("joints do not hold well: '{}' is violated by more than {:g} of the size of the motion at "
                             "t = {} s; the step is too large for {}",
                             loose, notable_violation.position, step.t, input_.scenario.analysis.integrator.name));
  }
  constexpr double notable = 1e-3;
  step_errors_ += step.error;
  if (told_step_errors_ || step_errors_ <= notable) return;
  told_step_errors_ = true;
  sink_.on_log(
      "warning",
      fmt::format("{}: the step of {:g} s is too large: the estimated errors of the steps up to t = {:.6g} s "
                  "add up to {:.2g} of the size of the motion. A tenth of the step divides them by ten thousand; "
                  "arkode_erk and cvode_index1 find the step themselves",
                  input_.scenario.analysis.integrator.name, step.step_size, step.t, step_errors_));
}

void ForwardRun::take_step() {
  try {
    try_step();
  } catch (const RecoverableError& e) {
    // A free flight that ended deep inside the partner, or a commit that failed at exactly the accepted state.
    repeat_step(integrator_->attempted_time(), e.what());
  }
}

void ForwardRun::accept(const StepResult& step, std::span<const std::size_t> switching) {
  const StepRows rows = input_.scenario.output.steps;
  const bool event = !switching.empty();
  row_step_size_ = step.step_size;
  const bool step_is_row = rows == StepRows::all || (rows == StepRows::contact && (event || coupling_->any_closed()));
  if (!write_fields_until(step.t) || !write_rows_until(step.t, step_is_row))
    return;  // stopped: the step is not committed
  const double t_before = t_;
  row_y_ = y_;  // of the step before: a peak is known one step later
  Eigen::VectorXd reached = integrator_->y();
  // A state at an event is interpolated within its step: it satisfies the constraints only to the step's accuracy.
  if (event) problem_->project(step.t, reached);
  const auto responses = coupling_->commit(step.t, q(reached), qd(reached));
  y_ = reached;
  t_ = step.t;
  z_ = integrator_->quadratures();
  watch_->accept(t_, responses);
  note_violation();
  for (std::size_t i = 0; i < trackers_.size(); ++i) {
    if (!coupling_->closed(i)) {
      vibrations_->forget(i);
      continue;
    }
    vibrations_->accept(i, t_ - t_before, responses[i]);
    state_.committed_dissipation += responses[i].dissipated_increment;
    trackers_[i].update(t_, responses[i]);
    if (trackers_[i].passed_peak()) write_event_fields(i, t_before, row_y_);
  }
  if (event) {
    switch_pairs(switching, responses);
    step_limit_.reset();
    repeated_steps_ = 0;
    limited_until_ = t_;
    restart_integrator();
  } else {
    lift_step_limit();
  }
  checkpoint_if_due();
  if (!event) {
    singularities_->look(t_, y_);
    (void)cross_singularity(input_.scenario.analysis.integrator.name == "ida_ggl" ? before_singularity_index2
                                                                                  : before_singularity);
  }
  tell_progress(step.step_size);
}

bool ForwardRun::touches(double t, const Eigen::VectorXd& y) {
  if (trackers_.empty()) return false;
  const auto responses = coupling_->responses(t, q(y), qd(y));
  return std::ranges::any_of(responses, [](const Response& r) { return r.gap <= 0.0; });
}

/// Contact is too stiff to be extrapolated over: with a pair in touch the integrator has to find its way alone.
bool ForwardRun::cross_singularity(const CrossingRule& rule) {
  if (coupling_->any_closed()) return false;
  const auto crossing = singularities_->crossing(rule.steps, rule.tolerance, end_time());
  if (!crossing || touches(crossing->t, crossing->y)) return false;
  if (!told_singularity_) {
    sink_.on_log("info",
                 fmt::format("the joints are in a singular pose at t = {:.6g} s: the motion is continued across "
                             "it by extrapolation from {:.6g} s to {:.6g} s; later ones are not told",
                             crossing->t_singular, t_, crossing->t));
    told_singularity_ = true;
  }
  write_rows_across(*crossing);
  Eigen::VectorXd power(z_.size());
  problem_->quadrature_rhs(t_, y_, power);
  z_ += 0.5 * (crossing->t - t_) * power;
  problem_->quadrature_rhs(crossing->t, crossing->y, power);
  z_ += 0.5 * (crossing->t - t_) * power;
  (void)coupling_->commit(crossing->t, q(crossing->y), qd(crossing->y));
  t_ = crossing->t;
  y_ = crossing->y;
  note_violation();
  restart_integrator();
  return true;
}

void ForwardRun::write_rows_across(const SingularCrossing::Crossing& crossing) {
  row_step_size_ = 0.0;
  const double interval = input_.scenario.output.interval;
  VectorX q_row, qd_row, unused;
  for (double grid = interval * static_cast<double>(state_.next_row); grid < crossing.t;
       grid = interval * static_cast<double>(++state_.next_row)) {
    crossing.motion.at(grid, q_row, qd_row, unused);
    row_y_.resize(y_.size());
    row_y_ << q_row, qd_row;
    problem_->project(grid, row_y_);
    write_row(grid, row_y_, z_);
  }
}

void ForwardRun::switch_pairs(std::span<const std::size_t> pairs, std::span<const Response> responses) {
  for (const std::size_t pair : pairs) {
    progress_->count_switch(pair);
    if (coupling_->closed(pair)) {
      coupling_->set_closed(pair, false);
      write_event_fields(pair, t_, y_);
      state_.finished.push_back(trackers_[pair].end(t_, responses[pair]));
      sink_.on_episode(state_.finished.back());
    } else {
      coupling_->set_closed(pair, true);
      trackers_[pair].begin(t_, responses[pair]);
      write_event_fields(pair, t_, y_);
    }
  }
}

bool ForwardRun::write_rows_until(double t, bool step_is_row) {
  const double interval = input_.scenario.output.interval;
  // Times on the regular grid are products, not sums: no drift.
  for (double grid = interval * static_cast<double>(state_.next_row); grid < t;
       grid = interval * static_cast<double>(++state_.next_row)) {
    if (stop_.stop_requested()) return false;  // a body at rest takes steps of many thousand rows
    row_y_.resize(y_.size());
    row_z_.resize(z_.size());
    integrator_->interpolate(grid, row_y_, row_z_);
    problem_->project(grid, row_y_);
    write_row(grid, row_y_, row_z_);
  }
  const bool on_grid = interval * static_cast<double>(state_.next_row) == t;
  if (on_grid) ++state_.next_row;
  if (on_grid || step_is_row || t >= end_time()) write_row(t, integrator_->y(), integrator_->quadratures());
  return true;
}

bool ForwardRun::write_fields_until(double t) {
  for (auto due = fields_.next_time(); due && *due <= t; due = fields_.next_time()) {
    row_y_.resize(y_.size());
    row_z_.resize(z_.size());
    row_y_ = integrator_->y();
    if (*due < t) integrator_->interpolate(*due, row_y_, row_z_);
    problem_->project(*due, row_y_);
    if (stop_.stop_requested()) return false;
    write_fields(*due, row_y_);
  }
  return true;
}

void ForwardRun::checkpoint_if_due() {
  const auto interval = input_.scenario.output.checkpoint_interval;
  if (!interval || t_ < next_checkpoint_) return;
  next_checkpoint_ = *interval * static_cast<double>(first_after(*interval, t_));
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
                        .engine = {}};
  checkpoint.state.assign(y_.begin(), y_.end());
  checkpoint.state.insert(checkpoint.state.end(), z_.begin(), z_.end());
  seal(checkpoint, state_);
  sink_.on_checkpoint(checkpoint);
  // A resumed run starts the integrator here, and knows of no step that is being repeated; so does this one, so that
  // both continue with the same bits.
  step_limit_.reset();
  repeated_steps_ = 0;
  limited_until_ = t_;
  restart_integrator();
}

/// What to look at when the integration gives up after the last committed step: pairs in contact, and the constraint
/// that is violated most.
std::string ForwardRun::situation() {
  std::string text = fmt::format(" The last accepted step ended at t = {} s", t_);
  std::vector<std::string> touching;
  for (std::size_t i = 0; i < trackers_.size(); ++i) {
    if (coupling_->closed(i)) touching.push_back("'" + trackers_[i].pair() + "'");
  }
  text += touching.empty() ? std::string(" with no pair in contact")
                           : fmt::format(" with {} in contact", fmt::join(touching, ", "));
  const WorstConstraint worst = system_.worst_constraint(t_, q(y_), qd(y_));
  if (!worst.name.empty()) {
    text += fmt::format("; largest constraint residual there: '{}', {:.2g} in position", worst.name, worst.position);
  }
  text += fastest_body();
  // Far from any dependence the value is of the order of one over the root of a mass.
  std::string weakest;
  double lightest = std::numeric_limits<double>::infinity();
  for (const auto& body : system_.model().bodies) lightest = std::min(lightest, body.mass_properties.mass);
  const double size = system_.smallest_singular_value(t_, q(y_), &weakest);
  if (size * size * lightest < nearly_dependent) {
    text += fmt::format("; the joints are close to a singular pose there, '{}' most of all", weakest);
  }
  if (!coupling_->last_refusal().empty()) text += "; the contact last refused a state " + coupling_->last_refusal();
  return text + ".";
}

/// The body that is accelerated most; empty when nothing can be said.
std::string ForwardRun::fastest_body() {
  try {
    system_.solve_accelerations(t_, q(y_), qd(y_));
  } catch (const Error&) {
    return {};
  }
  std::string name;
  double largest = 0.0;
  for (std::size_t i = 0; i < system_.model().bodies.size(); ++i) {
    const double a = system_.qdd().segment<3>(coordinates_per_body * static_cast<Eigen::Index>(i)).norm();
    if (!(a > largest)) continue;
    largest = a;
    name = system_.model().bodies[i].name;
  }
  return name.empty() ? std::string() : fmt::format("; largest acceleration there: '{}', {:.2g} m/s^2", name, largest);
}

void ForwardRun::integrate_step() {
  try {
    take_step();
    check_progress();
  } catch (const Error& e) {
    const bool gave_up = e.code() == ErrorCode::solver_failed || e.code() == ErrorCode::recoverable;
    if (!gave_up) throw;
    if (cross_singularity(after_failure)) return;
    throw Error(ErrorCode::solver_failed, e.what() + situation(), e.field());
  }
}

void ForwardRun::check_progress() {
  progress_->count_step(t_, progress_->window_ends() ? integrator_->statistics() : IntegratorStatistics{});
  const std::int64_t most = input_.scenario.analysis.budget.steps;
  if (coupling_->committed_step() <= most || t_ >= end_time()) return;
  throw limit_error("analysis.budget.steps",
                    fmt::format("the run took {} steps to t = {} s of {} s, as many as analysis.budget.steps allows; "
                                "raise it, or loosen the tolerances",
                                most, t_, end_time()));
}

std::vector<std::string> ForwardRun::pair_names() const {
  std::vector<std::string> names;
  for (const auto& tracker : trackers_) names.push_back(tracker.pair());
  return names;
}

bool ForwardRun::solve() {
  problem_ = std::make_unique<RunProblem>(system_, *coupling_, stop_, input_.scenario.analysis.budget.evaluations);
  integrator_ = make_integrator(input_.scenario.analysis.integrator, *problem_);
  singularities_ = std::make_unique<SingularCrossing>(system_, input_.scenario.analysis.integrator);
  watch_ = std::make_unique<PairWatch>(*coupling_);
  vibrations_ = std::make_unique<VibrationWatch>(trackers_.size());
  progress_ = std::make_unique<ProgressWatch>(input_.scenario.analysis, pair_names());
  if (input_.resume_from) {
    resume(*input_.resume_from);
  } else {
    start();
  }
  if (const auto interval = input_.scenario.output.checkpoint_interval) {
    next_checkpoint_ = *interval * static_cast<double>(first_after(*interval, t_));
  }
  restart_integrator();
  while (t_ < end_time()) {
    if (stop_.stop_requested()) return false;
    integrate_step();
  }
  if (const auto finding = vibrations_->finding(pair_names())) sink_.on_log("warning", *finding);
  return true;
}

}  // namespace

RunSummary run_forward(const RunInput& input, const ContactFactory& open_contact, RunSink& sink, std::stop_token stop) {
  return ForwardRun(input, build_model(input.scenario), sink, std::move(stop)).run(open_contact);
}

}  // namespace heelstrike::mbs
