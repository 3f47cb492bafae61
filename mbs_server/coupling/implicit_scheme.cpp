#include "mbs_server/coupling/coupling_scheme.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mbs_server/coupling/acceleration.hpp"
#include "mbs_server/coupling/macro_step_scheme.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

struct ImplicitOptions {
  std::vector<std::string> pairs;  ///< names
  std::size_t substeps = 1;        ///< times in a macro step at which forces are iterated
  int degree = 1;                  ///< in time between them
  int max_iterations = 1;
  double relative = 0.0;  ///< [-]
  double force = 0.0;     ///< [N]
  double moment = 0.0;    ///< [N m]
};

/// Quantities of a wrench with separate norms: torque, then force.
constexpr Eigen::Index n_quantities = 2;

class Implicit final : public MacroStepScheme {
 public:
  Implicit(MacroStepOptions macro, ImplicitOptions options, ContactExchange& exchange,
           std::unique_ptr<Acceleration> acceleration);

 private:
  void prepare(double t, double end, TrialMotion& trial) override;
  void act(std::size_t pair, double t, const PairState& state, Response& response) const override;
  [[nodiscard]] bool will_act(std::size_t pair) const override;
  [[nodiscard]] int degree() const override { return options_.degree; }
  [[nodiscard]] double energy_error(double t, double end, TrialMotion& trial) override;
  std::span<const Response> exchange(double t, const ConstVector& q, const ConstVector& qd) override;
  void save_scheme_state(NumberWriter& to) const override;
  void restore_scheme_state(NumberReader& from) override;

  /// The guess before the first iteration: the polynomial through past exchanges.
  void predict(double t, double end);
  [[nodiscard]] VectorX wrenches() const;
  void set_wrenches(const VectorX& x);
  /// Response forces at the nodes to the motion under the nodal forces.
  [[nodiscard]] VectorX evaluate_partner(double end, TrialMotion& trial);
  /// Allowed change of each entry.
  [[nodiscard]] VectorX tolerances(const VectorX& response) const;
  /// Largest change of a wrench over its tolerance, and its pair.
  struct Change {
    double ratio = 0.0;
    std::size_t pair = 0;
    Eigen::Index quantity = 0;
    double value = 0.0, allowed = 0.0;
  };
  [[nodiscard]] Change max_change(const VectorX& x, const VectorX& response) const;
  [[noreturn]] void throw_failure(double t, double end, const Change& change) const;

  ImplicitOptions options_;
  std::unique_ptr<Acceleration> acceleration_;
  bool planned_ = false;                         ///< the nodes belong to the current macro step
  std::vector<double> times_;                    ///< [s] of the nodes: the last exchange, then the end of each sub-step
  std::vector<std::vector<ForceSample>> nodes_;  ///< of each node, one per pair
  std::vector<double> watts_;
};

Implicit::Implicit(MacroStepOptions macro, ImplicitOptions options, ContactExchange& exchange,
                   std::unique_ptr<Acceleration> acceleration)
    : MacroStepScheme(std::move(macro), exchange),
      options_(std::move(options)),
      acceleration_(std::move(acceleration)),
      times_(options_.substeps + 1, 0.0),
      nodes_(options_.substeps + 1, std::vector<ForceSample>(exchange.n_pairs(), ForceSample::Zero())),
      watts_(exchange.n_pairs()) {}

void Implicit::act(std::size_t pair, double t, const PairState& state, Response& response) const {
  past_.act(pair, t, state, response);  // for the gap
  if (!planned_) {
    set_sample(response, past_.newest(pair));
    return;
  }
  // The sub-step that contains t, and for a parabola the preceding one, or the second one for the first.
  const auto degree = static_cast<std::size_t>(options_.degree);
  const auto behind = std::upper_bound(times_.begin() + 1, times_.end() - 1, t);
  const auto last = std::max(static_cast<std::size_t>(behind - times_.begin()), degree);
  const SampleWeights weights = lagrange_weights(std::span(times_).subspan(last - degree, degree + 1), t);
  ForceSample sample = ForceSample::Zero();
  for (std::size_t k = 0; k <= degree; ++k) sample += weights[k] * nodes_[last - degree + k][pair];
  set_sample(response, sample);
}

bool Implicit::will_act(std::size_t pair) const {
  if (!planned_) return past_.acts(pair);
  return std::ranges::any_of(nodes_, [&](const auto& node) { return !node[pair].isZero(0.0); });
}

void Implicit::predict(double t, double end) {
  const auto n = static_cast<double>(options_.substeps);
  for (std::size_t k = 0; k < times_.size(); ++k) {
    times_[k] = k == options_.substeps ? end : t + (end - t) * (static_cast<double>(k) / n);
    for (std::size_t i = 0; i < n_pairs(); ++i) {
      nodes_[k][i] = k == 0 ? past_.newest(i) : past_.polynomial(i, times_[k]);
    }
  }
  planned_ = true;
}

VectorX Implicit::wrenches() const {
  VectorX x(static_cast<Eigen::Index>(6 * options_.substeps * n_pairs()));
  Eigen::Index at = 0;
  for (std::size_t k = 1; k < nodes_.size(); ++k) {
    for (const ForceSample& sample : nodes_[k]) {
      x.segment<6>(at) = sample.head<6>();
      at += 6;
    }
  }
  return x;
}

void Implicit::set_wrenches(const VectorX& x) {
  Eigen::Index at = 0;
  for (std::size_t k = 1; k < nodes_.size(); ++k) {
    for (ForceSample& sample : nodes_[k]) {
      sample.head<6>() = x.segment<6>(at);
      at += 6;
    }
  }
}

VectorX Implicit::evaluate_partner(double end, TrialMotion& trial) {
  update_acts();
  trial.restart(end);
  count_iteration();
  VectorX response(static_cast<Eigen::Index>(6 * options_.substeps * n_pairs()));
  std::vector<std::vector<ForceSample>> energies = nodes_;
  const auto n = exchange_.n_q();
  Eigen::Index at = 0;
  for (std::size_t k = 1; k < nodes_.size(); ++k) {
    const VectorX& y = trial.state_at(times_[k]);
    const auto responses = exchange_.responses(times_[k], y.head(n), y.segment(n, n));
    for (std::size_t i = 0; i < responses.size(); ++i) {
      const ForceSample sample = sample_of(responses[i]);
      response.segment<6>(at) = sample.head<6>();
      energies[k][i].tail<2>() = sample.tail<2>();
      at += 6;
    }
  }
  // Energies follow from the responses without iteration. They are set at the end of the trial.
  nodes_ = std::move(energies);
  return response;
}

VectorX Implicit::tolerances(const VectorX& response) const {
  VectorX tolerance(response.size());
  for (Eigen::Index at = 0; at < response.size(); at += 3) {
    const bool is_torque = at % 6 == 0;
    tolerance.segment<3>(at).setConstant((is_torque ? options_.moment : options_.force) +
                                         options_.relative * response.segment<3>(at).norm());
  }
  return tolerance;
}

Implicit::Change Implicit::max_change(const VectorX& x, const VectorX& response) const {
  const VectorX tolerance = tolerances(response);
  Change largest{.ratio = -1.0};
  for (Eigen::Index at = 0; at < x.size(); at += 3) {
    const double change = (response - x).segment<3>(at).norm();
    const double ratio = change / tolerance[at];
    if (ratio <= largest.ratio) continue;
    largest = {.ratio = ratio,
               .pair = static_cast<std::size_t>(at / 6) % n_pairs(),
               .quantity = at / 3 % n_quantities,
               .value = change,
               .allowed = tolerance[at]};
  }
  return largest;
}

void Implicit::prepare(double t, double end, TrialMotion& trial) {
  predict(t, end);
  if (n_pairs() == 0) return;
  VectorX x = wrenches();
  // Fallback for a guess that the partner rejects: held forces have led to the current state.
  VectorX valid(x.size());
  for (std::size_t k = 0; k + 1 < nodes_.size(); ++k) {
    for (std::size_t i = 0; i < n_pairs(); ++i) {
      valid.segment<6>(static_cast<Eigen::Index>(6 * (k * n_pairs() + i))) = past_.newest(i).head<6>();
    }
  }
  Change change;
  bool started = false;
  for (int i = 0; i < options_.max_iterations; ++i) {
    set_wrenches(x);
    VectorX response;
    try {
      response = evaluate_partner(end, trial);
    } catch (const Error& e) {
      const bool rejected = e.code() == ErrorCode::solver_failed || e.code() == ErrorCode::recoverable;
      if (!rejected || x == valid) throw;
      x = 0.5 * (x + valid);
      continue;
    }
    change = max_change(x, response);
    if (change.ratio <= 1.0) return;
    if (!std::exchange(started, true)) acceleration_->start(tolerances(response).cwiseInverse());
    valid = x;
    x = acceleration_->next(x, response);
  }
  throw_failure(t, end, change);
}

void Implicit::throw_failure(double t, double end, const Change& change) const {
  const bool is_torque = change.quantity == 0;
  throw Error(
      ErrorCode::solver_failed,
      fmt::format(
          "implicit coupling: the macro step from t = {} s to {} s has not converged after {} iterations "
          "(coupling.max_iterations): the {} of contact '{}' still changes by {:.3g} {}, and {:.3g} is allowed; "
          "reduce coupling.macro_step, choose acceleration: iqn_ils, raise max_iterations, or loosen the "
          "tolerances.",
          t, end, options_.max_iterations, is_torque ? "moment" : "force",
          options_.pairs.empty() ? std::string() : options_.pairs[change.pair], change.value, is_torque ? "N m" : "N",
          change.allowed),
      "coupling");
}

/// Forces agree with the responses at the nodes. Half-way between two nodes the mismatch of an interpolation of degree
/// 1 or 2 is at or near its maximum; its integral over the sub-step is 2/3 of the length times that value for both
/// degrees: s (1 - s) and s (1 - s)(1 + s).
double Implicit::energy_error(double /*t*/, double end, TrialMotion& trial) {
  constexpr double part = 2.0 / 3.0;
  trial.restart(end);
  double sum = 0.0;
  for (std::size_t k = 1; k < times_.size(); ++k) {
    const double middle = 0.5 * (times_[k - 1] + times_[k]);
    power_mismatch(middle, trial.state_at(middle), watts_);
    for (const double watts : watts_) sum += part * (times_[k] - times_[k - 1]) * watts;
  }
  return sum;
}

std::span<const Response> Implicit::exchange(double t, const ConstVector& q, const ConstVector& qd) {
  const auto responses = exchange_.commit(t, q, qd);
  planned_ = false;
  acceleration_->accept();
  return responses;
}

void Implicit::save_scheme_state(NumberWriter& to) const {
  to.add(planned_ ? 1.0 : 0.0);
  for (std::size_t k = 0; k < times_.size(); ++k) {
    to.add(times_[k]);
    for (const ForceSample& sample : nodes_[k]) to.add(sample);
  }
  acceleration_->save(to);
}

void Implicit::restore_scheme_state(NumberReader& from) {
  const bool planned = from.count(1) == 1;
  auto times = times_;
  auto nodes = nodes_;
  for (std::size_t k = 0; k < times.size(); ++k) {
    times[k] = from.next();
    for (ForceSample& sample : nodes[k]) from.read(sample);
  }
  acceleration_->restore(from);
  planned_ = planned;
  times_ = std::move(times);
  nodes_ = std::move(nodes);
}

config::KeySchema acceleration_key() {
  config::KeySchema key = config::text("acceleration", "acceleration of the iteration of the forces");
  key.fallback = "iqn_ils";
  for (const AccelerationEntry& entry : acceleration_registry()) {
    key.choices.push_back(entry.name);
    key.meaning += fmt::format("{} {}: {}", key.choices.size() == 1 ? "." : ";", entry.name, entry.meaning);
  }
  return key;
}

std::vector<config::KeySchema> implicit_keys() {
  using namespace config;  // NOLINT(google-build-using-namespace): a table of keys
  const Range counts{.min = 1.0, .max = 1e4};
  KeySchema interpolation = text("interpolation", "interpolation of the forces between the iterated times");
  interpolation.fallback = "linear";
  interpolation.choices = {"linear", "quadratic"};
  return {extrapolation_key(false,
                            "first guess of the forces of a macro step: the last force (0), or the polynomial of "
                            "degree 1 or 2 through the last forces since the onset of contact",
                            "1"),
          interpolation,
          {.name = "substeps",
           .kind = KeyKind::integer,
           .meaning = "equidistant times in a macro step at which the forces agree with the partner; at least 2 "
                      "for quadratic",
           .fallback = 1.0,
           .range = {.min = 1.0, .max = 1000.0}},
          acceleration_key(),
          {.name = "max_iterations",
           .kind = KeyKind::integer,
           .meaning = "of a macro step; without convergence the run ends, or the step is repeated if there is "
                      "step_control",
           .fallback = 50.0,
           .range = counts},
          number("relative_tolerance", "-", {.min = 0.0, .max = 1.0}, "relative tolerance of force and moment", 1e-6),
          number("force_tolerance", "N", {.min = 1e-15, .max = loads.max}, "absolute tolerance of the force", 1e-6),
          number("moment_tolerance", "N m", {.min = 1e-15, .max = loads.max},
                 "absolute tolerance of the moment about the main body's origin", 1e-6),
          number("relaxation", "-", {.min = 1e-6, .max = 1.0},
                 "factor on the first correction, and on each without acceleration; default 1 without "
                 "acceleration, else 0.5"),
          number("filter", "-", {.min = 0.0, .max = 0.1},
                 "for iqn_ils: minimum relative part of a past guess that is independent of newer ones; default "
                 "1e-3"),
          {.name = "reused_steps",
           .kind = KeyKind::integer,
           .meaning = "for iqn_ils: past macro steps whose guesses are reused; default 0",
           .range = {.min = 0.0, .max = 100.0}}};
}

void check_implicit(const config::Field& coupling, const Scenario& scenario) {
  check_macro_steps(coupling, scenario);
  if (coupling["interpolation"].text() == "quadratic" && coupling["substeps"].number() < 2.0) {
    coupling["substeps"].reject("at least 2 with interpolation: quadratic", coupling["substeps"].text(),
                                "a parabola needs the start and two more times of the macro step");
  }
  const AccelerationEntry& acceleration = config::type_named(acceleration_registry(), coupling["acceleration"].text());
  for (const char* key : {"filter", "reused_steps"}) {
    if (acceleration.has_columns || !coupling.has(key)) continue;
    coupling[key].reject("this key with acceleration: iqn_ils only",
                         fmt::format("it with '{}'", coupling["acceleration"].text()), "remove it");
  }
}

std::unique_ptr<CouplingScheme> make_implicit(const Scenario& scenario, ContactExchange& exchange,
                                              const ContactStates& /*states*/) {
  const config::Field& keys = *scenario.coupling.keys;
  ImplicitOptions options{.pairs = {},
                          .substeps = static_cast<std::size_t>(keys["substeps"].number()),
                          .degree = keys["interpolation"].text() == "quadratic" ? 2 : 1,
                          .max_iterations = static_cast<int>(keys["max_iterations"].number()),
                          .relative = keys["relative_tolerance"].number(),
                          .force = keys["force_tolerance"].number(),
                          .moment = keys["moment_tolerance"].number()};
  for (const PairModel& pair : scenario.pairs) options.pairs.push_back(pair.spec.name);
  const AccelerationEntry& entry = config::type_named(acceleration_registry(), keys["acceleration"].text());
  constexpr double default_filter = 1e-3;
  auto acceleration =
      entry.make({.size = static_cast<Eigen::Index>(6 * options.substeps * exchange.n_pairs()),
                  .relaxation = keys.optional_number("relaxation").value_or(entry.relaxation),
                  .filter = keys.optional_number("filter").value_or(default_filter),
                  .reused_steps = static_cast<int>(keys.optional_number("reused_steps").value_or(0.0))});
  return std::make_unique<Implicit>(read_macro_steps(scenario), std::move(options), exchange, std::move(acceleration));
}

}  // namespace

CouplingSchemeEntry implicit() {
  CouplingSchemeEntry entry;
  entry.name = "implicit";
  entry.meaning = "forces of each macro step are iterated until they agree with the partner's response to the motion";
  entry.keys = macro_step_keys();
  const auto more = implicit_keys();
  entry.keys.insert(entry.keys.end(), more.begin(), more.end());
  entry.check = check_implicit;
  entry.make = make_implicit;
  return entry;
}

}  // namespace heelstrike::mbs
