// heelstrike calibrate: identifies the modulus (or the height of the clamp) that gives a force at a depth.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>

#include "client/studies/calibration.hpp"
#include "client/studies/quantity.hpp"
#include "client/studies/registration.hpp"
#include "client/studies/trial_journal.hpp"
#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "common/text/table.hpp"
#include "library/composition/embedded.hpp"
#include "library/runs/run_request.hpp"
#include "library/terminal/exit_codes.hpp"
#include "library/terminal/screen.hpp"

namespace heelstrike::client {
namespace {

/// --registration: the constants that place the surface of a foot relative to its markers, from force plates.
struct RegistrationOptions {
  std::filesystem::path scenario;
  Overrides overrides;
  std::string free = "pitch,roll,lateral";  ///< names, separated by commas
  std::string moduli;                       ///< [Pa] separated by commas; empty = that of the scenario
};

/// Name and units of the residual of a task.
struct Residual {
  const char* name;
  const char* unit;
  double scale;           ///< of the unit in SI
  const char* json_unit;  ///< SI
};

Residual residual_of(const RegistrationTask& task) {
  if (registration_target(task) == RegistrationTarget::vertical_force) return {"vertical force", "N", 1.0, "N"};
  return {"centre of pressure", "mm", 1e-3, "m"};
}

nlohmann::ordered_json to_json(const FootRegistrationResult& r, const RegistrationTask& task) {
  const bool force = registration_target(task) == RegistrationTarget::vertical_force;
  const std::string unit = residual_of(task).json_unit;
  nlohmann::ordered_json json = {{"foot", r.foot},
                                 {"frames", r.n_frames},
                                 {"rms_before_" + unit, r.rms_before},
                                 {"rms_" + unit, r.rms},
                                 {"registration", registration_text(r.found)}};
  for (const Stance& s : r.stances) json["stances_s"].push_back({s.start, s.end});
  for (std::size_t p = 0; p < task.free.size(); ++p) {
    json["free"].push_back({{"name", task.free[p]},
                            {"standard_deviation", r.deviation[p]},
                            {force ? "vertical_force_N_per_unit" : "center_of_pressure_m_per_unit",
                             {r.mean_by[p].x(), r.mean_by[p].y(), r.mean_by[p].z()}},
                            {"peak_pressure_Pa_per_unit", r.peak_pressure_by[p]}});
  }
  return json;
}

void print(const FootRegistrationResult& r, const RegistrationTask& task) {
  std::string stances;
  for (const Stance& s : r.stances)
    stances += fmt::format("{}{:.3f}-{:.3f} s", stances.empty() ? "" : ", ", s.start, s.end);
  const Residual residual = residual_of(task);
  fmt::print("{}: {} frames of the incomplete stances {}; {} off by {:.1f} {} rms, before {:.1f} {}\n", r.foot,
             r.n_frames, stances, residual.name, r.rms / residual.scale, residual.unit, r.rms_before / residual.scale,
             residual.unit);
  Table table;
  table.header = {"free",
                  "unit",
                  "before",
                  "found",
                  "std. dev.",
                  fmt::format("per unit: x {}", residual.unit),
                  fmt::format("y {}", residual.unit),
                  fmt::format("z {}", residual.unit),
                  "peak kPa"};
  for (std::size_t p = 0; p < task.free.size(); ++p) {
    const auto parameters = registration_parameters();
    const bool angle = std::ranges::find(parameters, task.free[p], &RegistrationParameter::name)->unit == "rad";
    // Output per degree or millimetre, which is easier to interpret than per radian or metre.
    const double unit = angle ? 0.017453292519943295 : 1e-3;
    table.rows.push_back(
        {task.free[p], angle ? "deg" : "mm", number_text(registration_value(r.before, task.free[p]) / unit, 4),
         number_text(registration_value(r.found, task.free[p]) / unit, 4), number_text(r.deviation[p] / unit, 3),
         number_text(unit / residual.scale * r.mean_by[p].x(), 3),
         number_text(unit / residual.scale * r.mean_by[p].y(), 3),
         number_text(unit / residual.scale * r.mean_by[p].z(), 3),
         number_text(1e-3 * unit * r.peak_pressure_by[p], 3)});
  }
  fmt::print("{}\n        registration: {}\n\n", table.fitted(screen_width(Stream::out)), registration_text(r.found));
}

std::vector<double> read_moduli(const std::string& text) {
  std::vector<double> moduli;
  for (const std::string& word : split(text, ',')) {
    std::size_t used = 0;
    try {
      moduli.push_back(std::stod(word, &used));
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != word.size()) {
      throw input_error("moduli", fmt::format("--moduli: expected numbers in Pa separated by commas, e.g. 2e5,4e5,8e5, "
                                              "found '{}'",
                                              word));
    }
  }
  return moduli;
}

void print(const ModulusScan& scan, const Residual& residual) {
  Table table;
  table.header = {"E MPa", fmt::format("{} rms {}", residual.name, residual.unit)};
  for (const auto& foot : scan.trials.front().feet) table.header.push_back(foot.foot + " " + residual.unit);
  for (const ModulusTrial& trial : scan.trials) {
    std::vector<std::string> row = {number_text(1e-6 * trial.modulus, 4), number_text(trial.rms / residual.scale, 4)};
    for (const auto& foot : trial.feet) row.push_back(number_text(foot.rms / residual.scale, 4));
    table.rows.push_back(std::move(row));
  }
  fmt::print("incomplete stances, registration fitted with each modulus\n{}\n",
             table.fitted(screen_width(Stream::out)));
  const double modulus = scan.trials[scan.best].modulus;
  if (scan.at_end) {
    fmt::print("minimum at E = {:.4g} Pa, an end of --moduli: extend the scan before using it\n\n", modulus);
  } else {
    fmt::print("minimum at E = {:.4g} Pa, standard deviation {:.0f} % (frames assumed independent)\n\n", modulus,
               100.0 * scan.relative_deviation);
  }
}

void report_run(const Residual& residual, int runs, std::span<const double> rms) {
  std::string text;
  for (const double value : rms) text += fmt::format(" {:.2f}", value / residual.scale);
  fmt::print(stderr, "run {}: {} off by{} {} rms\n", runs, residual.name, text, residual.unit);
}

ExitCode calibrate_modulus(const RegistrationTask& task, const std::vector<double>& moduli, Runner& runner,
                           bool as_json, const std::stop_token& stop) {
  const Residual residual = residual_of(task);
  const ModulusScan scan = scan_modulus(
      task, moduli, runner, stop,
      [&](const ModulusTrial& trial) {
        fmt::print(stderr, "E = {:.4g} Pa: {} off by {:.2f} {} rms\n", trial.modulus, residual.name,
                   trial.rms / residual.scale, residual.unit);
        for (const auto& foot : trial.feet) fmt::print(stderr, "  {} {}\n", foot.foot, registration_text(foot.found));
      },
      [&](int runs, std::span<const double> rms) { report_run(residual, runs, rms); });
  const ModulusTrial& best = scan.trials[scan.best];
  if (as_json) {
    nlohmann::ordered_json json = {{"youngs_modulus_Pa", best.modulus},
                                   {"enclosed", !scan.at_end},
                                   {"relative_standard_deviation", scan.relative_deviation}};
    for (const ModulusTrial& trial : scan.trials) {
      json["trials"].push_back(
          {{"youngs_modulus_Pa", trial.modulus}, {std::string("rms_") + residual.json_unit, trial.rms}});
      for (const auto& foot : trial.feet) json["trials"].back()["feet"].push_back(to_json(foot, task));
    }
    fmt::print("{}\n", json.dump(2));
    return ExitCode::ok;
  }
  print(scan, residual);
  for (const auto& foot : best.feet) print(foot, task);
  return ExitCode::ok;
}

ExitCode calibrate_registration(const RegistrationOptions& options, bool as_json, const std::stop_token& stop) {
  RegistrationTask task;
  task.request = load_request(options.scenario, options.overrides, schemas_of(embedded_backends()));
  task.free = split(options.free, ',');
  const auto runner = make_embedded_runner();
  if (!options.moduli.empty()) return calibrate_modulus(task, read_moduli(options.moduli), *runner, as_json, stop);
  const Residual residual = residual_of(task);
  const auto results = fit_registration(
      task, *runner, stop, [&](int runs, std::span<const double> rms) { report_run(residual, runs, rms); });
  if (as_json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const auto& result : results) json.push_back(to_json(result, task));
    fmt::print("{}\n", json.dump(2));
  } else {
    for (const auto& result : results) print(result, task);
  }
  return ExitCode::ok;
}

struct CalibrateOptions {
  std::filesystem::path scenario;
  Overrides overrides;
  ServerOptions servers;
  std::string depth;
  std::string pair;
  std::string fit = "modulus";
  std::string clamp_range;
  std::string clamp_step = "1mm";
  std::vector<double> direction;
  double force = 0.0;
  double tolerance = 1e-4;
  std::filesystem::path journal;
  bool registration = false;
  std::string free = "pitch,roll,lateral";
  std::string moduli;
};

Pose initial_pose(const Scenario& scenario, const std::string& body) {
  const auto found = std::ranges::find(scenario.bodies, body, &BodySpec::name);
  return found == scenario.bodies.end() ? Pose{} : found->X_WB;
}

CalibrationTask make_task(const CalibrateOptions& options, const RunRequest& request) {
  const ContactSetup setup = contact_setup(request);
  std::vector<std::string> names;
  for (const PairSpec& pair : setup.pairs) names.push_back(pair.name);
  if (names.empty()) throw input_error("contact", "calibrate: the scenario has no contact pair");
  const auto name = options.pair.empty() && names.size() == 1 ? names.begin() : std::ranges::find(names, options.pair);
  if (name == names.end()) {
    throw input_error("pair",
                      fmt::format("--pair: expected one of {}, found '{}'", fmt::join(names, ", "), options.pair));
  }
  const auto index = static_cast<std::size_t>(name - names.begin());
  const PairModel& model = request.scenario.pairs[index];
  CalibrationTask task;
  task.pairs = {setup.pairs[index]};
  task.assets = setup.assets;
  task.X_AB =
      initial_pose(request.scenario, model.main_body).inverse() * initial_pose(request.scenario, model.partner_body);
  if (!options.direction.empty()) {
    task.direction = Vector3(options.direction[0], options.direction[1], options.direction[2]);
    if (task.direction->isZero(0.0))
      throw input_error("direction", "--direction: expected a vector other than 0, 0, 0");
  }
  task.depth = parse_small_length(options.depth, "--depth");
  if (!(task.depth > 0.0))
    throw input_error("depth", fmt::format("--depth: expected a length > 0, found '{}'", options.depth));
  // A bare number is in metres; a depth of half a metre indicates a missing unit.
  const bool has_unit = options.depth.find('m') != std::string::npos;
  if (!has_unit && task.depth >= 0.5) {
    throw input_error("depth", fmt::format("--depth: {} is a depth of {} m; did you mean {}mm?", options.depth,
                                           task.depth, options.depth));
  }
  task.force = options.force;
  task.tolerance = options.tolerance;
  task.clamp_step = parse_length(options.clamp_step, "--clamp-step");
  if (options.fit == "clamp") {
    task.value = CalibratedValue::clamp_height;
    for (const std::string& end : split(options.clamp_range, ':'))
      task.clamp_range.push_back(parse_length(end, "--clamp-range"));
    if (task.clamp_range.size() != 2 || !(task.clamp_range[0] < task.clamp_range[1])) {
      throw input_error(
          "clamp", fmt::format("--clamp-range: expected LOW:HIGH, e.g. -20mm:10mm, found '{}'", options.clamp_range));
    }
  }
  return task;
}

std::vector<std::string> cells(const CalibrationTrial& t) {
  return {number_text(t.youngs_modulus * 1e-6),
          t.clamp_height ? number_text(*t.clamp_height * 1e3) : "-",
          number_text(t.force),
          number_text(t.area * 1e4),
          number_text(t.peak_pressure * 1e-3),
          number_text(t.seconds, 3)};
}

nlohmann::ordered_json to_json(const CalibrationTrial& t) {
  nlohmann::ordered_json json = {{"youngs_modulus_Pa", t.youngs_modulus},
                                 {"force_N", t.force},
                                 {"area_m2", t.area},
                                 {"peak_pressure_Pa", t.peak_pressure},
                                 {"stiffness_N_per_m", t.stiffness},
                                 {"seconds", t.seconds}};
  if (t.clamp_height) json["clamp_height_m"] = *t.clamp_height;
  return json;
}

void report(const CalibrationResult& result, const CalibrationTask& task, bool as_json) {
  const CalibrationTrial& found = result.found;
  if (as_json) {
    nlohmann::ordered_json json = {{"found", to_json(found)}, {"dF_dE_N_per_Pa", result.force_by_modulus}};
    if (result.force_by_clamp_height) json["dF_dz_N_per_m"] = *result.force_by_clamp_height;
    json["dF_ddepth_N_per_m"] = found.stiffness;
    for (const CalibrationTrial& t : result.trials) json["trials"].push_back(to_json(t));
    fmt::print("{}\n", json.dump(2));
    return;
  }
  Table table;
  table.header = {"E MPa", "clamp mm", "force N", "area cm^2", "peak kPa", "time s"};
  for (const CalibrationTrial& t : result.trials) table.rows.push_back(cells(t));
  fmt::print("{}\n", table.fitted(screen_width(Stream::out)));
  // Numbers on the terminal have the units of the task; the JSON output is in SI units.
  fmt::print("E = {:.6g} Pa{} gives {:.6g} N at {:.4g} mm\n", found.youngs_modulus,
             found.clamp_height ? fmt::format(" with the clamp at z >= {:.4g} mm", *found.clamp_height * 1e3) : "",
             found.force, task.depth * 1e3);
  fmt::print("sensitivity  dF/dE = {:.5g} N/MPa  (1 % of E: {:.4g} N)\n", result.force_by_modulus * 1e6,
             result.force_by_modulus * 0.01 * found.youngs_modulus);
  if (result.force_by_clamp_height) {
    fmt::print("             dF/dz = {:.5g} N/mm, z the height of the clamp\n", *result.force_by_clamp_height * 1e-3);
  }
  fmt::print("             dF/ddepth = {:.5g} N/mm\n", found.stiffness * 1e-3);
}

/// Everything that a trial depends on except the identified value.
std::string identity_of(const CalibrateOptions& options, const RunRequest& request) {
  std::string all = fmt::format("{}\n{}\n{}\n{}\n", sha256_hex(request.yaml), options.depth, options.pair,
                                fmt::join(options.direction, " "));
  for (const auto& [name, digest] : file_digests(request)) all += name + ' ' + digest + '\n';
  return sha256_hex(all);
}

ExitCode run(const CalibrateOptions& options, bool as_json, const std::stop_token& stop) {
  if (options.registration) {
    return calibrate_registration({options.scenario, options.overrides, options.free, options.moduli}, as_json, stop);
  }
  if (!options.moduli.empty()) throw input_error("moduli", "--moduli: requires --registration");
  if (options.depth.empty() || !(options.force > 0.0)) {
    throw input_error("depth", "expected --depth LENGTH and --force N, or --registration, found neither; see --help");
  }
  const RunRequest request =
      load_request(options.scenario, options.overrides, schemas_of(known_backends(options.servers)));
  const CalibrationTask task = make_task(options, request);
  ProgressDisplay display("calibrate", as_json);
  const OpenContext context{
      .run_id = "calibrate",
      .on_progress = [&](std::string_view stage,
                         double fraction) { display.show({.stage = std::string(stage), .fraction = fraction}); },
      .stop = stop};
  std::optional<TrialJournal> journal;
  if (!options.journal.empty()) journal.emplace(options.journal, identity_of(options, request));
  const CachedTrial known = [&](double E, std::optional<double> clamp) {
    return journal ? journal->find(E, clamp) : std::nullopt;
  };
  const auto on_trial = [&](const CalibrationTrial& t) {
    if (journal) journal->add(t);
    display.clear();
    if (!as_json) fmt::print(stderr, "E = {:.6g} Pa: {:.6g} N ({:.1f} s)\n", t.youngs_modulus, t.force, t.seconds);
  };
  const CalibrationResult result = calibrate(task, contact_factory(options.servers), context, on_trial, known);
  display.clear();
  report(result, task, as_json);
  return ExitCode::ok;
}

Action add_calibrate(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<CalibrateOptions>();
  add_scenario_argument(command, options->scenario);
  auto* depth = command.add_option("--depth", options->depth, "Overlap of the undeformed shapes, e.g. 8.8mm")
                    ->type_name("LENGTH");
  auto* force = command.add_option("--force", options->force, "Force at that depth [N]")
                    ->check(CLI::PositiveNumber)
                    ->type_name("N");
  command
      .add_flag("--registration", options->registration,
                "Instead: identify the registration of the feet's surfaces from the centres of pressure of incomplete "
                "stances")
      ->excludes(depth)
      ->excludes(force);
  command
      .add_option("--free", options->free,
                  "For --registration: pitch, roll, yaw, lateral, forward, toe_angle; height in a kinematic analysis")
      ->type_name("NAMES")
      ->capture_default_str();
  command
      .add_option("--moduli", options->moduli,
                  "For --registration: Young's moduli [Pa] to try, ascending, e.g. 2e5,4e5,8e5; the registration is "
                  "fitted with each, and the modulus of the least error is refined")
      ->type_name("PA,PA,..");
  command.add_option("--pair", options->pair, "Contact pair, when the scenario has several")->type_name("NAME");
  command
      .add_option(
          "--direction", options->direction,
          "Direction of the partner's motion in the main body's frame: x y z; default: the normal of a plane partner")
      ->expected(3);
  command.add_option("--fit", options->fit, "Identified value: the modulus, or the height of the clamp (clamped_box)")
      ->check(CLI::IsMember({"modulus", "clamp"}))
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--clamp-range", options->clamp_range, "LOW:HIGH for --fit clamp, e.g. -20mm:10mm")
      ->type_name("RANGE");
  command.add_option("--clamp-step", options->clamp_step, "Difference for dF/dz")
      ->type_name("LENGTH")
      ->capture_default_str();
  command.add_option("--tolerance", options->tolerance, "Relative tolerance of the force")
      ->check(CLI::Range(1e-9, 0.1))
      ->capture_default_str();
  command.add_option("--journal", options->journal, "Journal of all trials; a repeated command reuses them")
      ->type_name("FILE")
      ->excludes("--registration");
  add_override_options(command, options->overrides);
  command.add_option("--fem", options->servers.fem, "Solve on a running fem_server: host:port or unix:/path")
      ->type_name("ADDRESS");
  command.add_flag("--json", as_json, "Print the result as JSON");
  return [options](bool json, const std::stop_token& stop) { return run(*options, json, stop); };
}

}  // namespace

Subcommand calibrate_command() {
  return {.name = "calibrate",
          .summary = "Identify the modulus that gives a force at a depth, with sensitivities",
          .examples =
              "  heelstrike calibrate examples/foot_press.yaml --depth 8.8mm --force 622\n"
              "  heelstrike calibrate examples/foot_press.yaml --depth 8.8mm --force 622 --fit clamp --clamp-range "
              "-20mm:5mm\n"
              "  heelstrike calibrate examples/gait_subject01.yaml --registration --free pitch,roll,lateral,toe_angle\n"
              "  heelstrike calibrate examples/gait_subject01_toes.yaml --registration --free pitch,lateral --moduli "
              "2e5,4e5,8e5 --set contact.friction=0",
          .add = add_calibrate};
}

}  // namespace heelstrike::client
