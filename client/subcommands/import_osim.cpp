// heelstrike import-osim: a part of an OpenSim 4 model as a scenario and a folder of meshes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <numbers>
#include <optional>

#include "client/osim/osim_scenario.hpp"
#include "client/runs/read_file.hpp"
#include "client/subcommands/import_folder.hpp"
#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

struct ImportOptions {
  fs::path model;
  std::vector<std::string> joints;
  std::vector<std::string> held;
  std::vector<fs::path> geometry;
  std::vector<std::string> meshes;
  std::optional<double> flexion;
  fs::path folder;
};

osim::ImportWish wish_of(const ImportOptions& options) {
  osim::ImportWish wish{.joints = options.joints, .held = options.held, .meshes = {}, .folders = options.geometry};
  constexpr double per_degree = std::numbers::pi / 180.0;
  if (options.flexion) wish.flexion = per_degree * *options.flexion;
  wish.folders.push_back(options.model.parent_path());
  wish.folders.push_back(options.model.parent_path() / "Geometry");
  for (const std::string& text : options.meshes) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw input_error("mesh", fmt::format("--mesh: expected NAME=FILE, found '{}'", text));
    }
    wish.meshes[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return wish;
}

ExitCode import_osim(const ImportOptions& options, bool as_json, const std::stop_token& stop) {
  const std::string text = read_file(options.model, "model", {.stop = stop});
  return write_import(options.model, options.folder,
                      osim::import_model(osim::read_model(text, options.model.string()), wish_of(options)), as_json);
}

}  // namespace

void add_import_osim(CLI::App& program, Invocation& invocation) {
  auto* command = program.add_subcommand("import-osim", "Make a scenario of a part of an OpenSim 4 model");
  const auto options = std::make_shared<ImportOptions>();
  command->add_option("MODEL", options->model, "OpenSim model file, .osim of version 4")->required();
  command
      ->add_option("--subset", options->joints,
                   "Joints whose bodies are taken, with all ligaments and muscles between them")
      ->required()
      ->delimiter(',')
      ->type_name("JOINT");
  command
      ->add_option("--hold", options->held,
                   "Joints that are held at the defaults of their coordinates: what hangs on them becomes part of the "
                   "bodies of the subset, and muscles that reach there come along")
      ->delimiter(',')
      ->type_name("JOINT");
  command->add_option("--geometry", options->geometry, "Further folder of mesh files; may be given several times")
      ->type_name("FOLDER");
  command->add_option("--mesh", options->meshes, "Another file for a contact mesh; may be given several times")
      ->type_name("NAME=FILE");
  command
      ->add_option(
          "--flexion", options->flexion,
          "Bend the first joint of the subset with six coordinates to this value of its first one [degrees], in "
          "20 equilibria; without, nothing drives the scenario")
      ->type_name("ANGLE");
  command->add_option("-o,--output", options->folder, "Folder to write to")->required()->type_name("FOLDER");
  command->add_flag("--json", invocation.json, "Print what was imported as JSON");
  add_footer(*command,
             "  heelstrike import-osim lenhart2015.osim --subset knee_r --flexion 40 -o knee\n  heelstrike import-osim "
             "lenhart2015.osim --subset knee_r,pf_r --hold hip_r,ankle_r,subtalar_r,mtp_r -o leg");
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options](const std::stop_token& stop) {
      return import_osim(*options, invocation.json, stop);
    };
  });
}

}  // namespace heelstrike::client
