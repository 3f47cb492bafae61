#include "library/runs/run_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>

#include "common/contact/contact_point.hpp"
#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/files/digest.hpp"
#include "common/text/text_file.hpp"
#include "gait/motion_columns.hpp"
#include "library/registries/catalog.hpp"
#include "library/runs/file_kind.hpp"
#include "library/runs/import_section.hpp"
#include "library/runs/mesh_file.hpp"
#include "scenario/override.hpp"
#include "scenario/scenario.hpp"
#include "scenario/schema/document.hpp"
#include "scenario/schema/schema.hpp"
#include "scenario/sections.hpp"

namespace heelstrike {

namespace fs = std::filesystem;

std::string expand_variables(const std::string& name, const std::string& where) {
  std::string path;
  std::size_t done = 0;
  for (auto begin = name.find("${"); begin != std::string::npos; begin = name.find("${", done)) {
    const auto end = name.find('}', begin);
    if (end == std::string::npos) {
      throw input_error("file",
                        fmt::format("{}: '{}': expected '}}' after '${{', found none; write ${{NAME}}", where, name));
    }
    const std::string variable = name.substr(begin + 2, end - begin - 2);
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr || *value == '\0') {
      throw input_error("file", fmt::format("{}: '{}': expected the environment variable {}, found none; set it to the "
                                            "folder that holds the file, e.g. export {}=/folder",
                                            where, name, variable, variable));
    }
    path += name.substr(done, begin - done) + value;
    done = end + 1;
  }
  return path + name.substr(done);
}

namespace {

/// Rigid bodies reach equilibrium by a dynamic run: their contact has no stiffness.
void rest_in_time(RunRequest& request, const config::Node* analysis, const Catalog& catalog) {
  const config::Node* type = analysis == nullptr ? nullptr : analysis->find("type");
  const config::Node* end = analysis == nullptr ? nullptr : analysis->find("end_time");
  if (type == nullptr || end == nullptr) return;
  const auto named = std::ranges::find(catalog.analyses, type->scalar, &ElementType::name);
  if (named == catalog.analyses.end() || named->traits.finds_events || named->traits.prescribed) return;
  request.notes.push_back(fmt::format(
      "rigid bodies reach equilibrium in a forward run over {} s instead of a {} analysis", end->scalar, type->scalar));
  const auto in_time =
      std::ranges::find_if(catalog.analyses, [](const auto& other) { return other.traits.finds_events; });
  request.yaml = with_override(request.yaml, request.file_name,
                               fmt::format("analysis={{type: {}, end_time: {}}}", in_time->name, end->scalar), catalog);
}

/// Impulses of rigid bodies need their own integrator, whatever the file names.
void change_integrator(RunRequest& request, const Catalog& catalog) {
  const config::Document document = config::load_document(request.yaml, request.file_name);
  const config::Node* analysis = document.root->find("analysis");
  rest_in_time(request, analysis, catalog);
  const config::Node* integrator = analysis == nullptr ? nullptr : analysis->find("integrator");
  const config::Node* name = integrator == nullptr ? nullptr : integrator->find("name");
  const std::string& needed = catalog.default_integrators.with_rigid_contact;
  if (name == nullptr || name->scalar == needed) return;
  request.notes.push_back(fmt::format("rigid bodies use the integrator {} instead of {}", needed, name->scalar));
  request.yaml =
      with_override(request.yaml, request.file_name, fmt::format("analysis.integrator={{name: {}}}", needed), catalog);
}

void change_backend(RunRequest& request, const std::string& backend, const BackendSchemas& backends) {
  if (backend.empty()) return;
  if (const auto found = backends.find(backend); found != backends.end() && has_rigid_bodies(found->second)) {
    change_integrator(request, scenario_catalog(backends));
  }
  std::vector<std::string> dropped;
  request.yaml = with_backend(request.yaml, request.file_name, backend, backends, dropped);
  if (dropped.empty()) return;
  const bool one = dropped.size() == 1;
  request.notes.push_back(fmt::format("{} {} of back-end {} and {} omitted", fmt::join(dropped, ", "),
                                      one ? "is not a parameter" : "are not parameters", backend,
                                      one ? "was" : "were"));
}

}  // namespace

namespace {

/// The text of the scenario as UTF-8, which protocols and result files require.
std::string scenario_text(const fs::path& scenario, const std::stop_token& stop, RunRequest& request) {
  require_scenario_file(scenario);
  const std::string bytes = read_file(scenario, "scenario", {.max_bytes = config::max_document_bytes, .stop = stop});
  const MarkedText marked(bytes);
  if (!marked.note().empty()) request.notes.push_back(fmt::format("{}: {}", request.file_name, marked.note()));
  std::string text = as_utf8(std::string(marked.bytes()));
  if (text != marked.bytes()) {
    request.notes.push_back(
        fmt::format("{} is not UTF-8 and was read as Latin-1; save it as UTF-8", request.file_name));
  }
  return text;
}

/// A file of the scenario. File names on disk are bytes: a name in Latin-1 is also found.
fs::path path_of(const fs::path& folder, const std::string& name, const std::string& file_name) {
  const std::string expanded = expand_variables(name, file_name);
  fs::path path = folder / expanded;
  std::error_code ignored;
  const auto latin1 = as_latin1(expanded);
  if (fs::exists(path, ignored) || !latin1) return path;
  const fs::path other = folder / *latin1;
  return fs::exists(other, ignored) ? other : path;
}

/// "FILE:LINE: KEY" of the first text `value` below `node`; empty = none.
std::string position_of(const config::Document& document, const config::Node& node, const std::string& path,
                        const std::string& value) {
  if (node.type == config::Node::Type::scalar && node.scalar == value) {
    return fmt::format("{}: {}", config::location(document, node), path);
  }
  for (const config::Entry& entry : node.entries) {
    std::string found =
        position_of(document, *entry.value, path + (path.empty() ? "" : ".") + config::excerpt(entry.key), value);
    if (!found.empty()) return found;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    std::string found = position_of(document, *node.items[i], fmt::format("{}[{}]", path, i), value);
    if (!found.empty()) return found;
  }
  return {};
}

std::string describe_reference(const RunRequest& request, const std::string& file) {
  const config::Document document = config::load_document(request.yaml, request.file_name);
  const std::string position = position_of(document, *document.root, "", file);
  return position.empty() ? request.file_name + ": file of the scenario" : position;
}

/// Reads the files that the scenario names. All missing files are reported together, one line for each file.
void read_files(const fs::path& folder, const std::map<std::string, std::string>& given, const std::stop_token& stop,
                RunRequest& request) {
  std::vector<Error> errors;
  for (const std::string& name : referenced_files(request.scenario)) {
    if (const auto content = given.find(name); content != given.end()) {
      request.files.push_back({.sha256 = sha256_hex(content->second), .name = name, .content = content->second});
      continue;
    }
    try {
      const fs::path path = path_of(folder, name, request.file_name);
      std::error_code ignored;
      // The text is parsed again for a message only.
      const std::string what =
          fs::exists(path, ignored) ? request.file_name + ": file of the scenario" : describe_reference(request, name);
      std::string content = read_mesh_file(path, what, {.stop = stop});
      std::string digest = sha256_hex(content);
      request.files.push_back({.sha256 = std::move(digest), .name = name, .content = std::move(content)});
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      errors.push_back(error);
    }
  }
  if (errors.empty()) return;
  std::vector<std::string> lines;
  for (const Error& error : errors) lines.emplace_back(error.what());
  throw Error(errors.front().code(), fmt::format("{}", fmt::join(lines, "\n")), errors.front().field());
}

void assign(const Overrides& overrides, bool of_import, const Catalog& catalog, RunRequest& request) {
  const std::string section = config::import_section;
  const auto assign_all = [&](const std::string& option, const std::vector<std::string>& assignments) {
    for (const std::string& text : assignments) {
      if ((text.starts_with(section + ".") || text.starts_with(section + "=")) != of_import) continue;
      const Override change{.option = option, .assignment = as_utf8(text)};
      request.yaml = with_override(request.yaml, request.file_name, change, catalog);
    }
  };
  assign_all("--set", overrides.assignments);
  assign_all("--vary", overrides.variations);
}

/// Inserts the imported model. @returns the name of the model; empty = no import
std::string import_model(const fs::path& folder, const Catalog& catalog, const std::stop_token& stop,
                         RunRequest& request) {
  ImportedScenario imported = with_import(request.yaml, request.file_name, folder, catalog, stop);
  request.yaml = std::move(imported.yaml);
  request.not_imported = std::move(imported.omissions);
  if (imported.model.empty()) return "";
  request.notes.push_back(
      fmt::format("{} elements of {} were skipped or approximated: `heelstrike validate` and "
                  "run.log list them",
                  request.not_imported.size(), imported.model));
  return imported.model;
}

/// Tests whether the file itself has the section of a dotted key and, in it, the entry; the version is always that of
/// the file.
bool has_entry(const config::Node& root, const std::string& key) {
  if (key == "heelstrike") return true;
  const auto dot = key.find('.');
  const config::Node* section = root.find(key.substr(0, dot));
  if (section == nullptr || dot == std::string::npos) return section != nullptr;
  return section->find(key.substr(dot + 1, key.find('.', dot + 1) - dot - 1)) != nullptr;
}

/// Errors in lines from the imported model, which are in no file, name the model instead.
/// @param own  text of the file itself
std::string messages_of_model(const std::string& issues, const std::string& file, const config::Node& own,
                              const std::string& model) {
  std::string messages;
  bool of_model = false;
  std::istringstream lines(issues);
  for (std::string line; std::getline(lines, line);) {
    const auto number = line.starts_with(file + ":") ? file.size() + 1 : line.size();
    const auto end = line.find_first_not_of("0123456789", number);
    const auto key = end == std::string::npos || !line.substr(end).starts_with(": ") ? line.size() : end + 2;
    const bool is_own = key == line.size() || has_entry(own, line.substr(key, line.find(": ", key) - key));
    messages += (is_own ? line : model + ": " + line.substr(key)) + "\n";
    of_model = of_model || !is_own;
  }
  if (!of_model) return issues;
  return messages + file + ": imports that model; `heelstrike import-osim` writes the imported scenario into a file";
}

/// @param own  text of the file itself. @param model  imported model; empty = none
void parse(RunRequest& request, const Catalog& catalog, const std::string& own, const std::string& model) {
  try {
    request.scenario = parse_scenario(request.yaml, request.file_name, catalog);
  } catch (const config::Issue& issue) {
    if (model.empty()) throw;
    const auto root = config::load_document(own, request.file_name).root;
    throw Error(issue.code(), messages_of_model(issue.what(), request.file_name, *root, model), issue.field());
  }
}

RunRequest load(const fs::path& scenario, const fs::path& called, const Overrides& overrides, const fs::path& inputs,
                const BackendSchemas& backends, const std::stop_token& stop) {
  const Catalog catalog = scenario_catalog(backends);
  RunRequest request;
  request.file_name = as_utf8(called.string());
  request.yaml = overrides.text.empty() ? scenario_text(scenario, stop, request) : overrides.text;
  assign(overrides, true, catalog, request);
  const std::string own = request.yaml;
  const std::string model = import_model(inputs, catalog, stop, request);
  if (!overrides.backend_last) change_backend(request, overrides.backend, backends);
  assign(overrides, false, catalog, request);
  if (overrides.backend_last) change_backend(request, overrides.backend, backends);
  parse(request, catalog, own, model);
  read_files(inputs, overrides.files, stop, request);
  read_motion_columns(request.scenario, content_in(request.files));
  request.notes.insert(request.notes.end(), request.scenario.notes.begin(), request.scenario.notes.end());
  return request;
}

}  // namespace

RunRequest load_request(const fs::path& scenario, const Overrides& overrides, const BackendSchemas& backends,
                        const std::stop_token& stop) {
  return load(scenario, scenario, overrides, scenario.parent_path(), backends, stop);
}

RunRequest reload_request(const fs::path& scenario, const fs::path& origin, const fs::path& inputs,
                          const BackendSchemas& backends, const std::stop_token& stop) {
  return load(scenario, origin, {}, inputs, backends, stop);
}

void parse_request(RunRequest& request, const BackendSchemas& backends) {
  for (AssetContent& file : request.files) file.sha256 = sha256_hex(file.content);
  request.scenario = parse_scenario(request.yaml, request.file_name, scenario_catalog(backends));
  read_motion_columns(request.scenario, content_in(request.files));
}

std::map<std::string, std::string> file_digests(const RunRequest& request) {
  std::map<std::string, std::string> digests;
  for (const AssetContent& file : request.files) digests[file.name] = file.sha256;
  return digests;
}

void check_unchanged(const RunRequest& request, const std::map<std::string, std::string>& digests) {
  std::vector<std::string> changed;
  for (const auto& [name, digest] : file_digests(request)) {
    const auto before = digests.find(name);
    if (before == digests.end() || before->second != digest) changed.push_back(name);
  }
  if (changed.empty()) return;
  throw input_error("files",
                    fmt::format("{}: expected the content at the start of the run, found another: other files make "
                                "another run; restore them, name their folder with --inputs, or "
                                "start a new run",
                                fmt::join(changed, ", ")));
}

std::string run_name(const Scenario& scenario, char separator) {
  return scenario.name + separator + backend_label(scenario, "no-contact");
}

}  // namespace heelstrike
