// heelstrike import-osim: converts an OpenSim model or a part of it to a scenario and a folder of meshes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <numbers>
#include <optional>
#include <utility>

#include "client/subcommands/import_folder.hpp"
#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "common/files/read_file.hpp"
#include "importers/opensim/osim_scenario.hpp"
#include "library/registries/catalog.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

struct ImportOptions {
  fs::path model;
  std::vector<std::string> joints;
  std::vector<std::string> fixed_joints;
  std::vector<fs::path> geometry;
  std::vector<std::string> meshes;
  std::vector<std::string> coordinates;
  std::vector<std::string> scale;
  std::optional<double> mass;
  std::optional<double> flexion, drawer_force, activation;
  fs::path motion;
  std::vector<std::string> radians;
  fs::path external_loads, external_loads_data;
  std::vector<std::string> excluded;
  bool rigid_tendons = false;
  Overrides overrides;
  fs::path folder;
};

osim::ImportOptions make_import_options(const ImportOptions& options) {
  osim::ImportOptions import_options{
      .joints = options.joints, .fixed_joints = options.fixed_joints, .meshes = {}, .folders = {}};
  import_options.drawer_force = options.drawer_force;
  import_options.excluded = options.excluded;
  import_options.radians = options.radians;
  import_options.activation = options.activation;
  import_options.rigid_tendons = options.rigid_tendons;
  constexpr double per_degree = std::numbers::pi / 180.0;
  if (options.flexion) import_options.flexion = per_degree * *options.flexion;
  import_options.angle_unit = per_degree;
  for (const std::string& text : options.coordinates) {
    const auto [name, value] = read_named_number("--coordinate", text);
    import_options.coordinates[name] = value;
  }
  for (const std::string& text : options.scale) {
    const auto [name, factor] = read_named_number("--scale", text);
    import_options.scale[name] = factor;
  }
  import_options.mass = options.mass;
  import_options.folders = osim::mesh_folders(options.geometry, options.model);
  for (const std::string& text : options.meshes) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw input_error("mesh", fmt::format("--mesh: expected NAME=FILE, found '{}'", text));
    }
    import_options.meshes[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return import_options;
}

/// @param scenario  its comments are lost except for the first line
void apply(const Overrides& overrides, const std::string& name, std::string& scenario) {
  if (overrides.assignments.empty()) return;
  const std::string first_line = scenario.substr(0, scenario.find('\n') + 1);
  const Catalog catalog = scenario_catalog(schemas_of(known_backends({})));
  for (const std::string& assignment : overrides.assignments) {
    scenario = with_override(scenario, name, assignment, catalog);
  }
  scenario = first_line + scenario;
}

ExitCode import_osim(const ImportOptions& options, bool as_json, const std::stop_token& stop) {
  const std::string text = read_file(options.model, "import-osim", {.stop = stop});
  osim::ImportOptions import_options = make_import_options(options);
  if (!options.motion.empty()) {
    import_options.motion = {
        .file = options.motion,
        .table = read_motion_table(read_file(options.motion, "motion", {.stop = stop}), options.motion.string())};
  }
  if (!options.external_loads.empty()) {
    import_options.external_loads = osim::read_measured_loads(
        options.external_loads, options.external_loads_data,
        [&](const std::string& file, const char* option) { return read_file(file, option, {.stop = stop}); });
  }
  osim::Model model = osim::read_model(text, options.model.string());
  require_output(options.folder);
  models::Import import = osim::import_model(std::move(model), import_options);
  apply(options.overrides, options.model.stem().string() + ".yaml", import.scenario);
  return write_import(options.model, options.folder, import, as_json);
}

Action add_import_osim(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<ImportOptions>();
  command.add_option("MODEL", options->model, "OpenSim model file, .osim of version 1.6 or later")
      ->required()
      ->type_name("FILE");
  command
      .add_option(
          "--subset", options->joints,
          "Joints whose bodies are imported, with all ligaments and muscles between them; default: the whole model")
      ->delimiter(',')
      ->type_name("JOINT");
  command
      .add_option("--lock-joints", options->fixed_joints,
                  "Joints that are locked at their coordinates: bodies attached by them are merged with the bodies of "
                  "the subset, and muscles attached to them are imported")
      ->delimiter(',')
      ->type_name("JOINT");
  command
      .add_option("--coordinate", options->coordinates,
                  "Value of a coordinate instead of its default [degrees, of translations m]; repeatable")
      ->type_name("NAME=VALUE");
  command
      .add_option("--scale", options->scale,
                  "Uniform factor of a body and of all parts fixed in it; slack and fibre lengths follow their lines; "
                  "repeatable")
      ->type_name("BODY=FACTOR");
  command.add_option("--mass", options->mass, "Total mass [kg], to which the masses of all bodies are scaled")
      ->check(CLI::PositiveNumber);
  command.add_option("--geometry", options->geometry, "Further folder of mesh files; repeatable")->type_name("FOLDER");
  command
      .add_option("--mesh", options->meshes,
                  "Another file for a contact mesh, or for the surface below it, NAME.back; repeatable")
      ->type_name("NAME=FILE");
  auto* flexion = command
                      .add_option("--flexion", options->flexion,
                                  "Flex the first joint of the subset with six coordinates to this value of its "
                                  "first coordinate [degrees], in 20 equilibria; default: no driver")
                      ->type_name("ANGLE");
  command
      .add_option("--motion", options->motion,
                  "Motion file (.mot, .sto, .csv) with a column of this name, which prescribes the coordinate; "
                  "of a whole model, all coordinates with a column are prescribed")
      ->excludes(flexion)
      ->type_name("FILE");
  command
      .add_option("--radians", options->radians,
                  "Coordinates with columns in rad in a motion file whose header states degrees: OpenSim does not "
                  "convert a coordinate that enters its joint through a spline")
      ->delimiter(',')
      ->type_name("NAME");
  auto* external_loads =
      command
          .add_option("--external-loads", options->external_loads,
                      "ExternalLoads (.xml): forces and torques of a data file on bodies of the whole model, at the "
                      "times of the motion")
          ->type_name("FILE");
  command
      .add_option("--external-loads-data", options->external_loads_data,
                  "Data file of --external-loads instead of the one it names")
      ->needs(external_loads)
      ->type_name("FILE");
  command
      .add_option(
          "--drawer-force", options->drawer_force,
          "After --flexion apply an anterior force to the flexed body along its x axis [N], in 20 more equilibria")
      ->needs(flexion)
      ->type_name("FORCE");
  command
      .add_option("--exclude", options->excluded,
                  "Ligaments, muscles and contacts to skip; ACLam selects all its lines")
      ->delimiter(',')
      ->type_name("NAME");
  command.add_option("--activation", options->activation, "Constant activation of all muscles, 0 to 1")
      ->check(CLI::Range(0.0, 1.0));
  command.add_flag("--rigid-tendons", options->rigid_tendons, "Use rigid tendons in all muscles");
  add_set_option(command, options->overrides);
  command.add_option("-o,--output", options->folder, "Folder to write to, or FOLDER/NAME.yaml (required)")
      ->type_name("FOLDER");
  command.add_flag("--json", as_json, "Print the imported elements as JSON");
  return [options](bool json, const std::stop_token& stop) { return import_osim(*options, json, stop); };
}

}  // namespace

Subcommand import_osim_command() {
  return {.name = "import-osim",
          .summary = "Convert an OpenSim model or a part of it to a scenario",
          .examples =
              "  heelstrike import-osim arm26.osim --coordinate r_elbow_flex=90 -o arm\n  heelstrike import-osim "
              "lenhart2015.osim "
              "--subset knee_r --flexion 40 -o knee\n  heelstrike import-osim "
              "lenhart2015.osim --subset knee_r,pf_r --lock-joints hip_r,ankle_r,subtalar_r,mtp_r -o leg",
          .add = add_import_osim};
}

}  // namespace heelstrike::client
