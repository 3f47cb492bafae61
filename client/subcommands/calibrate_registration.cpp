#include "client/subcommands/calibrate_registration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "client/studies/quantity.hpp"
#include "client/studies/registration.hpp"
#include "client/studies/registration_modulus.hpp"
#include "common/errors/error.hpp"
#include "common/text/table.hpp"
#include "library/composition/embedded.hpp"
#include "library/terminal/screen.hpp"

namespace heelstrike::client {
namespace {

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

}  // namespace

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

}  // namespace heelstrike::client
