#include "mbs_server/coupling/macro_step_scheme.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::mbs {
namespace {

/// Fraction of a macro step below which a remainder at the end of the run is merged with the preceding step; far above
/// the rounding of a quotient of times.
constexpr double min_remainder = 1e-6;

/// Plausibility limit of the regions of a pair in a checkpoint.
constexpr std::size_t max_regions = 100'000;
constexpr std::size_t max_active_points = std::numeric_limits<int>::max();

}  // namespace

MacroStepScheme::MacroStepScheme(MacroStepOptions options, ContactExchange& exchange)
    : exchange_(exchange),
      past_(options.extrapolation, exchange.n_pairs()),
      options_(std::move(options)),
      progress_{.length = options_.macro_step,
                .statistics = {.scheme = options_.scheme},
                .now = std::vector<Response>(exchange.n_pairs())},
      acts_(exchange.n_pairs(), 0) {}

std::span<const Response> MacroStepScheme::responses(double t, const ConstVector& q, const ConstVector& qd) {
  const auto states = exchange_.kinematics_at(t, q, qd).states();
  for (std::size_t i = 0; i < progress_.now.size(); ++i) act(i, t, states[i], progress_.now[i]);
  return progress_.now;
}

std::span<const Response> MacroStepScheme::accept(double t, const ConstVector& q, const ConstVector& qd) {
  if (t < progress_.end) return responses(t, q, qd);
  const auto responses = exchange(t, q, qd);
  past_.add_exchange(t, responses, exchange_.kinematics().states());
  progress_.n_accepted += t > 0.0 ? 1 : 0;
  ++progress_.statistics.exchanges;
  progress_.end = t;
  update_acts();
  for (std::size_t i = 0; i < progress_.now.size(); ++i) {
    progress_.now[i].area = responses[i].area;
    progress_.now[i].p_ACop = responses[i].p_ACop;
    progress_.now[i].peak_pressure = responses[i].peak_pressure;
    progress_.now[i].normal_force = responses[i].normal_force;
    progress_.now[i].regions = responses[i].regions;
    progress_.now[i].statistics = responses[i].statistics;
  }
  return responses;
}

double MacroStepScheme::plan(double t, double t_end, TrialMotion& trial) {
  if (t < progress_.end) return progress_.end;
  for (;;) {
    const double end = next_end(t, t_end);
    if (!options_.control) {
      prepare(t, end, trial);
    } else if (!try_macro_step(t, end, trial)) {
      continue;
    }
    update_acts();
    return progress_.end = end;
  }
}

double MacroStepScheme::next_end(double t, double t_end) const {
  const double end =
      options_.control ? t + progress_.length : options_.macro_step * static_cast<double>(progress_.n_accepted + 1);
  return end + min_remainder * (end - t) < t_end ? end : t_end;
}

bool MacroStepScheme::try_macro_step(double t, double end, TrialMotion& trial) {
  const StepControl& control = *options_.control;
  const double length = end - t;
  double error = 0.0;
  try {
    prepare(t, end, trial);
    update_acts();
    error = energy_error(t, end, trial);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::solver_failed && e.code() != ErrorCode::recoverable) throw;
    reject_step(t, length, control.after_failure(length), e.what());
    return false;
  }
  const double next = control.next_length(error, length, degree());
  if (control.ratio(error, length) > 1.0) {
    reject_step(
        t, length, next,
        fmt::format("it creates or destroys {:.3g} J, {:.3g} W, coupling.step_control allows{}{}", error,
                    error / length,
                    control.limits().energy ? fmt::format(" {:.3g} J", *control.limits().energy) : std::string(),
                    control.limits().power ? fmt::format(" {:.3g} W", *control.limits().power) : std::string()));
    return false;
  }
  progress_.length = next;
  return true;
}

void MacroStepScheme::reject_step(double t, double length, double next_length, const std::string& why) {
  ++progress_.statistics.rejected_macro_steps;
  if (!options_.control->is_minimum(length)) {
    progress_.length = next_length;
    return;
  }
  throw Error(ErrorCode::solver_failed,
              fmt::format("the macro step of {:.3g} s from t = {} s has to be repeated, but is not longer than "
                          "coupling.step_control.min_step: {}; allow a smaller step, loosen the tolerance, or choose "
                          "another extrapolation or scheme.",
                          length, t, why),
              "coupling.step_control");
}

void MacroStepScheme::update_acts() {
  for (std::size_t i = 0; i < acts_.size(); ++i) acts_[i] = will_act(i) ? 1 : 0;
}

void MacroStepScheme::power_mismatch(double t, const VectorX& y, std::span<double> watts) {
  const auto n = exchange_.n_q();
  const auto responses = exchange_.responses(t, y.head(n), y.segment(n, n));
  const auto states = exchange_.kinematics().states();
  Response used;
  for (std::size_t i = 0; i < watts.size(); ++i) {
    act(i, t, states[i], used);
    watts[i] = std::abs(pair_power(used.F_A, states[i]) - pair_power(responses[i].F_A, states[i]));
  }
}

std::string MacroStepScheme::state_kind() const {
  return options_.scheme + " of " + stored_member_names();
}

std::string MacroStepScheme::save() const {
  NumberWriter to;
  to.add(progress_.end);
  to.add(progress_.length);
  to.add(static_cast<double>(progress_.n_accepted));
  to.add(static_cast<double>(progress_.statistics.exchanges));
  to.add(static_cast<double>(progress_.statistics.rejected_macro_steps));
  to.add(static_cast<double>(progress_.statistics.iterations));
  for (const Response& r : progress_.now) {
    for_each_stored_member([&](const hs::ResponseMember&, auto member) { to.add(r.*member); });
    to.add(static_cast<double>(r.statistics.active_points));
    to.add(static_cast<double>(r.regions.size()));
    for (const RegionLoad& region : r.regions) {
      for (const double number : {region.force, region.area, region.peak_pressure}) to.add(number);
      to.add(region.p_ACop);
    }
  }
  past_.save(to);
  save_scheme_state(to);
  return to.bytes(state_kind());
}

void MacroStepScheme::restore(const std::string& bytes) {
  NumberReader from(bytes, state_kind());
  Progress progress = progress_;
  restore_progress(from, progress);
  ForceExtrapolation past = past_;
  past.restore(from);
  // The derived class uses these; an exception of it must leave the state unchanged.
  std::swap(progress_, progress);
  std::swap(past_, past);
  try {
    restore_scheme_state(from);
  } catch (...) {
    std::swap(progress_, progress);
    std::swap(past_, past);
    throw;
  }
  update_acts();
}

void MacroStepScheme::restore_progress(NumberReader& from, Progress& to) {
  constexpr std::size_t max_count = std::size_t{1} << 53;
  to.end = from.next();
  to.length = from.next();
  to.n_accepted = static_cast<std::int64_t>(from.count(max_count));
  CouplingStatistics& statistics = to.statistics;
  for (std::int64_t* count : {&statistics.exchanges, &statistics.rejected_macro_steps, &statistics.iterations}) {
    *count = static_cast<std::int64_t>(from.count(max_count));
  }
  for (Response& r : to.now) {
    for_each_stored_member([&](const hs::ResponseMember&, auto member) { from.read(r.*member); });
    r.statistics.active_points = static_cast<int>(from.count(max_active_points));
    r.regions.resize(from.count(max_regions));
    for (RegionLoad& region : r.regions) {
      for (double* number : {&region.force, &region.area, &region.peak_pressure}) from.read(*number);
      from.read(region.p_ACop);
    }
  }
}

std::vector<config::KeySchema> macro_step_keys() {
  return {config::required(config::number("macro_step", "s", config::times,
                                          "interval of the exchanges; with step_control, the initial one")),
          step_control_key()};
}

config::KeySchema extrapolation_key(bool with_tangent, const std::string& meaning, const std::string& fallback) {
  config::KeySchema key = config::text("extrapolation", meaning);
  key.fallback = fallback;
  key.choices = {"0", "1", "2"};
  if (with_tangent) key.choices.emplace_back("tangent");
  return key;
}

void check_macro_steps(const config::Field& coupling, const Scenario& scenario) {
  const AnalysisSpec& analysis = scenario.analysis;
  if (!analysis.traits.finds_events) {
    coupling["scheme"].reject("a scheme without macro steps for an analysis without time integration",
                              fmt::format("'{}' with analysis.type: {}", coupling["scheme"].text(), analysis.type),
                              "remove the section `coupling`, or choose analysis.type: forward");
  }
  const config::Field field = coupling["macro_step"];
  const double macro_step = field.number();
  if (macro_step > analysis.end_time) {
    field.reject(fmt::format("at most the whole run, {} s (analysis.end_time)", analysis.end_time),
                 fmt::format("{} s", macro_step), "reduce it, or extend the run");
  }
  if (analysis.integrator.step && macro_step < *analysis.integrator.step) {
    field.reject(fmt::format("at least the step of the integrator, {} s", *analysis.integrator.step),
                 fmt::format("{} s", macro_step), "increase it, or reduce analysis.integrator.step");
  }
  config::check_grid(field, analysis.end_time, macro_step, analysis.budget.steps, "macro steps",
                     "analysis.budget.steps");
  check_step_control(coupling);
}

MacroStepOptions read_macro_steps(const Scenario& scenario) {
  const config::Field& keys = *scenario.coupling.keys;
  const config::Field extrapolation = keys["extrapolation"];
  const bool tangent = extrapolation.text() == "tangent";
  return {.scheme = scenario.coupling.scheme,
          .macro_step = keys["macro_step"].number(),
          .extrapolation = {.degree = tangent ? 0 : extrapolation.text().front() - '0', .tangent = tangent},
          .control = read_step_control(keys)};
}

}  // namespace heelstrike::mbs
