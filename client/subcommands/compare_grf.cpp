// heelstrike compare-grf: ground reactions of a run beside those of force plates.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "client/report/grf_report.hpp"
#include "client/runs/ground_reactions.hpp"
#include "client/runs/run_request.hpp"
#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "client/terminal/table.hpp"
#include "common/errors/error.hpp"
#include "common/motion/grf_comparison.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

struct CompareGrfOptions {
  fs::path run;
  fs::path measured;
  double mass = 0.0;  ///< [kg] 0 = from the plates
  double threshold = stance_threshold;
};

std::vector<ForcePlate> plates_in(const fs::path& file, const std::string& what) {
  return read_force_plates(read_motion_table(read_file(file, what), file.string()));
}

/// The first file of the run folder that has columns of force plates.
std::vector<ForcePlate> predicted_plates(const fs::path& run) {
  if (!fs::is_directory(run)) {
    throw input_error("RUN", fmt::format("expected a run folder, found no folder {}; name the folder that `heelstrike "
                                         "run` made",
                                         run.string()));
  }
  for (const char* name : {ground_reactions_file, "forces.sto", "timeseries.csv"}) {
    const fs::path file = run / name;
    if (!fs::exists(file)) continue;
    const std::string text = read_file(file, "run");
    if (text.find("ground_force_") != std::string::npos) {
      return read_force_plates(read_motion_table(text, file.string()));
    }
  }
  if (fs::exists(run / "INCOMPLETE")) {
    throw input_error("RUN", fmt::format("{}: expected the ground reactions of a run, found one that ended before its "
                                         "first row: {}",
                                         run.string(), read_file(run / "INCOMPLETE", "run")));
  }
  throw input_error("RUN",
                    fmt::format("{}: expected columns ground_force_vx, ... in {}, forces.sto or timeseries.csv, found "
                                "none; give the feet of the scenario's `motion` a `plate` and run again",
                                run.string(), ground_reactions_file));
}

struct GrfReport {
  double mass = 0.0;
  std::vector<StanceComparison> stances;
  std::vector<ForcePlate> measured;
  std::vector<ForcePlate> predicted;
};

GrfReport compare_all(const CompareGrfOptions& options) {
  const auto measured = plates_in(options.measured, "measured");
  const auto predicted = predicted_plates(options.run);
  const Vector3 up = vertical_axis(measured);
  GrfReport report{.mass = options.mass > 0.0 ? options.mass : body_mass(measured, up),
                   .stances = {},
                   .measured = measured,
                   .predicted = predicted};
  std::vector<std::string> names;
  for (const ForcePlate& plate : predicted) names.push_back(plate.name);
  bool any = false;
  for (const ForcePlate& plate : measured) {
    const auto found = std::ranges::find(predicted, plate.name, &ForcePlate::name);
    if (found == predicted.end()) continue;
    any = true;
    auto stances = compare_plates(plate, *found, up, options.threshold);
    report.stances.insert(report.stances.end(), stances.begin(), stances.end());
  }
  if (!any) {
    throw input_error("measured", fmt::format("{}: expected a plate with the columns of the run ({}), found none",
                                              options.measured.string(), fmt::join(names, ", ")));
  }
  if (report.stances.empty()) {
    throw input_error("measured",
                      fmt::format("{}: expected a stance (force above {} N) during the run, {} to {} s, found none; do "
                                  "both have the same clock?",
                                  options.measured.string(), options.threshold, predicted.front().times.front(),
                                  predicted.front().times.back()));
  }
  return report;
}

std::string title(const StanceComparison& c) {
  std::string text = fmt::format("{}  stance {:.3f} to {:.3f} s", c.plate, c.stance.start, c.stance.end);
  if (!c.stance.complete()) text += ", cut by the recording";
  if (c.from > c.stance.start || c.to < c.stance.end) {
    text += fmt::format(", compared from {:.3f} to {:.3f} s, which the run covers", c.from, c.to);
  }
  return text;
}

void print_text(const GrfReport& report) {
  const double weight = report.mass * 9.80665;
  fmt::print("body mass {:.1f} kg (weight {:.1f} N)\n", report.mass, weight);
  for (const StanceComparison& c : report.stances) {
    fmt::print("\n{}\n", title(c));
    Table table{.header = {"component", "unit", "rms", "rms %BW", "max meas.", "max pred.", "error", "dt ms",
                           "min meas.", "min pred.", "error", "dt ms", "correlation"},
                .rows = {}};
    for (const ComponentError& e : c.components) {
      const bool force = e.name != "moment";
      table.rows.push_back({e.name, force ? "N" : "N m", fmt::format("{:.1f}", e.rms),
                            force ? fmt::format("{:.1f}", 100.0 * e.rms / weight) : "-",
                            fmt::format("{:.1f}", e.measured_max.value), fmt::format("{:.1f}", e.predicted_max.value),
                            fmt::format("{:.1f}", e.predicted_max.value - e.measured_max.value),
                            fmt::format("{:.0f}", 1e3 * (e.predicted_max.time - e.measured_max.time)),
                            fmt::format("{:.1f}", e.measured_min.value), fmt::format("{:.1f}", e.predicted_min.value),
                            fmt::format("{:.1f}", e.predicted_min.value - e.measured_min.value),
                            fmt::format("{:.0f}", 1e3 * (e.predicted_min.time - e.measured_min.time)),
                            std::isnan(e.correlation) ? "-" : fmt::format("{:.3f}", e.correlation)});
    }
    fmt::print("{}", table.aligned());
    const auto halves = [](const char* name, const std::optional<Peak>(&peak)[2]) {
      if (!peak[0] || !peak[1]) return;
      fmt::print("{} of the vertical force: measured {:.1f} N at {:.3f} s, predicted {:.1f} N at {:.3f} s\n", name,
                 peak[0]->value, peak[0]->time, peak[1]->value, peak[1]->time);
    };
    halves("first peak", c.first_peak);
    halves("second peak", c.second_peak);
    if (c.cop_samples > 0) {
      fmt::print("centre of pressure, 10 to 90 % of stance: error {:.1f} mm rms, {:.1f} mm at most ({} samples)\n",
                 1e3 * c.cop_rms, 1e3 * c.cop_max, c.cop_samples);
    } else {
      fmt::print("centre of pressure: no samples between 10 and 90 % of stance in which both are loaded\n");
    }
  }
}

nlohmann::json to_json(const Peak& peak) {
  return {{"value", peak.value}, {"time_s", peak.time}};
}

nlohmann::json to_json(const StanceComparison& c, double weight) {
  nlohmann::json json = {{"plate", c.plate},
                         {"start_s", c.stance.start},
                         {"end_s", c.stance.end},
                         {"complete", c.stance.complete()},
                         {"from_s", c.from},
                         {"to_s", c.to},
                         {"cop_samples", c.cop_samples}};
  json["cop_rms_mm"] = c.cop_samples > 0 ? nlohmann::json(1e3 * c.cop_rms) : nlohmann::json();
  json["cop_max_mm"] = c.cop_samples > 0 ? nlohmann::json(1e3 * c.cop_max) : nlohmann::json();
  for (const ComponentError& e : c.components) {
    nlohmann::json& entry = json["components"][e.name];
    entry = {{"rms", e.rms},
             {"max", {{"measured", to_json(e.measured_max)}, {"predicted", to_json(e.predicted_max)}}},
             {"min", {{"measured", to_json(e.measured_min)}, {"predicted", to_json(e.predicted_min)}}}};
    if (e.name != "moment") entry["rms_percent_body_weight"] = 100.0 * e.rms / weight;
    entry["correlation"] = std::isnan(e.correlation) ? nlohmann::json() : nlohmann::json(e.correlation);
  }
  if (c.first_peak[0]) {
    json["first_peak"] = {{"measured", to_json(*c.first_peak[0])}, {"predicted", to_json(*c.first_peak[1])}};
    json["second_peak"] = {{"measured", to_json(*c.second_peak[0])}, {"predicted", to_json(*c.second_peak[1])}};
  }
  return json;
}

/// The numbers of print_text as tables of a page.
report::GrfPage page_of(const GrfReport& report, const CompareGrfOptions& options) {
  report::GrfPage page{.run = fs::absolute(options.run).lexically_normal().filename().string(),
                       .measured = options.measured.filename().string(),
                       .tables = {}};
  const double weight = report.mass * 9.80665;
  for (const StanceComparison& c : report.stances) {
    report::PageTable table{
        .heading = title(c),
        .header = {"component", "unit", "rms", "rms [% of body weight]", "largest, measured", "largest, predicted",
                   "later by [ms]", "smallest, measured", "smallest, predicted", "correlation"},
        .rows = {},
        .note = "no centre of pressure: both are never loaded together"};
    for (const ComponentError& e : c.components) {
      const bool force = e.name != "moment";
      table.rows.push_back({e.name, force ? "N" : "N m", fmt::format("{:.1f}", e.rms),
                            force ? fmt::format("{:.1f}", 100.0 * e.rms / weight) : "-",
                            fmt::format("{:.1f}", e.measured_max.value), fmt::format("{:.1f}", e.predicted_max.value),
                            fmt::format("{:.0f}", 1e3 * (e.predicted_max.time - e.measured_max.time)),
                            fmt::format("{:.1f}", e.measured_min.value), fmt::format("{:.1f}", e.predicted_min.value),
                            std::isnan(e.correlation) ? "-" : fmt::format("{:.3f}", e.correlation)});
    }
    if (c.cop_samples > 0) {
      table.note = fmt::format("Centre of pressure, 10 to 90 % of stance: error {:.1f} mm rms, {:.1f} mm at most.",
                               1e3 * c.cop_rms, 1e3 * c.cop_max);
    }
    page.tables.push_back(std::move(table));
  }
  return page;
}

ExitCode compare_grf(const CompareGrfOptions& options, bool json) {
  const GrfReport report = compare_all(options);
  const fs::path page = report::write_grf_report(options.run / "compare-grf", page_of(report, options), report.measured,
                                                 report.predicted);
  if (json) {
    nlohmann::json out = {{"body_mass_kg", report.mass}, {"stances", nlohmann::json::array()}};
    for (const auto& c : report.stances) out["stances"].push_back(to_json(c, report.mass * 9.80665));
    fmt::print("{}\n", out.dump(2));
  } else {
    print_text(report);
    fmt::print("\npage        {}\n", page.string());
  }
  return ExitCode::ok;
}

}  // namespace

void add_compare_grf(CLI::App& program, Invocation& invocation) {
  auto* command =
      program.add_subcommand("compare-grf", "Compare the ground reactions of a run with those of force plates");
  const auto options = std::make_shared<CompareGrfOptions>();
  command->add_option("RUN", options->run, "Run folder")->required();
  command->add_option("--measured", options->measured, "Measured ground forces, OpenSim .mot")
      ->required()
      ->type_name("FILE");
  command->add_option("--mass", options->mass, "Body mass [kg]; mean load of the plates over the file when not given")
      ->check(CLI::PositiveNumber)
      ->type_name("KG");
  command->add_option("--threshold", options->threshold, "Vertical force [N] above which a foot stands")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->type_name("N");
  command->add_flag("--json", invocation.json, "Print the comparison as JSON");
  add_footer(*command, "  heelstrike compare-grf runs/gait_spheres-hunt_crossley --measured subject01_walk1_grf.mot");
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options](std::stop_token) { return compare_grf(*options, invocation.json); };
  });
}

}  // namespace heelstrike::client
