#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::config {

KeySchema force_keys(const Catalog& catalog) {
  KeySchema type = required(text("type", "kind of element"));
  return {.name = "forces",
          .kind = KeyKind::named,
          .meaning = "springs, ligaments, muscles and bushings by name",
          .keys = {variant_of(std::move(type), catalog.forces)}};
}

ElementSpec read_force(const Field& field, const std::shared_ptr<const Document>& document, Scenario& scenario,
                       const Catalog& catalog) {
  ElementSpec force = read_element(field, document, scenario);
  const ElementType& type = type_named(catalog.forces, force.type);
  for (const auto& key : type.functions) {
    if (!field.has(key)) continue;
    force.functions.emplace(key, read_function(field[key], scenario.analysis.end_time, scenario.files));
  }
  for (const KeySchema& key : type.keys) {
    if (key.role == KeyRole::file) add_file(scenario.files, field.text_or(key.name));
  }
  if (type.check) type.check(field, scenario);
  return force;
}

}  // namespace heelstrike::config
