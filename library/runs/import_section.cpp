#include "library/runs/import_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "common/errors/error.hpp"
#include "common/files/read_file.hpp"
#include "importers/opensim/osim_scenario.hpp"
#include "library/runs/run_request.hpp"
#include "scenario/override.hpp"
#include "scenario/schema/document.hpp"
#include "scenario/schema/field.hpp"
#include "scenario/sections.hpp"

namespace heelstrike {
namespace {

namespace fs = std::filesystem;
using config::Document;
using config::Entry;
using config::Field;
using config::Node;

/// Entries of a map whose keys may contain dots.
std::vector<Entry> entries_of(const Field& section, const char* key) {
  return section.has(key) ? section[key].node().entries : std::vector<Entry>();
}

[[noreturn]] void reject_entry(const Field& section, const char* key, const Entry& entry, const char* expected,
                               const char* advice) {
  config::reject(section.document(), *entry.value, fmt::format("{}.{}.{}", section.path(), key, entry.key), expected,
                 config::describe(*entry.value), advice);
}

double number_in(const Field& section, const char* key, const Entry& entry, const char* expected) {
  double value = 0.0;
  if (config::read_number(*entry.value, value) && std::isfinite(value)) return value;
  reject_entry(section, key, entry, expected, "write NAME: NUMBER");
}

osim::ImportOptions make_import_options(const Field& section, const std::string& model) {
  const auto texts = [&](const char* key) {
    return section.has(key) ? config::read_texts(section[key]) : std::vector<std::string>();
  };
  osim::ImportOptions import_options{
      .joints = texts("subset"), .fixed_joints = texts("lock_joints"), .meshes = {}, .folders = {}};
  const std::vector<std::string> geometry = texts("geometry");
  import_options.folders = osim::mesh_folders({geometry.begin(), geometry.end()}, model);
  for (const Entry& mesh : entries_of(section, "meshes")) {
    if (mesh.value->type != Node::Type::scalar) {
      reject_entry(section, "meshes", mesh, "the name of a file", "write NAME: FILE");
    }
    import_options.meshes[mesh.key] = mesh.value->scalar;
  }
  import_options.flexion = section.optional_number("flexion");
  import_options.drawer_force = section.optional_number("drawer_force");
  import_options.excluded = texts("exclude");
  import_options.radians = texts("radians");
  import_options.start = section.optional_number("start");
  import_options.cutoff = section.optional_number("cutoff");
  import_options.filter_order = static_cast<int>(section["filter_order"].number());
  import_options.activation = section.optional_number("activation");
  import_options.rigid_tendons = section["rigid_tendons"].flag();
  for (const Entry& coordinate : entries_of(section, "coordinates")) {
    import_options.coordinates[coordinate.key] =
        number_in(section, "coordinates", coordinate, "a finite number, in rad or m");
  }
  for (const Entry& body : entries_of(section, "scale")) {
    import_options.scale[body.key] = number_in(section, "scale", body, "a factor > 0");
  }
  import_options.mass = section.optional_number("mass");
  import_options.in_section = true;
  return import_options;
}

/// The key of the section that names a file.
std::string key_of(const Field& section, const osim::ImportOptions& import_options, const std::string& file) {
  if (section["osim"].text() == file) return "osim";
  for (const char* key : {"motion", "external_loads", "external_loads_data"}) {
    if (section.text_or(key) == file) return key;
  }
  if (std::ranges::any_of(import_options.meshes, [&](const auto& mesh) { return mesh.second == file; }))
    return "meshes";
  for (const std::string& folder :
       section.has("geometry") ? config::read_texts(section["geometry"]) : std::vector<std::string>()) {
    if (file.starts_with(folder.ends_with('/') ? folder : folder + "/") || file == folder) return "geometry";
  }
  return "osim";
}

models::Import read_model(const Field& section, const std::string& name, const fs::path& folder,
                          const std::stop_token& stop) {
  osim::ImportOptions import_options = make_import_options(section, name);
  // Errors in a file are reported at the key that names it.
  const auto of_key = [&](const fs::path& file, const auto& work) {
    try {
      return work();
    } catch (const Error& error) {
      throw Error(error.code(), error.what(), key_of(section, import_options, file.string()));
    }
  };
  import_options.resolve_path = [&](const fs::path& file) {
    return of_key(file, [&] { return folder / expand_variables(file.string(), "name of a file"); });
  };
  osim::Model model = of_key(name, [&] {
    return osim::read_model(read_file(import_options.resolve_path(name), "model", {.stop = stop}), name);
  });
  const auto text_in = [&](const std::string& file, const char* key) {
    try {
      return read_file(import_options.resolve_path(file), key, {.stop = stop});
    } catch (const Error& error) {
      throw Error(error.code(), error.what(), key);
    }
  };
  if (const std::string motion = section.text_or("motion"); !motion.empty()) {
    import_options.motion = {
        .file = motion, .table = of_key(motion, [&] { return read_motion_table(text_in(motion, "motion"), motion); })};
  }
  if (const std::string loads = section.text_or("external_loads"); !loads.empty()) {
    import_options.external_loads = osim::read_measured_loads(loads, section.text_or("external_loads_data"), text_in);
  }
  return osim::import_model(std::move(model), import_options);
}

/// Errors of an option are reported at its location in the scenario.
[[noreturn]] void reject(const Field& section, const std::string& model_key, const Error& error) {
  const Field place = section[section.has(error.field()) ? error.field() : model_key];
  std::string text = error.what();
  if (const std::string key = place.path() + ": "; text.starts_with(key)) text.erase(0, key.size());
  throw Error(error.code(), fmt::format("{}: {}", config::location_of(place), text), place.path());
}

/// A change of a key that the model does not provide.
void reject_own_keys(const Document& document, const Entry& change) {
  const std::string_view first = std::string_view(change.key).substr(0, change.key.find('.'));
  if (first != "heelstrike" && first != config::import_section) return;
  config::reject(document, *change.value, fmt::format("{}.set.{}", config::import_section, change.key),
                 "a key of the imported model", fmt::format("'{}'", first), "remove it here");
}

/// A section that both have: entries of the scenario on their lines, those of the model after them.
std::shared_ptr<const Node> both(const Document& document, const Entry& own, const Node& model) {
  const auto reject_duplicates = [&](const Node& node, const std::string& key) {
    config::reject(
        document, node, key, "a key that the import does not provide", "it in both",
        fmt::format("remove it, or change the imported value: under {}.set, `{}: ...`", config::import_section, key));
  };
  if (own.value->type != Node::Type::map || model.type != Node::Type::map) reject_duplicates(*own.value, own.key);
  auto result = std::make_shared<Node>(*own.value);
  result->flow = true;
  for (const Entry& entry : model.entries) {
    if (const Node* twice = own.value->find(entry.key)) reject_duplicates(*twice, own.key + "." + entry.key);
    result->entries.push_back({.key = entry.key, .line = 0, .value = config::copy_without_lines(*entry.value, "")});
  }
  return result;
}

std::string merged(const Document& own, const Document& model) {
  Node root = *own.root;
  root.flow = false;
  std::erase_if(root.entries, [](const Entry& entry) { return entry.key == config::import_section; });
  const std::size_t n_own = root.entries.size();
  for (const Entry& entry : model.root->entries) {
    if (entry.key == "heelstrike") continue;  // the version is that of the file itself
    const auto end = root.entries.begin() + static_cast<std::ptrdiff_t>(n_own);
    const auto same = std::ranges::find(root.entries.begin(), end, entry.key, &Entry::key);
    if (same == end) {
      root.entries.push_back(entry);
    } else {
      same->value = both(own, *same, *entry.value);
    }
  }
  return config::emit_document(root);
}

}  // namespace

ImportedScenario with_import(std::string_view yaml, const std::string& file_name, const fs::path& folder,
                             const Catalog& catalog, const std::stop_token& stop) {
  config::Issues issues;
  const Document document = config::load_document(yaml, file_name, issues);
  const Node* given = document.root->find(config::import_section);
  if (given == nullptr) return {.yaml = std::string(yaml), .model = {}, .omissions = {}};
  issues.raise();
  const config::KeySchema keys = config::import_keys();
  const auto checked = config::checked(document, *given, keys, keys.name, issues);
  issues.raise();
  const Field section(document, *checked, keys.name);
  const std::string& model_key = keys.keys.front().name;
  const std::string& model = section[model_key].text();
  models::Import import;
  try {
    import = read_model(section, model, folder, stop);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    reject(section, model_key, error);
  }
  for (const Entry& change : entries_of(section, "set")) {
    reject_own_keys(document, change);
    // Without the folder, so that the text of a scenario does not depend on its location.
    const std::string where = fmt::format("{}:{}", fs::path(file_name).filename().string(), change.value->line);
    import.scenario = config::with_change(import.scenario, model, change, where, catalog);
  }
  return {.yaml = merged(document, config::load_document(import.scenario, model)),
          .model = model,
          .omissions = std::move(import.omissions)};
}

std::vector<std::string> files_of_import(const Document& document) {
  std::vector<std::string> files;
  const Node* section = document.root->find(config::import_section);
  if (section == nullptr) return files;
  for (const config::KeySchema& key : config::import_keys().keys) {
    const Node* value = section->find(key.name);
    if (value != nullptr && key.role == config::KeyRole::file) config::add_file(files, value->scalar);
  }
  if (const Node* meshes = section->find("meshes")) {
    for (const Entry& mesh : meshes->entries) config::add_file(files, mesh.value->scalar);
  }
  return files;
}

}  // namespace heelstrike
