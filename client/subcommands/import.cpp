// heelstrike import: converts a model of another program to a scenario and a folder of meshes; a C3D trial to motion
// files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <pugixml.hpp>
#include <set>
#include <string_view>

#include "client/subcommands/import_folder.hpp"
#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/files/read_file.hpp"
#include "common/text/markup.hpp"
#include "gait/c3d_file.hpp"
#include "importers/model_format.hpp"
#include "library/composition/geometry.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

struct ModelOptions {
  fs::path model;
  std::map<std::string, std::vector<std::string>> given;  ///< values by option
  fs::path folder;
};

/// Names of the formats with an option: "URDF, MJCF".
std::string format_names(const std::string& option) {
  std::vector<std::string> names;
  for (const models::ModelFormat& format : models::model_formats()) {
    if (std::ranges::find(format.options, option, &models::ModelOption::name) != format.options.end()) {
      names.push_back(format.name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// An option without effect would silently give another model than the intended one.
void check_options(const ModelOptions& options, std::span<const models::ModelOption> known, const std::string& found) {
  for (const auto& [name, values] : options.given) {
    if (std::ranges::find(known, name, &models::ModelOption::name) != known.end()) continue;
    throw input_error("model", fmt::format("{}: {} is for {}; this is a {}", options.model.string(), name,
                                           format_names(name), found));
  }
}

/// The root element determines the format, independently of the file name.
const models::ModelFormat& format_of(const fs::path& file, const std::string& content) {
  const std::string text = strict_xml(content);
  check_xml_nesting(text, file.string(), "model");
  pugi::xml_document document;
  const auto parsed = document.load_buffer(text.data(), text.size());
  const std::string_view root = parsed ? document.document_element().name() : "";
  std::string expected;
  for (const models::ModelFormat& format : models::model_formats()) {
    if (format.root == root) return format;
    expected += fmt::format("{} (<{}>), ", format.name, format.root);
  }
  throw input_error(
      "model",
      fmt::format("{}: expected a model in one of the formats {}or a C3D trial, found {}{}", file.string(), expected,
                  !parsed
                      ? fmt::format("text that is not XML (line {}: {})",
                                    line_of_offset(text, static_cast<std::size_t>(parsed.offset)), parsed.description())
                      : fmt::format("<{}>", printable(root, 60)),
                  root == "OpenSimDocument" ? "; use heelstrike import-osim" : ""));
}

ExitCode import_file(const ModelOptions& options, bool as_json, const std::stop_token& stop) {
  const std::string bytes = read_file(options.model, "import", {.stop = stop});
  if (is_c3d(bytes)) {
    check_options(options, {}, "C3D trial");
    require_output(options.folder);
    return write_trial(options.model, bytes, options.folder, as_json);
  }
  const models::ModelFormat& format = format_of(options.model, bytes);
  check_options(options, format.options, format.name + " model");
  require_output(options.folder);
  const models::ModelInput input{
      .file = options.model, .text = bytes, .options = options.given, .read_mesh = [stop](const fs::path& file) {
        // Importers take the hull of points, as MuJoCo does.
        return read_triangles(file.string(), read_file(file, "mesh", {.stop = stop}), true);
      }};
  return write_import(options.model, options.folder, format.import(input), as_json);
}

void add_model_option(CLI::App& command, const models::ModelOption& option, ModelOptions& options) {
  const auto store = [&options, name = option.name](const std::vector<std::string>& values) {
    options.given[name] = values;
  };
  if (option.value.empty()) {
    command.add_flag_callback(
        option.name, [store] { store({}); }, option.description);
    return;
  }
  auto* added = command.add_option_function<std::vector<std::string>>(option.name, store, option.description)
                    ->type_name(option.value)
                    ->expected(1);
  if (option.repeatable) added->take_all();
  if (option.range) added->check(CLI::Range(option.range->min, option.range->max));
  if (!option.choices.empty()) added->check(CLI::IsMember(option.choices))->default_str(option.choices.front());
}

Action add_import(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<ModelOptions>();
  std::vector<std::string> files;
  std::set<std::string> names;
  for (const models::ModelFormat& format : models::model_formats()) files.push_back(format.description);
  command.add_option("MODEL", options->model, fmt::format("Model file: {}; or a C3D file", fmt::join(files, ", ")))
      ->required()
      ->type_name("FILE");
  for (const models::ModelFormat& format : models::model_formats()) {
    for (const models::ModelOption& option : format.options) {
      if (names.insert(option.name).second) add_model_option(command, option, *options);
    }
  }
  command.add_option("-o,--output", options->folder, "Folder to write to (required)")->type_name("FOLDER");
  command.add_flag("--json", as_json, "Print the imported elements as JSON");
  return [options](bool json, const std::stop_token& stop) { return import_file(*options, json, stop); };
}

}  // namespace

Subcommand import_command() {
  std::vector<std::string> names;
  std::string examples;
  for (const models::ModelFormat& format : models::model_formats()) {
    names.push_back(format.name);
    examples += fmt::format("  heelstrike import {}\n", format.example);
  }
  return {.name = "import",
          .summary =
              fmt::format("Convert a model ({}) to a scenario, or a C3D trial to motion files", fmt::join(names, ", ")),
          .examples = examples + "  heelstrike import walk.c3d -o walk",
          .add = add_import};
}

}  // namespace heelstrike::client
