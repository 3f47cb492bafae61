#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <optional>

#include "common/errors/error.hpp"
#include "common/text/suggestion.hpp"
#include "scenario/backend_info.hpp"
#include "scenario/catalog.hpp"
#include "scenario/override.hpp"
#include "scenario/scenario_schema.hpp"
#include "scenario/schema/schema.hpp"
#include "scenario/shared_bodies.hpp"

namespace heelstrike {

namespace {

using config::Document;
using config::Entry;
using config::KeyKind;
using config::KeySchema;
using config::Node;
using Keys = std::vector<std::string>;
using NodePointer = std::shared_ptr<const Node>;

struct Assignment {
  std::string note;  ///< option and "key=value", for messages and the comment
  Keys keys;
  NodePointer value;
};

[[noreturn]] void throw_invalid_assignment(const std::string& note, const std::string& key, const std::string& text) {
  throw input_error(key, fmt::format("{}: {}: {}", note, key, text));
}

Keys split(const std::string& dotted) {
  Keys keys;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = dotted.find('.', begin);
    keys.push_back(dotted.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return keys;
}

/// @param note  of the assignment, for messages
Keys keys_in(const std::string& dotted, const std::string& note) {
  Keys keys = split(dotted);
  if (std::ranges::any_of(keys, &std::string::empty)) {
    throw_invalid_assignment(note, dotted,
                             "expected names separated by single dots; write e.g. --set analysis.end_time=5");
  }
  return keys;
}

Assignment read_assignment(const Override& change) {
  const std::string& assignment = change.assignment;
  const std::size_t equals = assignment.find('=');
  const std::string note = change.option + " " + config::excerpt(assignment);
  if (equals == std::string::npos || equals == 0) {
    throw input_error("", fmt::format("{}: expected key=value, found no '{}'; write e.g. --set analysis.end_time=5",
                                      note, equals == 0 ? "key" : "="));
  }
  const std::string key = assignment.substr(0, equals);
  Assignment result{.note = note, .keys = keys_in(key, note), .value = nullptr};
  result.value = config::copy_without_lines(*config::load_document(assignment.substr(equals + 1), note).root, note);
  return result;
}

/// `map` with the value at `keys` replaced; missing maps on the path are created.
NodePointer replaced(const Node& map, std::span<const std::string> keys, const NodePointer& value) {
  auto copy = std::make_shared<Node>(map);
  if (copy->type == Node::Type::null) copy->type = Node::Type::map;
  const auto it = std::ranges::find(copy->entries, keys.front(), &Entry::key);
  const Node nothing{.type = Node::Type::map, .line = map.line};
  const Node& old = it == copy->entries.end() ? nothing : *it->value;
  const NodePointer next = keys.size() == 1 ? value : replaced(old, keys.subspan(1), value);
  if (it == copy->entries.end()) {
    copy->entries.push_back({.key = keys.front(), .line = map.line, .value = next});
  } else {
    it->value = next;
  }
  return copy;
}

Keys names_in(const Node* map) {
  Keys names;
  if (map != nullptr) {
    for (const Entry& entry : map->entries) names.push_back(entry.key);
  }
  return names;
}

Keys names_in(const KeySchema& schema) {
  Keys names;
  for (const KeySchema& key : config::keys_of(schema)) names.push_back(key.name);
  return names;
}

std::optional<KeySchema> find_key(const KeySchema& schema, const std::string& name) {
  const std::vector<KeySchema> keys = config::keys_of(schema);
  const auto it = std::ranges::find(keys, name, &KeySchema::name);
  return it == keys.end() ? std::nullopt : std::optional(*it);
}

[[noreturn]] void throw_invalid_name(const Assignment& assignment, const std::string& name, const Keys& known) {
  throw_invalid_assignment(assignment.note, fmt::format("{}", fmt::join(assignment.keys, ".")),
                           fmt::format("expected one of {}, found '{}'; {}", fmt::join(known, ", "),
                                       config::excerpt(name), suggestion(name, known, "choose one of them")));
}

/// The path of a key as an option names it: the parameters of a pair without `parameters`, those of all pairs without
/// a name, and the name of an entry if there is only one.
std::string option_path(const std::string& path, const Node& root) {
  const std::size_t dot = path.find('.');
  const std::string section = path.substr(0, dot);
  Keys keys = split(path);
  if (keys.size() < 3 || keys[1] != "NAME") return path;
  if (section == "contact" && keys.size() == 3) return fmt::format("{}.{}", section, keys[2]);
  const Keys names = names_in(root.find(section));
  if (names.size() == 1) keys[1] = names.front();
  return fmt::format("{}", fmt::join(keys, "."));
}

/// Paths of the keys of a scenario: parameters of its pairs, then all others, the short ones first.
Keys key_paths(const Node& root, const KeySchema& schema, const Catalog& catalog) {
  Keys paths;
  const Node* contact = root.find("contact");
  for (const std::string& pair : names_in(contact)) {
    const Node* backend = contact->find(pair)->find("backend");
    const auto known = backend == nullptr ? catalog.backends.end() : catalog.backends.find(backend->scalar);
    if (known == catalog.backends.end()) continue;
    for (const ParameterSchema& parameter : known->second) paths.push_back("contact." + parameter.name);
  }
  Keys others;
  for (const config::ReferenceRow& row : config::reference_rows(schema, "")) {
    if (row.path.find("[]") == std::string::npos) others.push_back(row.path);
  }
  std::ranges::stable_sort(others, {}, [](const std::string& path) { return std::ranges::count(path, '.'); });
  for (const std::string& path : others) paths.push_back(option_path(path, root));
  return paths;
}

/// The path that ends in `given`, else the one whose last name is nearest to that of `given`.
std::optional<std::string> path_of(const Keys& given, const Keys& paths) {
  const std::string end = fmt::format(".{}", fmt::join(given, "."));
  const auto exact = std::ranges::find_if(paths, [&](const std::string& path) { return path.ends_with(end); });
  if (exact != paths.end()) return *exact;
  Keys names;
  for (const std::string& path : paths) names.push_back(split(path).back());
  const auto near = nearest_name(given.back(), names);
  if (!near) return std::nullopt;
  return paths[static_cast<std::size_t>(std::ranges::find(names, *near) - names.begin())];
}

/// A first name that is no section: most often the last name of a key, without its path.
[[noreturn]] void throw_invalid_section(const Assignment& assignment, const Node& root, const KeySchema& schema,
                                        const Catalog& catalog) {
  const Keys sections = names_in(schema);
  const bool mistyped = assignment.keys.size() > 1 && nearest_name(assignment.keys.front(), sections);
  const auto meant = mistyped ? std::nullopt : path_of(assignment.keys, key_paths(root, schema, catalog));
  if (!meant) throw_invalid_name(assignment, assignment.keys.front(), sections);
  const std::string given = fmt::format("{}", fmt::join(assignment.keys, "."));
  throw_invalid_assignment(
      assignment.note, given,
      fmt::format("expected a key with its section, found '{}'; did you mean {}?", config::excerpt(given), *meant));
}

/// Rejects a key of a material as a parameter of a pair, with the path of its main body.
void reject_material_key(const Assignment& assignment, const Keys& keys, const Node& root, const KeySchema& schema,
                         const Catalog& catalog) {
  const std::string& pair = keys[1];
  const Node* backend = root.find("contact")->find(pair)->find("backend");
  const auto known = backend == nullptr ? catalog.backends.end() : catalog.backends.find(backend->scalar);
  if (known == catalog.backends.end() ||
      std::ranges::find(known->second, keys.back(), &ParameterSchema::name) != known->second.end()) {
    return;
  }
  const std::string end = ".main.material." + keys.back();
  const auto rows = config::reference_rows(schema, "");
  if (std::ranges::none_of(rows, [&](const auto& row) { return row.path == "contact.NAME" + end; })) return;
  const std::string given = fmt::format("{}", fmt::join(assignment.keys, "."));
  throw_invalid_assignment(assignment.note, given,
                           fmt::format("expected a parameter of '{}' or the path of a key of a material, found '{}'; "
                                       "did you mean contact.{}{}?",
                                       backend->scalar, config::excerpt(given), config::excerpt(pair), end));
}

/// Rejects an invalid path. Named entries must already be in the file.
void check_path(const Assignment& assignment, const Keys& keys, const Node& root, KeySchema schema,
                const Catalog& catalog) {
  if (!find_key(schema, keys.front())) throw_invalid_section(assignment, root, schema, catalog);
  const KeySchema complete = schema;
  const Node* node = &root;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string& key = keys[i];
    if (schema.kind == KeyKind::parameters) {
      if (keys.front() == "contact" && keys.size() == 4) reject_material_key(assignment, keys, root, complete, catalog);
      return;  // checked by parse_scenario with the schema of the back-end
    }
    const auto next = find_key(schema, key);
    if (!next) throw_invalid_name(assignment, key, names_in(schema));
    node = node == nullptr ? nullptr : node->find(key);
    schema = *next;
    if (schema.kind == KeyKind::named && i + 1 < keys.size()) {
      const std::string& name = keys[++i];
      if (node == nullptr || node->find(name) == nullptr) throw_invalid_name(assignment, name, names_in(node));
      node = node->find(name);
    }
  }
}

/// The positions to which one `contact...` key refers.
std::vector<Keys> contact_targets(const Assignment& assignment, const Node& root, const KeySchema& pair_schema) {
  const Node* contact = root.find("contact");
  const Keys pairs = names_in(contact);
  const Keys& keys = assignment.keys;
  const bool names_pair = std::ranges::find(pairs, keys[1]) != pairs.end();
  if (pairs.empty())
    throw_invalid_assignment(assignment.note, "contact", "the scenario has no contact pair; add one first");
  if (names_pair) {
    if (keys.size() != 3 || find_key(pair_schema, keys[2])) return {keys};
    return {{keys[0], keys[1], "parameters", keys[2]}};
  }
  if (keys.size() > 2) throw_invalid_name(assignment, keys[1], pairs);
  std::vector<Keys> targets;
  for (const std::string& pair : pairs) {
    if (find_key(pair_schema, keys[1])) {
      targets.push_back({keys[0], pair, keys[1]});
    } else {
      targets.push_back({keys[0], pair, "parameters", keys[1]});
    }
  }
  return targets;
}

Document load_map(std::string_view yaml, const std::string& file_name) {
  Document document = config::load_document(yaml, file_name);
  if (document.root->type != Node::Type::map) {
    config::reject(document, *document.root, "scenario", "a map of keys", config::describe(*document.root),
                   "write `key: value` lines");
  }
  return document;
}

std::string assigned(const Document& document, const Assignment& set, const Catalog& catalog) {
  const KeySchema schema = config::scenario_schema(catalog);
  const bool in_contact = set.keys.front() == "contact" && set.keys.size() > 1;
  NodePointer root = document.root;
  for (const Keys& keys :
       in_contact ? contact_targets(set, *root, *find_key(schema, "contact")) : std::vector<Keys>{set.keys}) {
    check_path(set, keys, *root, schema, catalog);
    root = replaced(*root, keys, set.value);
  }
  return config::emit_document(*root);
}

}  // namespace

std::string with_override(std::string_view yaml, const std::string& file_name, const std::string& assignment,
                          const Catalog& catalog) {
  return with_override(yaml, file_name, Override{.option = "--set", .assignment = assignment}, catalog);
}

std::string with_override(std::string_view yaml, const std::string& file_name, const Override& change,
                          const Catalog& catalog) {
  return assigned(load_map(yaml, file_name), read_assignment(change), catalog);
}

namespace config {

NodePointer copy_without_lines(const Node& node, const std::string& note) {
  auto copy = std::make_shared<Node>(node);
  if (!note.empty()) copy->note = note;
  copy->line = 0;  // a line of another text is invalid in the file
  copy->flow = true;
  for (auto& item : copy->items) item = copy_without_lines(*item, note);
  for (auto& entry : copy->entries) {
    entry.line = 0;
    entry.value = copy_without_lines(*entry.value, note);
  }
  return copy;
}

std::string with_change(std::string_view yaml, const std::string& file_name, const Entry& change,
                        const std::string& where, const Catalog& catalog) {
  std::string value = emit_document(*copy_without_lines(*change.value, ""));
  value.pop_back();  // its line end
  const std::string note = fmt::format("--set {}={} ({})", excerpt(change.key), excerpt(value), where);
  return assigned(load_map(yaml, file_name),
                  {.note = note, .keys = keys_in(change.key, note), .value = copy_without_lines(*change.value, note)},
                  catalog);
}

}  // namespace config

namespace {

/// Removes laws of materials, which apply to elastic bodies only.
NodePointer without_laws(NodePointer root, const std::string& pair, std::vector<std::string>& dropped) {
  const auto drop = [&](Keys keys) {
    const Node* node = root.get();
    for (const std::string& key : keys) node = node == nullptr ? nullptr : node->find(key);
    if (node == nullptr || node->find("law") == nullptr) return;
    auto kept = std::make_shared<Node>(*node);
    std::erase_if(kept->entries, [](const Entry& entry) { return entry.key == "law"; });
    root = replaced(*root, keys, kept);
    dropped.push_back(fmt::format("{}.law", fmt::join(keys.begin() + 1, keys.end(), ".")));
  };
  for (const char* side : {"main", "partner"}) {
    drop({"contact", pair, side, "material"});
    const Node* body = root->find("contact")->find(pair)->find(side);
    for (const std::string& name : names_in(body == nullptr ? nullptr : body->find("materials"))) {
      drop({"contact", pair, side, "materials", name});
    }
  }
  return root;
}

}  // namespace

std::string with_backend(std::string_view yaml, const std::string& file_name, const std::string& backend,
                         const BackendSchemas& backends, std::vector<std::string>& dropped) {
  const Document document = load_map(yaml, file_name);
  const std::string note = "--backend " + config::excerpt(backend);
  const auto schema = backends.find(backend);
  if (schema == backends.end()) {
    Keys names;
    for (const auto& entry : backends) names.push_back(entry.first);
    throw input_error("backend", fmt::format("{}: {}", note, unknown_backend_message(config::excerpt(backend), names)));
  }
  NodePointer root = document.root;
  auto name = std::make_shared<Node>(Node{.type = Node::Type::scalar, .scalar = backend, .note = note});
  for (const std::string& pair : names_in(document.root->find("contact"))) {
    root = replaced(*root, Keys{"contact", pair, "backend"}, name);
    if (!has_elastic_bodies(schema->second)) root = without_laws(root, pair, dropped);
    const Node* parameters = root->find("contact")->find(pair)->find("parameters");
    if (parameters == nullptr || parameters->type != Node::Type::map) continue;
    auto kept = std::make_shared<Node>(*parameters);
    std::erase_if(kept->entries, [&](const Entry& entry) {
      const bool known = std::ranges::find(schema->second, entry.key, &ParameterSchema::name) != schema->second.end();
      if (!known) dropped.push_back(pair + "." + entry.key);
      return !known;
    });
    root = replaced(*root, Keys{"contact", pair, "parameters"}, kept);
  }
  return config::emit_document(*root);
}

}  // namespace heelstrike
