// heelstrike example: lists the examples of the installation and copies one, with the files that it reads.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "client/subcommands/shared_files.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/files/read_file.hpp"
#include "common/text/suggestion.hpp"
#include "common/text/table.hpp"
#include "library/registries/catalog.hpp"
#include "library/runs/import_section.hpp"
#include "library/terminal/screen.hpp"
#include "scenario/scenario.hpp"
#include "scenario/schema/document.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* scenario_ending = ".yaml";

struct ExampleOptions {
  std::string name;
  fs::path folder = ".";
  bool force = false;
};

struct ExampleEntry {
  std::string name;         ///< path below the folder of the examples; of a scenario without its ending
  fs::path file;            ///< in the installation
  std::string description;  ///< one line; empty = not a scenario
};

bool is_scenario(const fs::path& file) {
  return file.extension() == scenario_ending;
}

std::string description_of(const fs::path& file) {
  const config::Document document = config::load_document(read_file(file, "example"), file.filename().string());
  const config::Node* description = document.root->find("description");
  return description == nullptr ? "a scenario" : description->scalar;
}

/// Scenarios first, then the other files, each by name.
std::vector<ExampleEntry> find_examples(const fs::path& folder) {
  std::vector<ExampleEntry> examples;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path file = entry.path();
    if (!entry.is_regular_file() || file.filename() == "README.md" || file.extension() == ".pyc") continue;
    fs::path name = file.lexically_relative(folder);
    if (is_scenario(file)) {
      examples.push_back({name.replace_extension().string(), file, description_of(file)});
    } else {
      examples.push_back({name.string(), file, ""});
    }
  }
  std::ranges::sort(examples, {}, [](const ExampleEntry& e) { return std::pair(e.description.empty(), e.name); });
  return examples;
}

void print_examples(const std::vector<ExampleEntry>& examples) {
  Table table;
  table.header = {"example", "what it is"};
  std::string others;
  for (const ExampleEntry& example : examples) {
    if (example.description.empty()) {
      others += "  " + example.name + "\n";
    } else {
      table.rows.push_back({example.name, example.description});
    }
  }
  fmt::print(
      "{}\nother files:\n{}\nheelstrike example NAME copies one of them, with the files that it reads, into this "
      "folder.\n",
      table.fitted(screen_width(Stream::out)), others);
}

ExitCode list_examples(const std::vector<ExampleEntry>& examples, bool json) {
  if (!json) {
    print_examples(examples);
    return ExitCode::ok;
  }
  Json all = Json::array();
  for (const ExampleEntry& example : examples) {
    all.push_back({{"name", example.name}, {"description", example.description}, {"file", example.file.string()}});
  }
  fmt::print("{}\n", Json{{"examples", all}}.dump(2));
  return ExitCode::ok;
}

const ExampleEntry& find_example(const std::vector<ExampleEntry>& examples, std::string name) {
  // Also as the documentation writes it: examples/NAME.yaml.
  if (name.starts_with("examples/")) name.erase(0, name.find('/') + 1);
  if (name.ends_with(scenario_ending)) name.erase(name.rfind('.'));
  std::vector<std::string> names;
  for (const ExampleEntry& example : examples) {
    if (example.name == name) return example;
    names.push_back(example.name);
  }
  throw input_error("name", fmt::format("expected the name of an example, found '{}' ({})", name,
                                        suggestion(name, names, "heelstrike example lists all")));
}

/// Files that a scenario reads, as named in it.
std::vector<std::string> files_read_by(const std::string& yaml, const std::string& name) {
  const config::Document document = config::load_document(yaml, name);
  if (const auto files = files_of_import(document); !files.empty()) return files;
  return referenced_files(parse_scenario(yaml, name, scenario_catalog()));
}

/// The commands in its comments are for the folder of the copy.
std::string without_folder(std::string text, const std::string& folder) {
  for (std::size_t at = 0; (at = text.find(folder, at)) != std::string::npos;) text.erase(at, folder.size());
  return text;
}

ExitCode copy_example(const ExampleEntry& example, const ExampleOptions& options, bool json) {
  const std::string name = example.file.filename().string();
  std::map<fs::path, std::string> copies;
  std::vector<std::string> elsewhere;
  std::string text = read_file(example.file, "example");
  if (is_scenario(example.file)) {
    for (const std::string& file : files_read_by(text, name)) {
      const fs::path source = example.file.parent_path() / file;
      if (fs::exists(source)) {
        copies[options.folder / file] = read_file(source, "file of the example");
      } else {
        elsewhere.push_back(file);
      }
    }
    text = without_folder(with_schema_line(text), "examples/");
  }
  const fs::path target = options.folder / name;
  copies[target] = text;
  write_new_files(copies, options.force);

  for (const std::string& file : elsewhere) {
    print_message("note",
                  fmt::format("it reads {}, which is not part of the installation; its comments state the source",
                              printable(file)));
  }
  if (json) {
    Json written = Json::array();
    for (const auto& [path, content] : copies) written.push_back(path.lexically_normal().string());
    fmt::print("{}\n", Json{{"written", written}, {"not_included", elsewhere}}.dump(2));
    return ExitCode::ok;
  }
  for (const auto& [path, content] : copies) fmt::print("written    {}\n", path.lexically_normal().string());
  if (is_scenario(target)) fmt::print("heelstrike run {}\n", target.lexically_normal().string());
  return ExitCode::ok;
}

Action add_example(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<ExampleOptions>();
  command.add_option("name", options->name, "Example to copy; without a name all are listed")->type_name("NAME");
  command.add_option("-o,--output", options->folder, "Folder of the copy (default: this folder)")->type_name("FOLDER");
  command.add_flag("--force", options->force, "Replace existing files");
  command.add_flag("--json", as_json, "Print as JSON");
  return [options](bool json, const std::stop_token& /*stop*/) {
    const std::vector<ExampleEntry> examples = find_examples(shared_folder("examples"));
    if (options->name.empty()) return list_examples(examples, json);
    return copy_example(find_example(examples, options->name), *options, json);
  };
}

}  // namespace

Subcommand example_command() {
  return {.name = "example",
          .summary = "List the examples, copy one with the files that it reads",
          .examples =
              "  heelstrike example\n"
              "  heelstrike example bouncing_ball\n"
              "  heelstrike example gait_synthetic -o step",
          .add = add_example};
}

}  // namespace heelstrike::client
