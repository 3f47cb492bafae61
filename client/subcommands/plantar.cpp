// heelstrike plantar: pressure by region of the sole, from the fields of a run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "common/text/table.hpp"
#include "library/registries/catalog.hpp"
#include "library/runs/file_kind.hpp"
#include "library/runs/run_request.hpp"
#include "library/terminal/screen.hpp"
#include "report/plantar/plantar.hpp"

namespace heelstrike::client {
namespace {

/// Frames under load below which times and integrals of a stance have no meaning.
constexpr std::size_t min_loaded_frames = 10;

bool has_stance(const PlantarFoot& foot) {
  return std::ranges::count_if(foot.frames, [](const PlantarFrame& frame) { return frame.force() > 0.0; }) >=
         static_cast<std::ptrdiff_t>(min_loaded_frames);
}

struct PlantarOptions {
  std::filesystem::path run;
  double toe_line = 0.8;
};

void print(const PlantarFoot& foot) {
  fmt::print("{}\n", foot.name);
  Table table;
  table.header = {"region", "force N", "peak kPa", "area cm^2"};
  const bool with_stance = has_stance(foot);
  if (with_stance) table.header.insert(table.header.end(), {"impulse N s", "pressure-time kPa s"});
  for (std::size_t r = 0; r < plantar_regions.size(); ++r) {
    const RegionSummary& s = foot.summary[r];
    table.rows.push_back({std::string(plantar_regions[r]), number_text(s.max_force, 4),
                          number_text(1e-3 * s.peak_pressure, 4), number_text(1e4 * s.max_area, 3)});
    if (!with_stance) continue;
    table.rows.back().push_back(number_text(s.impulse, 4));
    table.rows.back().push_back(number_text(1e-3 * s.pressure_time_integral, 4));
  }
  fmt::print("{}\n", table.fitted(screen_width(Stream::out)));
  if (!with_stance) {
    print_message("note", fmt::format("{}: no impulses and instants with fewer than {} loaded frames; decrease "
                                      "output.fields.interval",
                                      foot.name, min_loaded_frames));
    return;
  }
  for (const PlantarInstant& instant : foot.instants) fmt::print("{:<12} {:.4g} s\n", instant.name, instant.time);
}

nlohmann::ordered_json to_json(const PlantarFoot& foot) {
  nlohmann::ordered_json json = {{"foot", foot.name}};
  for (std::size_t r = 0; r < plantar_regions.size(); ++r) {
    const RegionSummary& s = foot.summary[r];
    json["regions"][std::string(plantar_regions[r])] = {{"max_force_N", s.max_force},
                                                        {"peak_pressure_Pa", s.peak_pressure},
                                                        {"max_area_m2", s.max_area},
                                                        {"impulse_Ns", s.impulse},
                                                        {"pressure_time_integral_Pas", s.pressure_time_integral}};
  }
  for (const PlantarInstant& i : foot.instants) json["instants_s"][std::string(i.name)] = i.time;
  return json;
}

ExitCode plantar(const PlantarOptions& options, bool as_json) {
  require_run_folder(options.run);
  const auto file = options.run / "scenario.yaml";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    throw file_error(options.run.string(),
                     fmt::format("{}: expected a run folder (with scenario.yaml), found none", options.run.string()));
  }
  const Scenario scenario = parse_scenario(read_file(file, "RUN"), file.string(), scenario_catalog());
  const auto feet = plantar_loads(options.run, scenario, options.toe_line);
  const auto files = write_plantar(options.run, feet);
  if (as_json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const PlantarFoot& foot : feet) json.push_back(to_json(foot));
    fmt::print("{}\n", json.dump(2));
    return ExitCode::ok;
  }
  for (const PlantarFoot& foot : feet) print(foot);
  for (const std::string& name : files) fmt::print("{}\n", name);
  return ExitCode::ok;
}

Action add_plantar(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<PlantarOptions>();
  command.add_option("RUN", options->run, "Run folder with fields")->required()->type_name("FOLDER");
  command.add_option("--toe-line", options->toe_line, "Fraction of the foot's length at which the toes begin")
      ->check(CLI::Range(0.5, 0.95))
      ->capture_default_str();
  command.add_flag("--json", as_json, "Print the summary as JSON");
  return [options](bool json, const std::stop_token& /*stop*/) { return plantar(*options, json); };
}

}  // namespace

Subcommand plantar_command() {
  return {.name = "plantar",
          .summary = "Pressure by region of the sole, from the fields of a run",
          .examples =
              "  heelstrike run examples/gait_synthetic.yaml        writes the required fields\n"
              "  heelstrike plantar runs/gait_synthetic-fem_condensed",
          .add = add_plantar};
}

}  // namespace heelstrike::client
