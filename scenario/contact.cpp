#include "scenario/sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "common/errors/error.hpp"
#include "scenario/backend_info.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/shared_bodies.hpp"

namespace heelstrike::config {

namespace {

std::vector<KeySchema> material_keys() {
  return {required(number("youngs_modulus", "Pa", moduli, "Young's modulus")),
          required(number("poissons_ratio", "-", {.min = 0.0, .max = 0.5, .max_excluded = true},
                          "Poisson's ratio; nearly incompressible: 0.49 to 0.4999 with a mixed element")),
          number("density", "kg/m^3", densities, "density; 0 if not needed", 0),
          {.name = "law",
           .kind = KeyKind::parameters,
           .meaning = "`material_law` and its constants for this material, with the names in `parameters` of fem_full; "
                      "default: those of `parameters`"}};
}

/// Materials of parts of a body.
KeySchema materials_key() {
  KeySchema key{.name = "materials",
                .kind = KeyKind::named,
                .meaning =
                    "materials of element sets (layers, physical groups) by name; elsewhere `material` applies, and in "
                    "overlapping sets the later one",
                .keys = material_keys()};
  key.keys.push_back(text("set", "name of the element set; default: the name of this entry"));
  return key;
}

KeySchema side_keys(std::string name, std::string meaning) {
  return {.name = std::move(name),
          .kind = KeyKind::map,
          .meaning = std::move(meaning),
          .required = true,
          .keys = {
              required(text("body", "name of a body, or `ground`")),
              surface_keys(),
              {.name = "material",
               .kind = KeyKind::map,
               .meaning = "elastic material; without it the body is rigid or defined by parameters of the back-end",
               .keys = material_keys()},
              materials_key(),
          }};
}

ParameterValue read_parameter(const Field& field) {
  const Node& node = field.node();
  double value = 0.0;
  if (read_number(node, value)) return value;
  if (node.type == Node::Type::scalar && node.plain && (node.scalar == "true" || node.scalar == "false")) {
    return node.scalar == "true";
  }
  if (node.type == Node::Type::scalar) return node.scalar;
  if (node.type != Node::Type::sequence) {
    field.reject("a number, a text, true or false, or a list of numbers", describe(node), "give one value");
  }
  std::vector<double> list;
  for (const auto& item : node.items) {
    if (!read_number(*item, value)) {
      field.reject("a list of numbers", describe(*item), number_advice(*item, ""));
    }
    list.push_back(value);
  }
  return list;
}

/// Reads a map of parameters. A mistyped name may contain a dot, which Field::name() interprets as a separator.
/// @param keys  of a known back-end: a number may be a text; invalid values were reported before
void read_parameters(const Field& owner, const std::string& key, std::span<const KeySchema> keys, ParameterMap& to,
                     Issues& issues) {
  const std::size_t prefix = owner.path().size() + key.size() + 2;
  for (const Field& parameter : owner.entries_of(key)) {
    if (issues.touch(parameter.path())) continue;
    const std::string name = parameter.path().substr(prefix);
    const auto known = std::ranges::find(keys, name, &KeySchema::name);
    const bool is_text = known != keys.end() && known->kind == KeyKind::text;
    issues.attempt([&] { to.emplace(name, is_text ? parameter.text() : read_parameter(parameter)); });
  }
}

Material read_material(const Field& field, std::string set, Issues& issues) {
  ParameterMap law;
  read_parameters(field, "law", {}, law, issues);
  return {.youngs_modulus = field["youngs_modulus"].number(),
          .poissons_ratio = field["poissons_ratio"].number(),
          .density = field["density"].number(),
          .set = std::move(set),
          .law = std::move(law)};
}

ContactBody read_side(const Field& field, const Scenario& scenario, std::vector<std::string>& files, Issues& issues) {
  ContactBody side{.name = read_body_name(field["body"], scenario.bodies, true),
                   .surface = read_surface(field["surface"], files),
                   .materials = {}};
  if (field.has("material")) side.materials.push_back(read_material(field["material"], "", issues));
  for (const Field& material : field.entries_of("materials")) {
    side.materials.push_back(
        read_material(material, material.has("set") ? material["set"].text() : material.name(), issues));
  }
  check_surface(field["surface"], side.surface, side.materials.empty());
  return side;
}

/// The map `parameters` of the back-ends as a variant, so that messages about a key of another back-end name it.
KeySchema parameter_keys(const BackendSchemas& backends) {
  KeySchema variant{.name = "parameters", .kind = KeyKind::variant, .keys = {text("backend", "contact model")}};
  for (const auto& [name, parameters] : backends) {
    variant.keys.push_back({.name = name, .kind = KeyKind::map, .keys = parameters});
  }
  return variant;
}

/// Checks the parameters of a pair against the keys of its back-end.
void check_parameters(const Field& pair, const std::string& backend, const BackendSchemas& backends, Issues& issues) {
  const KeySchema variant = parameter_keys(backends);
  const KeySchema& keys = *std::ranges::find(variant.keys.begin() + 1, variant.keys.end(), backend, &KeySchema::name);
  const Node none{.type = Node::Type::map, .line = pair.node().line};
  const Node& given = pair.has("parameters") ? pair["parameters"].node() : none;
  (void)checked_type(pair.document(), given, keys, variant, pair.path() + ".parameters", issues);
}

/// Files that parameters name.
void add_parameter_files(const ParameterMap& parameters, std::span<const ParameterSchema> schema,
                         std::vector<std::string>& files) {
  for (const ParameterSchema& key : schema) {
    const auto given = parameters.find(key.name);
    if (key.role != KeyRole::file || given == parameters.end()) continue;
    const auto* name = std::get_if<std::string>(&given->second);  // another kind of value was rejected before
    if (name != nullptr && !name->empty()) files.push_back(*name);
  }
}

/// Checks the back-end, its parameters, and the use of laws of materials. @returns the keys of its parameters
std::span<const KeySchema> check_backend(const Field& pair, const std::string& backend, const BackendSchemas& backends,
                                         Issues& issues) {
  if (backends.empty()) return {};
  const auto it = backends.find(backend);
  if (it == backends.end()) {
    std::vector<std::string> names;
    for (const auto& entry : backends) names.push_back(entry.first);
    pair["backend"].reject(fmt::format("one of the contact back-ends {}", fmt::join(names, ", ")),
                           fmt::format("'{}'", excerpt(backend)),
                           backend_suggestion(backend, names, "choose one of them"));
  }
  issues.attempt([&] { check_parameters(pair, backend, backends, issues); });
  if (has_elastic_bodies(it->second)) return it->second;
  for (const char* side : {"main", "partner"}) {
    if (!pair.has(side)) continue;
    std::vector<Field> materials = pair[side].entries_of("materials");
    if (pair[side].has("material")) materials.insert(materials.begin(), pair[side]["material"]);
    for (const Field& material : materials) {
      if (!material.has("law")) continue;
      issues.attempt([&] {
        material["law"].reject("a back-end of finite elements, e.g. fem_full", backend,
                               "it does not use laws of materials: remove the law");
      });
    }
  }
  return it->second;
}

}  // namespace

KeySchema contact_keys() {
  return {.name = "contact",
          .kind = KeyKind::named,
          .meaning = "contact pairs by name",
          .keys = {
              side_keys("main", "the deformable body, in whose frame the contact is computed"),
              side_keys("partner", "the other body"),
              required(text("backend", "name of the contact model; `heelstrike backends` lists them")),
              {.name = "parameters",
               .kind = KeyKind::parameters,
               .meaning = "parameters of the contact model; `heelstrike backends NAME` lists them"},
          }};
}

PairModel read_pair(const Field& field, Scenario& scenario, const BackendSchemas& backends, Issues& issues) {
  PairModel pair;
  pair.spec.name = field.name();
  pair.spec.backend = field["backend"].text();
  issues.attempt([&] { pair.spec.main = read_side(field["main"], scenario, scenario.files, issues); });
  issues.attempt([&] { pair.spec.partner = read_side(field["partner"], scenario, scenario.files, issues); });
  pair.main_body = pair.spec.main.name;
  pair.partner_body = pair.spec.partner.name;
  if (!pair.main_body.empty() && pair.main_body == pair.partner_body) {
    field["partner"]["body"].reject("another body than main's", fmt::format("'{}' on both sides", pair.main_body),
                                    "a body cannot be in contact with itself: name the other body");
  }
  const auto keys = check_backend(field, pair.spec.backend, backends, issues);
  read_parameters(field, "parameters", keys, pair.spec.parameters, issues);
  add_parameter_files(pair.spec.parameters, keys, scenario.files);
  return pair;
}

void check_shared_bodies(const Field& root, const Scenario& scenario, const BackendSchemas& backends) {
  std::vector<PairSpec> specs;
  for (const PairModel& pair : scenario.pairs) specs.push_back(pair.spec);
  const auto shared = find_shared_body(specs, [&](const std::string& name) {
    const auto found = backends.find(name);
    return found != backends.end() && has_elastic_bodies(found->second);
  });
  if (!shared) return;
  const Field pair = root.entries_of("contact")[shared->later];
  pair[shared->is_partner ? "partner" : "main"]["body"].reject(
      "an elastic body in one pair only", fmt::format("the same body also in contact.{}", specs[shared->earlier].name),
      shared_body_advice);
}

}  // namespace heelstrike::config
