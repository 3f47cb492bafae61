#include "fem_server/backend_interface/material_warnings.hpp"

#include <fmt/format.h>

namespace heelstrike::fem {
namespace {

constexpr double min_youngs_modulus = 1e3;     // [Pa] brain and fat; softer gels flow
constexpr double max_youngs_modulus = 1.3e12;  // [Pa] diamond
constexpr double min_density = 20.0;           // [kg/m^3] foams
constexpr double max_density = 2.3e4;          // [kg/m^3] osmium

std::string find_modulus_warning(double modulus) {
  if (modulus < min_youngs_modulus) {
    return fmt::format(
        "youngs_modulus: {0:g} Pa is softer than brain or fat (1e3 Pa); did you mean {0:g} MPa, which is "
        "{1:g} (soft tissue 1e4 to 1e7, plastics 1e9), or {0:g} GPa, {2:g} (metals 7e10 to 2.1e11)?",
        modulus, modulus * 1e6, modulus * 1e9);
  }
  if (modulus <= max_youngs_modulus) return {};
  return fmt::format("youngs_modulus: {:g} Pa is stiffer than diamond (1.2e12 Pa; steel has 2.1e11); check its unit",
                     modulus);
}

std::string find_density_warning(double density) {
  if (density > 0.0 && density < min_density) {
    return fmt::format("density: {0:g} kg/m^3 is lighter than foam; did you mean {0:g} g/cm^3, which is {1:g}?",
                       density, density * 1e3);
  }
  if (density <= max_density) return {};
  return fmt::format("density: {:g} kg/m^3 is heavier than any metal (osmium has 22600); check its unit", density);
}

}  // namespace

std::vector<std::string> find_material_warnings(std::span<const Material> materials, const std::string& key) {
  std::vector<std::string> warnings;
  for (const Material& material : materials) {
    const std::string where = material.set.empty() ? key : fmt::format("{}s.{}", key, material.set);
    for (const std::string& warning :
         {find_modulus_warning(material.youngs_modulus), find_density_warning(material.density)}) {
      if (!warning.empty()) warnings.push_back(fmt::format("{}.{}", where, warning));
    }
  }
  return warnings;
}

}  // namespace heelstrike::fem
