#include "mbs_server/analysis/muscle_optimization.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/errors/error.hpp"
#include "common/text/suggestion.hpp"
#include "mbs_server/analysis/analysis_state.hpp"
#include "mbs_server/analysis/run_base.hpp"
#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/formulation/coordinate_map.hpp"
#include "scenario/schema/document.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/schema/members.hpp"

namespace heelstrike::mbs {
namespace {

/// [Pa] specific tension of muscle volumes F_o l_o / sigma, and unit of these volumes [m^3], so that weights agree with
/// those of COMAK [smith2019].
constexpr double specific_tension = 350e3;
constexpr double volume_unit = 1e-6;
/// Part of the net load of a coordinate that reserves may exert without a warning [hicks2015].
constexpr double max_reserve_share = 0.05;

struct MuscleSettings {
  std::vector<std::string> primary{}, secondary{};
  std::string muscle_force = "hill";
  std::string muscle_weight = "volume";
  double activation_exponent = 2.0;
  double reserve_weight = 1000.0;
  double contact_energy_weight = 0.0;
  double reserve = 1.0;
  double trust_radius = 0.05;
  double acceleration_tolerance = 1e-6;
  double optimality_tolerance = 1e-3;
  double start_time = 0.0;
  double settling_activation = 0.02;
  bool activation_dynamics = false;
};

const config::MemberKeys<MuscleSettings>& setting_rows() {
  using config::choice;
  using config::member;
  using config::number;
  const Range weights{.min = 0.0, .max = 1e12};
  static const config::MemberKeys<MuscleSettings> rows = {
      member(&MuscleSettings::primary,
             config::required(config::text_list(
                 "primary", "coordinates with a driver, the load of which muscles and reserves supply"))),
      member(&MuscleSettings::secondary,
             config::text_list("secondary",
                               "coordinates that follow from the equilibrium of the frame: their accelerations vanish, "
                               "their rates are backward differences; a driver gives only their values at the start")),
      member(&MuscleSettings::muscle_force,
             choice("muscle_force", {"hill", "isometric"},
                    "hill: force of the fibres at their length and velocity; isometric: activation times maximum "
                    "isometric force")),
      member(&MuscleSettings::muscle_weight,
             choice("muscle_weight", {"volume", "unit"},
                    "factor of each muscle in the objective: its volume, maximum isometric force times optimal fibre "
                    "length over 350 kPa, in 1e-6 m^3; or one")),
      member(&MuscleSettings::activation_exponent,
             number("activation_exponent", "-", {.min = 1.0, .max = 20.0}, "of the activations in the objective")),
      member(&MuscleSettings::reserve_weight,
             number("reserve_weight", "-", {.min = 0.0, .max = 1e12, .min_excluded = true},
                    "factor of the squared relative reserves in the objective")),
      member(&MuscleSettings::contact_energy_weight,
             number("contact_energy_weight", "1/J", weights, "factor of the energy stored in all contacts")),
      member(&MuscleSettings::reserve,
             number("reserve", "N m, N", {.min = 0.0, .max = config::loads.max},
                    "reference load in the objective, for the reserve of every primary and secondary "
                    "coordinate; 0 = no reserve")),
      member(&MuscleSettings::trust_radius,
             number("trust_radius", "rad, m", {.min = 1e-9, .max = 10.0},
                    "radius of the trust region of a secondary coordinate; the region follows the solution")),
      member(&MuscleSettings::acceleration_tolerance,
             number("acceleration_tolerance", "rad/s^2, m/s^2", {.min = 1e-12, .max = 1e3},
                    "largest error of an acceleration in a solved frame")),
      member(&MuscleSettings::optimality_tolerance,
             number("optimality_tolerance", "-", {.min = 1e-12, .max = 1.0},
                    "largest gradient of the Lagrangian in a solved frame, relative to that of the objective")),
      member(&MuscleSettings::start_time, number("start_time", "s", config::instants, "of the first frame")),
      member(&MuscleSettings::settling_activation,
             number("settling_activation", "-", {.min = 0.0, .max = 1.0},
                    "activation of all muscles in the equilibrium from which the secondary coordinates reach the first "
                    "frame, within an output interval")),
      member(&MuscleSettings::activation_dynamics,
             config::flag("activation_dynamics",
                          "activations of a frame are reachable from those of the last solved frame, with the "
                          "`activation_time` and `deactivation_time` of each muscle; false: frames are independent"))};
  return rows;
}

config::KeySchema named_numbers(const char* name, const char* meaning) {
  return {.name = name, .kind = config::KeyKind::parameters, .meaning = meaning};
}

std::vector<config::KeySchema> setting_keys() {
  std::vector<config::KeySchema> keys = config::keys_of(setting_rows());
  keys.push_back(named_numbers("weights", "additional factors of single muscles in the objective, by name; default 1"));
  keys.push_back(named_numbers("reserves", "`reserve` of single coordinates, by name [N m] or [N]"));
  keys.push_back(named_numbers("trust_radii", "`trust_radius` of single coordinates, by name [rad] or [m]"));
  return keys;
}

MuscleSettings read_settings(const config::Field& field) {
  MuscleSettings settings;
  config::read_members(field, setting_rows(), settings);
  return settings;
}

/// The value of `name` in a map of numbers; `fallback` if absent.
double named_number(const config::Field& field, const char* key, const std::string& name, double fallback) {
  if (!field.has(key)) return fallback;
  return field[key].optional_number(name).value_or(fallback);
}

void check_named_numbers(const config::Field& field, const char* key, const std::vector<std::string>& known,
                         const char* what) {
  for (const config::Field& entry : field.entries_of(key)) {
    double value = 0.0;
    if (!config::read_number(entry.node(), value) || !(value >= 0.0)) {
      entry.reject("a number >= 0", fmt::format("'{}'", config::excerpt(entry.text())), "give a factor or a limit");
    }
    if (std::ranges::find(known, entry.name()) != known.end()) continue;
    const auto near = nearest_name(entry.name(), known);
    entry.reject(what, fmt::format("'{}'", entry.name()),
                 near ? fmt::format("did you mean '{}'?", *near) : "names are those of the scenario");
  }
}

bool has_driver(const Scenario& scenario, const std::string& coordinate) {
  return std::ranges::any_of(scenario.drivers,
                             [&](const DriverSpec& driver) { return driver.functions.contains(coordinate); });
}

void check_coordinates(const config::Field& list, const std::vector<std::string>& names, bool need_drivers,
                       const Scenario& scenario, std::vector<std::string>& seen) {
  for (const std::string& name : names) {
    (void)read_coordinate_name(list, name, scenario);
    if (std::ranges::find(seen, name) != seen.end()) {
      list.reject("each coordinate once in `primary` and `secondary`", fmt::format("'{}' twice", name),
                  "remove one of them");
    }
    seen.push_back(name);
    if (!need_drivers || has_driver(scenario, name)) continue;
    list.reject("coordinates with a driver", fmt::format("'{}' without one", name),
                "drive it with the recorded motion, or move it to `secondary`");
  }
}

void check_muscle_optimization(const config::Field& field, const Scenario& scenario) {
  const MuscleSettings settings = read_settings(field);
  std::vector<std::string> coordinates;
  check_coordinates(field["primary"], settings.primary, true, scenario, coordinates);
  if (!settings.secondary.empty()) {
    check_coordinates(field["secondary"], settings.secondary, false, scenario, coordinates);
  }
  if (settings.primary.empty()) {
    field["primary"].reject("at least one coordinate", "none", "name the coordinates that muscles move");
  }
  if (!(settings.start_time < scenario.analysis.end_time)) {
    field["start_time"].reject(fmt::format("a time before end_time, {:.6g} s", scenario.analysis.end_time),
                               fmt::format("{:.6g} s", settings.start_time), "change one of them");
  }
  std::vector<std::string> forces;
  for (const ElementSpec& force : scenario.forces) forces.push_back(force.name);
  check_named_numbers(field, "weights", forces, "names of muscles in `forces`");
  check_named_numbers(field, "reserves", coordinates, "coordinates in `primary` or `secondary`");
  check_named_numbers(field, "trust_radii", settings.secondary, "coordinates in `secondary`");
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Divides drivers of secondary coordinates into one for each coordinate: the directions of the coordinates are then
/// independent of the others', also of three rotations of one joint.
void divide_drivers(const MuscleSettings& settings, Model& model) {
  std::vector<Driver> drivers;
  for (Driver& driver : model.drivers) {
    const bool is_secondary = std::ranges::any_of(driver.coordinates, [&](const DrivenCoordinate& coordinate) {
      return contains(settings.secondary, coordinate.name);
    });
    if (!is_secondary) {
      drivers.push_back(std::move(driver));
      continue;
    }
    for (const DrivenCoordinate& coordinate : driver.coordinates) {
      drivers.push_back(coordinate_driver(model, coordinate.name, coordinate.function));
    }
  }
  model.drivers = std::move(drivers);
}

DrivenCoordinate* find_driven(Model& model, const std::string& name) {
  for (Driver& driver : model.drivers) {
    const auto found = std::ranges::find(driver.coordinates, name, &DrivenCoordinate::name);
    if (found != driver.coordinates.end()) return &*found;
  }
  return nullptr;
}

bool is_driven(const Model& model, const std::string& name) {
  return std::ranges::any_of(model.drivers, [&](const Driver& driver) {
    return std::ranges::find(driver.coordinates, name, &DrivenCoordinate::name) != driver.coordinates.end();
  });
}

/// Replaces the functions of all drivers by motions that the analysis may hold; adds the primary coordinates.
void hold_recorded(const MuscleSettings& settings, PreparedModel& prepared) {
  for (Driver& driver : prepared.model.drivers) {
    for (DrivenCoordinate& coordinate : driver.coordinates) {
      if (contains(settings.secondary, coordinate.name)) continue;
      auto motion = std::make_shared<FrameMotion>(coordinate.function);
      coordinate.function = motion;
      if (contains(settings.primary, coordinate.name)) {
        prepared.coordinates.push_back({.name = coordinate.name, .unit = coordinate.unit, .motion = motion});
      } else {
        prepared.followed.push_back({.name = coordinate.name, .unit = coordinate.unit, .motion = motion});
      }
      prepared.recorded.push_back(std::move(motion));
    }
  }
  // In the order of the file.
  std::ranges::sort(prepared.coordinates, {}, [&](const OptimizedCoordinate& coordinate) {
    return std::ranges::find(settings.primary, coordinate.name) - settings.primary.begin();
  });
}

/// Adds a secondary coordinate: its driver, if there is one, gives only the value at the start.
void add_secondary(const std::string& name, double start_time, PreparedModel& prepared) {
  const auto [joint, place] = find_coordinate(prepared.model, name);
  auto motion = std::make_shared<FrameMotion>(nullptr);
  motion->set({.f = joint->map->transform().near[place]});
  TimeFunctionPtr guess;
  DrivenCoordinate* driven = find_driven(prepared.model, name);
  if (driven != nullptr) {
    guess = std::exchange(driven->function, motion);
    motion->set({.f = guess->at(start_time).f});
  } else {
    prepared.model.drivers.push_back(coordinate_driver(prepared.model, name, motion));
  }
  prepared.coordinates.push_back({.name = name,
                                  .unit = joint->map->is_rotation(place) ? "rad" : "m",
                                  .secondary = true,
                                  .motion = std::move(motion),
                                  .guess = std::move(guess)});
}

}  // namespace

PreparedModel prepare_muscle_model(const Scenario& scenario) {
  PreparedModel prepared{.model = build_model(scenario), .coordinates = {}};
  const config::Field& keys = *scenario.analysis.keys;
  const MuscleSettings settings = read_settings(keys);
  divide_drivers(settings, prepared.model);
  hold_recorded(settings, prepared);
  for (const std::string& name : settings.secondary) add_secondary(name, settings.start_time, prepared);
  for (OptimizedCoordinate& coordinate : prepared.coordinates) {
    coordinate.reserve = named_number(keys, "reserves", coordinate.name, settings.reserve);
    coordinate.trust_radius = named_number(keys, "trust_radii", coordinate.name, settings.trust_radius);
  }
  return prepared;
}

std::vector<OptimizedMuscle> find_muscles(const Scenario& scenario, const System& system) {
  const config::Field& keys = *scenario.analysis.keys;
  const MuscleSettings settings = read_settings(keys);
  std::vector<OptimizedMuscle> muscles;
  for (const auto& force : system.forces()) {
    ActivatedForce* activated = force->activated();
    if (activated == nullptr) continue;
    const double volume =
        activated->max_isometric_force() * activated->optimal_fiber_length() / specific_tension / volume_unit;
    muscles.push_back({.name = force->name(),
                       .force = activated,
                       .weight = named_number(keys, "weights", force->name(), 1.0) *
                                 (settings.muscle_weight == "volume" ? volume : 1.0)});
  }
  return muscles;
}

namespace {

class MuscleRun final : public RunBase {
 public:
  MuscleRun(const RunInput& input, CoupledModel& model, RunSink& sink, std::stop_token stop, PreparedModel& prepared)
      : RunBase(input, model, sink, std::move(stop)),
        settings_(read_settings(*input.scenario.analysis.keys)),
        problem_(system_, model.contact_force(), std::move(prepared.coordinates), find_muscles(input.scenario, system_),
                 {.isometric = settings_.muscle_force == "isometric",
                  .exponent = settings_.activation_exponent,
                  .reserve_weight = settings_.reserve_weight,
                  .contact_energy_weight = settings_.contact_energy_weight},
                 std::move(prepared.recorded)),
        followed_(std::move(prepared.followed)) {}

 private:
  void open(const ContactFactory& open_contact) override;
  [[nodiscard]] bool solve() override;
  [[nodiscard]] bool has_energy_balance() const override { return false; }
  void check_degrees_of_freedom(int n) const override;
  [[nodiscard]] double start_time() const override { return settings_.start_time; }
  [[nodiscard]] Checkpoint save() override {
    AnalysisState state;
    exchange_state(state);
    return save_with(state);
  }
  void add_statistics(IntegratorStatistics& statistics) const override {
    statistics.name = input_.scenario.analysis.type;
    statistics.steps = n_solved_;
    statistics.rejected_steps = n_unsolved_;
    statistics.rhs_evaluations = n_evaluations_;
  }
  [[nodiscard]] std::vector<Column> columns() override;
  [[nodiscard]] std::shared_ptr<const PendingRequest> begin_row(double t, const VectorX& y, const VectorX& z,
                                                                std::vector<double>& row) override;
  void begin();
  void exchange_state(AnalysisState& state);
  [[nodiscard]] double settle(double t, VectorX& q, VectorX& qd);
  [[nodiscard]] std::string find_failure(const MuscleFrame& frame) const;
  void solve_frame(double t);
  void accept(double t);
  void leave_out(double t, const std::string& reason);
  void require_frames();
  void report_reserves();
  [[nodiscard]] MuscleFrame predict(double t) const;

  MuscleSettings settings_;
  MuscleProblem problem_;
  std::vector<FollowedCoordinate> followed_;
  std::vector<std::shared_ptr<FrameMotion>> shown_;  ///< of the columns of coordinates
  MuscleFrame frame_;                                ///< the last solved one
  VectorX rates_;                                    ///< [rad/s], [m/s] of its secondary coordinates
  double solved_t_ = 0.0;                            ///< [s] of frame_
  VectorX q_, qd_;                                   ///< of frame_
  VectorX peak_loads_, peak_reserves_;               ///< [N m], [N] largest of all frames, one for each coordinate
  std::int64_t next_frame_ = 0;
  std::int64_t n_solved_ = 0;
  std::int64_t n_unsolved_ = 0;
  std::int64_t n_evaluations_ = 0;
  std::string first_reason_;
};

void MuscleRun::open(const ContactFactory& open_contact) {
  if (problem_.muscles().empty()) {
    throw input_error("forces",
                      "analysis.type: expected muscles in `forces`, found none; add entries of `type: muscle`");
  }
  if (system_.n_states() > 0) {
    throw input_error("forces",
                      "analysis.type: expected force elements without internal states, found some; use `tendon: rigid` "
                      "for muscles (`rigid_tendons: true` in `import`) and `activation` in place of `excitation`");
  }
  RunBase::open(open_contact);
}

void MuscleRun::check_degrees_of_freedom(int n) const {
  if (n == 0) return;
  std::vector<std::string> free;
  for (const Joint& joint : system_.model().joints) {
    if (!joint.map) continue;
    for (const std::string& name : joint.map->transform().names) {
      if (!is_driven(system_.model(), name)) free.push_back(name);
    }
  }
  throw input_error("analysis.secondary",
                    fmt::format("analysis: expected a driver for every coordinate, or its name in `secondary`, with no "
                                "degrees of freedom left, found {} and coordinates in neither: {}; drive them or list "
                                "them, and attach bodies without a joint",
                                n, fmt::join(free, ", ")));
}

std::vector<Column> MuscleRun::columns() {
  std::vector<Column> columns = RunBase::columns();
  shown_.clear();
  const auto show = [&](const auto& coordinate, const char* description) {
    std::string name = fmt::format("{}.value_{}", coordinate.name, coordinate.unit);
    // A spring or damper of the coordinate has this column, too.
    if (std::ranges::find(columns, name, &Column::name) != columns.end()) return;
    columns.push_back({std::move(name), coordinate.unit, description});
    shown_.push_back(coordinate.motion);
  };
  for (const OptimizedCoordinate& coordinate : problem_.coordinates()) {
    show(coordinate, coordinate.secondary ? "secondary coordinate" : "recorded coordinate");
  }
  for (const FollowedCoordinate& coordinate : followed_) show(coordinate, "recorded coordinate");
  for (const OptimizedCoordinate& coordinate : problem_.coordinates()) {
    const std::string load = coordinate.unit == "rad" ? "N m" : "N";
    const std::string suffix = coordinate.unit == "rad" ? "Nm" : "N";
    columns.push_back({fmt::format("{}.muscles_{}", coordinate.name, suffix), load,
                       "generalised force of the activated muscles on this coordinate"});
    columns.push_back({fmt::format("{}.reserve_{}", coordinate.name, suffix), load,
                       "generalised force that the muscles do not supply"});
  }
  columns.push_back({"optimization.objective", "-", "objective of the frame"});
  columns.push_back({"optimization.acceleration_error", "rad/s^2, m/s^2",
                     "largest error of the accelerations of primary and secondary coordinates"});
  columns.push_back({"optimization.stationarity", "-",
                     "gradient of the Lagrangian relative to that of the objective; 0 at a minimum"});
  columns.push_back({"optimization.evaluations", "-", "evaluations of the frame"});
  return columns;
}

std::shared_ptr<const PendingRequest> MuscleRun::begin_row(double t, const VectorX& y, const VectorX& z,
                                                           std::vector<double>& row) {
  auto request = RunBase::begin_row(t, y, z, row);
  for (const auto& motion : shown_) row.push_back(motion->at(t).f);
  for (Eigen::Index k = 0; k < frame_.loads.size(); ++k) {
    row.push_back(frame_.loads[k]);
    row.push_back(frame_.reserves[k]);
  }
  row.push_back(frame_.objective);
  row.push_back(frame_.residual.lpNorm<Eigen::Infinity>());
  row.push_back(frame_.stationarity);
  row.push_back(frame_.n_evaluations);
  return request;
}

void MuscleRun::begin() {
  q_ = model_.start().q;
  qd_ = model_.start().qd;
  system_.project(start_time(), q_, qd_);
  committed_.y = system_.start_y(start_time(), q_, qd_);
  // The first time of the output grid at or, up to rounding, before the start.
  next_frame_ = static_cast<std::int64_t>(std::ceil(start_time() / input_.scenario.output.interval - 1e-9));
  committed_.z = VectorX::Zero(EnergyQuadrature::n);
  const auto& coordinates = problem_.coordinates();
  frame_.activations.resize(static_cast<Eigen::Index>(problem_.muscles().size()));
  for (std::size_t m = 0; m < problem_.muscles().size(); ++m) {
    frame_.activations[static_cast<Eigen::Index>(m)] = problem_.muscles()[m].force->min_activation();
  }
  frame_.secondary.resize(problem_.n_secondary());
  for (Eigen::Index i = 0; const OptimizedCoordinate& coordinate : coordinates) {
    if (coordinate.secondary) frame_.secondary[i++] = coordinate.motion->at(start_time()).f;
  }
  frame_.reserves = frame_.loads = frame_.residual = VectorX::Zero(static_cast<Eigen::Index>(coordinates.size()));
  rates_ = VectorX::Zero(problem_.n_secondary());
  peak_loads_ = peak_reserves_ = frame_.reserves;
}

void MuscleRun::exchange_state(AnalysisState& state) {
  state.exchange("activations", entries(frame_.activations));
  state.exchange("secondary", entries(frame_.secondary));
  state.exchange("reserves", entries(frame_.reserves));
  state.exchange("rates", entries(rates_));
  state.exchange("solved_t", solved_t_);
  state.exchange("q", entries(q_));
  state.exchange("qd", entries(qd_));
  state.exchange("next_frame", next_frame_);
  state.exchange("solved", n_solved_);
  state.exchange("unsolved", n_unsolved_);
  state.exchange("evaluations", n_evaluations_);
  state.exchange("first_reason", first_reason_);
  state.exchange("peak_loads", entries(peak_loads_));
  state.exchange("peak_reserves", entries(peak_reserves_));
}

/// The initial guess: secondary coordinates extrapolated from the last two frames.
MuscleFrame MuscleRun::predict(double t) const {
  MuscleFrame guess = frame_;
  if (n_solved_ > 1) guess.secondary += (t - solved_t_) * rates_;
  return guess;
}

/// Moves the secondary coordinates to the equilibrium before the first frame. @returns the interval since then; 0 = at
/// rest where none was found
double MuscleRun::settle(double t, VectorX& q, VectorX& qd) {
  if (problem_.n_secondary() == 0) return 0.0;
  const double interval = input_.scenario.output.interval;
  try {
    frame_.secondary = problem_.settle(t, settings_.settling_activation, interval, frame_.secondary, q, qd);
    return interval;
  } catch (const RecoverableError& error) {
    sink_.on_log("warning", fmt::format("{}; the first frame starts at rest from these values", error.what()));
    return 0.0;
  }
}

/// Why a frame is not a solution; empty = it is one.
std::string MuscleRun::find_failure(const MuscleFrame& frame) const {
  if (!(frame.residual.lpNorm<Eigen::Infinity>() <= settings_.acceleration_tolerance)) {
    return problem_.describe_lack(frame);
  }
  if (!frame.at_limit.empty()) {
    return fmt::format(
        "the secondary coordinate '{}' still moves after {} trust regions: check the forces that restrain it, or raise "
        "trust_radius",
        frame.at_limit, MuscleProblem::max_regions);
  }
  if (!(frame.stationarity <= settings_.optimality_tolerance)) {
    return fmt::format("no minimum found: the relative gradient is {:.2g}, optimality_tolerance {:.2g}",
                       frame.stationarity, settings_.optimality_tolerance);
  }
  return {};
}

void MuscleRun::solve_frame(double t) {
  for (std::size_t i = 0; i < states_.n_pairs(); ++i) states_.set_closed(i, true);
  VectorX q = q_;
  VectorX qd = qd_;
  try {
    const bool first = n_solved_ == 0;
    const double interval = first ? settle(t, q, qd) : t - solved_t_;
    PrecedingFrame past{.secondary = frame_.secondary, .interval = interval};
    if (settings_.activation_dynamics && !first) past.activations = frame_.activations;
    MuscleFrame frame = problem_.solve(t, past, predict(t), q, qd);
    n_evaluations_ += frame.n_evaluations;
    if (const std::string failure = find_failure(frame); !failure.empty()) {
      leave_out(t, fmt::format("{} ({})", failure, frame.reason));
      return;
    }
    if (!first) rates_ = (frame.secondary - frame_.secondary) / interval;
    frame_ = std::move(frame);
    q_ = q;
    qd_ = qd;
    accept(t);
  } catch (const RecoverableError& error) {
    leave_out(t, error.what());
  }
}

void MuscleRun::accept(double t) {
  const auto n = system_.n_q();
  committed_.y.head(n) = q_;
  committed_.y.segment(n, n) = qd_;
  committed_.t = solved_t_ = t;
  system_.accept_turn_references(q_);
  peak_loads_ = peak_loads_.cwiseMax(frame_.loads.cwiseAbs());
  peak_reserves_ = peak_reserves_.cwiseMax(frame_.reserves.cwiseAbs());
  if (n_solved_++ == 0) {
    accept_initial_state(exchange_.commit(t, q_, qd_));
  } else {
    commit_prescribed_state();
    write_row(t, committed_.y, committed_.z);
    write_due_fields(t, committed_.y);
  }
  model_.note_violation();
}

void MuscleRun::leave_out(double t, const std::string& reason) {
  const std::string text = fmt::format("no solution of the frame at t = {:.6g} s: {}", t, reason);
  if (n_unsolved_++ == 0) first_reason_ = text;
  sink_.on_log("warning", text);
  // The bodies follow the recorded motion, so that the next frame starts near its poses.
  try {
    VectorX q = q_;
    VectorX qd = qd_;
    problem_.place(t, frame_.secondary, q, qd);
    q_ = q;
    qd_ = qd;
    system_.accept_turn_references(q_);
  } catch (const RecoverableError&) {
  }
}

/// Reserves that are not small show muscles that are too weak or absent, a load that is missing, or a wrong motion.
void MuscleRun::report_reserves() {
  for (std::size_t k = 0; k < problem_.coordinates().size(); ++k) {
    const auto i = static_cast<Eigen::Index>(k);
    if (!(peak_reserves_[i] > max_reserve_share * peak_loads_[i])) continue;
    const OptimizedCoordinate& coordinate = problem_.coordinates()[k];
    const char* unit = coordinate.unit == "rad" ? "N m" : "N";
    sink_.on_log("warning",
                 fmt::format("the reserve of coordinate '{}' reaches {:.4g} {}, the muscles {:.4g} {}: muscles "
                             "are too weak or absent there, a load is missing, or the motion is wrong",
                             coordinate.name, peak_reserves_[i], unit, peak_loads_[i], unit));
  }
}

void MuscleRun::require_frames() {
  if (n_unsolved_ == 0) return;
  const std::string text = fmt::format("{} of {} frames have no solution; the first: {}", n_unsolved_,
                                       n_unsolved_ + n_solved_, first_reason_);
  if (n_solved_ == 0) throw Error(ErrorCode::solver_failed, text);
  summary_.error = Error(ErrorCode::solver_failed, text);
}

bool MuscleRun::solve() {
  begin();
  if (resumed_) {
    AnalysisState state(resumed_->analysis);
    exchange_state(state);
    restore_resumed();
  }
  const double interval = input_.scenario.output.interval;
  for (bool last = false; !last;) {
    if (stop_.stop_requested()) return false;
    const double grid = interval * static_cast<double>(next_frame_);
    last = grid >= end_time() * (1.0 - 1e-12);
    solve_frame(last ? end_time() : grid);
    ++next_frame_;
    report_progress(interval);
    if (!last && n_solved_ > 0) at_restart_point();
  }
  report_reserves();
  require_frames();
  return true;
}

RunSummary run_muscle_optimization(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                                   std::stop_token stop) {
  PreparedModel prepared = prepare_muscle_model(input.scenario);
  CoupledModel model(input.scenario, prepared.model, stop);
  return MuscleRun(input, model, sink, std::move(stop), prepared).run(open_contact);
}

}  // namespace

AnalysisType muscle_optimization_analysis() {
  return {{{.name = "muscle_optimization",
            .meaning = "activations of muscles and secondary coordinates that produce a recorded motion",
            .keys = setting_keys(),
            .check = check_muscle_optimization},
           {}},
          run_muscle_optimization,
          nullptr,
          nullptr};
}

}  // namespace heelstrike::mbs
