#include "common/parameters/retired_names.hpp"
#include "scenario/sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "common/errors/error.hpp"
#include "common/text/suggestion.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/shared_bodies.hpp"

namespace heelstrike::config {

namespace {

std::vector<KeySchema> material_keys() {
  return {required(number("youngs_modulus", "Pa", moduli, "Young's modulus")),
          required(number("poissons_ratio", "-", {.min = 0.0, .max = 0.5, .max_excluded = true},
                          "Poisson's ratio; nearly incompressible: 0.49 to 0.4999 with a mixed element")),
          number("density", "kg/m^3", densities, "density; 0 if not needed", "0"),
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

ParameterValue read_parameter(const Field& field);

/// Reads a map of parameters. A mistyped name may contain a dot, which Field::name() interprets as a separator.
void read_parameters(const Field& owner, const std::string& key, ParameterMap& to, Mistakes& mistakes) {
  const std::size_t prefix = owner.path().size() + key.size() + 2;
  for (const Field& parameter : owner.entries_of(key)) {
    mistakes.attempt([&] { to.emplace(parameter.path().substr(prefix), read_parameter(parameter)); });
  }
}

Material read_material(const Field& field, std::string set, Mistakes& mistakes) {
  ParameterMap law;
  read_parameters(field, "law", law, mistakes);
  return {.youngs_modulus = field["youngs_modulus"].number(),
          .poissons_ratio = field["poissons_ratio"].number(),
          .density = field["density"].number(),
          .set = std::move(set),
          .law = std::move(law)};
}

ContactBody read_side(const Field& field, const Scenario& scenario, std::vector<std::string>& files,
                      Mistakes& mistakes) {
  ContactBody side{.name = read_body_name(field["body"], scenario.bodies, true),
                   .surface = read_surface(field["surface"], files),
                   .materials = {}};
  if (field.has("material")) side.materials.push_back(read_material(field["material"], "", mistakes));
  for (const Field& material : field.entries_of("materials")) {
    side.materials.push_back(
        read_material(material, material.has("set") ? material["set"].text() : material.name(), mistakes));
  }
  check_surface(field["surface"], side.surface, side.materials.empty());
  return side;
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
    field.refuse("a number, a text, true or false, or a list of numbers", describe(node), "give one value");
  }
  std::vector<double> list;
  for (const auto& item : node.items) {
    if (!read_number(*item, value)) {
      field.refuse("a list of numbers", describe(*item), number_advice(*item, ""));
    }
    list.push_back(value);
  }
  return list;
}

/// Specific advice for a number with a unit or in quotes.
void check_units(const Field& field, std::span<const ParameterSchema> schema) {
  const auto known = std::ranges::find(schema, field.name(), &ParameterSchema::name);
  if (known == schema.end() || known->kind != ParameterKind::number) return;
  double value = 0.0;
  if (read_number(field.node(), value)) return;
  field.refuse(fmt::format("a number {} [{}]", known->range.text(), known->unit), describe(field.node()),
               number_advice(field.node(), known->unit));
}

/// Adds the position in the file to errors of `checked_parameters`.
void check_parameters(const Field& pair, const ParameterMap& parameters, std::span<const ParameterSchema> schema) {
  const std::string where = pair.path() + ".parameters";
  try {
    (void)checked_parameters(parameters, schema, where);
  } catch (const Error& e) {
    const Node* place = &pair.node();
    if (pair.has("parameters")) place = &pair["parameters"].node();
    if (e.field().starts_with(where + ".")) {
      if (const Node* value = place->find(e.field().substr(where.size() + 1))) place = value;
    }
    throw mistake_at(pair.document(), *place, e.field(), e.what());
  }
}

bool has_parameter(std::span<const ParameterSchema> schema, const std::string& name) {
  return std::ranges::any_of(schema,
                             [&](const ParameterSchema& s) { return s.name == name || s.name == present_name(name); });
}

/// Reports the back-ends to which a foreign parameter belongs.
void throw_foreign_parameter(const Field& parameter, std::span<const ParameterSchema> schema,
                             const BackendSchemas& backends) {
  if (has_parameter(schema, parameter.name())) return;
  std::vector<std::string> others;
  for (const auto& [name, other] : backends) {
    if (has_parameter(other, parameter.name())) others.push_back(name);
  }
  if (others.empty()) return;
  throw mistake_at(
      parameter.document(), parameter.node(), parameter.path(),
      fmt::format("{}: unknown key; it is a parameter of {}: choose one of these as `backend`, or remove it",
                  parameter.path(), fmt::join(others, ", ")));
}

/// Checks every given parameter separately, then reports missing ones.
void check_each_parameter(const Field& pair, const ParameterMap& parameters, std::span<const ParameterSchema> schema,
                          const BackendSchemas& backends, Mistakes& mistakes) {
  std::vector<ParameterSchema> optional(schema.begin(), schema.end());
  for (ParameterSchema& parameter : optional) parameter.required = false;
  ParameterMap sound;
  for (const auto& parameter : parameters) {
    mistakes.attempt([&] {
      const Field field = pair["parameters"][parameter.first];
      check_units(field, schema);
      throw_foreign_parameter(field, schema, backends);
      check_parameters(pair, {parameter}, optional);
      sound.insert(parameter);
    });
  }
  if (sound.size() == parameters.size()) mistakes.attempt([&] { check_parameters(pair, sound, schema); });
}

void record_file_digests(const ParameterMap& parameters, std::span<const ParameterSchema> schema,
                         std::vector<std::string>& files) {
  for (const ParameterSchema& key : schema) {
    const auto given = parameters.find(key.name);
    if (!key.is_file || given == parameters.end()) continue;
    const auto* name = std::get_if<std::string>(&given->second);  // another kind of value was rejected before
    if (name != nullptr && !name->empty()) files.push_back(*name);
  }
}

/// @param files  files of parameters are appended
void check_backend(const Field& pair, const PairSpec& spec, const BackendSchemas& backends,
                   std::vector<std::string>& files, Mistakes& mistakes) {
  if (backends.empty()) return;
  const auto it = backends.find(spec.backend);
  if (it == backends.end()) {
    std::vector<std::string> names;
    for (const auto& entry : backends) names.push_back(entry.first);
    pair["backend"].refuse(fmt::format("one of the contact back-ends {}", fmt::join(names, ", ")),
                           fmt::format("'{}'", excerpt(spec.backend)),
                           suggestion(spec.backend, names, "choose one of them"));
  }
  check_each_parameter(pair, spec.parameters, it->second, backends, mistakes);
  record_file_digests(spec.parameters, it->second, files);
  if (has_elastic_bodies(it->second)) return;
  for (const char* side : {"main", "partner"}) {
    if (!pair.has(side)) continue;
    std::vector<Field> materials = pair[side].entries_of("materials");
    if (pair[side].has("material")) materials.insert(materials.begin(), pair[side]["material"]);
    for (const Field& material : materials) {
      if (!material.has("law")) continue;
      mistakes.attempt([&] {
        material["law"].refuse("a back-end of finite elements, e.g. fem_full", spec.backend,
                               "it does not use laws of materials: remove the law");
      });
    }
  }
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

PairModel read_pair(const Field& field, Scenario& scenario, const BackendSchemas& backends, Mistakes& mistakes) {
  PairModel pair;
  pair.spec.name = field.name();
  pair.spec.backend = field["backend"].text();
  mistakes.attempt([&] { pair.spec.main = read_side(field["main"], scenario, scenario.files, mistakes); });
  mistakes.attempt([&] { pair.spec.partner = read_side(field["partner"], scenario, scenario.files, mistakes); });
  pair.main_body = pair.spec.main.name;
  pair.partner_body = pair.spec.partner.name;
  if (!pair.main_body.empty() && pair.main_body == pair.partner_body) {
    field["partner"]["body"].refuse("another body than main's", fmt::format("'{}' on both sides", pair.main_body),
                                    "a body cannot be in contact with itself: name the other body");
  }
  read_parameters(field, "parameters", pair.spec.parameters, mistakes);
  check_backend(field, pair.spec, backends, scenario.files, mistakes);
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
  pair[shared->is_partner ? "partner" : "main"]["body"].refuse(
      "an elastic body in one pair only", fmt::format("the same body also in contact.{}", specs[shared->earlier].name),
      shared_body_advice);
}

}  // namespace heelstrike::config
