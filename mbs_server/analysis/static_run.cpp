/// Static analysis: some coordinates are prescribed by drivers, all others are in equilibrium with loads, joints, force
/// elements and contact. One row at t = 0; if drivers or loads depend on time, one per time of the output grid (a
/// quasi-static sequence, each equilibrium computed from the preceding one). The initial state and each equilibrium are
/// committed to the contact: friction measures slip from the last commit, so the initial state is the reference of a
/// body that only friction supports.
///
/// The first equilibrium is approached by an overdamped motion M q' = g - Phi_q' lambda with implicit steps that grow
/// as the residual falls (pseudo-transient continuation, [kelley1998] in docs/references.bib): it decreases the
/// potential towards a stable equilibrium, which KINSOL completes. Unsupported coordinates stay in place.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "mbs_server/analysis/analysis_state.hpp"
#include "mbs_server/analysis/run_base.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/formulation/checks.hpp"
#include "mbs_server/formulation/load_force.hpp"
#include "mbs_server/formulation/static_form.hpp"
#include "mbs_server/integrators/kinsol_balance.hpp"
#include "mbs_server/simulation/run_table.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::mbs {
namespace {

/// Tolerance of an equilibrium: residual relative to the acting forces.
constexpr double residual_tolerance = 1e-10;
/// [1/m] gives constraint residuals of 1e-13 m the weight of a relative force residual of 1e-10.
constexpr double constraint_weight = 1e3;
/// Residual at which KINSOL replaces the overdamped motion.
constexpr double continuation_tolerance = 1e-4;
/// Residual at which KINSOL replaces a stagnating overdamped motion: its line search converges where the tangent
/// changes from step to step, as between the facets of meshes, but not from a large distance.
constexpr double max_continuation_residual = 1e-2;
/// [m, -] maximum change of a coordinate in one step: a twentieth of a radian.
constexpr double max_step_length = 0.05;
/// [m] below the thickness of any obstacle through which bodies could tunnel in a step: open surfaces are detected from
/// behind only to a depth of `search_distance`, some millimetres.
constexpr double min_obstacle_thickness = 1e-3;
constexpr int max_continuation_steps = 2000;
/// [1/s^2] initial resistance per mass of the overdamped motion, from a distant start and from the last equilibrium,
/// whose stiffness is that of the contact: with less, light loads would lose contact.
constexpr double initial_damping = 1e3;
constexpr double initial_damping_nearby = 1e5;
/// Limit of the overdamped motion from the last equilibrium, which usually takes ten steps.
constexpr int max_nearby_steps = 50;
/// Newton's method converges quadratically: more iterations indicate that there is no equilibrium nearby.
constexpr int max_newton_steps = 20;
/// Maximum number of bisections of the load step to an equilibrium.
constexpr int max_halvings = 3;
/// Equilibria for the prediction of the next one: a parabola through the last three.
constexpr std::size_t max_past_equilibria = 3;
/// [1/s^2] resistance per mass that keeps unsupported coordinates in place. The stiffness per mass of any support is
/// far larger (a pendulum of 1 km has 1e-2).
constexpr double min_damping = 1e-5;

class StaticRun final : public RunBase {
 public:
  StaticRun(const RunInput& input, CoupledModel& model, RunSink& sink, std::stop_token stop)
      : RunBase(input, model, sink, std::move(stop), true) {}

 private:
  [[nodiscard]] bool solve() override;
  [[nodiscard]] bool has_energy_balance() const override { return false; }
  void add_statistics(IntegratorStatistics& statistics) const override {
    statistics.name = input_.scenario.analysis.type;
    statistics.steps = n_equilibria_;
    statistics.rhs_evaluations = n_evaluations_;
    statistics.jacobian_evaluations = n_factorizations_;
  }
  [[nodiscard]] Checkpoint save() override {
    AnalysisState state;
    exchange_state(state);
    return save_with(state);
  }
  void begin();
  /// Writes the members besides the committed state, or reads them.
  void exchange_state(AnalysisState& state);
  void advance_to_next_equilibrium();
  void find_equilibrium_by_bisection(double t, int halvings);

  /// Moves the positions of {q, multipliers} onto the constraints; there are no velocities.
  void project_positions(double t, VectorX& x) {
    VectorX unused = VectorX::Zero(system_.n_q());
    system_.project(t, x.head(system_.n_q()), unused);
  }
  /// Begins a new search of an equilibrium from unknowns less than half a turn away from the last one.
  void restart_from(const VectorX& x) {
    x_ = x;
    system_.set_turn_references(start_turns_);
  }
  [[nodiscard]] bool depends_on_time() const;
  void commit_initial_state();
  void find_equilibrium(double t, bool by_continuation);
  [[nodiscard]] BalanceResult find_by_continuation(double t, const VectorX& start);
  [[nodiscard]] VectorX predict_equilibrium(double t) const;
  [[nodiscard]] BalanceResult find_by_newton(double t);
  [[nodiscard]] BalanceResult newton(double t);
  /// Weighted norm of F_ as in KINSOL.
  [[nodiscard]] double weighted_norm() const {
    const auto n = system_.n_q();
    double norm = F_.head(n).lpNorm<Eigen::Infinity>() / scale_;
    if (F_.size() > n) norm = std::max(norm, constraint_weight * F_.tail(F_.size() - n).lpNorm<Eigen::Infinity>());
    return norm;
  }
  void store_equilibrium(double t) {
    if (past_.size() == max_past_equilibria) past_.erase(past_.begin());
    past_.push_back({.t = t, .x = x_});
  }
  /// Stiff contact converts the rounding of positions to forces, which limits the tolerance. @pre a factor() near x_
  [[nodiscard]] double tolerance() const {
    const double rounding =
        1e-15 * (1.0 + x_.head(system_.n_q()).lpNorm<Eigen::Infinity>()) * form_->max_stiffness() / scale_;
    return std::max(residual_tolerance, rounding);
  }
  [[nodiscard]] bool approach(double t, double shift, int max_steps);
  [[nodiscard]] bool continuation_step(double t, double shift, double& norm);
  [[nodiscard]] std::vector<double> gaps(double t, const VectorX& x);
  [[nodiscard]] bool may_have_tunnelled(const std::vector<double>& gaps_now, double moved) const;
  [[nodiscard]] BalanceResult finish_equilibrium(double t);
  void measure_forces(double t) { scale_ = std::max(form_->force_scale(t, x_), 1e-12); }
  void count_evaluation();
  [[nodiscard]] double evaluate(double t, const VectorX& x);
  void accept_residual(double t, BalanceResult& result);
  [[noreturn]] void throw_no_equilibrium(double t, const std::string& reason);
  [[nodiscard]] std::string describe_residual(double t);
  [[nodiscard]] std::string describe_contact(double t);
  [[nodiscard]] VectorX external_forces(double t, const VectorX& q);

  std::unique_ptr<StaticForm> form_;
  VectorX x_, F_, trial_;
  VectorX start_turns_;  ///< references of angles at the last equilibrium, see System::turn_references
  double scale_ = 1.0;   ///< [N, N m] scale of the acting forces
  std::string last_rejection_;
  bool commits_during_approach_ = false;  ///< of approach(): stick points follow the motion
  std::vector<double> gaps_;              ///< [m] of the pairs at x_, on the way to an equilibrium
  VectorX past_external_forces_;          ///< [N, N m] external_forces() at the last equilibrium
  /// A past equilibrium.
  struct PastEquilibrium {
    double t = 0.0;  ///< [s]
    VectorX x;
  };
  std::vector<PastEquilibrium> past_;  ///< the last ones, oldest first
  std::int64_t next_row_ = 1;          ///< of the grid
  std::int64_t n_equilibria_ = 0, n_evaluations_ = 0, n_factorizations_ = 0;
};

bool StaticRun::depends_on_time() const {
  const Model& model = system_.model();
  const auto changes = [](const auto& force) { return force->depends_on_time(); };
  return !model.drivers.empty() || std::ranges::any_of(system_.forces(), changes) ||
         std::ranges::any_of(model.loads, [](const Load& load) {
           return std::ranges::any_of(load.functions, [](const auto& f) { return f != nullptr; });
         });
}

void StaticRun::count_evaluation() {
  check_stop(stop_);
  const std::int64_t most = input_.scenario.analysis.budget.evaluations;
  if (++n_evaluations_ <= most) return;
  throw limit_error(
      "analysis.budget.evaluations",
      fmt::format("the equilibrium equations were evaluated {} times, as often as analysis.budget.evaluations allows; "
                  "raise it, or start closer to the equilibrium",
                  most));
}

/// Norm of the residual: forces relative to their scale, constraints in their units; stores F in F_.
double StaticRun::evaluate(double t, const VectorX& x) {
  count_evaluation();
  form_->residual(t, x, F_);
  const auto n = system_.n_q();
  double norm = F_.head(n).lpNorm<Eigen::Infinity>() / scale_;
  if (F_.size() > n) norm = std::max(norm, F_.tail(F_.size() - n).lpNorm<Eigen::Infinity>());
  return norm;
}

std::vector<double> StaticRun::gaps(double t, const VectorX& x) {
  const auto n = system_.n_q();
  std::vector<double> gaps;
  for (const Response& response : exchange_.responses(t, x.head(n), VectorX::Zero(n))) gaps.push_back(response.gap);
  return gaps;
}

/// True if a pair that is open at both ends of a step may have touched in between.
bool StaticRun::may_have_tunnelled(const std::vector<double>& gaps_now, double moved) const {
  if (moved <= min_obstacle_thickness) return false;
  for (std::size_t i = 0; i < gaps_.size(); ++i) {
    if (gaps_[i] > 0.0 && gaps_now[i] > 0.0 && moved > gaps_[i]) return true;
  }
  return false;
}

/// One implicit step of the overdamped motion. @returns false when the step was too long and must be repeated
bool StaticRun::continuation_step(double t, double shift, double& norm) {
  const auto n = system_.n_q();
  try {
    form_->factor(t, x_, shift);
    ++n_factorizations_;
    trial_ = -F_;
    form_->solve(trial_);
    if (!trial_.allFinite() || trial_.head(n).lpNorm<Eigen::Infinity>() > max_step_length) return false;
    trial_ += x_;
    project_positions(t, trial_);
    const double reached = evaluate(t, trial_);
    // A tenfold growth of the residual indicates penetration of a stiff body.
    if (!(reached <= std::max(10.0 * norm, continuation_tolerance)) || !std::isfinite(reached)) return false;
    std::vector<double> gaps_now = gaps(t, trial_);
    if (may_have_tunnelled(gaps_now, (trial_ - x_).head(n).lpNorm<Eigen::Infinity>())) return false;
    if (commits_during_approach_) (void)exchange_.commit(t, trial_.head(n), VectorX::Zero(n));
    gaps_ = std::move(gaps_now);
    x_ = trial_;
    norm = reached;
    system_.accept_turn_references(x_.head(n));
    return true;
  } catch (const RecoverableError& e) {
    last_rejection_ = e.what();
    return false;
  }
}

/// @param shift  [1/s^2] initial resistance per mass
bool StaticRun::approach(double t, double shift, int max_steps) {
  measure_forces(t);
  double norm = evaluate(t, x_);
  gaps_ = gaps(t, x_);
  for (int step = 0; step < max_steps && norm > continuation_tolerance; ++step) {
    check_stop(stop_);
    const double before = norm;
    if (continuation_step(t, shift, norm)) {
      // Steps grow as the residual falls, and also over long distances with constant force.
      shift = std::max(min_damping, shift * std::clamp(norm / before, 0.1, 0.6));
    } else {
      (void)evaluate(t, x_);
      shift *= 4.0;
      if (shift > 1e18) break;
    }
  }
  return norm <= max_continuation_residual;
}

/// Extrapolates all unknowns through the past equilibria to the next one.
VectorX StaticRun::predict_equilibrium(double t) const {
  VectorX x = VectorX::Zero(x_.size());
  for (const PastEquilibrium& here : past_) {
    double share = 1.0;  // Lagrange polynomial of this equilibrium
    for (const PastEquilibrium& other : past_) {
      if (&other != &here) share *= (t - other.t) / (here.t - other.t);
    }
    x += share * here.x;
  }
  return x;
}

/// Newton's method from x_ with the exact tangent and without line search, while every step reduces the residual: near
/// an equilibrium it needs one contact evaluation for each doubling of the digits.
BalanceResult StaticRun::newton(double t) {
  const auto n = system_.n_q();
  BalanceResult result;
  measure_forces(t);
  (void)evaluate(t, x_);
  result.norm = weighted_norm();
  while (result.iterations < max_newton_steps) {
    form_->factor(t, x_, min_damping);
    ++n_factorizations_;
    result.converged = result.norm <= tolerance();
    if (result.converged) break;
    trial_ = -F_;
    form_->solve(trial_);
    if (!trial_.allFinite() || trial_.head(n).lpNorm<Eigen::Infinity>() > max_step_length) break;
    trial_ += x_;
    ++result.iterations;
    (void)evaluate(t, trial_);
    const double reached = weighted_norm();
    if (!(reached < result.norm)) break;
    x_ = trial_;
    result.norm = reached;
  }
  return result;
}

/// The equilibrium near the predicted one, else the limit of the overdamped motion from the last one. Not converged =
/// another method is required.
BalanceResult StaticRun::find_by_newton(double t) {
  const auto n = system_.n_q();
  BalanceResult result;
  const auto attempt = [&](const VectorX& from, bool overdamped) {
    try {
      restart_from(past_.back().x);
      project_positions(t, x_);
      const VectorX last = x_.head(n);
      x_ = from;
      project_positions(t, x_);
      // The predicted change of free coordinates is limited to a step of the line search.
      if ((x_.head(n) - last).lpNorm<Eigen::Infinity>() > max_step_length) return false;
      if (!overdamped || approach(t, initial_damping_nearby, max_nearby_steps)) result = newton(t);
    } catch (const RecoverableError& e) {
      last_rejection_ = e.what();
      result.converged = false;
    }
    return result.converged;
  };
  if (past_.size() == max_past_equilibria && attempt(predict_equilibrium(t), false)) return result;
  (void)attempt(past_.back().x, true);
  return result;
}

BalanceResult StaticRun::finish_equilibrium(double t) {
  const auto n = system_.n_q();
  measure_forces(t);
  const double norm = evaluate(t, x_);
  form_->factor(t, x_, min_damping);
  BalanceSettings settings;
  settings.F_scale = VectorX::Ones(x_.size());
  settings.F_scale.head(n) /= scale_;
  settings.F_scale.tail(x_.size() - n).setConstant(constraint_weight);
  // Only positions enter the length of a step.
  settings.x_scale = VectorX::Constant(x_.size(), 1e-6 / scale_);
  settings.x_scale.head(n).setOnes();
  settings.max_step_length = max_step_length * std::sqrt(static_cast<double>(n));
  settings.tolerance = tolerance();
  const BalanceEquations equations{.residual =
                                       [&](const auto& x, auto F) {
                                         count_evaluation();
                                         form_->residual(t, x, F);
                                       },
                                   .factor =
                                       [&](const auto& x) {
                                         ++n_factorizations_;
                                         form_->factor(t, x, min_damping);
                                       },
                                   .solve = [&](auto b) { form_->solve(b); }};
  if (norm <= settings.tolerance)
    return {.converged = true, .norm = norm, .iterations = 0, .evaluations = 0, .reason = {}};
  BalanceResult result = solve_balance(equations, settings, x_);
  if (!result.converged && result.norm <= input_.scenario.analysis.max_residual) accept_residual(t, result);
  return result;
}

/// Commits the initial state, from which friction measures slip, as the first step of the contact's history. It is
/// skipped if the contact rejects the initial state.
void StaticRun::commit_initial_state() {
  const auto n = system_.n_q();
  project_positions(0.0, x_);
  try {
    (void)exchange_.commit(0.0, x_.head(n), VectorX::Zero(n));
  } catch (const RecoverableError& e) {
    last_rejection_ = e.what();
  }
}

void StaticRun::accept_residual(double t, BalanceResult& result) {
  sink_.on_log("warning",
               fmt::format("equilibrium at t = {} s only to {:.1e} of the acting forces ({}); {}. Contact forces that "
                           "jump between the facets of a mesh allow no better one: use finer triangles, or an "
                           "`elastic_foundation` with `direction: normal`, whose forces are continuous",
                           t, result.norm, result.reason, describe_residual(t)));
  result.converged = true;
}

/// Finds an equilibrium by pseudo-transient continuation from a distant start, with fallbacks.
BalanceResult StaticRun::find_by_continuation(double t, const VectorX& start) {
  BalanceResult result;
  const auto attempt = [&](double shift, bool commits) {
    restart_from(start);
    project_positions(t, x_);
    commits_during_approach_ = commits;
    const bool near = approach(t, shift, max_continuation_steps);
    commits_during_approach_ = false;
    if (near) result = finish_equilibrium(t);
    return near;
  };
  if (attempt(initial_damping, false) && !result.converged) {
    // If forces jump between the facets of a mesh, one path may end and another converge.
    sink_.on_log("info", fmt::format("the path to the equilibrium at t = {} s ended at {:.1e} of the acting forces "
                                     "({}); repeated with shorter steps",
                                     t, result.norm, result.reason));
    (void)attempt(initial_damping_nearby, false);
  }
  if (!result.converged) {
    // Friction relative to a fixed distant stick point causes oscillation, and the motion does not converge. With
    // commits during the approach the stick points follow, as for slowly released bodies.
    sink_.on_log("info", fmt::format("the equilibrium at t = {} s is searched again with friction that follows the "
                                     "path from the start",
                                     t));
    (void)attempt(initial_damping, true);
  }
  if (!result.converged && result.reason.empty()) {
    result.reason = fmt::format("the overdamped motion did not converge in {} steps{}", max_continuation_steps,
                                last_rejection_.empty() ? "" : "; last rejection: " + last_rejection_);
  }
  return result;
}

void StaticRun::find_equilibrium(double t, bool by_continuation) {
  const auto n = system_.n_q();
  const VectorX start = x_;
  start_turns_ = system_.turn_references();
  for (std::size_t i = 0; i < states_.n_pairs(); ++i) states_.set_closed(i, true);
  BalanceResult result;
  try {
    if (!by_continuation) result = find_by_newton(t);
    if (!by_continuation && !result.converged) {
      // Newton's method stops at an edge between facets, which KINSOL's line search may pass, starting closer than from
      // the last equilibrium.
      if (result.iterations == 0) restart_from(start);
      project_positions(t, x_);
      result = finish_equilibrium(t);
    }
    if (!result.converged) result = find_by_continuation(t, start);
  } catch (const RecoverableError& e) {
    throw_no_equilibrium(t, e.what());
  }
  if (!result.converged)
    throw_no_equilibrium(t, fmt::format("{} after {} iterations", result.reason, result.iterations));
  ++n_equilibria_;
  store_equilibrium(t);
  committed_.y.head(n) = x_.head(n);
  committed_.y.segment(n, n).setZero();
  committed_.y.tail(system_.n_states()) = form_->states();
  committed_.t = t;
  system_.accept_turn_references(x_.head(n));
}

std::string StaticRun::describe_contact(double t) {
  std::string text;
  double largest = -1.0;
  const auto n = system_.n_q();
  const auto responses = exchange_.responses(t, x_.head(n), VectorX::Zero(n));
  for (std::size_t i = 0; i < exchange_.n_pairs(); ++i) {
    const double force = responses[i].F_A.force.norm();
    if (force <= largest) continue;
    largest = force;
    text = fmt::format("; contact '{}' exerts {:.4g} N at a gap of {:.4g} m", system_.model().pairs[i].name, force,
                       responses[i].gap);
  }
  return text;
}

/// Describes the largest residual and its body.
std::string StaticRun::describe_residual(double t) {
  (void)evaluate(t, x_);
  std::string text;
  double largest = -1.0;
  for (std::size_t i = 0; i < system_.model().bodies.size(); ++i) {
    const auto first = coordinates_per_body * static_cast<Eigen::Index>(i);
    const Wrench rest = wrench_of(x_.segment<12>(first), -F_.segment<12>(first));
    const double size = std::max(rest.force.norm(), rest.torque.norm());
    if (size <= largest) continue;
    largest = size;
    text = fmt::format("largest residual: {:.4g} N and {:.4g} N m on body '{}'", rest.force.norm(), rest.torque.norm(),
                       system_.model().bodies[i].name);
  }
  const MaxResidual worst = system_.find_max_residual(t, x_.head(system_.n_q()), VectorX::Zero(system_.n_q()));
  if (worst.position > 1e-9) text += fmt::format("; '{}' violated by {:.2g}", worst.name, worst.position);
  return text + describe_contact(t);
}

void StaticRun::throw_no_equilibrium(double t, const std::string& reason) {
  std::string what;
  try {
    what = describe_residual(t);
  } catch (const Error& e) {
    what = e.what();
  }
  throw Error(ErrorCode::solver_failed,
              fmt::format("static: no equilibrium found at t = {} s ({}); {}. Support it with a joint, a driver or a "
                          "spring, start closer to the equilibrium, or reduce output.interval; if contact forces jump "
                          "between the facets of a mesh, raise analysis.max_residual",
                          t, reason, what));
}

/// Generalised forces of loads and drivers at an equilibrium.
VectorX StaticRun::external_forces(double t, const VectorX& q) {
  const auto n = system_.n_q();
  VectorX g = VectorX::Zero(n);
  EnergyTerms unused;
  const VectorX rest = VectorX::Zero(n);
  const MotionState at{t, q, rest, form_->states()};
  for (const auto& load : system_.model().loads) LoadForce(load).add_forces(at, g, unused);
  const SparseMatrix& Phi_q = system_.jacobian(t, q);
  const VectorX& lambda = system_.accelerations(at).lambda;
  for (std::size_t i = 0; i < system_.constraints().size(); ++i) {
    if (!system_.constraints()[i]->depends_on_time()) continue;
    for (const BodyIndex body : system_.bodies_of(i)) {
      g.segment<12>(coordinates_per_body * static_cast<Eigen::Index>(body)) +=
          system_.constraint_force(i, body, Phi_q, lambda);
    }
  }
  return g;
}

void StaticRun::begin() {
  const auto n = system_.n_q();
  auto& [t, y, z] = committed_;
  x_.head(n) = model_.start().q;
  y = system_.start_y(0.0, model_.start().q, VectorX::Zero(n));
  z = VectorX::Zero(EnergyQuadrature::n);
  commit_initial_state();
  find_equilibrium(0.0, true);
  accept_initial_state(exchange_.commit(t, q(y), qd(y)));
  if (depends_on_time()) past_external_forces_ = external_forces(0.0, y.head(n));
}

void StaticRun::exchange_state(AnalysisState& state) {
  state.exchange("x", entries(x_));
  past_external_forces_.conservativeResize(system_.n_q());
  state.exchange("pushed", entries(past_external_forces_));
  std::int64_t n_past = std::ssize(past_);
  state.exchange("remembered", n_past);
  if (n_past < 1 || n_past > static_cast<std::int64_t>(max_past_equilibria)) {
    throw input_error("checkpoint", fmt::format("checkpoint: expected 1 to {} past equilibria of the static "
                                                "analysis, found {}; resume from another one, or restart the run",
                                                max_past_equilibria, n_past));
  }
  const Eigen::Index n = x_.size();
  past_.resize(static_cast<std::size_t>(n_past), {.t = 0.0, .x = VectorX::Zero(n)});
  VectorX times(n_past);
  VectorX unknowns(n_past * n);
  for (Eigen::Index k = 0; k < n_past; ++k) {
    times[k] = past_[static_cast<std::size_t>(k)].t;
    unknowns.segment(k * n, n) = past_[static_cast<std::size_t>(k)].x;
  }
  state.exchange("past_times", entries(times));
  state.exchange("past_unknowns", entries(unknowns));
  for (Eigen::Index k = 0; k < n_past; ++k) {
    past_[static_cast<std::size_t>(k)] = {.t = times[k], .x = unknowns.segment(k * n, n)};
  }
  state.exchange("next_row", next_row_);
  state.exchange("equilibria", n_equilibria_);
  state.exchange("evaluations", n_evaluations_);
  state.exchange("factorizations", n_factorizations_);
}

/// Advances from the last equilibrium to that at t, if necessary through intermediate ones without rows.
void StaticRun::find_equilibrium_by_bisection(double t, int halvings) {
  // Matrix pattern, pivots and initial states of Newton's method are those of the last equilibrium and not of the path
  // to it, so that a resumed run is bitwise equal.
  form_ = std::make_unique<StaticForm>(system_);
  form_->set_states(committed_.y.tail(system_.n_states()));
  system_.reset_factorisation();
  const double before = committed_.t;
  const VectorX q_before = committed_.y.head(system_.n_q());
  try {
    find_equilibrium(t, false);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::solver_failed || halvings == 0) throw;
    const double half = 0.5 * (before + t);
    sink_.on_log("info", fmt::format("no equilibrium found at t = {} s from that at {} s; bisected at t = {} s", t,
                                     before, half));
    restart_from(past_.back().x);
    find_equilibrium_by_bisection(half, halvings - 1);
    find_equilibrium_by_bisection(t, halvings - 1);
    return;
  }
  commit_prescribed_state();
  // Work between two equilibria by the trapezoidal rule.
  const auto q_now = committed_.y.head(system_.n_q());
  const VectorX now = external_forces(t, q_now);
  committed_.z[EnergyQuadrature::external_work] += 0.5 * (past_external_forces_ + now).dot(q_now - q_before);
  past_external_forces_ = now;
  model_.note_violation();
}

void StaticRun::advance_to_next_equilibrium() {
  auto& [t, y, z] = committed_;
  const double before = t;
  const double grid = input_.scenario.output.interval * static_cast<double>(next_row_++);
  find_equilibrium_by_bisection(grid >= end_time() * (1.0 - 1e-12) ? end_time() : grid, max_halvings);
  write_row(t, y, z);
  write_due_fields(t, y);
  report_progress(t - before);
}

bool StaticRun::solve() {
  if (model_.contact() != nullptr) check_no_vibrating_pairs(model_.contact()->pairs());
  form_ = std::make_unique<StaticForm>(system_);
  x_ = VectorX::Zero(form_->size());
  F_ = x_;
  if (resumed_) {
    AnalysisState state(resumed_->analysis);
    exchange_state(state);
    restore_resumed();
  } else {
    begin();
  }
  if (!depends_on_time()) {
    committed_.t = end_time();
    return true;
  }
  while (committed_.t < end_time()) {
    if (stop_.stop_requested()) return false;
    advance_to_next_equilibrium();
    if (committed_.t < end_time()) at_restart_point();
  }
  return true;
}

RunSummary run_static(const RunInput& input, const ContactFactory& open_contact, RunSink& sink, std::stop_token stop) {
  return run_with_model<StaticRun>(input, open_contact, sink, std::move(stop));
}

}  // namespace

AnalysisType static_analysis() {
  return {{{.name = "static",
            .meaning = "equilibrium of the coordinates without drivers",
            .keys = {config::max_residual_key()}},
           {}},
          run_static,
          nullptr,
          [](const Scenario&, std::span<const PairDescription> pairs) { check_no_vibrating_pairs(pairs); }};
}

}  // namespace heelstrike::mbs
