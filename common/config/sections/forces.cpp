#include "common/config/keys.hpp"
#include "common/config/sections/sections.hpp"

namespace heelstrike::config {

KeySchema force_keys(const Catalog& catalog) {
  KeySchema type = required(text("type", "kind of element"));
  return {.name = "forces",
          .kind = KeyKind::named,
          .meaning = "springs, ligaments and bushings by name",
          .keys = {variant_of(std::move(type), catalog.forces)}};
}

ElementSpec read_force(const Field& field, const std::shared_ptr<const Document>& document, const Scenario& scenario,
                       const Catalog& catalog) {
  ElementSpec force = read_element(field, document, scenario);
  const ElementType& type = type_named(catalog.forces, force.type);
  if (type.check) type.check(field, scenario);
  return force;
}

}  // namespace heelstrike::config
