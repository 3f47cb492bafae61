#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "common/errors/error.hpp"
#include "common/motion/scalar_function.hpp"
#include "mbs_server/elements/drivers/driver_type.hpp"
#include "mbs_server/elements/forces/hill_muscle.hpp"
#include "mbs_server/elements/forces/line_force.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::mbs {
namespace {

/// A spline through a column may overshoot the range of its rows slightly; larger deviations are errors.
constexpr double overshoot = 0.05;

/// Activation set by an analysis in place of that of the scenario.
struct ActivationControl {
  bool is_set = false;
  bool isometric = false;
  double activation = 0.0;
};

/// One muscle on its path: selects activation and fibre length as states and evaluates their tension.
class PathMuscle {
 public:
  PathMuscle(const ElementSpec& spec, HillMuscle muscle)
      : name_(spec.name),
        muscle_(muscle),
        elastic_(spec.keys["tendon"].text() == "elastic"),
        min_activation_(spec.keys["minimum_activation"].number()),
        rise_(spec.keys["activation_time"].number()),
        fall_(spec.keys["deactivation_time"].number()) {
    const auto given = [&](const char* key) {
      const auto found = spec.functions.find(key);
      return found == spec.functions.end() ? nullptr : resolved(found->second);
    };
    activation_ = given("activation");
    excitation_ = given("excitation");
  }

  /// The muscle with a control of its own.
  [[nodiscard]] PathMuscle controlled() const {
    PathMuscle copy = *this;
    copy.control_ = std::make_shared<ActivationControl>();
    return copy;
  }
  void set_activation(double activation, bool isometric) const {
    *control_ = {.is_set = true, .isometric = isometric, .activation = activation};
  }
  [[nodiscard]] double min_activation() const { return min_activation_; }
  [[nodiscard]] ActivationRange reachable(double before, double interval) const {
    return reachable_activations(std::clamp(before, min_activation_, 1.0), interval, min_activation_, rise_, fall_);
  }
  [[nodiscard]] const HillMuscle& muscle() const { return muscle_; }
  /// [N] dF/da at the activation set last.
  [[nodiscard]] double force_a(const LineMotion& at) const {
    if (control_->isometric) return muscle_.max_force;
    return muscle_.with_rigid_tendon(at.length, at.speed, control_->activation).by_activation;
  }

  [[nodiscard]] int n_states() const { return (excitation_ ? 1 : 0) + (elastic_ ? 1 : 0); }

  [[nodiscard]] Tension tension(const LineMotion& at, const ConstVector& s) const {
    if (control_->isometric) return {.force = control_->activation * muscle_.max_force};
    if (!elastic_) return muscle_.with_rigid_tendon(at.length, at.speed, activation(at.t, s)).tension;
    const auto tendon = muscle_.tendon_force(at.length, s[fiber_state()]);
    return {.force = tendon.force, .stiffness = tendon.by_length};
  }

  void start(const LineMotion& at, Eigen::Ref<VectorX> s) const {
    // The activation starts in steady state, equal to the excitation.
    if (excitation_) s[0] = limited(*excitation_, at.t);
    if (elastic_) s[fiber_state()] = muscle_.solve_fiber_equilibrium(at.length, activation(at.t, s));
  }

  void rates(const LineMotion& at, const ConstVector& s, Eigen::Ref<VectorX> f) const {
    if (excitation_) f[0] = activation_rate(limited(*excitation_, at.t), s[0], rise_, fall_).rate;
    if (elastic_) f[fiber_state()] = muscle_.fiber_rate(at.length, s[fiber_state()], activation(at.t, s)).rate;
  }

  void tangents(const LineMotion& at, const ConstVector& s, LineStateTangents& by) const {
    const int n = n_states();
    by.force_s = VectorX::Zero(n);
    by.f_length = VectorX::Zero(n);
    by.f_speed = VectorX::Zero(n);
    by.f_s = Eigen::MatrixXd::Zero(n, n);
    const double a = activation(at.t, s);
    const bool free = excitation_ && s[0] > min_activation_ && s[0] < 1.0;
    if (excitation_) by.f_s(0, 0) = activation_rate(limited(*excitation_, at.t), s[0], rise_, fall_).by_activation;
    if (!elastic_) {
      if (free) by.force_s[0] = muscle_.with_rigid_tendon(at.length, at.speed, a).by_activation;
      return;
    }
    const int k = fiber_state();
    by.force_s[k] = muscle_.tendon_force(at.length, s[k]).by_fiber;
    const auto rate = muscle_.fiber_rate(at.length, s[k], a);
    by.f_length[k] = rate.by_length;
    by.f_s(k, k) = rate.by_fiber;
    if (free) by.f_s(k, 0) = rate.by_activation;
  }

  void append_values(const LineMotion& at, const ConstVector& s, std::vector<double>& row) const {
    const double a = activation(at.t, s);
    const double fiber = elastic_ ? std::max(s[fiber_state()] * muscle_.optimal_length, muscle_.shortest())
                                  : muscle_.with_rigid_tendon(at.length, at.speed, a).fiber;
    row.insert(row.end(), {fiber, fiber / muscle_.optimal_length - 1.0, a});
  }

 private:
  [[nodiscard]] int fiber_state() const { return excitation_ ? 1 : 0; }

  [[nodiscard]] double limited(const TimeFunction& function, double t) const {
    const double value = function.at(t).f;
    if (value >= -overshoot && value <= 1.0 + overshoot) return std::clamp(value, min_activation_, 1.0);
    throw input_error(name_, fmt::format("forces.{}: expected {} between 0 and 1, found {:.4g} at t = {:.4g} s; give a "
                                         "`scale`, e.g. 0.01 for per cent",
                                         name_, excitation_ ? "an excitation" : "an activation", value, t));
  }

  [[nodiscard]] double activation(double t, const ConstVector& s) const {
    if (control_->is_set) return control_->activation;
    if (excitation_) return std::clamp(s[0], min_activation_, 1.0);
    return activation_ ? limited(*activation_, t) : min_activation_;
  }

  std::string name_;
  HillMuscle muscle_;
  bool elastic_;
  double min_activation_, rise_, fall_;
  TimeFunctionPtr activation_, excitation_;
  std::shared_ptr<ActivationControl> control_ = std::make_shared<ActivationControl>();
};

ScalarFunctionPtr table_of(const config::Field& keys, const char* key) {
  if (!keys.has(key)) return nullptr;
  const config::Field table = keys[key];
  try {
    return make_table(table["x"].numbers(), table["y"].numbers(), Joining::spline);
  } catch (const Error& error) {
    table.reject("a table", error.what(), "correct its entries");
  }
}

using MakeCurves = std::shared_ptr<const MuscleCurves> (*)(const config::Field& keys);

template <auto make>
std::shared_ptr<const MuscleCurves> curves_with_strains(const config::Field& keys) {
  return make({.passive = keys.optional_number("passive_strain"), .tendon = keys.optional_number("tendon_strain")});
}

std::shared_ptr<const MuscleCurves> curves_with_tables(const config::Field& keys) {
  const auto require = [&](const char* key) {
    if (!keys.has(key)) keys.reject(fmt::format("a table `{}`", key), "none", "these `curves` are tables");
  };
  require("active_curve");
  if (keys["tendon"].text() == "elastic") require("tendon_curve");
  return schutte_curves({.active = table_of(keys, "active_curve"),
                         .tendon = table_of(keys, "tendon_curve"),
                         .passive = table_of(keys, "passive_curve"),
                         .velocity = table_of(keys, "velocity_curve")});
}

struct CurveSource {
  const char* name;
  MakeCurves make;
};
constexpr std::array<CurveSource, 4> curve_sources = {{{"millard2012", curves_with_strains<millard_curves>},
                                                       {"thelen2003", curves_with_strains<thelen_curves>},
                                                       {"degroote2016", curves_with_strains<degroote_curves>},
                                                       {"schutte1993", curves_with_tables}}};

std::shared_ptr<const MuscleCurves> curves_of(const config::Field& keys) {
  return std::ranges::find(curve_sources, keys["curves"].text(), &CurveSource::name)->make(keys);
}

std::vector<std::string> names_of_curves() {
  std::vector<std::string> names;
  for (const CurveSource& source : curve_sources) names.emplace_back(source.name);
  return names;
}

config::KeySchema curve_key(const char* name, const char* meaning) {
  using config::function_numbers, config::number_list, config::required;
  return {.name = name,
          .kind = config::KeyKind::map,
          .meaning = std::string("with `curves: schutte1993`: ") + meaning,
          .keys = {required(number_list("x", "-", function_numbers, "increasing")),
                   required(number_list("y", "-", function_numbers, "as many values"))}};
}

void check_muscle(const config::Field& field, const Scenario& scenario) {
  (void)curves_of(field);
  if (field.has("activation") && field.has("excitation")) {
    field["excitation"].reject("`activation` or `excitation`", "both",
                               "an activation is used directly, an excitation passes through activation dynamics");
  }
  if (field["tendon"].text() == "elastic" && !(field["tendon_slack_length"].number() > 0.0)) {
    field["tendon_slack_length"].reject("a length > 0 of an elastic tendon", "0", "or use `tendon: rigid`");
  }
  const double longest = field["tendon_slack_length"].number() + field["optimal_fiber_length"].number();
  for (const auto& line : config::read_lines(field, scenario.bodies)) {
    check_path_coordinates(line, scenario);
    if (!config::placed_at_start(line, scenario.bodies)) continue;
    config::check_insertions(line, scenario.bodies);
    check_line_length(line.keys["path"], longest, "slack tendon and optimal fibre",
                      config::straight_length(line, scenario.bodies));
  }
}

/// The line with the tension, the states and the activation of a muscle.
LineElement with_muscle(LineElement element, const PathMuscle& path) {
  element.tension = [path](const LineMotion& at, const ConstVector& s) { return path.tension(at, s); };
  element.states = {
      .n = path.n_states(),
      .start = [path](const LineMotion& at, Eigen::Ref<VectorX> s) { path.start(at, s); },
      .rates = [path](const LineMotion& at, const ConstVector& s, Eigen::Ref<VectorX> f) { path.rates(at, s, f); },
      .tangents = [path](const LineMotion& at, const ConstVector& s,
                         LineStateTangents& by) { path.tangents(at, s, by); }};
  element.activation = {
      .minimum = path.min_activation(),
      .max_force = path.muscle().max_force,
      .optimal_length = path.muscle().optimal_length,
      .reachable = [path](double before, double interval) { return path.reachable(before, interval); },
      .set = [path](double activation, bool isometric) { path.set_activation(activation, isometric); },
      .force_a = [path](const LineMotion& at) { return path.force_a(at); }};
  element.more_values = [path](const LineMotion& at, const ConstVector& s, std::vector<double>& row) {
    path.append_values(at, s, row);
  };
  return element;
}

Force build_muscle(const ElementSpec& spec, const Model& model) {
  const auto& keys = spec.keys;
  const HillMuscle muscle{.max_force = keys["max_isometric_force"].number(),
                          .optimal_length = keys["optimal_fiber_length"].number(),
                          .slack_length = keys["tendon_slack_length"].number(),
                          .pennation = keys["pennation_angle"].number(),
                          .max_velocity = keys["max_contraction_velocity"].number(),
                          .fiber_damping = keys["fiber_damping"].number(),
                          .curves = curves_of(keys)};
  const PathMuscle path(spec, muscle);
  const auto line = config::read_lines(keys, body_specs(model)).front();
  LineElement element{.name = spec.name,
                      .points = path_points(line, model),
                      .surfaces = path_surfaces(line, model),
                      .unstrained = muscle.optimal_length};
  element.usual = muscle.slack_length + muscle.optimal_length;
  element.is_driven = true;
  element.more_columns = {{".fiber_length_m", "m", "length of the fibres"},
                          {".strain", "-", "strain of the fibres: length over optimal length, minus one"},
                          {".activation", "-", "activation, 0 to 1"}};
  return {.name = spec.name,
          .make = [element, path] { return std::make_unique<LineForce>(with_muscle(element, path.controlled())); }};
}

config::KeySchema choice(std::string name, std::string meaning, std::vector<std::string> choices) {
  config::KeySchema key = config::text(std::move(name), std::move(meaning));
  key.fallback = choices.front();
  key.choices = std::move(choices);
  return key;
}

}  // namespace

ForceType muscle() {
  using config::number, config::required;
  ForceType type;
  type.name = "muscle";
  type.meaning = "Hill-type muscle over points and surfaces of bodies, with a prescribed activation or excitation";
  type.functions = {"activation", "excitation"};
  type.keys = {
      required(number("max_isometric_force", "N", {.min = 0.0, .max = 1e9, .min_excluded = true},
                      "of the fibres at their optimal length")),
      required(number("optimal_fiber_length", "m", config::lengths, "fibre length of maximum isometric force")),
      required(number("tendon_slack_length", "m", {.min = 0.0, .max = 1e6}, "length at which tendon tension begins")),
      number("pennation_angle", "rad", {.min = 0.0, .max = 0.45 * std::numbers::pi},
             "between fibres and tendon at the optimal length", 0),
      number("max_contraction_velocity", "1/s", {.min = 1e-3, .max = 1e6}, "of shortening, in optimal lengths", 10),
      number("fiber_damping", "-", {.min = 1e-6, .max = 1e3},
             "force per velocity of the fibres, normalised as the curves", 0.1),
      choice("curves",
             "millard2012: [millard2013]; thelen2003: [thelen2003]; degroote2016: [degroote2016]; schutte1993: tables "
             "and the force-velocity hyperbolas of [schutte1993]",
             names_of_curves()),
      number("passive_strain", "-", config::strains,
             "of the passive fibres under the maximum isometric force; when not given 0.7 of millard2012, 0.6 of "
             "thelen2003 and degroote2016"),
      number("tendon_strain", "-", config::strains,
             "of the tendon under the maximum isometric force; when not given 0.049, of thelen2003 0.04"),
      curve_key("active_curve", "active force over the length of the fibres, both normalised; required"),
      curve_key("passive_curve", "passive force over their length; exp(8 (length - 1.5)) when not given"),
      curve_key("tendon_curve", "normalised force of the tendon over its strain; required"),
      curve_key("velocity_curve", "factor of the active force over the normalised velocity instead of the hyperbolas"),
      choice("tendon",
             "rigid: length equal to the slack length, force from the path; elastic: the fibre length is a state",
             {"rigid", "elastic"}),
      config::function_keys("activation", "-", "activation, 0 to 1, used directly", config::Joins::smooth_or_linear),
      config::function_keys("excitation", "-", "excitation, 0 to 1, input of the activation dynamics [thelen2003]",
                            config::Joins::smooth_or_linear),
      number("activation_time", "s", config::times, "with `excitation`: time constant of its rise", 0.01),
      number("deactivation_time", "s", config::times, "of its fall", 0.04),
      number("minimum_activation", "-", {.min = 0.0, .max = 1.0}, "lower limit of the activation, and its default",
             0.01),
      required(config::path_key()),
      config::wrap_surfaces_key()};
  type.check = check_muscle;
  type.build = build_muscle;
  return type;
}

}  // namespace heelstrike::mbs
