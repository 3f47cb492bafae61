#include "common/contact/material_laws.hpp"

#include <fmt/format.h>

namespace heelstrike {

std::string law_key(const Material& material) {
  return material.set.empty() ? "material.law" : fmt::format("materials.{}.law", material.set);
}

ParameterMap laws_in_force(const PairSpec& pair) {
  ParameterMap all;
  const auto add = [&](const char* side, const ContactBody& body) {
    for (const Material& material : body.materials) {
      for (const auto& [name, value] : material.law) {
        all.emplace(fmt::format("{}.{}.{}", side, law_key(material), name), value);
      }
    }
  };
  add("main", pair.main);
  add("partner", pair.partner);
  return all;
}

}  // namespace heelstrike
