#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::config {

KeySchema coupling_keys(const Catalog& catalog) {
  KeySchema scheme = text("scheme", "times of contact evaluation, and the forces between them");
  if (!catalog.couplings.empty()) scheme.fallback = catalog.couplings.front().name;
  KeySchema variant = variant_of(std::move(scheme), catalog.couplings);
  variant.name = "coupling";
  variant.meaning = "coupling of the multibody side and its contact partner";
  return variant;
}

CouplingSpec read_coupling(const Field& field, std::shared_ptr<const Document> document, const Scenario& scenario,
                           const Catalog& catalog) {
  const ElementType& scheme = type_named(catalog.couplings, field["scheme"].text());
  if (scheme.check) scheme.check(field, scenario);
  return {.scheme = scheme.name, .document = std::move(document), .keys = field};
}

}  // namespace heelstrike::config
