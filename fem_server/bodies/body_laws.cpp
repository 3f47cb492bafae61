#include "fem_server/bodies/body_laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/contact/material_laws.hpp"
#include "common/errors/error.hpp"
#include "fem_server/fem/materials/material_kind.hpp"

namespace heelstrike::fem {

namespace {

std::string location_of(const PairSpec& pair, const char* side, const Material& material) {
  return fmt::format("contact.{}.{}.{}", pair.name, side, law_key(material));
}

ParameterMap completed(const PairSpec& pair, const char* side, const Material& material) {
  return checked_parameters(material.law, material_parameters(""), location_of(pair, side, material));
}

void check_side(const PairSpec& pair, const char* side, const ContactBody& body) {
  for (const Material& material : body.materials) {
    if (material.law.empty()) continue;
    const ParameterMap law = completed(pair, side, material);
    (void)material_law({location_of(pair, side, material) + ".", law});
  }
}

/// The law of the pair's parameters.
ParameterMap law_of_parameters(const PairSpec& pair) {
  ParameterMap law;
  for (const ParameterSchema& schema : material_parameters("")) {
    const auto given = pair.parameters.find(schema.name);
    if (given != pair.parameters.end()) law.insert(*given);
  }
  return law;
}

void reject_unused_law(const PairSpec& pair) {
  for (const ParameterSchema& schema : material_parameters("")) {
    const auto given = pair.parameters.find(schema.name);
    if (given == pair.parameters.end() || (schema.fallback && given->second == *schema.fallback)) continue;
    const std::string key = fmt::format("contact.{}.parameters.{}", pair.name, schema.name);
    throw input_error(key, fmt::format("{}: every material of the body has its own law, and none uses this "
                                       "one; remove it, or remove the `law` of the materials that should use it",
                                       key));
  }
}

}  // namespace

void check_material_laws(const PairSpec& pair) {
  check_side(pair, "main", pair.main);
  check_side(pair, "partner", pair.partner);
}

PairSpec with_laws(PairSpec pair) {
  const ParameterMap common = law_of_parameters(pair);
  (void)material_law({"contact." + pair.name + ".parameters.", common});
  check_material_laws(pair);
  const auto has_own = [](const Material& material) { return !material.law.empty(); };
  const bool any = !pair.main.materials.empty() || !pair.partner.materials.empty();
  if (any && std::ranges::all_of(pair.main.materials, has_own) &&
      std::ranges::all_of(pair.partner.materials, has_own)) {
    reject_unused_law(pair);
  }
  const auto complete = [&](const char* side, ContactBody& body) {
    for (Material& material : body.materials) {
      material.law = has_own(material) ? completed(pair, side, material) : common;
    }
  };
  complete("main", pair.main);
  complete("partner", pair.partner);
  return pair;
}

namespace {

MaterialLaws laws_of(const PairSpec& pair, const char* side, const ContactBody& body) {
  std::vector<MaterialLaw> laws;
  for (const Material& material : body.materials) {
    laws.push_back(material_law({location_of(pair, side, material) + ".", material.law}));
  }
  return MaterialLaws(std::move(laws));
}

}  // namespace

MaterialLaws laws_of_main(const PairSpec& pair) {
  return laws_of(pair, "main", pair.main);
}

MaterialLaws laws_of_partner(const PairSpec& pair) {
  return laws_of(pair, "partner", pair.partner);
}

PairSpec linearised(PairSpec pair, const PrepareContext& context) {
  const auto linearise = [&](const char* side, ContactBody& body) {
    for (Material& material : body.materials) {
      if (std::exchange(material.law, {}).empty()) continue;
      context.on_progress(fmt::format("{}: {} is linear and uses the moduli only, the response to small strain",
                                      location_of(pair, side, material), pair.backend),
                          0.0);
    }
  };
  linearise("main", pair.main);
  linearise("partner", pair.partner);
  return pair;
}

}  // namespace heelstrike::fem
