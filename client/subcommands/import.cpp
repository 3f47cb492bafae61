// heelstrike import: converts a URDF or MJCF model to a scenario and a folder of meshes; a C3D trial to motion files.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <pugixml.hpp>
#include <string_view>

#include "client/subcommands/import_folder.hpp"
#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/files/read_file.hpp"
#include "common/text/markup.hpp"
#include "gait/c3d_file.hpp"
#include "importers/robots/mjcf_model.hpp"
#include "importers/robots/urdf_model.hpp"
#include "library/composition/geometry.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

struct RobotOptions {
  fs::path model;
  std::vector<std::string> packages;
  std::string base = "fixed";
  std::string keyframe;
  bool skip_meshes = false;
  models::InertiaRepair repair;
  fs::path folder;

  [[nodiscard]] bool for_urdf() const { return !packages.empty() || base != "fixed"; }
  [[nodiscard]] bool for_robots() const {
    return for_urdf() || !keyframe.empty() || skip_meshes || repair.balance || repair.min_mass > 0.0 ||
           repair.min_moment > 0.0;
  }
};

models::MeshImportOptions mesh_import_options(const RobotOptions& options, const std::stop_token& stop) {
  return {.read =
              [stop](const fs::path& file) {
                return read_triangles(file.string(), read_file(file, "mesh", {.stop = stop}));
              },
          .leave_out = options.skip_meshes};
}

models::UrdfOptions urdf_options(const RobotOptions& options, const std::stop_token& stop) {
  models::UrdfOptions import_options{
      .base_is_free = options.base == "free", .packages = {}, .meshes = mesh_import_options(options, stop)};
  for (const std::string& text : options.packages) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw input_error("package", fmt::format("--package: expected NAME=FOLDER, found '{}'", text));
    }
    import_options.packages[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return import_options;
}

/// The root element determines the format, independently of the file name.
models::TreeModel read_model(const RobotOptions& options, const std::string& text, const std::stop_token& stop) {
  check_xml_nesting(text, options.model.string(), "model");
  pugi::xml_document document;
  const auto parsed = document.load_buffer(text.data(), text.size());
  const std::string_view root = parsed ? document.document_element().name() : "";
  if (root == "robot") {
    if (!options.keyframe.empty()) throw input_error("model", "--keyframe is for MJCF; URDF has no keyframes");
    return models::read_urdf(text, options.model, urdf_options(options, stop));
  }
  if (root == "mujoco") {
    if (options.for_urdf()) {
      throw input_error("model", fmt::format("{}: --package and --base are for URDF; an MJCF model defines its folders "
                                             "and joints",
                                             options.model.string()));
    }
    return models::read_mjcf(options.model,
                             {.meshes = mesh_import_options(options, stop), .keyframe = options.keyframe});
  }
  throw input_error(
      "model", fmt::format("{}: expected a URDF model (<robot>), an MJCF model (<mujoco>) or a C3D trial, found {}{}",
                           options.model.string(),
                           !parsed ? fmt::format("text that is not XML (line {}: {})",
                                                 line_of_offset(text, static_cast<std::size_t>(parsed.offset)),
                                                 parsed.description())
                                   : fmt::format("<{}>", printable(root, 60)),
                           root == "OpenSimDocument" ? "; use heelstrike import-osim" : ""));
}

ExitCode import_file(const RobotOptions& options, bool as_json, const std::stop_token& stop) {
  const std::string bytes = read_file(options.model, "model", {.stop = stop});
  if (!is_c3d(bytes)) {
    const models::TreeModel model = read_model(options, bytes, stop);
    return write_import(options.model, options.folder, models::import_tree(model, options.repair), as_json);
  }
  if (options.for_robots()) {
    throw input_error("model",
                      fmt::format("{}: --package, --base, --keyframe, --skip-meshes and the repairs of inertias "
                                  "are for robot models; this is a C3D trial",
                                  options.model.string()));
  }
  return write_trial(options.model, bytes, options.folder, as_json);
}

}  // namespace

void add_import(CLI::App& program, Invocation& invocation) {
  auto* command =
      program.add_subcommand("import", "Convert a URDF or MJCF model to a scenario, or a C3D trial to motion files");
  const auto options = std::make_shared<RobotOptions>();
  command->add_option("MODEL", options->model, "Model file: URDF, or MJCF of MuJoCo 2 and 3; or a C3D file")
      ->required();
  command->add_option("--package", options->packages, "Folder of a package of a URDF model, for its meshes; repeatable")
      ->type_name("NAME=FOLDER");
  command->add_option("--base", options->base, "Root link of a URDF model: fixed to the ground, or free")
      ->check(CLI::IsMember({"fixed", "free"}))
      ->capture_default_str();
  command->add_option("--keyframe", options->keyframe, "Keyframe of an MJCF model with the initial pose")
      ->type_name("NAME");
  command->add_flag("--skip-meshes", options->skip_meshes, "Skip mesh files, and list them");
  command->add_flag("--balance-inertia", options->repair.balance,
                    "Replace principal moments by their mean where one exceeds the sum of the others");
  command->add_option("--bound-mass", options->repair.min_mass, "Minimum mass of every moving body [kg]")
      ->check(CLI::Range(0.0, 1e12))
      ->type_name("MASS");
  command
      ->add_option("--bound-inertia", options->repair.min_moment,
                   "Minimum principal moment of inertia of every moving body [kg m^2]")
      ->check(CLI::Range(0.0, 1e12))
      ->type_name("MOMENT");
  command->add_option("-o,--output", options->folder, "Folder to write to")->required()->type_name("FOLDER");
  command->add_flag("--json", invocation.json, "Print the imported elements as JSON");
  add_footer(*command,
             "  heelstrike import leg.urdf --base free -o leg\n  heelstrike import anymal.xml --keyframe home -o "
             "anymal\n  heelstrike import walk.c3d -o walk");
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options](const std::stop_token& stop) {
      return import_file(*options, invocation.json, stop);
    };
  });
}

}  // namespace heelstrike::client
