// heelstrike compare-grf: ground reactions of a run compared with those of force plates.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/files/output_file.hpp"
#include "common/text/table.hpp"
#include "gait/foot_loads.hpp"
#include "gait/grf_comparison.hpp"
#include "gait/ground_reactions.hpp"
#include "library/registries/catalog.hpp"
#include "library/runs/file_kind.hpp"
#include "library/runs/run_request.hpp"
#include "library/terminal/screen.hpp"
#include "report/grf_report.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

struct CompareGrfOptions {
  fs::path run;
  fs::path measured;
  double mass = 0.0;  ///< [kg] 0 = from the plates
  double threshold = stance_threshold;
};

/// The measured plates. @param notes  receives those of the file
std::vector<ForcePlate> measured_plates(const fs::path& file, std::vector<std::string>& notes) {
  const MotionTable table = read_motion_table(read_file(file, "measured"), file.string());
  notes.insert(notes.end(), table.notes.begin(), table.notes.end());
  std::vector<ForcePlate> plates = read_force_plates(table);
  check_forces(plates, file.string());
  return plates;
}

/// The first file of the run folder that has columns of force plates.
std::vector<ForcePlate> predicted_plates(const fs::path& run) {
  require_run_folder(run);
  for (const char* name : {ground_reactions_file, "forces.sto", "timeseries.csv"}) {
    const fs::path file = run / name;
    if (!fs::exists(file)) continue;
    const std::string text = read_file(file, "run");
    if (text.find("ground_force_") != std::string::npos) {
      return read_force_plates(read_motion_table(text, file.string()));
    }
  }
  if (fs::exists(run / "INCOMPLETE")) {
    throw input_error("RUN",
                      fmt::format("{}: expected the ground reactions of a run, found a run that ended before its "
                                  "first row: {}",
                                  run.string(), read_file(run / "INCOMPLETE", "run")));
  }
  throw input_error("RUN",
                    fmt::format("{}: expected columns ground_force_vx, ... in {}, forces.sto or timeseries.csv, found "
                                "none; add `plate` to the feet of the scenario's `motion` and run again",
                                run.string(), ground_reactions_file));
}

struct GrfReport {
  double mass = 0.0;
  std::string mass_basis;  ///< where the body mass comes from
  fs::path measured_file;
  Vector3 up = Vector3::Zero();
  PrescribedLoads given;
  std::map<std::string, std::string> feet;  ///< by plate, of the scenario
  GroundPath ground;
  bool has_scenario = false;  ///< else the prescribed components are unknown
  std::vector<StanceComparison> stances;
  PooledComparison all;
  std::array<std::string, 3> directions;  ///< of the axes of the files
  std::vector<ForcePlate> plates;         ///< of the file, for the body mass
  std::vector<ForcePlate> measured;       ///< of the feet
  std::vector<ForcePlate> predicted;
  std::vector<std::string> notes;
};

/// True if all forces are finite and one is not zero.
bool is_loaded(std::span<const ForcePlate> plates) {
  bool any = false;
  for (const ForcePlate& plate : plates) {
    for (const Vector3& f : plate.force) {
      if (!f.allFinite()) return false;
      any = any || !f.isZero(0.0);
    }
  }
  return any;
}

/// Determines the vertical, which is that of the run, and reverses measured loads on the plates.
void find_vertical(const CompareGrfOptions& options, GrfReport& report) {
  report.up = vertical_axis(report.plates);
  if (!is_loaded(report.predicted)) return;
  const Vector3 up = vertical_axis(report.predicted);
  if (std::abs(up.dot(report.up)) < 0.5) {
    const auto name = [](const Vector3& axis) {
      Eigen::Index k = 0;
      axis.cwiseAbs().maxCoeff(&k);
      return "xyz"[k];
    };
    throw input_error("measured", fmt::format("{}: expected the mean load along {}, as that of the run, found it along "
                                              "{}; rotate the axes of the file to those of the recording",
                                              options.measured.string(), name(up), name(report.up)));
  }
  report.up = up;
  for (const std::string& note : reverse_loads_on_plates(report.plates, up, options.threshold)) {
    report.notes.push_back(fmt::format("{}: {}", options.measured.string(), note));
  }
}

/// Reason for a measurement without a stance during the run.
std::string missing_stance_reason(const GrfReport& report) {
  const auto peak = [&](std::span<const ForcePlate> plates) {
    double largest = 0.0;
    for (const ForcePlate& plate : plates) {
      for (const Vector3& f : plate.force) largest = std::max(largest, f.dot(report.up));
    }
    return largest;
  };
  const double measured = peak(report.plates), predicted = peak(report.predicted);
  // Forces of two persons differ by less than a factor of ten.
  if (measured > 0.0 && predicted > 100.0 * measured) {
    return fmt::format(
        "its largest force is {:.3g}, that of the run {:.4g} N, {:.0f} times as large: convert the "
        "forces to N, if they are in kN",
        measured, predicted, predicted / measured);
  }
  return "check that both have the same clock";
}

/// Reads the scenario of the run folder.
void read_making(const fs::path& run, GrfReport& report) {
  const fs::path file = run / "scenario.yaml";
  if (!fs::exists(file)) return;
  const Scenario scenario = parse_scenario(read_file(file, "RUN"), file.string(), scenario_catalog());
  report.has_scenario = true;
  for (const MarkerMotionSpec& motion : scenario.motions) {
    for (const auto& foot : motion.feet) report.feet[foot.columns()] = foot.name;
    if (motion.body_mass && report.mass <= 0.0) {
      report.mass = *motion.body_mass;
      report.mass_basis = "of the scenario";
    }
  }
  report.given = find_prescribed_loads(scenario);
  if (fs::exists(run / "timeseries.csv")) report.ground = ground_path(scenario, read_timeseries(run));
}

/// Frames without a solution have no rows: the prediction has a gap there. Half an interval allows for rounding.
double max_gap(const GrfReport& report) {
  return report.has_scenario ? 1.5 * report.given.interval : std::numeric_limits<double>::infinity();
}

/// The loads of the feet in the measurement: its plates or, for feet whose plates were searched, the sums over the
/// steps that the run found.
std::vector<ForcePlate> measured_feet(const CompareGrfOptions& options, const GrfReport& report) {
  const fs::path file = options.run / plate_steps_file;
  const auto names_a_plate = [&](const ForcePlate& predicted) {
    return std::ranges::find(report.plates, predicted.name, &ForcePlate::name) != report.plates.end();
  };
  if (!fs::exists(file) || std::ranges::all_of(report.predicted, names_a_plate)) return report.plates;
  const auto steps = read_plate_steps(read_file(file, "run"), file.string());
  std::vector<ForcePlate> feet = report.plates;
  for (const ForcePlate& predicted : report.predicted) {
    if (names_a_plate(predicted)) continue;
    const std::string foot = predicted.name.substr(0, predicted.name.find("_ground_force"));
    feet.push_back(foot_load(report.plates, steps, foot, predicted.name, report.up));
  }
  return feet;
}

/// The body mass of the option, else of the plates, else of the scenario.
void find_mass(const CompareGrfOptions& options, GrfReport& report) {
  const auto found = estimate_body_mass(report.plates, report.up);
  std::string plates = "no mean load of a step";
  if (found) {
    plates = found->n_steps == 0 ? std::string("mean load of the plates")
                                 : fmt::format("plates, mean of {} steps, standard deviation {:.1f} kg", found->n_steps,
                                               found->deviation);
  }
  const double scenario_mass = report.mass;
  if (options.mass > 0.0) {
    report.mass = options.mass;
    report.mass_basis = found ? fmt::format("--mass; {:.1f} kg from the {}", found->mass, plates) : "--mass";
  } else if (found) {
    report.mass = found->mass;
    report.mass_basis = plates;
    if (scenario_mass > 0.0) report.mass_basis += fmt::format("; {:.1f} kg in the scenario", scenario_mass);
  } else if (scenario_mass <= 0.0) {
    report.mass = body_mass(report.plates, report.up);
    report.mass_basis =
        "mean load of the plates over the file, without two successive steps: add --mass KG if a foot was "
        "beside them";
  }
}

GrfReport compare_all(const CompareGrfOptions& given) {
  CompareGrfOptions options = given;
  GrfReport report;
  report.predicted = predicted_plates(options.run);
  if (options.measured.empty()) options.measured = options.run / measured_reactions_file;
  report.measured_file = options.measured;
  report.plates = measured_plates(options.measured, report.notes);
  find_vertical(options, report);
  read_making(options.run, report);
  find_mass(options, report);
  report.measured = measured_feet(options, report);
  std::vector<std::string> names;
  for (const ForcePlate& plate : report.predicted) names.push_back(plate.name);
  bool any = false;
  for (const ForcePlate& plate : report.measured) {
    const auto found = std::ranges::find(report.predicted, plate.name, &ForcePlate::name);
    if (found == report.predicted.end()) continue;
    any = true;
    auto stances = compare_plates(plate, *found, report.up, options.threshold, max_gap(report));
    report.stances.insert(report.stances.end(), stances.begin(), stances.end());
  }
  if (!any) {
    throw input_error("measured", fmt::format("{}: expected a plate with the columns of the run ({}), found none",
                                              options.measured.string(), fmt::join(names, ", ")));
  }
  if (report.stances.empty()) {
    throw input_error("measured",
                      fmt::format("{}: expected a stance (force above {} N) during the run, {} to {} s, found none; {}",
                                  options.measured.string(), options.threshold, report.predicted.front().times.front(),
                                  report.predicted.front().times.back(), missing_stance_reason(report)));
  }
  report.directions = direction_names(report.stances, report.up);
  add_mean_curves(report.stances, report.directions);
  report.all = pooled(report.stances);
  return report;
}

std::string vertical_name(const GrfReport& report) {
  Eigen::Index axis = 0;
  report.up.cwiseAbs().maxCoeff(&axis);
  return std::string("v") + "xyz"[axis];
}

/// Components of a plate that are prescribed in the run.
std::vector<std::string> find_prescribed_components(const GrfReport& report, const StanceComparison& c) {
  const auto& plates = report.given.plates;
  if (std::ranges::find(plates, c.plate) == plates.end()) return {};
  return {vertical_name(report)};
}

bool is_prescribed(const GrfReport& report, const StanceComparison& c, const ComponentError& e) {
  return !find_prescribed_components(report, c).empty() && e.name == vertical_name(report);
}

/// "anterior-posterior (vx)"
std::string titled(const GrfReport& report, const std::string& name) {
  const std::size_t axis = std::string_view("xyz").find(name.back());
  return name == "moment" ? "free moment" : fmt::format("{} ({})", report.directions.at(axis), name);
}

std::string origin(const GrfReport& report, const StanceComparison& c, const ComponentError& e) {
  if (!report.has_scenario) return "unknown";
  return is_prescribed(report, c, e) ? "given" : "predicted";
}

/// Explanation of the numbers, below the table.
std::string explanation(const GrfReport& report, const StanceComparison& c) {
  std::string text;
  if (!find_prescribed_components(report, c).empty()) {
    text +=
        fmt::format("{} is prescribed in the run (hybrid analysis): its row shows how closely the run satisfies it. ",
                    vertical_name(report));
    text += "The other components and the centre of pressure are predicted.";
  } else if (!report.has_scenario) {
    text += "The folder has no scenario.yaml: the prescribed components are unknown.";
  }
  if (c.n_missing > 0) {
    text += fmt::format("{}{} of {} measured rows are skipped, because frames of the run have no solution there.",
                        text.empty() ? "" : " ", c.n_missing, c.n_missing + c.rows.size());
  }
  return text;
}

std::string title(const GrfReport& report, const StanceComparison& c) {
  const auto foot = report.feet.find(c.plate);
  const std::string name = foot == report.feet.end() ? c.plate : foot->second + " foot";
  std::string text = fmt::format("{}, stance {:.3f} to {:.3f} s", name, c.stance.start, c.stance.end);
  if (!c.stance.complete()) text += ", cut by the recording";
  if (c.from > c.stance.start || c.to < c.stance.end) {
    text += fmt::format(", compared in the run, from {:.3f} to {:.3f} s", c.from, c.to);
  }
  return text;
}

/// Without the sign of a value that rounds to zero.
std::string fixed(double value, int digits = 1) {
  std::string text = fmt::format("{:.{}f}", value, digits);
  return text.find_first_not_of("-0.") == std::string::npos && text.front() == '-' ? text.substr(1) : text;
}

std::string optional_number(const std::optional<double>& value) {
  return value ? fixed(*value) : "-";
}

std::string percent(double value, double whole) {
  return whole > 0.0 ? fixed(100.0 * value / whole) : "-";
}

std::string correlation(double value) {
  return std::isnan(value) ? "-" : fixed(value, 3);
}

/// [ms] A constant curve has no time of its peak.
std::string delay(const ComponentError& e, const Peak& measured, const Peak& predicted) {
  return std::isnan(e.correlation) ? "-" : fixed(1e3 * (predicted.time - measured.time), 0);
}

/// The errors with every normalisation, and the impulses.
Table error_table(const GrfReport& report, const StanceComparison& c) {
  const double weight = report.mass * 9.80665;
  Table table{.header = {"component", "rms", "% of weight", "% of range", "correlation", "mean of others: rms",
                         "impulse meas.", "impulse run"},
              .rows = {}};
  for (const ComponentError& e : c.components) {
    const bool force = e.name != "moment";
    table.rows.push_back({titled(report, e.name), fixed(e.rms), force ? percent(e.rms, weight) : "-",
                          percent(e.rms, e.range()), correlation(e.correlation), optional_number(e.mean_curve_rms),
                          fixed(e.measured_impulse), fixed(e.predicted_impulse)});
  }
  return table;
}

void print_all_stances(const GrfReport& report) {
  const PooledComparison& all = report.all;
  if (all.n_stances < 2) return;
  const double weight = report.mass * 9.80665;
  fmt::print("\nall {} complete stances\n", all.n_stances);
  Table table{.header = {"component", "rms", "% of weight", "% of range", "correlation", "mean of others: rms"},
              .rows = {}};
  for (const PooledError& e : all.components) {
    const bool force = e.name != "moment";
    table.rows.push_back({titled(report, e.name), fixed(e.rms), force ? percent(e.rms, weight) : "-",
                          std::isnan(e.rms_of_range) ? "-" : fixed(100.0 * e.rms_of_range), correlation(e.correlation),
                          optional_number(e.mean_curve_rms)});
  }
  fmt::print("{}", table.fitted(screen_width(Stream::out)));
  if (all.cop_samples > 0) {
    fmt::print("centre of pressure, 10 to 90 % of stance: error {:.1f} mm rms, {:.1f} mm at most ({} samples)\n",
               1e3 * all.cop_rms, 1e3 * all.cop_max, all.cop_samples);
  }
}

void print_text(const GrfReport& report) {
  const double weight = report.mass * 9.80665;
  fmt::print("body mass {:.1f} kg (weight {:.1f} N; {})\n", report.mass, weight, report.mass_basis);
  for (const StanceComparison& c : report.stances) {
    fmt::print("\n{}\n", title(report, c));
    Table table{.header = {"component", "unit", "run", "rms", "rms %BW", "max meas.", "max run", "max error",
                           "max later ms", "min meas.", "min run", "min error", "min later ms", "correlation"},
                .rows = {}};
    for (const ComponentError& e : c.components) {
      const bool force = e.name != "moment";
      table.rows.push_back({titled(report, e.name), force ? "N" : "N m", origin(report, c, e), fixed(e.rms),
                            force ? fixed(100.0 * e.rms / weight) : "-", fixed(e.measured_max.value),
                            fixed(e.predicted_max.value), fixed(e.predicted_max.value - e.measured_max.value),
                            delay(e, e.measured_max, e.predicted_max), fixed(e.measured_min.value),
                            fixed(e.predicted_min.value), fixed(e.predicted_min.value - e.measured_min.value),
                            delay(e, e.measured_min, e.predicted_min), correlation(e.correlation)});
    }
    fmt::print("{}", table.fitted(screen_width(Stream::out)));
    fmt::print("{}", error_table(report, c).fitted(screen_width(Stream::out)));
    const std::string meaning = explanation(report, c);
    if (!meaning.empty()) fmt::print("{}\n", meaning);
    const char* verb = find_prescribed_components(report, c).empty() ? "predicted" : "in the run";
    const auto halves = [&](const char* name, const std::optional<Peak>(&peak)[2]) {
      if (!peak[0] || !peak[1]) return;
      fmt::print("{} of the vertical force: measured {:.1f} N at {:.3f} s, {} {:.1f} N at {:.3f} s\n", name,
                 peak[0]->value, peak[0]->time, verb, peak[1]->value, peak[1]->time);
    };
    halves("first peak", c.first_peak);
    halves("second peak", c.second_peak);
    if (c.cop_samples > 0) {
      fmt::print("centre of pressure, 10 to 90 % of stance: error {:.1f} mm rms, {:.1f} mm at most ({} samples)\n",
                 1e3 * c.cop_rms, 1e3 * c.cop_max, c.cop_samples);
    } else {
      fmt::print("centre of pressure: no samples with both loaded between 10 and 90 % of stance\n");
    }
  }
  print_all_stances(report);
}

nlohmann::json to_json(const Peak& peak) {
  return {{"value", peak.value}, {"time_s", peak.time}};
}

nlohmann::json to_json(const StanceComparison& c, const GrfReport& report) {
  const double weight = report.mass * 9.80665;
  nlohmann::json json = {{"plate", c.plate},
                         {"start_s", c.stance.start},
                         {"end_s", c.stance.end},
                         {"complete", c.stance.complete()},
                         {"from_s", c.from},
                         {"to_s", c.to},
                         {"missing_rows", c.n_missing},
                         {"cop_samples", c.cop_samples}};
  json["cop_rms_mm"] = c.cop_samples > 0 ? nlohmann::json(1e3 * c.cop_rms) : nlohmann::json();
  json["cop_max_mm"] = c.cop_samples > 0 ? nlohmann::json(1e3 * c.cop_max) : nlohmann::json();
  for (const ComponentError& e : c.components) {
    nlohmann::json& entry = json["components"][e.name];
    entry = {{"direction", titled(report, e.name)},
             {"run", origin(report, c, e)},
             {"rms", e.rms},
             {"max", {{"measured", to_json(e.measured_max)}, {"predicted", to_json(e.predicted_max)}}},
             {"min", {{"measured", to_json(e.measured_min)}, {"predicted", to_json(e.predicted_min)}}}};
    if (e.name != "moment") entry["rms_percent_body_weight"] = 100.0 * e.rms / weight;
    if (e.range() > 0.0) entry["rms_percent_range"] = 100.0 * e.rms / e.range();
    entry["impulse"] = {{"measured", e.measured_impulse}, {"predicted", e.predicted_impulse}};
    if (e.mean_curve_rms) entry["mean_of_other_stances_rms"] = *e.mean_curve_rms;
    entry["correlation"] = std::isnan(e.correlation) ? nlohmann::json() : nlohmann::json(e.correlation);
  }
  if (c.first_peak[0]) {
    json["first_peak"] = {{"measured", to_json(*c.first_peak[0])}, {"predicted", to_json(*c.first_peak[1])}};
    json["second_peak"] = {{"measured", to_json(*c.second_peak[0])}, {"predicted", to_json(*c.second_peak[1])}};
  }
  return json;
}

nlohmann::json to_json(const PooledComparison& all, double weight) {
  nlohmann::json json = {{"stances", all.n_stances}, {"components", nlohmann::json::object()}};
  if (all.cop_samples > 0) {
    json["cop_rms_mm"] = 1e3 * all.cop_rms;
    json["cop_max_mm"] = 1e3 * all.cop_max;
  }
  for (const PooledError& e : all.components) {
    nlohmann::json& entry = json["components"][e.name];
    entry["rms"] = e.rms;
    if (e.name != "moment") entry["rms_percent_body_weight"] = 100.0 * e.rms / weight;
    if (!std::isnan(e.rms_of_range)) entry["rms_percent_range"] = 100.0 * e.rms_of_range;
    if (!std::isnan(e.correlation)) entry["correlation"] = e.correlation;
    if (e.mean_curve_rms) entry["mean_of_other_stances_rms"] = *e.mean_curve_rms;
  }
  return json;
}

report::PageTable stance_table(const GrfReport& report, const StanceComparison& c) {
  const double weight = report.mass * 9.80665;
  report::PageTable table{
      .heading = title(report, c),
      .header = {"component", "unit", "run", "rms", "rms [% of body weight]", "rms [% of range]",
                 "mean of other stances, rms", "largest, measured", "largest, run", "later by [ms]",
                 "smallest, measured", "smallest, run", "correlation", "impulse, measured [N s]", "impulse, run [N s]"},
      .rows = {},
      .note = explanation(report, c),
      .figure = {}};
  for (const ComponentError& e : c.components) {
    const bool force = e.name != "moment";
    table.rows.push_back({titled(report, e.name), force ? "N" : "N m", origin(report, c, e), fixed(e.rms),
                          force ? percent(e.rms, weight) : "-", percent(e.rms, e.range()),
                          optional_number(e.mean_curve_rms), fixed(e.measured_max.value), fixed(e.predicted_max.value),
                          delay(e, e.measured_max, e.predicted_max), fixed(e.measured_min.value),
                          fixed(e.predicted_min.value), correlation(e.correlation), fixed(e.measured_impulse),
                          fixed(e.predicted_impulse)});
  }
  table.note += table.note.empty() ? "" : " ";
  table.note += c.cop_samples > 0
                    ? fmt::format(
                          "Centre of pressure, predicted, 10 to 90 % of stance: error {:.1f} mm rms, {:.1f} mm at "
                          "most.",
                          1e3 * c.cop_rms, 1e3 * c.cop_max)
                    : "No centre of pressure: both are never loaded together.";
  std::vector<Vector3> moved;
  for (const StanceRow& row : c.rows) {
    if (report.ground.times.empty()) break;
    moved.push_back(interpolated(report.ground.times, report.ground.position, row.time) -
                    interpolated(report.ground.times, report.ground.position, c.rows.front().time));
  }
  table.figure = {.stance = &c,
                  .up = report.up,
                  .directions = report.directions,
                  .given = find_prescribed_components(report, c),
                  .ground_moved = std::move(moved)};
  return table;
}

/// The numbers of print_text as tables of a page.
report::GrfPage page_of(const GrfReport& report, const CompareGrfOptions& options) {
  report::GrfPage page{.run = fs::absolute(options.run).lexically_normal().filename().string(),
                       .measured = report.measured_file.filename().string(),
                       .tables = {}};
  for (const StanceComparison& c : report.stances) page.tables.push_back(stance_table(report, c));
  return page;
}

/// All compared rows of all stances, for other programs.
std::string rows_csv(const GrfReport& report) {
  std::string text = "plate,stance,time_s,stance_percent";
  for (const char* source : {"measured", "run"}) {
    for (const char* what : {"vx_N", "vy_N", "vz_N", "moment_Nm", "px_m", "py_m", "pz_m"}) {
      text += fmt::format(",{}_{}", source, what);
    }
  }
  text += '\n';
  std::size_t number = 0;
  for (const StanceComparison& c : report.stances) {
    ++number;
    for (const StanceRow& row : c.rows) {
      text += fmt::format("{},{},{},{}", c.plate, number, row.time, 100.0 * row.share);
      for (int k = 0; k < 2; ++k) {
        text += fmt::format(",{},{},{},{}", row.force[k].x(), row.force[k].y(), row.force[k].z(), row.moment[k]);
        text += row.center[k] ? fmt::format(",{},{},{}", row.center[k]->x(), row.center[k]->y(), row.center[k]->z())
                              : std::string(",,,");
      }
      text += '\n';
    }
  }
  return text;
}

ExitCode compare_grf(const CompareGrfOptions& options, bool json) {
  const GrfReport report = compare_all(options);
  for (const std::string& note : report.notes) fmt::print(stderr, "heelstrike: note: {}\n", printable(note));
  const fs::path page = report::write_grf_report(options.run / "compare-grf", page_of(report, options));
  write_whole_file(page.parent_path() / "stances.csv", rows_csv(report));
  if (json) {
    nlohmann::json out = {{"body_mass_kg", report.mass},
                          {"body_mass_basis", report.mass_basis},
                          {"notes", report.notes},
                          {"stances", nlohmann::json::array()}};
    for (const auto& c : report.stances) out["stances"].push_back(to_json(c, report));
    out["all"] = to_json(report.all, report.mass * 9.80665);
    fmt::print("{}\n", out.dump(2));
  } else {
    print_text(report);
    fmt::print("\npage        {}\n", page.string());
  }
  return ExitCode::ok;
}

Action add_compare_grf(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<CompareGrfOptions>();
  command.add_option("RUN", options->run, "Run folder")->required()->type_name("FOLDER");
  command
      .add_option("--measured", options->measured,
                  "Measured ground forces, OpenSim .mot or .sto; default: the measured forces of the run, "
                  "measured_reactions.mot of its folder")
      ->type_name("FILE");
  command
      .add_option("--mass", options->mass, "Body mass [kg]; default: from the mean load of the plates over the file")
      ->check(CLI::PositiveNumber)
      ->type_name("KG");
  command.add_option("--threshold", options->threshold, "Vertical force [N] above which a foot is in stance")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->type_name("N");
  command.add_flag("--json", as_json, "Print the comparison as JSON");
  return [options](bool json, const std::stop_token& /*stop*/) { return compare_grf(*options, json); };
}

}  // namespace

Subcommand compare_grf_command() {
  return {.name = "compare-grf",
          .summary = "Compare the ground reactions of a run with force plates",
          .examples = "  heelstrike compare-grf runs/gait_spheres-hunt_crossley --measured subject01_walk1_grf.mot",
          .add = add_compare_grf};
}

}  // namespace heelstrike::client
