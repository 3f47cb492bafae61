// heelstrike schema: lists every key of a scenario file.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <variant>

#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/command_line/command_line.hpp"
#include "common/errors/error.hpp"
#include "common/text/suggestion.hpp"
#include "common/text/table.hpp"
#include "library/registries/catalog.hpp"
#include "library/terminal/screen.hpp"
#include "scenario/scenario.hpp"
#include "scenario/scenario_schema.hpp"
#include "scenario/schema/schema.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::client {
namespace {

using config::KeyKind;
using config::KeySchema;
using nlohmann::json;

void add_range(json& schema, const Range& range) {
  if (std::isfinite(range.min)) schema[range.min_excluded ? "exclusiveMinimum" : "minimum"] = range.min;
  if (std::isfinite(range.max)) schema[range.max_excluded ? "exclusiveMaximum" : "maximum"] = range.max;
}

json number_schema(const char* type, const Range& range) {
  json schema{{"type", type}};
  add_range(schema, range);
  return schema;
}

json numbers_schema(const KeySchema& key) {
  json schema{{"type", "array"}, {"items", number_schema("number", key.range)}};
  if (key.sizes.empty()) return schema;
  if (key.sizes.size() == 1) {
    schema["minItems"] = schema["maxItems"] = key.sizes.front();
    return schema;
  }
  for (const std::size_t n : key.sizes) schema["anyOf"].push_back({{"minItems", n}, {"maxItems", n}});
  return schema;
}

json text_schema(const std::vector<std::string>& choices) {
  // YAML reads a name like 12 or `on` as a number or a boolean; the program accepts both.
  if (choices.empty()) return {{"type", {"string", "number", "boolean"}}};
  json schema = {{"enum", choices}};
  // If all alternatives are explicit, a choice like 1 may be written without quotes.
  for (const std::string& choice : choices) {
    if (const json value = json::parse(choice, nullptr, false); value.is_number()) schema["enum"].push_back(value);
  }
  return schema;
}

/// A default as in the table: whole numbers without a point, and texts that are numbers as these.
json default_value(const ParameterValue& fallback) {
  const std::string text = config::text_of(fallback);
  const json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json(text) : value;
}

json key_schema(const KeySchema& key, const BackendSchemas& backends);

json map_schema(const KeySchema& key, const BackendSchemas& backends);

/// "If the back-end of the pair is this one, its parameters are these."
json backend_rule(const std::string& key, const std::string& backend, const std::vector<ParameterSchema>& parameters) {
  json map{{"type", "object"}, {"additionalProperties", false}, {"properties", json::object()}};
  bool some_required = false;
  for (const ParameterSchema& parameter : parameters) {
    map["properties"][parameter.name] = key_schema(parameter, {});
    if (!parameter.required) continue;
    map["required"].push_back(parameter.name);
    some_required = true;
  }
  json then{{"properties", {{key, map}}}};
  if (some_required) then["required"] = {key};
  return {{"if", {{"properties", {{"backend", {{"const", backend}}}}}}}, {"then", then}};
}

json map_schema(const KeySchema& key, const BackendSchemas& backends) {
  json schema{{"type", "object"}, {"additionalProperties", false}, {"properties", json::object()}};
  const bool names_backend = std::ranges::find(key.keys, "backend", &KeySchema::name) != key.keys.end();
  for (const KeySchema& child : key.keys) {
    schema["properties"][child.name] = key_schema(child, backends);
    if (child.required) schema["required"].push_back(child.name);
    if (child.kind != KeyKind::parameters || !names_backend) continue;
    for (const auto& [backend, parameters] : backends) {
      schema["allOf"].push_back(backend_rule(child.name, backend, parameters));
    }
  }
  return schema;
}

/// The keys of one form occur together: one of the lists of required keys, and no key of another form.
void add_forms(json& schema, const KeySchema& type) {
  std::vector<std::string> forms;
  for (const KeySchema& key : type.keys) {
    if (!key.form.empty() && std::ranges::find(forms, key.form) == forms.end()) forms.push_back(key.form);
  }
  for (const std::string& form : forms) {
    json rule = json::object();
    for (const KeySchema& key : type.keys) {
      if (key.form.empty()) continue;
      if (key.form == form && key.required) rule["required"].push_back(key.name);
      if (key.form != form) rule["not"]["anyOf"].push_back({{"required", {key.name}}});
    }
    schema["anyOf"].push_back(std::move(rule));
  }
}

json type_schema(const KeySchema& type, const KeySchema& choice, const BackendSchemas& backends) {
  KeySchema plain = type;
  for (KeySchema& key : plain.keys) {
    if (!key.form.empty()) key.required = false;
  }
  json schema = map_schema(plain, backends);
  add_forms(schema, type);
  if (!type.meaning.empty()) schema["description"] = type.meaning;
  if (choice.name.empty()) return schema;
  schema["properties"][choice.name] = {{"const", type.name}};
  if (choice.required) schema["required"].push_back(choice.name);
  return schema;
}

/// The keys of one of the types. If the selecting key is present, the other keys are checked for its type only, so that
/// messages name only that type; if it is absent and has no default, any type is valid.
json variant_schema(const KeySchema& variant, const BackendSchemas& backends) {
  const KeySchema& choice = variant.keys.front();
  json schema{{"type", "object"}};
  json any = json::array();
  for (auto type = variant.keys.begin() + 1; type != variant.keys.end(); ++type) {
    const json keys = type_schema(*type, choice, backends);
    any.push_back(keys);
    if (choice.name.empty()) continue;
    json chosen{{"properties", {{choice.name, {{"const", type->name}}}}}};
    if (!choice.fallback || type->name != config::text_of(*choice.fallback)) chosen["required"] = {choice.name};
    schema["allOf"].push_back({{"if", chosen}, {"then", keys}});
  }
  if (choice.name.empty()) {
    schema["anyOf"] = any;
    return schema;
  }
  schema["properties"][choice.name] = key_schema(choice, backends);
  if (choice.required) {
    schema["required"].push_back(choice.name);
  } else if (!choice.fallback) {
    schema["allOf"].push_back({{"if", {{"not", {{"required", {choice.name}}}}}}, {"then", {{"anyOf", any}}}});
  }
  return schema;
}

json kind_schema(const KeySchema& key, const BackendSchemas& backends) {
  switch (key.kind) {
    case KeyKind::number:
      return number_schema("number", key.range);
    case KeyKind::integer: {
      json schema = number_schema("integer", key.range);
      for (const std::string& choice : key.choices) schema["enum"].push_back(json::parse(choice));
      return schema;
    }
    case KeyKind::text:
      return text_schema(key.choices);
    case KeyKind::flag:
      return {{"type", "boolean"}};
    case KeyKind::numbers:
      return numbers_schema(key);
    case KeyKind::list:
      return {{"type", "array"}, {"items", key_schema(key.keys.front(), backends)}};
    case KeyKind::map:
      return map_schema(key, backends);
    case KeyKind::named:
      return {{"type", "object"},
              {"propertyNames", {{"pattern", "^[A-Za-z0-9_-]+$"}}},
              {"additionalProperties", key.keys.front().kind == KeyKind::variant && key.keys.front().name.empty()
                                           ? variant_schema(key.keys.front(), backends)
                                           : map_schema(key, backends)}};
    case KeyKind::one_of: {
      json schema = map_schema(key, backends);
      schema["minProperties"] = schema["maxProperties"] = 1;
      return schema;
    }
    case KeyKind::variant:
      return variant_schema(key, backends);
    case KeyKind::parameters:
      return {{"type", "object"}};
  }
  return json::object();
}

json key_schema(const KeySchema& key, const BackendSchemas& backends) {
  json schema = kind_schema(key, backends);
  if (!key.meaning.empty()) {
    schema["description"] = key.unit == "-" ? key.meaning : fmt::format("{} [{}]", key.meaning, key.unit);
  }
  if (key.fallback) schema["default"] = default_value(*key.fallback);
  return schema;
}

/// JSON Schema (2020-12), for editors and for programs that write scenarios: kinds, ranges, choices, required and
/// unknown keys, and defaults of the table. Constraints that depend on other values (existing names, orders of an
/// integrator) are checked by `heelstrike validate` only.
/// @param backends  parameters are checked for the `backend` of the pair; empty = any parameters
json json_schema(const KeySchema& scenario, const BackendSchemas& backends) {
  json schema = key_schema(scenario, backends);
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "Heelstrike scenario";
  // The required keys of a scenario, except the version, may come from the imported model.
  schema["if"] = {{"required", {config::import_section}}};
  json alone = {{"required", std::exchange(schema["required"], json{"heelstrike"})}};
  const auto move_required = [](json& from, json& to) {
    if (!from.contains("required")) return false;
    to["required"] = std::move(from["required"]);
    return from.erase("required") > 0;
  };
  for (auto& [name, section] : schema["properties"].items()) {
    if (name == config::import_section) continue;
    json needs = json::object();
    (void)move_required(section, needs);
    if (const auto types = section.find("allOf"); types != section.end()) {
      for (json& type : *types) {
        json of_type = {{"if", type["if"]}, {"then", json::object()}};
        if (move_required(type["then"], of_type["then"])) needs["allOf"].push_back(of_type);
      }
    }
    if (!needs.empty()) alone["properties"][name] = std::move(needs);
  }
  schema["else"] = std::move(alone);
  return schema;
}

/// All keys with the parameters of the back-ends, which are the types of `parameters`.
std::vector<config::ReferenceRow> all_rows(const KeySchema& scenario, const std::vector<BackendInfo>& backends) {
  KeySchema parameters{.name = "parameters", .kind = KeyKind::variant, .keys = {{.name = ""}}};
  for (const BackendInfo& backend : backends) {
    parameters.keys.push_back({.name = backend.name, .kind = KeyKind::map, .keys = backend.parameters});
  }
  std::vector<config::ReferenceRow> rows;
  for (config::ReferenceRow& row : config::reference_rows(scenario, "")) {
    // Laws of materials and options of importers have parameters of their own.
    const bool is_parameters = row.path == "contact.NAME.parameters";
    const std::size_t depth = row.depth;
    rows.push_back(std::move(row));
    if (!is_parameters) continue;
    auto nested = config::reference_rows(parameters, rows.back().path);
    for (auto own = nested.begin() + 1; own != nested.end(); ++own) {
      own->depth += depth;
      rows.push_back(std::move(*own));
    }
  }
  return rows;
}

/// Keys by the words of other programs.
std::string_view key_for(std::string_view word) {
  struct OtherWord {
    std::string_view word, key;
  };
  constexpr auto words = std::to_array<OtherWord>({{"mesh_size", "element_size"},
                                                   {"edge_length", "element_size"},
                                                   {"duration", "end_time"},
                                                   {"t_end", "end_time"},
                                                   {"time_step", "step"},
                                                   {"timestep", "step"},
                                                   {"dt", "step"},
                                                   {"tolerance", "rtol"},
                                                   {"solver", "integrator"},
                                                   {"model", "backend"},
                                                   {"mu", "friction"},
                                                   {"e_modulus", "youngs_modulus"},
                                                   {"nu", "poissons_ratio"},
                                                   {"rho", "density"},
                                                   {"fps", "interval"}});
  const auto known = std::ranges::find(words, word, &OtherWord::word);
  return known == words.end() ? std::string_view() : known->key;
}

/// A word that heelstrike schema shows: the last name of the path, or the key that a word of other programs stands for.
std::string shown_word(const std::vector<config::ReferenceRow>& rows, const std::string& word) {
  const std::string last = word.substr(word.rfind('.') + 1);
  const std::string meant(key_for(last));
  const std::string& shown = meant.empty() ? last : meant;
  return shown == word || shown.empty() || config::rows_for(rows, shown).empty() ? "" : shown;
}

[[noreturn]] void throw_unknown(const std::vector<config::ReferenceRow>& rows, const std::string& word) {
  std::vector<std::string> known;
  std::vector<std::string> sections;
  for (const config::ReferenceRow& row : rows) {
    known.push_back(row.path.substr(row.path.rfind('.') + 1));
    known.insert(known.end(), row.key.choices.begin(), row.key.choices.end());
    known.insert(known.end(), row.types.begin(), row.types.end());
    if (row.path.find('.') == std::string::npos) sections.push_back(row.path);
  }
  const std::string shown = shown_word(rows, word);
  const std::string hint = shown.empty() ? suggestion(word, known, "heelstrike schema lists all keys")
                                         : fmt::format("did you mean heelstrike schema {}?", shown);
  throw input_error("section", fmt::format("expected a section, key, type or back-end, found '{}'; {}; sections: {}",
                                           word, hint, fmt::join(sections, ", ")));
}

void print_indented(const std::string& text, std::size_t width) {
  for (const std::string& line : wrapped_lines(text, width - 4, "")) fmt::print("    {}\n", line);
}

/// "a number > 0 [kg]; default 1"
std::string row_value(const config::ReferenceRow& row) {
  if (row.key.required) return row.expected + "; required";
  return row.key.fallback ? row.expected + "; default " + config::text_of(*row.key.fallback) : row.expected;
}

/// Keys that occur at several places with one meaning, such as those of functions of time, are shown once.
void print_rows(const std::vector<config::ReferenceRow>& rows) {
  const std::size_t screen = screen_width(Stream::out);
  const std::size_t width = screen == 0 ? help_width : std::max<std::size_t>(screen, 40);
  const auto content = [](const config::ReferenceRow& row) {
    return std::vector{row.key.name, row_value(row), row.meaning()};
  };
  std::map<std::vector<std::string>, std::vector<std::string>> places;
  for (const config::ReferenceRow& row : rows) places[content(row)].push_back(row.path);
  for (const config::ReferenceRow& row : rows) {
    const std::vector<std::string>& paths = places.at(content(row));
    if (paths.front() != row.path) continue;
    fmt::print("{}\n", row.path);
    print_indented(row_value(row), width);
    print_indented(row.meaning(), width);
    if (paths.size() == 2) print_indented("the same: " + paths[1], width);
    if (paths.size() > 2) {
      print_indented(fmt::format("the same at {} other places, e.g. {}", paths.size() - 1, paths[1]), width);
    }
  }
}

nlohmann::ordered_json rows_json(const std::vector<config::ReferenceRow>& rows) {
  auto all = nlohmann::ordered_json::array();
  for (const config::ReferenceRow& row : rows) {
    all.push_back({{"key", row.path},
                   {"value", row.expected},
                   {"unit", row.key.unit},
                   {"required", row.key.required},
                   {"default", row.key.fallback ? default_value(*row.key.fallback) : json()},
                   {"meaning", row.key.meaning},
                   {"types", row.types}});
  }
  return all;
}

/// On a terminal the page of all keys would scroll away.
void print_sections(const std::vector<config::ReferenceRow>& rows) {
  Table table{.header = {"section", "meaning"}, .rows = {}};
  for (const config::ReferenceRow& row : rows) {
    if (row.path.find('.') == std::string::npos) table.rows.push_back({row.path, row.key.meaning});
  }
  fmt::print("{}\n", table.fitted(screen_width(Stream::out)));
  fmt::print(
      "heelstrike schema SECTION shows its keys, heelstrike schema KEY a key of any section.\n"
      "heelstrike schema > scenario.md writes all keys as a page.\n");
}

ExitCode show_schema(const std::string& word, bool as_json) {
  const KeySchema scenario = config::scenario_schema(scenario_catalog());
  if (word.empty() && as_json) {
    fmt::print("{}\n", json_schema(scenario, schemas_of(known_backends({}))).dump(1));
    return ExitCode::ok;
  }
  if (word.empty() && ::isatty(STDOUT_FILENO) == 0) {
    fmt::print("{}", config::scenario_reference(scenario_catalog()));
    return ExitCode::ok;
  }
  const std::vector<config::ReferenceRow> all = all_rows(scenario, known_backends({}));
  if (word.empty()) {
    print_sections(all);
    return ExitCode::ok;
  }
  const std::vector<config::ReferenceRow> rows = config::rows_for(all, word);
  if (rows.empty()) throw_unknown(all, word);
  if (as_json) {
    fmt::print("{}\n", rows_json(rows).dump(1));
  } else {
    print_rows(rows);
  }
  return ExitCode::ok;
}

Action add_schema(CLI::App& command, bool& as_json) {
  const auto word = std::make_shared<std::string>();
  command
      .add_option("section", *word,
                  "Show only this: a section (coupling), a key by its name or path (restitution, "
                  "analysis.integrator), a type (revolute, implicit) or the parameters of a back-end (flores)")
      ->type_name("SECTION");
  command.add_flag("--json", as_json,
                   "JSON Schema (2020-12) for editors, with the parameters of all back-ends; with SECTION: its keys");
  return [word](bool json, const std::stop_token& /*stop*/) { return show_schema(*word, json); };
}

}  // namespace

Subcommand schema_command() {
  return {.name = "schema",
          .summary = "Show every key of a scenario file with unit, range and default",
          .examples =
              "  heelstrike schema coupling\n  heelstrike schema restitution\n  heelstrike schema > scenario.md\n"
              "  heelstrike schema --json > scenario.schema.json",
          .add = add_schema};
}

}  // namespace heelstrike::client
