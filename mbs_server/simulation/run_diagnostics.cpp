#include "mbs_server/simulation/run_diagnostics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "common/errors/error.hpp"
#include "common/parameters/parameter.hpp"

namespace heelstrike::mbs {
namespace {

/// Threshold of the warning: bouncing contacts have some tens of periods.
constexpr std::int64_t min_vibration_periods = 50;
/// Threshold of the warning: fewer steps have negligible cost.
constexpr std::int64_t min_vibration_steps = 2000;
/// [-] steps per period above which the vibration does not limit the step size.
constexpr double max_steps_per_period = 300.0;
/// [-] squared smallest singular value times the lightest mass below which a failure is reported as close to a singular
/// pose.
constexpr double nearly_dependent = 1e-4;

bool within(const Violation& violation, const ViolationLimit& limit, const ConstVector& q, const ConstVector& qd) {
  // Axes are unit vectors, so that limits are absolute for models up to a metre and relative to their size beyond.
  return violation.position <= limit.position * std::max(1.0, q.lpNorm<Eigen::Infinity>()) &&
         violation.velocity <= limit.velocity * std::max(1.0, qd.lpNorm<Eigen::Infinity>());
}

/// Check of a state accepted by an integrator: all numbers are finite, and the joints are satisfied.
/// @returns the name of the constraint with the largest violation if above warning_violation, else an empty string
/// @throws Error{solver_failed} also with the constraint that is violated by more than `max_violation`
std::string check_accepted_state(System& system, double t, const VectorX& y, const VectorX& z) {
  require_numbers(system, t, y, z);
  const auto q = y.head(system.n_q());
  const auto qd = y.segment(system.n_q(), system.n_q());
  const Violation violation = system.violation(t, q, qd);
  if (within(violation, warning_violation, q, qd)) return {};
  // The name needs another evaluation, made only for the message.
  const MaxResidual worst = system.find_max_residual(t, q, qd);
  if (within(violation, max_violation, q, qd)) return worst.name;
  throw Error(
      ErrorCode::solver_failed,
      fmt::format("a step ended at t = {} s with '{}' violated by {:.2g} in position and {:.2g} in velocity, "
                  "more than {:g} and {:g} of the magnitude of the motion: the step is too large for the method. "
                  "Use a smaller analysis.integrator.step, or an integrator with projection (arkode_erk, "
                  "cvode_index1).",
                  t, worst.name, worst.position, worst.velocity, max_violation.position, max_violation.velocity));
}

/// Periods of a pair beyond this number do not change their median notably.
constexpr std::size_t max_known_periods = 10'000;

/// @pre not empty
double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// A parameter that damps the contact of the back-ends that have it.
struct DampingParameter {
  const char* name;
  double undamped;  ///< value without damping
  bool decreases;   ///< smaller values damp more
};
constexpr DampingParameter damping_parameters[] = {{"restitution", 1.0, true},
                                                   {"damping", 0.0, false},
                                                   {"dissipation", 0.0, false},
                                                   {"modal_damping", 0.0, false},
                                                   {"stick_damping", 0.0, false}};

/// How to damp the contact, given the effective values of its parameters.
std::string damping_advice(const PairDescription& pair) {
  std::vector<std::string> missing;
  std::vector<std::string> present;
  for (const DampingParameter& parameter : damping_parameters) {
    const auto value = optional_number(pair.parameters, parameter.name);
    if (!value) continue;
    if (*value == parameter.undamped) {
      missing.push_back(fmt::format("{} {} {:g}", parameter.name, parameter.decreases ? "below" : "above", *value));
    } else {
      present.push_back(fmt::format("{} {:g}", parameter.name, *value));
    }
  }
  if (!missing.empty()) return fmt::format("add contact damping ({})", fmt::join(missing, ", "));
  if (!present.empty()) return fmt::format("increase the contact damping (now {})", fmt::join(present, ", "));
  return fmt::format("use a back-end with contact damping ('{}' has none)", pair.backend);
}

}  // namespace

StallDetector::StallDetector(const AnalysisSpec& analysis, std::vector<std::string> pairs, double t)
    : integrator_(analysis.integrator.name),
      end_time_(analysis.end_time),
      budget_(analysis.budget),
      pairs_(std::move(pairs)),
      n_switches_(pairs_.size(), 0),
      start_(t),
      short_window_start_(t) {}

void StallDetector::count_step(double t, const IntegratorStatistics& statistics) {
  // Before a state that the model always rejects, an integrator may continue indefinitely with steps of the size of a
  // rounding error.
  constexpr int few = 200;
  constexpr double min_step = 16.0 * std::numeric_limits<double>::epsilon();  // relative to t
  if (++n_steps_ % few == 0) {
    if (t - short_window_start_ < few * min_step * t) {
      throw Error(ErrorCode::solver_failed, fmt::format("{} failed at t = {} s: {} steps advanced the time by only "
                                                        "{:.2g} s.",
                                                        integrator_, t, few, t - short_window_start_));
    }
    short_window_start_ = t;
  }
  if (n_steps_ < budget_.stalled_steps) return;
  if (t - start_ < min_progress() && t < end_time_) {
    throw Error(ErrorCode::solver_failed,
                fmt::format("{} makes no progress at t = {} s: {} steps (analysis.budget.stalled_steps) advanced the "
                            "time by only {:.2g} s of {} s: {}.",
                            integrator_, t, n_steps_, t - start_, end_time_, describe_step_limit(statistics)));
  }
  before_ = statistics;
  start_ = short_window_start_ = t;
  n_steps_ = 0;
  std::ranges::fill(n_switches_, 0);
}

/// A billionth of the run in this number of steps: the run would not end. A millionth would end within hours to weeks,
/// and is that of an honest run while it resolves a short impact; but not with steps shorter than the periods of the
/// vibrations of atoms, 1e-13 s, below which there is no motion of bodies.
double StallDetector::min_progress() const {
  constexpr double never = 1e-9, late = 1e-6;  // of the run
  constexpr double atomic_period = 1e-13;      // [s]
  return std::max(never * end_time_, std::min(late * end_time_, atomic_period * static_cast<double>(n_steps_)));
}

std::string StallDetector::describe_step_limit(const IntegratorStatistics& now) const {
  const auto worst = std::ranges::max_element(n_switches_);
  if (worst != n_switches_.end() && *worst > n_steps_ / 10) {
    return fmt::format("contact '{}' began or ended {} times",
                       pairs_[static_cast<std::size_t>(worst - n_switches_.begin())], *worst);
  }
  const std::int64_t rejected = now.rejected_steps - before_.rejected_steps;
  if (rejected > n_steps_ / 10) {
    return fmt::format(
        "{} steps were rejected because their error was too large, the iteration did not converge, or the "
        "model rejected the state",
        rejected);
  }
  return "no event or rejection ended them: the motion is that fast, or the tolerances require more than "
         "numbers "
         "of 16 digits provide";
}

void VibrationDetector::accept(std::size_t pair, double t, double step_size, const Response& response) {
  Pair& p = pairs_[pair];
  const double begin = t - step_size;
  if (p.known == 0) {
    p.add(p.last_onset, begin, 1.0);
    p.last_onset = {{begin, p.steps}};
    p.last_reversal.reset();
  }
  ++p.steps;
  const Vector3 change = response.F_A.force - p.force;
  // The force reverses when two successive changes have opposite directions. All components are used: friction vibrates
  // in the tangent plane, bodies in contact along the normal.
  if (p.known == 2 && change.dot(p.change) < 0.0) {
    ++p.n_reversals;
    p.add(p.last_reversal, begin, 2.0);
    p.last_reversal = {{begin, p.steps}};
  }
  p.force = response.F_A.force;
  p.change = change;
  p.known = std::min(p.known + 1, 2);
}

void VibrationDetector::Pair::add(const std::optional<Instant>& from, double t, double parts_per_period) {
  if (!from || durations.size() == max_known_periods) return;
  durations.push_back(parts_per_period * (t - from->t));
  n_steps.push_back(parts_per_period * static_cast<double>(steps - from->step));
}

std::optional<std::string> VibrationDetector::describe(std::span<const PairDescription> pairs, double atol) const {
  const auto worst = std::ranges::max_element(pairs_, {}, &Pair::n_reversals);
  if (worst == pairs_.end() || worst->steps < min_vibration_steps || worst->n_reversals < 2 * min_vibration_periods)
    return {};
  // Medians, because bodies also rest, or are apart, between their vibrations.
  const double steps_per_period = median_of(worst->n_steps);
  if (steps_per_period > max_steps_per_period) return {};
  const PairDescription& pair = pairs[static_cast<std::size_t>(worst - pairs_.begin())];
  return fmt::format(
      "'{}' vibrates in contact, at {:.3g} Hz, resolved with {:.0f} steps per period; the run has {} steps in this "
      "contact. If that vibration is not of interest {}, or raise analysis.integrator.atol (now {:g}) to the required "
      "accuracy",
      pair.name, 1.0 / median_of(worst->durations), steps_per_period, worst->steps, damping_advice(pair), atol);
}

RunDiagnostics::RunDiagnostics(const Scenario& scenario, CoupledModel& model, AssemblyLog log)
    : scenario_(scenario),
      model_(model),
      log_(std::move(log)),
      stall_(scenario.analysis, model.pair_names(), 0.0),
      vibrations_(model.trackers().size()) {}

void RunDiagnostics::restart_detection() {
  stall_ = StallDetector(scenario_.analysis, model_.pair_names(), model_.committed().t);
  vibrations_ = VibrationDetector(model_.trackers().size());
}

void RunDiagnostics::count_step(const Integrator& integrator) {
  stall_.count_step(model_.committed().t, stall_.is_window_end() ? integrator.statistics() : IntegratorStatistics{});
}

void RunDiagnostics::check_step(const StepResult& step, const Integrator& integrator) {
  const std::string& name = scenario_.analysis.integrator.name;
  const std::string loose = check_accepted_state(model_.system(), step.t, integrator.y(), integrator.quadratures());
  if (!loose.empty() && is_first(violation)) {
    log_("warning", fmt::format("joints are inaccurate: '{}' is violated by more than {:g} of the magnitude of the "
                                "motion at t = {} s; the step is too large for {}",
                                loose, warning_violation.position, step.t, name));
  }
  report_unfinished_impacts();
  if (model_.rigid_contacts().unsolved_impacts().count > 0 && is_first(unsolved_friction)) {
    log_("warning", *unsolved_impacts());
  }
  constexpr double notable = 1e-3;
  step_errors_ += step.error;
  if (step_errors_ <= notable || !is_first(step_errors)) return;
  log_("warning",
       fmt::format("{}: the step of {:g} s is too large: the estimated errors of the steps up to t = {:.6g} s "
                   "add up to {:.2g} of the magnitude of the motion. A tenth of the step divides them by ten thousand; "
                   "arkode_erk and cvode_index1 control the step size",
                   name, step.step_size, step.t, step_errors_));
}

/// Reports the first sequence of impacts without end, after which another impact law is used.
void RunDiagnostics::report_unfinished_impacts() {
  const auto& found = model_.rigid_contacts().unfinished_impacts();
  if (!found || !is_first(unfinished_impacts)) return;
  log_("warning",
       fmt::format(
           "impact_law sequential: expected at most {0} sequential impacts of bodies in contact at one "
           "instant, found {0} at t = {1:.10g} s and a remaining approach of {2:.3g} m/s in '{3}'; a simultaneous "
           "impact of all contacts follows, as with impact_law: newton, from the velocities reached. Large mass ratios "
           "and a restitution near 1 cause such sequences: reduce the restitution, or use newton or poisson "
           "for these pairs (reported once)",
           found->impacts, found->t, found->approach, join_names(found->pairs)));
}

std::optional<std::string> RunDiagnostics::unsolved_impacts() const {
  const RigidContactSet::UnsolvedImpacts& found = model_.rigid_contacts().unsolved_impacts();
  if (found.count == 0) return std::nullopt;
  return fmt::format(
      "rigid contact with friction: expected impulses that satisfy Coulomb's law to 1e-9, found none {} time(s) so "
      "far, first at t = {:.10g} s in '{}'; impulses within the friction cones were used that prevent penetration "
      "and create no energy, if necessary without friction. Use a smaller step or a smaller coefficient of "
      "friction",
      found.count, found.t, join_names(found.pairs));
}

std::string RunDiagnostics::join_names(const std::vector<std::size_t>& pairs) const {
  const std::vector<std::string> all = model_.pair_names();
  std::vector<std::string> names;
  for (const std::size_t pair : pairs) names.push_back(all[pair]);
  return fmt::format("{}", fmt::join(names, "', '"));
}

void RunDiagnostics::report_singularity(const std::string& text) {
  if (is_first(singularity)) log_("info", text + "; later ones are not reported");
}

std::string RunDiagnostics::describe_failure() {
  const auto& [t, y, z] = model_.committed();
  std::string text = fmt::format(" The last accepted step ended at t = {} s", t);
  std::vector<std::string> touching;
  for (std::size_t i = 0; i < model_.trackers().size(); ++i) {
    if (model_.contact_states().closed(i)) touching.push_back("'" + model_.trackers()[i].pair() + "'");
  }
  text += touching.empty() ? std::string(" with no pair in contact")
                           : fmt::format(" with {} in contact", fmt::join(touching, ", "));
  System& system = model_.system();
  const MaxResidual worst = system.find_max_residual(t, model_.q(y), model_.qd(y));
  if (!worst.name.empty()) {
    text += fmt::format("; largest constraint residual there: '{}', {:.2g} in position", worst.name, worst.position);
  }
  text += describe_fastest_body();
  // Far from a singular pose the value is of the order of one over the root of a mass.
  std::string weakest;
  double lightest = std::numeric_limits<double>::infinity();
  for (const auto& body : system.model().bodies) lightest = std::min(lightest, body.mass_properties.mass);
  const double size = system.compute_min_singular_value(t, model_.q(y), &weakest);
  if (size * size * lightest < nearly_dependent) {
    text += fmt::format("; the joints are close to a singular pose there, mainly '{}'", weakest);
  }
  if (!model_.exchange().last_rejection().empty())
    text += "; the contact last rejected a state " + model_.exchange().last_rejection();
  return text + ".";
}

/// Describes the body with the largest acceleration; empty if unknown.
std::string RunDiagnostics::describe_fastest_body() {
  const auto& [t, y, z] = model_.committed();
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
